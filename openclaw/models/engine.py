"""llama.cpp in a process of its own, served over HTTP: `python -m openclaw.models.engine`.

xllamacpp holds Python's lock while it loads a model, seconds in which nothing else of a process
would run: no key typed would show, no Ctrl-C be heard. And llama.cpp ends its process when it comes
upon what it did not expect.

One line of JSON on standard input says what to load (`Wish`), one on standard output where it
listens, or why not. The end of standard input ends the process, so it never outlives its parent;
the folder of its socket goes with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from openclaw.files.package import python_command

# The engine looks for a cancelled request between two batches: 128 tokens are a second or so, and
# on a CPU as fast as the usual 2,048.
_BATCH = 128


@dataclass(frozen=True, slots=True)
class Wish:
    """What to load. `address` is a host or the path of a socket, `states` the folder of saved
    states, "" for none; every request has to show the `key`."""

    path: str
    window: int
    threads: int
    states: str
    address: str
    key: str

    def to_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def start() -> subprocess.Popen[str]:
    """The process, which waits for its wish; OSError when there can be none. Ctrl-C in the terminal
    is not for it."""
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return subprocess.Popen(
        python_command("openclaw.models.engine"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        **apart,
    )


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wish = Wish(**json.loads(sys.stdin.readline()))
    try:
        _serve(wish)
    finally:  # also when there is nobody left to tell anything to
        _remove(wish.address)
        os._exit(0)  # what still runs in the engine is of no use to anybody


def _serve(wish: Wish) -> None:
    """Load, tell of it, and serve until the standard input ends."""
    try:
        import xllamacpp

        server = xllamacpp.Server(_parameters(xllamacpp, wish))
    except ImportError as error:
        _tell({"missing": _one_line(error)})
    except Exception as error:  # noqa: BLE001 - told to the parent, which raises its own
        _tell({"error": _one_line(error)})
    else:
        version = str(xllamacpp.__version__)
        _tell({"address": str(server.listening_address), "version": version})
        sys.stdin.read()


def _parameters(xllamacpp: Any, wish: Wish) -> Any:
    p = xllamacpp.CommonParams()
    p.model.path = wish.path
    p.n_ctx, p.n_parallel = wish.window, 1
    p.n_batch = p.n_ubatch = _BATCH
    p.cpuparams.n_threads = wish.threads or _cores()
    p.use_jinja = True
    p.warmup = p.ui = False
    # Trying what fits costs a third of a start, and there is nothing to fit without a GPU.
    p.fit_params = any("GPU" in str(device["type"]) for device in xllamacpp.get_device_info())
    p.verbosity, p.cache_ram_mib, p.n_threads_http = -1, 0, 2
    p.api_keys = [wish.key]
    p.hostnames = [wish.address]
    if wish.states:
        p.slot_save_path = wish.states + os.sep
    return p


def _cores() -> int:
    """Threads worth using: the cores open to this process, half of them where they are likely
    hyper-threads."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 2
    return cores if cores <= 4 else max(4, cores // 2)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _remove(address: str) -> None:
    """Remove a socket, and the folder that was made for it, in case the parent was killed."""
    path = Path(address)
    if path.is_absolute():
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()


def _tell(what: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
