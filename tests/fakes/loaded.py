"""What a process loads that runs some code: an import is paid by everybody who waits for it."""

from __future__ import annotations

import json
import subprocess
import sys


def loaded_by(code: str, *modules: str) -> list[str]:
    """Those of the modules that are loaded when the code was run, which must not fail."""
    code += f"\nimport json, sys; print(json.dumps([n for n in {modules} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found
