"""docs/serve.md: its lines work as they stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openclaw.server.routes import ENDPOINTS
from openclaw.server.server_client import RunningServer
from tests.fakes.ollama_server import FakeOllama

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_lines_of_the_page_work(
    server: RunningServer, fake_ollama: FakeOllama, home: Path
) -> None:
    fake_ollama.say("Nothing.", "Hello.", "Hello!")
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    script = "".join(blocks).replace("8377", str(server.port))
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=home,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "OPENCLAW_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (home / "workspace/USER.md").read_text() == "I am Ann."
    assert "- [x] water the plants" in (home / "memory/TODO.md").read_text()
    told = re.findall(r'"text": "(Nothing|Hello)', done.stdout)
    assert told == ["Nothing", "Hello"]
    assert '"content":"Hello!"' in done.stdout.replace(": ", ":")


def test_the_page_names_every_route() -> None:
    named = set(re.findall(r"`[A-Z ]*(/(?:api|v1)/[\w/.-]*|\.\.\.(?:/[\w-]+))`", PAGE))
    ends = {name.removeprefix("...") for name in named}
    for endpoint in ENDPOINTS:
        path = re.sub(r"{(name|model)}", "NAME", re.sub(r"{(\w+)}", "ID", endpoint.path))
        path = path.replace("ID", "NAME") if "skills" in path else path
        short = f"/{path.rpartition('/')[2]}"
        assert path in ends or short in ends or path.startswith("/v1/"), path
