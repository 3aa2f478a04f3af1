"""A stand-in for the package of the same name: its server answers over the real HTTP, but its model
is a text. A token is a character; the slot holds the text that was read, and the reply to it.

Found by the engine's process when this folder stands in PYTHONPATH. The model's file says how it
behaves: one that ends in "broken" cannot be loaded, "narrow" not with a window of more than 4,096
tokens, "slow" loads for ever, "lag" 0.3 s, "late" until its parent is gone, "crash" ends the
process, "full" finds no room for a whole state. A newest message of "die" ends the process in the
middle of the reply, "go on" is answered until somebody hangs up. Each request is a line in the file
that FAKE_LLAMA_LOG names; FAKE_LLAMA_LACKS names a library without which nothing can be imported.
"""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

if _lacks := os.environ.get("FAKE_LLAMA_LACKS"):
    raise ImportError(f"{_lacks}: cannot open shared object file")

__version__ = os.environ.get("FAKE_LLAMA_VERSION", "1.0")
STATE = b"slot:"
SEAL = 56


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), slot_save_path="")


def get_device_info() -> list[dict[str, str]]:
    return []


class Server:
    def __init__(self, params: Any) -> None:
        data = Path(params.model.path).read_bytes()
        if data.endswith(b"broken"):
            raise RuntimeError("not a model")
        if data.endswith(b"narrow") and params.n_ctx > 4096:
            raise RuntimeError("failed to init")
        if data.endswith(b"slow"):
            time.sleep(600)
        if data.endswith(b"lag"):
            time.sleep(0.3)
        if data.endswith(b"late"):
            parent = os.getppid()
            Path(os.environ["FAKE_LLAMA_LOG"]).write_text("loading\n", encoding="utf-8")
            while os.getppid() == parent:
                time.sleep(0.01)
        if data.endswith(b"crash"):
            os._exit(3)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(params))
        self.listening_address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()


def _handler(params: Any) -> type[BaseHTTPRequestHandler]:
    slot = {"text": ""}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers["Authorization"] != f"Bearer {params.api_keys[0]}":
                self.answer({"error": {"message": "no key"}}, 401)
                return
            url = urlsplit(self.path)
            action = parse_qs(url.query).get("action", [""])[0]
            with Path(os.environ["FAKE_LLAMA_LOG"]).open("a", encoding="utf-8") as log:
                log.write(f"{action or url.path}\n")
            if url.path == "/apply-template":
                self.answer({"prompt": rendered(body["messages"])})
            elif action:
                self.state(action, Path(params.slot_save_path) / body["filename"])
            elif url.path == "/completions":
                self.begin()
                self.read(body["prompt"])
            else:
                self.chat(body)

        def chat(self, body: dict[str, Any]) -> None:
            newest, prompt = body["messages"][-1]["content"], rendered(body["messages"])
            if len(prompt) > params.n_ctx:
                kind = "exceed_context_size_error"
                told = {"type": kind, "n_prompt_tokens": len(prompt), "n_ctx": params.n_ctx}
                self.answer({"error": told}, 400)
                return
            self.begin()
            if newest == "go on":
                while True:
                    self.event({"choices": [{"delta": {"content": "."}}]})
                    time.sleep(0.01)
            reply = f"I know {len(prompt)} letters."
            self.event({"choices": [{"delta": {"content": reply[:6]}}]})
            if newest == "die":
                os._exit(3)
            self.event({"choices": [{"delta": {"content": reply[6:]}, "finish_reason": "stop"}]})
            usage = {"prompt_tokens": len(prompt), "completion_tokens": len(reply)}
            self.read(prompt, usage=usage)
            slot["text"] += reply

        def read(self, prompt: str, **told: Any) -> None:
            pairs = zip(slot["text"], prompt, strict=False)
            known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            new = len(prompt) - known
            slot["text"] = prompt
            self.event({"timings": {"cache_n": known, "prompt_n": new, "prompt_ms": new}, **told})

        def state(self, action: str, path: Path) -> None:
            if action == "save" and params.model.path.endswith("full.gguf"):
                path.write_bytes(STATE)
                self.answer({"error": {"message": "Unable to save slot"}}, 400)
                return
            if action == "save":
                path.write_bytes(STATE + slot["text"].encode())
            elif not path.exists():
                self.answer({"error": {"message": "no such state"}}, 400)
                return
            else:
                slot["text"] = path.read_bytes()[len(STATE) : -SEAL].decode()
            self.answer({})

        def begin(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()

        def event(self, chunk: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()

        def answer(self, value: dict[str, Any], status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:  # the client has hung up
                with Path(os.environ["FAKE_LLAMA_LOG"]).open("a", encoding="utf-8") as log:
                    log.write("hung up\n")
                self.close_connection = True

    return Handler


def rendered(messages: list[dict[str, Any]]) -> str:
    said = "".join(f"<{message['role']}>{message['content']}\n" for message in messages)
    return f"{said}<assistant>"
