"""Notes what a turn is made of on its messages, for those who look inside or run it again."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from typing import Any

from openclaw.agent import prompt
from openclaw.agent.budget import compact
from openclaw.agent.cues import Cues
from openclaw.agent.loop import Limits
from openclaw.app.fitting import Fitting
from openclaw.models.base import ModelCard
from openclaw.sessions.store import Session


def request_record(card: ModelCard, fitting: Fitting, limits: Limits) -> dict[str, Any]:
    """The model, the options and the sums of head and tools (SHA-256, hex), and what was cut."""
    return {
        "model": card.name,
        "digest": card.digest,
        "protocol": fitting.protocol.name,
        "window": card.window,
        "options": {
            "temperature": limits.temperature,
            "max_tokens": limits.max_tokens,
            "max_steps": limits.max_steps,
            "seed": limits.seed,
            "think": limits.think,
        },
        "tools": _sha256(compact([dict(spec) for spec in fitting.tools])),
        **fitted(fitting),
    }


def fitted(fitting: Fitting) -> dict[str, Any]:
    """What a compaction in the middle of the turn changes of it."""
    return {"head": _sha256(fitting.head), "cut": _cut(fitting.session, fitting)}


def renew(session: Session, fitting: Fitting) -> None:
    """Note on the turn's message of the user how it was fitted in the end."""
    for at in range(len(session.messages) - 1, -1, -1):
        entry = session.messages[at]
        if entry.role == "user":
            record = {**entry.record, **fitted(fitting)}
            if record != entry.record:
                session.messages[at] = replace(entry, record=record)
            return


def said_of(seen: Cues) -> dict[str, Any]:
    """What was seen in the request's words, without what was not."""
    nothing = Cues()
    found = {item.name: getattr(seen, item.name) for item in fields(seen)}
    told = {name: each for name, each in found.items() if each != getattr(nothing, name)}
    if "errands" in told:
        errands = told["errands"]
        told["errands"] = {item.name: getattr(errands, item.name) for item in fields(errands)}
    return told


def _cut(session: Session, fitting: Fitting) -> list[dict[str, str]]:
    """What of the home's files and of the conversation the model is not shown as it is."""
    rules = [
        {"part": part.name, "path": part.path, "rule": f"{share(part)} of the window"}
        for part in fitting.parts
        if part.cut
    ]
    path = f"sessions/{session.id}.json"
    if session.archived:
        rule = f"{session.archived} messages are archived, a summary stands for them"
        rules.append({"part": "history", "path": path, "rule": rule})
    if session.shortened:
        rule = f"results in the first {session.shortened} messages are given in one line"
        rules.append({"part": "results", "path": path, "rule": rule})
    return rules


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def share(part: prompt.Part) -> str:
    """The share of the window that a part of the head may take."""
    return f"{round(100 * prompt.SHARES.get(part.name, 0))} %"
