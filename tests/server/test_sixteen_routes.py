"""A client that knows the sixteen routes of its own API alone, and nothing of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from openclaw.server.server_client import RunningServer
from tests.fakes.ollama_server import Answer, FakeOllama

CLIENT = """
import json, sys, urllib.error, urllib.request
base, token = sys.argv[1:]

def send(method, path, body=None, stream=False):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(base + path, data, headers, method=method)
    answer = urllib.request.urlopen(request)
    if not stream:
        return json.load(answer)
    events, name = [], ""
    for line in answer.read().decode().splitlines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            events.append((name, json.loads(line[6:])))
    return events

said = {}
session = send("POST", "/api/sessions", {})["id"]
events = send("POST", "/api/chat", {"message": "Read USER.md", "session_id": session}, stream=True)
said["kinds"] = [name for name, _ in events]
said["text"] = "".join(data["content"] for name, data in events if name == "token")
said["done"] = next(data["content"] for name, data in events if name == "done")
start = next(data for name, data in events if name == "tool_start")
end = next(data for name, data in events if name == "tool_end")
said["tool"] = [start["tool"], start["input"]["path"], "output" in end]
said["sessions"] = [each["id"] for each in send("GET", "/api/sessions")] == [session]
said["title"] = send("PUT", f"/api/sessions/{session}", {"title": "Reading"})["title"]
said["generated"] = send("POST", f"/api/sessions/{session}/generate-title", {})["title"]
said["system"] = send("GET", f"/api/sessions/{session}/messages")["messages"][0]["role"]
history = send("GET", f"/api/sessions/{session}/history")["messages"]
said["history"] = [each["role"] for each in history]
said["calls"] = [call["tool"] for each in history for call in each.get("tool_calls", [])]
try:
    send("POST", f"/api/sessions/{session}/compress", {})
except urllib.error.HTTPError as error:
    said["compress"] = [error.code, json.load(error)["error"][:18]]
memory = send("GET", "/api/files?path=memory/MEMORY.md")["content"]
filler = "".join(f"- On day {n} {n * n} birds were counted.\\n" for n in range(400))
memory += f"- The boat is blue.\\n{filler}"  # more than the prompt's beginning has room for
send("POST", "/api/files", {"path": "memory/MEMORY.md", "content": memory})
said["skills"] = "digest" in [each["name"] for each in send("GET", "/api/skills")]
said["tokens"] = send("GET", f"/api/tokens/session/{session}")["total_tokens"] > 100
paths = {"paths": ["memory/MEMORY.md", "workspace/SOUL.md"]}
said["files"] = [each["tokens"] > 0 for each in send("POST", "/api/tokens/files", paths)["files"]]
said["rag"] = send("GET", "/api/config/rag-mode")["rag_mode"]
events = send("POST", "/api/chat", {"message": "Which colour has the boat?"}, stream=True)
found = [data for name, data in events if name == "retrieval"]
said["found"] = any("boat is blue" in passage["text"] for passage in found[0]["results"])
said["off"] = send("PUT", "/api/config/rag-mode", {"enabled": False})["rag_mode"]
said["deleted"] = send("DELETE", f"/api/sessions/{session}", {})["ok"]
print(json.dumps(said))
"""


def test_a_client_of_the_sixteen_routes_chats_and_edits_the_memory(
    server: RunningServer, fake_ollama: FakeOllama, home: Path
) -> None:
    reading = Answer(calls=[("read_file", {"path": "workspace/USER.md"})])
    fake_ollama.say(reading, "It is about you.", "The boat is blue.")
    url = f"http://127.0.0.1:{server.port}"
    client = [sys.executable, "-I", "-S", "-c", CLIENT, url, server.token]
    done = subprocess.run(client, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    kinds = said.pop("kinds")
    assert [kinds.index(each) for each in ("tool_start", "tool_end", "new_response", "done")] == (
        sorted(kinds.index(each) for each in ("tool_start", "tool_end", "new_response", "done"))
    )
    assert said == {
        "text": "It is about you.",
        "done": "It is about you.",
        "tool": ["read_file", "workspace/USER.md", True],
        "sessions": True,
        "title": "Reading",
        "generated": "Read USER.md",
        "system": "system",
        "history": ["user", "assistant", "assistant"],
        "calls": ["read_file"],
        "compress": [400, "nothing to compact"],
        "skills": True,
        "tokens": True,
        "files": [True, True],
        "rag": True,
        "found": True,
        "off": False,
        "deleted": True,
    }
    assert "The boat is blue." in (home / "memory/MEMORY.md").read_text()
