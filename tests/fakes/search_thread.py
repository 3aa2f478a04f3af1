"""The search beside a turn as a thread of the test, which has imported LlamaIndex already."""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import IO

from openclaw.config import load_settings
from openclaw.home.search_worker import lines_of, serve
from openclaw.retrieval.search import open_search
from openclaw.storage.home import Home


class SearchThread:
    """Takes the place of the process that `SearchClient` launches, behind the same two pipes."""

    def __init__(self, root: Path) -> None:
        given, self.stdin = _pipe()
        self.stdout, answers = _pipe()
        self._thread = threading.Thread(target=_run, args=(Home(root), given, answers), daemon=True)
        self._thread.start()

    def kill(self) -> None:
        with suppress(OSError):
            self.stdin.close()

    def wait(self) -> None:
        self._thread.join()


def _run(home: Home, given: IO[str], answers: IO[str]) -> None:
    search = open_search(home, load_settings(home))
    search.hide_standing_notices()
    with given, answers, closing(search), suppress(OSError):
        serve(search, lines_of(given), answers)


def _pipe() -> tuple[IO[str], IO[str]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, encoding="utf-8"), os.fdopen(writing, "w", encoding="utf-8")
