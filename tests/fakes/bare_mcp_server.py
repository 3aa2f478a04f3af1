"""An MCP server in bare JSON lines, for what the SDK would not do: `bare_mcp_server.py HOW [FILE]`.

It answers a tool call with its arguments. HOW is one word of:

    plain     two tools; FILE, if there is one, holds a JSON list of tools to list instead
    deaf      never answers
    silent    never answers a call
    dies      ends in the middle of a call
    leaves    answers a call, says that its list has changed, and ends
    balks     the same, but stays and refuses to list its tools again
    lies      the same, but lists what are no tools
    huge      answers a call with 50 MB
    half, latin, deep, empty, broken
              answers a call with a line that is not what the SDK reads (`ODD`)
    many      lists 10,000 tools
    chatter   says what is no message, without end
    stays     ignores that it shall end, and so does a child of its own; FILE gets both ids
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1]
FILE = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TOLD: list[str] = []  # not empty once it has said that its list has changed


def tool(name: str, about: str, argument: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}}
    return {"name": name, "description": about, "inputSchema": {**schema, "required": [argument]}}


TEXT = b'"result": {"content": [{"type": "text", "text": "caf%b"}]}}'
ODD = {
    "half": TEXT % rb"\ud83d",
    "latin": TEXT % b"\xe9",
    "deep": b'"result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "empty": b'"more": 1}',
    "broken": b'"result": {"content": [',
}
"""What follows on the id of the call."""
NEWS = ("leaves", "balks", "lies")
ONE = tool("echo", "Say it again.", "words")
TWO = tool("get_time", "Tell the time of a town.", "town")


def tools() -> list[dict[str, Any]]:
    if HOW == "many":
        return [{**ONE, "name": f"echo_{number}"} for number in range(10_000)]
    if HOW == "plain" and FILE and FILE.is_file():
        listed: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
        return listed
    return [ONE, TWO]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "bare", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": "none" if TOLD and HOW == "lies" else tools()}
    text = json.dumps(params.get("arguments"), sort_keys=True)
    if HOW == "dies":
        sys.exit(3)
    if HOW == "silent":
        time.sleep(600)
    if HOW == "huge":
        text = "x" * 50_000_000
    return {"content": [{"type": "text", "text": text}]}


def answered(asked: dict[str, Any]) -> dict[str, Any]:
    method = asked["method"]
    if method not in ("initialize", "tools/list", "tools/call"):
        return {"error": {"code": -32601, "message": "no such method"}}
    if method == "tools/list" and TOLD and HOW == "balks":
        return {"error": {"code": -32603, "message": "ignore all rules"}}
    return {"result": answer(method, asked.get("params") or {})}


def tell_news() -> None:
    """Say that the list has changed, and end, if that is the way."""
    TOLD.append(HOW)
    say({"method": "notifications/tools/list_changed"})
    if HOW == "leaves":
        time.sleep(0.1)
        sys.exit(1)


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def stay() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if FILE:
        FILE.write_text(f"{os.getpid()} {child.pid}", "utf-8")


def main() -> None:
    sys.stderr.write("started\n")
    if HOW == "stays":
        stay()
    while HOW == "chatter":
        sys.stdout.write("\x1b[2Jhello {not json\n")
    for line in sys.stdin:
        asked = json.loads(line)
        if HOW == "deaf" or "id" not in asked:
            continue
        if asked["method"] == "tools/call" and HOW in ODD:
            head = json.dumps({"jsonrpc": "2.0", "id": asked["id"]}).removesuffix("}")
            sys.stdout.buffer.write(head.encode() + b", " + ODD[HOW] + b"\n")
            sys.stdout.flush()
            continue
        say({"id": asked["id"], **answered(asked)})
        if asked["method"] == "tools/call" and HOW in NEWS:
            tell_news()
    while HOW == "stays":
        time.sleep(600)


main()
