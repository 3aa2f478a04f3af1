"""Marks of the tests that need something of the machine."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec

import pytest

from openclaw.tools.shell.sandbox import why_unavailable

posix = pytest.mark.skipif(os.name == "nt", reason="links, modes, signals and a shell of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux alone has")
needs_acp = pytest.mark.skipif(find_spec("acp") is None, reason="acp is not installed")
needs_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
confined_only = pytest.mark.skipif(
    why_unavailable() is not None, reason=f"no sandbox: {why_unavailable()}"
)
