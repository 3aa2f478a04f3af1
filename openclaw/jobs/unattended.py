"""Unattended turns: jobs, and the tasks of workspace/HEARTBEAT.md; nobody can be asked.

Cron or a timer of the system starts each heartbeat, and it ends with its turn. Those of a day share
a conversation, so that each knows what the earlier ones reported; a new one each day stays short
and free of what was read the day before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import time
from typing import TYPE_CHECKING

from openclaw.errors import UsageError
from openclaw.events import Done
from openclaw.frozen import frozen
from openclaw.sessions.store import UNATTENDED
from openclaw.storage.lock import try_lock
from openclaw.storage.safe_open import read_text

if TYPE_CHECKING:
    from openclaw.agent.agent import Agent
    from openclaw.config import Settings
    from openclaw.sessions.session import Session
    from openclaw.storage.home import Home
    from openclaw.types import Mode


HEARTBEAT = "heartbeat"
FILE = "HEARTBEAT.md"
NOTHING = "HEARTBEAT_OK"
PROMPT = """\
{what}, a scheduled run: nobody is here to answer a question. Do this:

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
"""The sentence must end behind it: "HEARTBEAT_OK but the rent is late" has something to say."""
_AT_END = re.compile(rf"(?:\A|(?<=[\s*_`(])){_TOKEN}{_MARKS}*\Z", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2})(?::(\d\d))?")


@frozen
class UnattendedResult:
    """The result of an unattended turn: `answer` is for the user, "" for nothing to say; `why` then
    says why not."""

    answer: str = ""
    why: str = ""
    session: str = ""
    model: str = ""
    refused: tuple[str, ...] = ()
    unbacked: tuple[str, ...] = ()
    code: int = 0


Ask = Callable[[str, str], UnattendedResult]  # answers a prompt in the job of this name


def run_heartbeat(home: Home, quiet_hours: str, ask: Ask, now: time) -> UnattendedResult:
    """Have the tasks of HEARTBEAT.md done, unless it is a quiet hour or another heartbeat runs."""
    if quiet_hours and is_within(now, parse_hours(quiet_hours)):
        return UnattendedResult(why="it is a quiet hour")
    tasks = read_tasks(home)
    if not tasks:
        return UnattendedResult(
            why="nothing to do: workspace/HEARTBEAT.md is not there or names no task"
        )
    with run_lock(home) as mine:
        if not mine:
            return UnattendedResult(why="another heartbeat runs")
        return ask(HEARTBEAT, prompt_of(tasks))


def result_of(done: Done, exit_code: int) -> UnattendedResult:
    """Return what a turn found; a turn without anything to say is no failure."""
    answer = text_for_user(done.answer)
    nothing = done.stop_reason in ("answer", "empty") and not answer
    code = 0 if nothing and not (done.refused or done.unbacked) else exit_code
    why = "there is nothing to tell" if nothing else ""
    return UnattendedResult(
        answer, why, done.session_id, done.model, done.refused, done.unbacked, code
    )


def read_tasks(home: Home) -> str:
    """Return the tasks in HEARTBEAT.md without comments; "" when it is missing or has only headings
    and empty items."""
    try:
        text = _COMMENT.sub("", read_text(home.workspace / FILE)).strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"workspace/{FILE} cannot be read: {error.strerror}") from error
    lines = text.splitlines()
    says = any(not _HEADING.match(line) and not _EMPTY_ITEM.match(line) for line in lines)
    return text if says else ""


def prompt_of(tasks: str, job: str = HEARTBEAT) -> str:
    return PROMPT.format(what=_name_of(job), tasks=tasks, nothing=NOTHING)


def _name_of(job: str) -> str:
    return "Heartbeat" if job == HEARTBEAT else f"Job {job}"


def text_for_user(answer: str) -> str:
    """Return the part of an answer that is for the user; "" when it is the word for nothing."""
    text = _AT_FRONT.sub("", answer.strip())
    if found := _AT_END.search(text):
        text = text[: found.start()].rstrip(" ,;:-")
    return text.strip() if re.search(r"\w", text) else ""


def unattended_mode(settings: Settings) -> Mode:
    """Return the mode of an unattended run: at most "edit"."""
    return settings.mode if settings.mode in ("read-only", "ask") else "edit"


def unattended_settings(settings: Settings) -> Settings:
    """Return the settings of an unattended run: its prompt is not in the user's own words."""
    return replace(settings, proactive="off", capture="off")


def session_prefix(job: str) -> str:
    """Return what the conversations of a job begin with; the day follows."""
    return UNATTENDED if job == HEARTBEAT else f"{UNATTENDED}{job}-"


def todays_session(agent: Agent, job: str = HEARTBEAT) -> Session:
    """Return the conversation of today's runs of a job; a new one when there is none."""
    day = agent.now().date().isoformat()
    name = f"{session_prefix(job)}{day}"
    if agent.sessions.exists(name):
        return agent.sessions.load(name)
    session = agent.sessions.new(name, agent.model_name)
    session.title = f"{_name_of(job)} {day}"
    return session


def run_lock(home: Home, job: str = HEARTBEAT) -> AbstractContextManager[bool]:
    """Lock a job of this home; False within it when it runs in another process. OpenclawError when
    the lock fails."""
    name = HEARTBEAT if job == HEARTBEAT else f"job-{job}"
    return try_lock(home.private / "locks" / f"{name}.lock")


def parse_hours(text: str) -> tuple[time, time]:
    """Read hours like "22-7" or "22:30-6:45". UsageError for any other text."""
    parts = [_HOUR.fullmatch(part.strip()) for part in text.split("-")]
    with suppress(ValueError):
        if len(parts) == 2 and all(parts):
            first, last = (time(int(p[1]) % 24, int(p[2] or 0)) for p in parts if p)
            if first != last and all(int(p[1]) <= 24 for p in parts if p):
                return first, last
    raise UsageError(f"'{text}' are no hours", "write them as 22-7 or 22:30-6:45")


def is_within(now: time, hours: tuple[time, time]) -> bool:
    """Return True when a time is between two others, over midnight when the second is earlier."""
    first, last = hours
    return first <= now < last if first < last else now >= first or now < last
