"""An MCP server that tells what FILE says of it, and notes what it is given.

    telling_mcp_server.py FILE      {"about": ..., "result": ..., "error": false, "log": path}

It has a tool `read`, which answers with the result, and `send`, which the words say everything of.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SAID = json.loads(Path(sys.argv[1]).read_text("utf-8"))


def tool(name: str, about: str, argument: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"name": name, "description": about, "inputSchema": {**schema, "required": [argument]}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "desk", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        tools = [tool("read", SAID["about"], "page"), tool("send", "Send words.", "words")]
        return {"tools": tools}
    with Path(SAID["log"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(params) + "\n")
    return {"content": [{"type": "text", "text": SAID["result"]}], "isError": SAID["error"]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
        sys.stdout.flush()
