"""Where this program itself is, for the processes that it starts of its own modules."""

from __future__ import annotations

import os
from pathlib import Path

import openclaw

_INSTALLED = ("site-packages", "dist-packages")


def child_environment() -> dict[str, str]:
    """The environment in which a child Python finds this very package. One that is installed it
    finds by itself; the folder of a checkout, which may only have been the one we were started in,
    goes in front of PYTHONPATH."""
    top = str(Path(openclaw.__file__).resolve().parent.parent)
    environment = dict(os.environ)
    if Path(top).name not in _INSTALLED:
        further = environment.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (top, further)))
    return environment
