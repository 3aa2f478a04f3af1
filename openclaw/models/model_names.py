"""Which models are here, and which of them a name means."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import Any

from openclaw.errors import ModelMissing, OpenclawError, ServerAway
from openclaw.models import catalog
from openclaw.models.embedding_models import embeds
from openclaw.models.ollama_models import chat_models, find_chat_model, list_models, may_chat
from openclaw.models.registry import split_name
from openclaw.storage.program import expand_tilde

HINT_WIDTH = 76
AUTO = "auto"
IN_FOLDER = "in the models folder"
LOOKUP_SECONDS = 0.2  # how long the first line of a chat waits for the name of the model


def known_models(host: str) -> list[str]:
    """The installed chat models as /model takes them: Ollama's newest first, then embedded ones."""
    names: list[str] = []
    with suppress(ServerAway):
        names = [f"ollama/{name}" for name in chat_models(host)]
    own = {file.name for file in catalog.embedding_entry().files}
    here = (path for path in catalog.installed() if path.name not in own)
    return [*names, *(f"embedded/{path.stem.lower()}" for path in here)]


def resolve_installed_model(name: str, host: str) -> str:
    """The setting `model` for a name that the user gave. Raises ModelMissing when the model is
    surely not installed. An Ollama that does not answer, and OpenAI servers, count as having it."""
    try:
        setting = resolve_model(name)
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


def _hint(name: str, remedy: str, known: list[str]) -> str:
    near = [each for each in known if name.casefold() in each]
    near = near or get_close_matches(name, known, n=1)
    lines = [f"did you mean {near[0]}?"] if near else []
    lines.append(f"to get it: {remedy}" if " pull " in remedy else remedy)
    if known:
        lines.append(fill(f"there are: {', '.join(known)}", HINT_WIDTH, break_on_hyphens=False))
    return "\n".join(lines)


def find_auto_model(host: str) -> str:
    """The model that `auto` takes; "" when there is none."""
    with suppress(ServerAway):
        if name := find_chat_model(host):
            return f"ollama/{name}"
    path = catalog.default_installed()
    return f"embedded/{path.stem.lower()}" if path else ""


class Answering:
    """The name of the model that answers. A thread looks up which model `auto` takes."""

    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self._lookup = threading.Thread(target=self._look_up, args=(host,), daemon=True)
        if name == AUTO:
            self._lookup.start()

    def wait(self) -> str:
        """The name, after waiting a moment for the lookup."""
        if self._lookup.is_alive():
            self._lookup.join(LOOKUP_SECONDS)
        return self.name

    def _look_up(self, host: str) -> None:
        found = ""
        with suppress(OpenclawError, OSError, ValueError):  # the first turn will show the error
            found = find_auto_model(host)
        if self.name == AUTO:  # no turn has set the name meanwhile
            self.name = found or AUTO


def resolve_model(name: str) -> str:
    """The setting `model` for a name that the user gave. Raises ModelMissing for an unknown name;
    Ollama and OpenAI servers are not asked."""
    if name == AUTO or name.startswith(("openai/", "ollama/")):
        return name
    path = expand_tilde(name)
    if os.path.isfile(path):  # noqa: PTH113  that of pathlib raises for a long name
        return str(path.resolve())
    if found := catalog.find_installed(name):
        entry = catalog.find_entry(name)
        return f"embedded/{entry.name if entry else found.stem.lower()}"
    if is_ollama(name):
        return f"ollama/{name}"
    hint = f"openclaw models pull {name}" if catalog.find_entry(name) else "openclaw models list"
    raise ModelMissing(f"there is no model {name} here", hint)


def is_ollama(name: str) -> bool:
    """Return True for `ollama/NAME` and for a bare name with a tag; a drive letter is no name."""
    return name.startswith("ollama/") or (":" in name[2:] and not name.lower().endswith(".gguf"))


def all_models(host: str) -> tuple[list[dict[str, Any]], str]:
    """The models of the catalogue, of the models folder and of Ollama; and the reason when Ollama
    could not be asked, else ""."""
    entries = catalog.entries()
    known = {file.name for entry in entries for file in entry.files}
    rows = [
        _row(f"embedded/{e.name}", e.kind, e.size, f"{e.about} ({e.licence})", file, bool(file))
        for e, file in ((e, catalog.installed_file(e)) for e in entries)
    ]
    rows += [
        _row(f"embedded/{file.stem.lower()}", "chat", file.stat().st_size, IN_FOLDER, file)
        for file in catalog.installed()
        if file.name not in known
    ]
    try:
        return [*rows, *map(_ollama_row, list_models(host))], ""
    except ServerAway as error:
        return rows, f"Ollama is not asked: {error}"


def _ollama_row(model: Mapping[str, Any]) -> dict[str, Any]:
    name = str(model.get("name"))
    kind = "chat" if may_chat(model) and not embeds(name) else "embedding"
    return _row(f"ollama/{name}", kind, int(model.get("size") or 0), _about(model))


def _row(
    name: str, kind: str, size: int, about: str, path: Path | None = None, installed: bool = True
) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "size": size,
        "installed": installed,
        "about": about,
        "path": str(path) if path else None,
    }


def _about(model: Mapping[str, Any]) -> str:
    """What Ollama tells about a model; before 0.32 it told neither window nor abilities."""
    window = (model.get("details") or {}).get("context_length")
    said = model.get("capabilities") or ()
    can = [ability for ability in ("tools", "thinking", "vision") if ability in said]
    return ", ".join(["in Ollama", *([f"window {window:,}"] if window else []), *can])
