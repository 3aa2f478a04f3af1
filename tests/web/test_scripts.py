"""The scripts of the page, run by node over the few parts of a browser in tests/fakes/page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.server.routes.page_routes import STATIC

BROWSER = Path(__file__).parents[1] / "fakes" / "page" / "browser.mjs"
HEAD = """import assert from "node:assert";
import { calls, find, get, routes, wait } from "./browser.mjs";
const talk = (title, ...messages) => ({ title, messages, left_out: 0, run: null, queued: [] });
Object.assign(routes, {
  "GET /api/sessions/a": talk("A"),
  "GET /api/sessions/b": talk("B", { role: "user", content: "of b" }),
  "GET /api/files": { path: "workspace/x.md", content: "one\\n", read_only: false },
  "POST /api/tokens/files": { files: [{ tokens: 1 }] },
});
await import("./app.js");
await wait();
"""
Script = Callable[[str, str], None]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Open the page at an address, and run these lines of JavaScript over it."""
    node = shutil.which("node")
    if not node:
        pytest.skip("no node here")
    for file in (*STATIC.iterdir(), BROWSER):
        shutil.copy(file, tmp_path)
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}), "utf-8")

    def run(address: str, lines: str) -> None:
        (tmp_path / "test.js").write_text(HEAD + lines, "utf-8")
        done = subprocess.run(
            [node, "test.js"],
            cwd=tmp_path,
            env={**os.environ, "PAGE_HASH": address},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    return run


EDIT = """
const area = () => get("tab").querySelectorAll("textarea")[0];
area().value = "one\\nmine\\n";
await area().fire("input");
"""


def test_what_is_typed_into_a_file_stays_when_another_conversation_is_opened(
    script: Script,
) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        location.hash = "#/s/b/files/workspace%2Fx.md"; await wait();
        assert.equal(get("title").textContent, "B");
        assert.equal(area().value, "one\\nmine\\n");""",
    )


def test_unsaved_text_is_left_only_after_a_yes(script: Script) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(location.hash, "#/s/a/files/workspace%2Fx.md");
        assert.equal(area().value, "one\\nmine\\n");
        globalThis.confirm = () => true;
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(area(), undefined);""",
    )


def test_what_is_typed_while_a_file_is_saved_is_not_saved_yet(script: Script) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        routes["POST /api/files"] = async () => {{
          area().value += "more\\n";
          return {{ merged: true }};
        }};
        await find("Save").fire("click"); await wait();
        assert.equal(area().value, "one\\nmine\\nmore\\n");
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(area().value, "one\\nmine\\nmore\\n");""",
    )


def test_a_file_is_offered_after_a_skill_too(script: Script) -> None:
    script(
        "",
        """routes["GET /api/tree"] = [{ path: "memory/MEMORY.md", size: 1 }];
        get("prompt").value = "/weekly @mem";
        await get("prompt").fire("input"); await wait();
        assert(find("memory/MEMORY.md", get("choices")));""",
    )


def test_an_address_that_is_no_code_shows_the_page_all_the_same(script: Script) -> None:
    script("#/s/100%/todos/", """assert.equal(get("tab").children.length, 1);""")
