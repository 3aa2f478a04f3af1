"""What /model does in a talk, and which model a name means."""

from __future__ import annotations

import threading
from contextlib import suppress
from difflib import get_close_matches
from textwrap import fill
from typing import TYPE_CHECKING

from openclaw.errors import ModelMissing, OpenclawError, ServerAway

if TYPE_CHECKING:
    from openclaw.sessions.store import Session, SessionStore

AUTO = "auto"
PATIENCE_SECONDS = 0.2
HINT_WIDTH = 76


class Answering:
    """The name of the model that answers. What `auto` takes is looked up beside the talk."""

    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self._looking = threading.Thread(target=self._look, args=(host,), daemon=True)
        if name == AUTO:
            self._looking.start()

    def wait(self) -> str:
        """The name, for which a moment is waited."""
        if self._looking.is_alive():
            self._looking.join(PATIENCE_SECONDS)
        return self.name

    def _look(self, host: str) -> None:
        from openclaw.cli.models import at_hand

        found = ""
        with suppress(OpenclawError, OSError, ValueError):  # which the first turn will meet too
            found = at_hand(host)
        if self.name == AUTO:  # no turn has told it meanwhile
            self.name = found or AUTO


def known_models(host: str) -> list[str]:
    """The chat models that are here, as /model takes them: those of Ollama, the newest first, then
    the embedded ones."""
    from openclaw.models import catalog
    from openclaw.models.ollama_found import chat_models

    try:
        names = [f"ollama/{name}" for name in chat_models(host)]
    except ServerAway:
        names = []
    own = {file.name for file in catalog.embedding_entry().files}
    for path in catalog.installed():
        if path.name not in own:
            names.append(f"embedded/{path.stem.lower()}")
    return names


def checked_model(name: str, host: str) -> str:
    """The value of `model` for what the user named. ModelMissing when it is surely not here: a
    server that does not answer is not asked, and one of OpenAI's kind never."""
    from openclaw.cli.models import named_model
    from openclaw.models.naming import split_name
    from openclaw.models.ollama_found import chat_models

    try:
        setting = named_model(name)
        provider, rest = split_name(setting)
        if provider != "ollama":
            return setting
        there = {known.casefold() for known in chat_models(host)}
        if {rest.casefold(), f"{rest.casefold()}:latest"} & there:
            return setting
        raise ModelMissing(f"Ollama has no chat model {rest}", f"openclaw models pull {setting}")
    except ServerAway:
        return setting
    except ModelMissing as error:
        raise ModelMissing(str(error), _hint(name, error.hint, known_models(host))) from None


def keep_model(store: SessionStore, session: Session, name: str) -> None:
    """Let a conversation say which model goes on with it, whatever its last turn said."""
    if session.stamp and session.model != name:
        with store.writing(session.id, timeout=2.0):
            store.refresh(session)
            session.model = name
            store.save(session)
    session.model = name


def _hint(name: str, remedy: str, known: list[str]) -> str:
    near = [each for each in known if name.casefold() in each]
    near = near or get_close_matches(name, known, n=1)
    lines = [f"did you mean {near[0]}?"] if near else []
    lines.append(f"to get it: {remedy}" if " pull " in remedy else remedy)
    if known:
        lines.append(fill(f"there are: {', '.join(known)}", HINT_WIDTH, break_on_hyphens=False))
    return "\n".join(lines)
