"""Runs modules of this program, and others that it finds, with the same Python in a child."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import openclaw

# `sys` is part of the interpreter, so nothing is looked for before the folders are set.
_RUN = """\
import sys
count = int(sys.argv[1])
sys.path[:] = sys.argv[2 : count + 2]
del sys.argv[: count + 2]
import runpy
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def python_command(module: str, *words: str) -> list[str]:
    """The command that runs a module as a program. It looks for modules where we do, nowhere else:
    neither in the folder it is started in, which is a home more often than not, nor in those that
    PYTHONPATH names for us and not for it."""
    top = str(Path(openclaw.__file__).resolve().parent.parent)
    folders = list(dict.fromkeys([*filter(os.path.isabs, sys.path), top]))
    return [sys.executable, "-I", "-c", _RUN, str(len(folders)), *folders, module, *words]
