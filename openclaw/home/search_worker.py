"""The search as a process of its own: one JSON object a line in, one out.

    python -m openclaw.home.search_worker HOME

Its imports take long, and llama.cpp holds the interpreter while it loads a model: as a process of
its own the search costs a turn nothing. LlamaIndex, whose import takes most of a second and 60 MB,
is loaded for another vector store only. After "rest" it watches the folders and makes missing
vectors until the next question. When its input ends it finishes the index, its vectors too: it
then outlives the prompt that has started it. A prompt that leaves nothing to do kills it.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.retrieval.passages import USUAL, LeftOut, Passage
from openclaw.retrieval.scan import MANY
from openclaw.retrieval.search import Search, load_llama, open_search
from openclaw.storage.folder_watch import watch_folders
from openclaw.storage.home import Home
from openclaw.storage.safe_open import follow, is_folder
from openclaw.types import ToolProblem

MAX_PASSAGES = 5
MAX_TOKENS = 400
CHANGED = "changed\n"
REST_SECONDS = 0.5  # how long it makes vectors before it looks for a question again
PROGRESS_SECONDS = 0.5  # how often it reports the progress of reading files


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is meant for the turn
    gc.disable()  # until the first reply: it would look through the rows of thousands of files
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
    sys.stdout = sys.stderr  # prints of libraries must not mix with replies
    home = Home(Path(sys.argv[1]))
    settings = load_settings(home)
    follow(home.root, lambda: settings.links)
    search = open_search(home, settings)
    search.hide_standing_notices()
    lines = lines_of(sys.stdin)
    if (
        settings.index.store and not settings.index.keep
    ):  # what our own files hold is ranked without it
        load_llama()
    folders = [folder for folder in (home.memory, home.workspace) if is_folder(folder)]
    with ExitStack() as stack:
        stack.callback(search.close)

        def watch() -> None:
            stack.enter_context(watch_folders(folders, lambda: lines.put(CHANGED)))

        serve(search, lines, out, watch)
        with suppress(OSError, AttributeError):  # nobody waits for it now
            os.nice(19)
            if os.getsid(0) == os.getpid():  # where Linux weighs sessions against each other
                Path("/proc/self/autogroup").write_text("19", encoding="ascii")
        search.embed_in_background()


def serve(
    search: Search,
    lines: queue.Queue[str],
    out: IO[str],
    watch: Callable[[], object] = lambda: None,
) -> None:
    """Answer requests until an empty line, the end of the input. While many files are read, reports
    how many are done: {"reading": [570, 10000]}. `watch` is called with the second request:
    the process of a prompt of its own has only one, and ends before a file changes."""
    told = float("-inf")
    answered = 0

    def reading(done: int, total: int) -> None:
        nonlocal told
        if total > MANY and (done == total or time.monotonic() - told >= PROGRESS_SECONDS):
            told = time.monotonic()
            _write_reply(out, {"reading": [done, total]})

    search.on_reading = reading
    search.refresh_ahead()
    resting = False
    while line := _next_request(lines, search, resting):
        if line == CHANGED:
            search.refresh()
            continue
        request = json.loads(line)
        if answered == 1:
            watch()
        answered += 1
        resting = request["do"] == "rest"
        if not resting:
            _write_reply(out, answer(search, request))
        if not gc.isenabled():
            gc.freeze()
            gc.enable()


def _write_reply(out: IO[str], reply: Mapping[str, Any]) -> None:
    with suppress(OSError):  # nobody listens any more; what is being read is read to its end
        out.write(json.dumps(reply, ensure_ascii=False) + "\n")
        out.flush()


def answer(search: Search, request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to one request: a result or a problem, and notices for the user."""
    reply: dict[str, Any] = {"id": request["id"]}
    try:
        reply["result"] = _answer(search, request)
    except (OpenclawError, ToolProblem, OSError) as error:
        reply["problem"] = str(error)
    reply["notices"], search.notices[:] = list(search.notices), []
    reply["missing"] = search.missing
    return reply


def _answer(search: Search, request: Mapping[str, Any]) -> Any:
    """The result of a request: passages for a prompt, hits of a search, or lines of a file."""
    match request["do"]:
        case "recall":
            return _recall(search, request)
        case "search":
            found = search.search(request["question"], request["k"], path=request["path"])
            return [asdict(passage) for passage in found]
    text, shown = search.get(request["path"], request["start"], request["end"])
    return [text, asdict(shown)]


def _recall(search: Search, request: Mapping[str, Any]) -> dict[str, Any]:
    """The passages for a prompt, and the hits left out with the rules."""
    if only := request["only"]:
        asked = _remove_paths(request["question"], only)
        named = [p for path in only for p in search.search(asked, USUAL, path=path)]
        return _to_json(named[:USUAL])
    found = search.chosen_for_prompt(
        request["question"],
        frozenset(request["skip"]),
        most=MAX_PASSAGES,
        tokens=MAX_TOKENS,
        count=at_most_tokens,
        kind=request["kind"],
    )
    return _to_json(found.passages, found.left_out)


def _to_json(passages: Sequence[Passage], left_out: Sequence[LeftOut] = ()) -> dict[str, Any]:
    return {"passages": list(map(asdict, passages)), "left_out": list(map(asdict, left_out))}


def _remove_paths(question: str, paths: Sequence[str]) -> str:
    """A question without the file names in it. Lines of a file rarely hold its name, so these words
    would lower all their scores."""
    names = [name for path in paths for name in (path, path.rsplit("/", 1)[-1])]
    return re.sub("|".join(map(re.escape, names)), " ", question, flags=re.IGNORECASE)


def at_most_tokens(text: str) -> int:
    """An upper estimate of a text's tokens, without loading a tokenizer."""
    return len(text.encode()) // 3 + 1


def _next_request(lines: queue.Queue[str], search: Search, resting: bool) -> str:
    """The next line. While it waits and `resting`, makes missing vectors in short runs."""
    left = 1 if resting else 0
    while left and lines.empty():
        left = search.embed(seconds=REST_SECONDS)
    return lines.get()


def lines_of(stream: IO[str]) -> queue.Queue[str]:
    """The lines of a stream, read by a thread; an empty line at the end."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


if __name__ == "__main__":
    main()
