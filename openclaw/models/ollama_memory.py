"""Where an Ollama server keeps a model, and what a window of it takes."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw.models.memory_need import Need, free_memory, need_of
from openclaw.models.tested import key_of

PATIENCE_SECONDS = 10.0
"""For an answer from memory, as /api/ps and /api/show are."""


@dataclass(frozen=True, slots=True)
class Held:
    """A running model: bytes in all, those of them in GPU memory, and the window it runs with
    (tokens, 0 when an old server does not say). `is_here`: the server is on this machine."""

    size: int
    on_gpu: int
    window: int
    need: Need | None
    is_here: bool


def held(name: str, host: str) -> Held | None:
    """What the server at `host` says of a model that it runs; None when it does not run it, is
    away, or cannot be understood: then nothing is known, which is no fault."""
    import httpx
    import ollama

    from openclaw.models.ollama_facts import base_url
    from openclaw.models.ollama_wire import client
    from openclaw.models.remote import is_loopback

    url = base_url(host)
    asked = client(url, timeout=PATIENCE_SECONDS)
    tagged = key_of(f"ollama/{name}").removeprefix("ollama/")
    try:
        running = [model for model in asked.ps().models if tagged in (model.model, model.name)]
        values = asked.show(name).modelinfo or {}
    except (httpx.HTTPError, ollama.ResponseError, ConnectionError, ValueError):
        return None
    finally:
        asked.close()  # type: ignore[no-untyped-call]
    if not running:
        return None
    size, window = int(running[0].size or 0), int(running[0].context_length or 0)
    # The size that it tells holds the window's part already.
    known = need_of(values, 0)
    need = known and Need(max(0, size - known.token * window), known.token, known.window)
    return Held(size, int(running[0].size_vram or 0), window, need, is_loopback(url))


def window_of(known: Held, asked: int) -> tuple[int, str]:
    """(the largest window that stays in memory, how that is known) for a model that runs with a
    window of `asked` tokens.

    What lies wholly on the GPU fits at least as it is. Of what lies there partly, the GPU's memory
    is as large as that part. Without a GPU, or with one that is too small for the model alone, the
    memory of this machine counts, when it is the server's.
    """
    window = known.window or asked
    if known.on_gpu >= known.size > 0:
        return window, "at least"
    if known.need is None:
        return window, "at least"
    need = known.need
    if known.on_gpu:
        most = (known.on_gpu - need.model) // need.token // 1024 * 1024
        if most > 0:
            return most, "computed"
    free = free_memory() if known.is_here else None
    if free is None:
        return window, "at least"
    most = window + max(0, int(free * 0.9)) // need.token // 1024 * 1024
    return (min(most, need.window) if need.window else most), "computed"
