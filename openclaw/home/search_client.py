"""The search as a turn uses it: a client of the process `search_worker`, started when needed.

It imports little, so that the process of a prompt starts before the rest of the agent is loaded.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from openclaw.storage.home import Home
from openclaw.storage.program import python_command
from openclaw.types import PromptKind, Shown, ToolProblem

TOOL_SECONDS = 60.0
LEAST_READING_SECONDS = 0.5
"""For so long the rate of reading files is measured before a prompt goes on without them."""
_left: list[SearchProcess] = []
"""Processes that finish the index. Python would warn of one that is forgotten."""
MAX_CHARACTERS = 1000  # only the beginning of a longer prompt is searched for

BROKEN = "memory could not be searched; see what is wrong: openclaw memory search WORDS"


class SearchProcess(Protocol):
    """A running search: one request a line in, one reply a line out."""

    @property
    def stdin(self) -> IO[str]: ...

    @property
    def stdout(self) -> IO[str]: ...

    def kill(self) -> None: ...

    def wait(self) -> object: ...


def launch(root: Path) -> SearchProcess:
    """Start the search process of the home at `root`."""
    started: Any = subprocess.Popen(
        python_command("openclaw.home.search_worker", str(root)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        start_new_session=True,  # it may outlive the terminal, see `SearchClient.close`
    )
    process: SearchProcess = started
    return process


@dataclass(slots=True)
class SearchClient:
    """Asks the search process of a home.

    notices       lines for the user
    left_out      hits that the newest search did not take: path, start_line, end_line, score, rule
    has_answered  the process has answered the last request; then the next answer takes only
                  milliseconds
    _reading      (files read, all files) while the process reads many files
    _missing      passages that had no vector when it answered
    """

    home: Home
    notices: list[str] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    launch: Callable[[Path], SearchProcess] = launch
    _process: SearchProcess | None = None
    _replies: queue.Queue[Mapping[str, Any]] = field(default_factory=queue.Queue)
    _asked: int = 0
    _reading: tuple[int, int] | None = None
    _missing: int = 0
    has_answered: bool = False

    @property
    def running(self) -> bool:
        return self._process is not None

    def start_process(self) -> None:
        """Start the process, which then loads by itself."""
        if self._process is None:
            self._start()

    def send_question(
        self,
        question: str,
        skip: Collection[str],
        only: Sequence[str] = (),
        *,
        kind: PromptKind = "",
    ) -> None:
        """Start a search for a prompt of this kind. `skip` are files that the prompt holds already;
        with `only` the search is limited to these files."""
        self.left_out = []
        text = question[:MAX_CHARACTERS]
        self._send("recall", question=text, skip=sorted(skip), only=list(only), kind=kind)

    def wait_for_passages(self, patience: float) -> list[dict[str, Any]]:
        """The passages for the question that was sent; none when they take longer than `patience`
        seconds from now, or will surely do so."""
        try:
            found: dict[str, Any] = self._result(patience, for_reading=False)
        except ToolProblem:
            self.notices.append(BROKEN)
            return []
        except TimeoutError:
            self.notices.append(too_late(patience, self._reading))
            return []
        self.left_out = found["left_out"]
        passages: list[dict[str, Any]] = found["passages"]
        return passages

    def search(self, question: str, k: int, path: str = "") -> list[dict[str, Any]]:
        """The best passages for a question. Raises ToolProblem when the search fails."""
        return self._request("search", question=question, k=k, path=path) or []

    def get(self, path: str, start: int, end: int) -> tuple[str, Shown]:
        """Lines of an indexed file as text, and which they are. Raises ToolProblem when there is
        none of that name."""
        text, shown = self._request("get", path=path, start=start, end=end)
        return text, Shown(**shown)

    def take_notices(self) -> list[str]:
        told, self.notices = self.notices, []
        return told

    def embed_while_idle(self) -> None:
        """Let the process make missing vectors until the next question."""
        self._send("rest")

    def close(self) -> None:
        """Kill the process: its transactions are complete, and the index can be made again. A
        process that is reading files, or that lacks vectors, is left to finish the index, which the
        next prompt then has."""
        process, self._process = self._process, None
        if process is not None and (self._reading or self._missing):
            with suppress(OSError):
                process.stdin.close()
            _left.append(process)
        elif process is not None:
            process.kill()
            with suppress(OSError):
                process.stdin.close()
            # It takes ten milliseconds to end, for which no prompt waits.
            threading.Thread(target=process.wait, daemon=True).start()

    def _request(self, do: str, **values: Any) -> Any:
        self._send(do, **values)
        try:
            return self._result(TOOL_SECONDS)
        except TimeoutError:
            raise ToolProblem("The search takes too long; use search_files.") from None

    def _send(self, do: str, **values: Any) -> None:
        self._asked += 1
        line = json.dumps({"id": self._asked, "do": do, **values}, ensure_ascii=False) + "\n"
        for _ in range(2):  # again when the process has died meanwhile
            process = self._process or self._start()
            try:
                process.stdin.write(line)
                process.stdin.flush()
            except OSError:
                self.close()
            else:
                return

    def _start(self) -> SearchProcess:
        self._replies = queue.Queue()
        process = self.launch(self.home.root)
        reader = threading.Thread(target=_read, args=(process.stdout, self._replies), daemon=True)
        reader.start()
        self._process = process
        return process

    def _result(self, seconds: float, *, for_reading: bool = True) -> Any:
        """The reply to the newest request. Late replies to earlier requests are dropped. Raises
        TimeoutError; unless it waits `for_reading`, as soon as the files will not be read in time.
        """
        end = time.monotonic() + seconds
        self._reading, self.has_answered = None, False
        began: tuple[float, int] | None = None
        while True:
            try:
                reply = self._replies.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            if not reply:
                self.close()
                raise ToolProblem("The search has failed; use search_files.")
            if "reading" in reply:
                done, total = reply["reading"]
                self._reading = (done, total) if done < total else None
                began = began or (time.monotonic(), done)
                if self._reading and not for_reading and _is_too_slow(began, done, total, end):
                    raise TimeoutError
                continue
            if reply["id"] != self._asked:
                continue
            self.has_answered = "problem" not in reply
            self.notices += reply["notices"]
            self._missing = reply["missing"]
            if "problem" in reply:
                raise ToolProblem(reply["problem"])
            return reply["result"]


def _is_too_slow(began: tuple[float, int], done: int, total: int, end: float) -> bool:
    """Return True when files will not be read until `end`, at the rate since (time, files) `began`;
    never in the first moments."""
    spent, left = time.monotonic() - began[0], end - time.monotonic()
    return spent >= LEAST_READING_SECONDS and (total - done) * spent > left * (done - began[1])


def finish_index(home: Home) -> None:
    """Start a process that makes the missing vectors, and do not wait for it."""
    process = launch(home.root)
    process.stdin.close()
    _left.append(process)


def start_early(home: Home) -> SearchClient:
    """Start the search of a home while the agent is still being loaded. It is not started where
    memory was never searched, or where it would take the only processor."""
    recall = SearchClient(home)
    searched = home.private / "index" / "index.sqlite"
    if searched.exists() and (os.cpu_count() or 1) > 1:
        recall.start_process()
    return recall


def read_early(prompt: str, search: SearchClient | None) -> None:
    """Read a prompt while the agent is still being loaded, and end its search when it turns out to
    be small talk, which nothing is looked up for. The turn then has done it: most of it is
    unpacking in C, beside which other threads run."""

    def read() -> None:
        from openclaw.nlp import classifier, intent

        if intent.is_small_talk(classifier.read_message(prompt)) and search:
            search.close()

    threading.Thread(target=read, daemon=True).start()


def too_late(seconds: float, reading: tuple[int, int] | None) -> str:
    """The notice for the user when a search took too long: why, and what helps."""
    if reading:
        done, total = reading
        return (
            f"memory is still being read ({done:,} of {total:,} new files), in the background;"
            " answered without it"
        )
    return (
        f"memory search was not ready in {seconds:g} s; answered without it"
        f" (to wait longer: openclaw config set recall_wait {max(10, 2 * seconds):g})"
    )


def _read(stream: IO[str], replies: queue.Queue[Mapping[str, Any]]) -> None:
    with stream, suppress(ValueError):  # not JSON: the process can no longer be used
        for line in stream:
            replies.put(json.loads(line))
    replies.put({})
