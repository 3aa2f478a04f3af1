"""One unattended turn over what workspace/HEARTBEAT.md says; nobody is there to be asked.

Nothing of ours runs in the background: cron or a timer of the system starts each one, and it ends
with its turn. A conversation a day holds them, so that one knows what the earlier ones of the day
have told, none grows for ever, and what one has read is no burden for the next day.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import time
from typing import TYPE_CHECKING

from openclaw.errors import UsageError
from openclaw.storage.safe_open import checked, make_folder
from openclaw.storage.text import read_text, unwritable

if TYPE_CHECKING:
    from openclaw.agent.agent import App
    from openclaw.config import Settings
    from openclaw.sessions.session import Session
    from openclaw.storage.home import Home
    from openclaw.types import Mode


FILE = "HEARTBEAT.md"
NOTHING = "HEARTBEAT_OK"
PROMPT = """\
Heartbeat, a scheduled run: nobody is here to answer a question. Do this:

{tasks}

Then tell the user in a few lines what he should know now. When there is nothing to tell, answer \
with the one word {nothing}."""

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"[ \t]{0,3}(?:#{1,6}(?:[ \t].*)?|=+[ \t]*|-{2,}[ \t]*)$")
_EMPTY_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])?[ \t]*(?:\[[ xX]?\])?[ \t]*$")
_MARKS = r"[\s*_`~\"'.,:;!()\[\]-]"
_TOKEN = rf"{_MARKS}*HEARTBEAT[_ ]OK\b"
_AT_FRONT = re.compile(
    rf"\A{_TOKEN}(?:{_MARKS}*\Z|[*_`~\"')\]]*(?:[.:!]+[*_`~\"')\]]*(?=\s)|(?=\s*\n)|"
    rf" -+ ){_MARKS}*)",
    re.IGNORECASE,
)
"""Behind it the sentence ends: "HEARTBEAT_OK but the rent is late" is one that says something."""
_AT_END = re.compile(rf"(?:\A|(?<=[\s*_`(])){_TOKEN}{_MARKS}*\Z", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2})(?::(\d\d))?")


def tasks_of(home: Home) -> str:
    """What HEARTBEAT.md says to do, without comments; "" when it is missing or has nothing but
    headings and empty items."""
    try:
        text = _COMMENT.sub("", read_text(home.workspace / FILE)).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"workspace/{FILE} cannot be read: {error.strerror}") from error
    lines = text.splitlines()
    says = any(not _HEADING.match(line) and not _EMPTY_ITEM.match(line) for line in lines)
    return text if says else ""


def prompt_of(tasks: str) -> str:
    return PROMPT.format(tasks=tasks, nothing=NOTHING)


def told(answer: str) -> str:
    """What an answer has to say to the user; "" when it is the one word for nothing."""
    text = answer.strip()
    text = _AT_FRONT.sub("", text)
    if found := _AT_END.search(text):
        text = text[: found.start()].rstrip(" ,;:-")
    return text.strip() if re.search(r"\w", text) else ""


def mode_of(settings: Settings) -> Mode:
    """The mode of a run that nobody watches: never one that needs nobody's yes for everything."""
    return settings.mode if settings.mode in ("read-only", "ask") else "edit"


def quietly(settings: Settings) -> Settings:
    """The settings of such a run: its prompt is none of the user's own words."""
    return replace(settings, proactive="off", capture="off")


def session_of(app: App) -> Session:
    """The conversation of today's heartbeats; a new one when there is none."""
    from openclaw.sessions.store import UNATTENDED

    name = f"{UNATTENDED}{app.now().date().isoformat()}"
    with suppress(UsageError):
        if app.sessions.find(name) == name:
            return app.sessions.load(name)
    session = app.sessions.new(name, app.model_name)
    session.title = f"Heartbeat {app.now().date().isoformat()}"
    return session


@contextmanager
def alone(home: Home) -> Iterator[bool]:
    """Whether no other heartbeat of this home runs, while this one does. OpenclawError when that
    cannot be known."""
    from filelock import FileLock, Timeout

    path = home.private / "locks" / "heartbeat.lock"
    try:
        make_folder(path.parent)
        lock = FileLock(checked(path))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
    except (OSError, NotImplementedError) as error:
        raise unwritable(path, error) from error
    try:
        yield True
    finally:
        lock.release()


@contextmanager
def limited(seconds: float) -> Iterator[threading.Event]:
    """Interrupt the main thread, as Ctrl-C does, when what is done in here takes longer; the event
    is set then. Only in the main thread. What cron starts may ignore Ctrl-C, so it is heard here
    whatever was set."""
    passed, over = threading.Event(), threading.Lock()

    def end() -> None:
        if over.acquire(blocking=False):
            passed.set()
            _interrupt()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        yield passed
    finally:
        over.acquire(blocking=False)  # from here on nothing is interrupted
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def _interrupt() -> None:
    """A real signal where there is one: it ends a wait for a server too."""
    if os.name == "nt":
        import _thread

        _thread.interrupt_main()
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def hours_of(text: str) -> tuple[time, time]:
    """The hours "22-7" or "22:30-6:45". UsageError for what is none."""
    parts = [_HOUR.fullmatch(part.strip()) for part in text.split("-")]
    with suppress(ValueError):
        if len(parts) == 2 and all(parts):
            first, last = (time(int(p[1]) % 24, int(p[2] or 0)) for p in parts if p)
            if first != last and all(int(p[1]) <= 24 for p in parts if p):
                return first, last
    raise UsageError(f"'{text}' are no hours", "write them as 22-7 or 22:30-6:45")


def within(now: time, hours: tuple[time, time]) -> bool:
    """Whether a time lies between two, over midnight when the second is the earlier one."""
    first, last = hours
    return first <= now < last if first < last else now >= first or now < last
