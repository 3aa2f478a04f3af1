"""openclaw in your own program: three calls that stay as they are.

    from openclaw.library import open_home

    with open_home("~/openclaw") as home:
        print(home.ask("What is due today?").text)
        for passage in home.search("the name of the boat"):
            print(passage.path, passage.start_line, passage.text)

What a call takes and returns here is extended, never changed. All that goes wrong is an
`OpenclawError`, with words for the user and a `hint`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Self

from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.events import Done, Error, Token
from openclaw.frozen import frozen
from openclaw.retrieval.passages import Passage
from openclaw.retrieval.search import Search, open_search
from openclaw.security.trust import find_trusted_home
from openclaw.storage.home import Home
from openclaw.storage.program import expand_tilde
from openclaw.types import Mode

__all__ = ["Answer", "Passage", "PublicHome", "open_home"]


@frozen
class Answer:
    """The answer to a prompt.

    session: the conversation, to go on with
    stop: why it ended: "answer", or "steps", "repeated", "full", "empty", "interrupted", "length"
    sources: places (path:line) that it rests on, as far as code can tell
    changed: files that the turn changed
    refused: what would have needed the user's yes
    unbacked: claims that nothing backs
    """

    text: str
    session: str
    model: str
    stop: str = "answer"
    sources: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    unbacked: tuple[str, ...] = ()


class PublicHome:
    """A home as your program sees it. One thread at a time uses it."""

    def __init__(self, home: Home, model: str | None, mode: Mode | None) -> None:
        self._home, self._model, self._mode = home, model, mode
        self._agent: Agent | None = None
        self._search: Search | None = None

    def ask(
        self, prompt: str, session: str = "", on_text: Callable[[str], object] | None = None
    ) -> Answer:
        """Have the agent answer, in a new conversation or in the one that is named. `on_text` gets
        the text as it is written.

        The turn is saved, and is a step of the history, as one of the command line. Nobody is
        asked: what needs a yes is refused. OpenclawError when the turn fails.
        """
        agent = self._open_agent()
        talk = agent.sessions.choose(False, session or None, agent.model_name)
        for event in agent.ask(prompt, talk):
            if isinstance(event, Token) and on_text is not None:
                on_text(event.text)
            elif isinstance(event, Error):
                raise OpenclawError(event.message, event.hint)
            elif isinstance(event, Done):
                changed = tuple(file.path for file in event.receipt.files)
                return Answer(
                    event.answer,
                    event.session_id,
                    event.model,
                    event.stop_reason,
                    event.sources,
                    changed,
                    event.refused,
                    event.unbacked,
                )
        raise OpenclawError("the turn did not end")

    def search(self, query: str, k: int = 5, path: str = "", since: str = "") -> list[Passage]:
        """Return the passages of memory and files that fit best, at most `k`, of one file or folder
        or from one ISO day on where these are given. The index is brought up to date before."""
        if self._search is None:
            self._search = open_search(self._home, load_settings(self._home))
        return self._search.search(query, k, path=path, since=since)

    def close(self) -> None:
        """Close the model, the search and the servers."""
        agent, search, self._agent, self._search = self._agent, self._search, None, None
        for part in (agent, search):
            if part is not None:
                part.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open_agent(self) -> Agent:
        if self._agent is None:
            settings = load_settings(self._home)
            self._agent = Agent.open(self._home, settings, model=self._model, mode=self._mode)
        return self._agent


def open_home(
    path: str | Path = "", *, model: str | None = None, mode: Mode | None = None
) -> PublicHome:
    """Open the home at a path, or the one that the command line would take. `model` and `mode` are
    those of the settings where they are not given. Nothing is loaded before the first call.

    OpenclawError when there is no home, and for one from elsewhere that is not trusted yet.
    """
    named = str(expand_tilde(path)) if path else ""
    return PublicHome(find_trusted_home(named or None, Path.cwd()), model, mode)
