"""An MCP server that tells what FILE says of it, and notes what it is given.

    telling_mcp_server.py FILE      {"about": ..., "result": ..., "error": false, "log": path}

It has a tool `read`, which answers with the result, and `send`, which the words say everything of.
There may be "choices" for the argument of `read`, and names of more "arguments".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SAID = json.loads(Path(sys.argv[1]).read_text("utf-8"))


def tool(
    name: str, about: str, argument: str, choices: Sequence[str] = (), more: Sequence[str] = ()
) -> dict[str, Any]:
    kind = {"enum": choices} if choices else {"type": "string"}
    properties = {argument: kind, **{name: {"type": "string"} for name in more}}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": about, "inputSchema": {**schema, "required": [argument]}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "desk", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        more = SAID.get("choices", ()), SAID.get("arguments", ())
        read = tool("read", SAID["about"], "page", *more)
        return {"tools": [read, tool("send", "Send words.", "words")]}
    with Path(SAID["log"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(params) + "\n")
    return {"content": [{"type": "text", "text": SAID["result"]}], "isError": SAID["error"]}


for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = answer(asked["method"], asked.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
        sys.stdout.flush()
