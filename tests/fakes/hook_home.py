"""A home with hooks: Python scripts in hooks/, and the yes that they need."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw.hooks.hooks import Hooks
from openclaw.storage.trust_store import Trust
from tests.fakes.talk import Talk, new_home, talk

READ = "import json, sys\nfacts = json.load(sys.stdin)\n"


def script(home: Path, name: str, body: str) -> list[str]:
    """A hook that runs this Python, in which `facts` is what it was told; the `run` of it."""
    path = home / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(READ + body + "\n", "utf-8")
    return [sys.executable, f"hooks/{name}"]


def hooked(home: Path, hooks: Mapping[str, Any], *, yes: bool = True, **settings: Any) -> Talk:
    """A talk in a home with these hooks, which the user has said yes to or not."""
    spoken = talk(new_home(home), hooks=dict(hooks), **settings)
    found = of(spoken)
    found.trust = Trust(home.parent / "trust.json")
    if yes:
        found.trust.allow(found.home, found.asked().mark)
    return spoken


def of(spoken: Talk) -> Hooks:
    assert spoken.app.hooks is not None
    return spoken.app.hooks


def told(home: Path, name: str = "told.json") -> Any:
    """What a hook has written down with `NOTE`."""
    return json.loads((home / "workspace" / name).read_text("utf-8"))


NOTE = "open('workspace/told.json', 'w').write(json.dumps(facts))"
