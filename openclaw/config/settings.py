"""The settings as typed values, one field a key, each with its default and what it is for.

Plain dataclasses and not pydantic, whose import alone would cost more than `openclaw todo list`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from ipaddress import ip_address
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from openclaw.config.mcp_settings import VARIABLE, read_servers
from openclaw.errors import Refused, UsageError
from openclaw.frozen import frozen
from openclaw.storage.home import Home
from openclaw.storage.trust_store import Trust
from openclaw.types import Mode


def _key(
    default: Any,
    about: str,
    *,
    least: float | None = None,
    most: float | None = None,
    form: str = "",
    asks: bool = False,
) -> Any:
    """A field with what the user is told about it; `least`, `most` and `form` narrow its values.
    A value that `asks` gives away data or rights: in a home from elsewhere it needs a yes."""
    narrowed = {"least": least, "most": most, "form": form, "asks": asks}
    return field(default=default, metadata={"about": about, **narrowed})


@frozen
class Ollama:
    host: str = _key(
        "", "address of the server; empty: OLLAMA_HOST, else localhost:11434", asks=True
    )


@frozen
class OpenAI:
    base_url: str = _key(
        "", "any OpenAI-compatible server, e.g. http://localhost:8000/v1", asks=True
    )
    api_key_env: str = _key("OPENAI_API_KEY", "environment variable that holds the key", asks=True)


@frozen
class Embedded:
    threads: int = _key(0, "0: as many as there are real cores", least=0)
    kv_cache_mb: int = _key(
        512, "disk space for what was read of conversations; 0: none is kept", least=0
    )


@frozen
class Web:
    region: str = _key("wt-wt", "region of web searches, e.g. de-de; wt-wt: none")
    results: int = _key(3, "results of one web search", least=1)
    allow_hosts: tuple[str, ...] = _key(
        (),
        "inner hosts that fetch_url may reach, e.g. localhost:8080 (exact, with the port)",
        asks=True,
    )


@frozen
class Shell:
    timeout: float = _key(30.0, "seconds after which a command is ended", least=1, most=3600)
    env: tuple[str, ...] = _key(
        (), "environment variables that commands get, e.g. HTTPS_PROXY", asks=True
    )
    network: bool = _key(
        False,
        "commands in the sandbox may use the network, until untrusted text was read",
        asks=True,
    )


@frozen
class Index:
    paths: tuple[str, ...] = _key((), "more files and folders that memory search reads", asks=True)
    sessions: bool = _key(False, "memory search reads old conversations too")
    max_file_mb: int = _key(10, "larger files are not read, in megabytes", least=1)
    store: Mapping[str, Any] | None = _key(
        None,
        "vector store that clones share, {class: ..., its arguments} (docs/vector-stores.md)",
        asks=True,
    )
    id: str = _key("", "name of this home's vectors in that store, the same in all clones")
    keep: bool = _key(True, "keep vectors on this machine too; false: only in that store")


@frozen
class Memory:
    pages: bool = _key(True, "gather what is noted of a person in memory/people (docs/memory.md)")


@frozen
class Skills:
    off: tuple[str, ...] = _key((), "skills that are not used (openclaw skills disable)")
    user: bool = _key(False, "read skills of ~/.agents/skills too")


@frozen
class Git:
    auto_commit: bool = _key(True, "make each turn a commit of the home's git (docs/history.md)")


@frozen
class Heartbeat:
    timeout: float = _key(600.0, "seconds after which openclaw heartbeat is ended", least=1)


@frozen
class Serve:
    turn_timeout: float = _key(
        0.0, "seconds after which the server stops a turn; 0: never", least=0
    )


@frozen
class Settings:
    model: str = _key("auto", "auto, ollama/NAME, embedded/NAME, openai/NAME or a .gguf file")
    fallbacks: tuple[str, ...] = _key((), "models to try in order when that one is not reachable")
    protocol: Literal["auto", "native", "json"] = _key("auto", "how tools are called")
    window: int = _key(8192, "tokens of one request and its reply", least=1024)
    temperature: float = _key(0.0, "0 is steady, 1 is lively", least=0)
    seed: int | None = _key(None, "makes draws repeatable; null: another one each turn", least=0)
    max_tokens: int = _key(1024, "longest reply, in tokens", least=1)
    max_steps: int = _key(12, "most model calls of one turn", least=1)
    keep_alive: str = _key("30m", "how long Ollama keeps the model loaded", form="duration")
    preload: bool = _key(True, "load the model and read the instructions while you type")
    mode: Mode | None = _key(
        None, "read-only, ask, edit or full; null: by the situation", asks=True
    )
    bell: bool = _key(True, "ring the terminal's bell after an answer that took 10 s or longer")
    language: str = _key("auto", "language of the answers; auto: the user's")
    think: bool | None = _key(None, "let thinking models think; null: except in JSON steps")
    embedding: str = _key("auto", "auto, embedded, ollama/NAME, openai/NAME or none (words only)")
    recall: Literal["auto", "tool", "off"] = _key(
        "auto", "look up each prompt in memory; tool: only when the model asks"
    )
    recall_wait: float = _key(
        4.0,
        "seconds that a prompt waits for memory search; then it goes without",
        least=0,
        most=600,
    )
    capture: Literal["auto", "off"] = _key(
        "auto", "note what you say of lasting worth (docs/capture.md)"
    )
    mcp: Mapping[str, Any] | None = _key(
        None, "MCP servers, each NAME: {command: ...} or NAME: {url: ...} (docs/mcp.md)", asks=True
    )
    hooks: Mapping[str, Any] | None = _key(
        None,
        "your own programs around turns and tools, each EVENT: [{run: ...}] (docs/hooks.md)",
        asks=True,
    )
    proactive: Literal["auto", "off"] = _key(
        "auto", "first lines of a chat, offers (docs/ahead.md); off: none"
    )
    keys: Literal["emacs", "vi"] = _key("emacs", "keys of the input line of a chat: emacs or vi")
    links: tuple[str, ...] = _key(
        (), "folders elsewhere that links of the home may lead to", asks=True
    )
    grants: tuple[str, ...] = _key(
        (), "what needs no question (openclaw policy)", form="grants", asks=True
    )
    ollama: Ollama = Ollama()
    openai: OpenAI = OpenAI()
    embedded: Embedded = Embedded()
    web: Web = Web()
    shell: Shell = Shell()
    index: Index = Index()
    memory: Memory = Memory()
    skills: Skills = Skills()
    git: Git = Git()
    heartbeat: Heartbeat = Heartbeat()
    serve: Serve = Serve()


@frozen
class Key:
    """A key of the settings: its dotted name, its type, and what narrows its values."""

    name: str
    type: Any
    default: Any
    about: str
    least: float | None
    most: float | None
    form: str
    asks: bool

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of which a value is one."""
        return get_args(self.type) if get_origin(self.type) in (Union, UnionType) else (self.type,)


def build(values: dict[str, Any]) -> Settings:
    """Settings from values by dotted key."""
    inner: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, leaf = name.rpartition(".")
        inner.setdefault(section, {})[leaf] = value
    outer = inner.pop("", {})
    return Settings(**outer, **{name: sections()[name](**given) for name, given in inner.items()})


@cache
def sections() -> dict[str, Any]:
    defaults = {item.name: item.default for item in fields(Settings)}
    return {name: type(value) for name, value in defaults.items() if is_dataclass(value)}


@cache
def keys() -> dict[str, Key]:
    """All keys by dotted name, in the order of the file."""

    found, own = {}, get_type_hints(Settings)
    for outer in fields(Settings):
        section = sections().get(outer.name)
        hints = get_type_hints(section) if section else own
        for item in fields(section) if section else (outer,):
            name = f"{outer.name}.{item.name}" if section else item.name
            found[name] = Key(name, hints[item.name], item.default, **item.metadata)
    return found


_STORE = (
    "remove the line; vectors on a server: index.store: {class: "
    "llama_index.vector_stores.milvus.MilvusVectorStore, uri: ADDRESS}, see docs/vector-stores.md"
)
GONE = {"index.vectors": _STORE, "index.vectors_uri": _STORE}


def find_key(name: str, where: str = "") -> Key:
    """The key of that name, or UsageError that names the nearest one."""
    key = keys().get(name)
    if key:
        return key
    if name in GONE:
        raise UsageError(f"{where}'{name}' is no longer a setting", GONE[name])
    if name in sections():
        inner = ", ".join(known for known in keys() if known.startswith(f"{name}."))
        raise UsageError(f"{where}'{name}' is a section, not a key", f"its keys: {inner}")
    by_leaf = {known.rpartition(".")[2]: known for known in keys()}
    near = get_close_matches(name, [*keys(), *sections()], n=2, cutoff=0.75)
    near = near or [by_leaf[leaf] for leaf in get_close_matches(name, by_leaf, n=1)]
    named = " or ".join(f"'{known}'" for known in near)
    guess = f"did you mean {named}? " if near else ""
    advice = "openclaw config path names the file" if where else "openclaw config shows all keys"
    raise UsageError(f"{where}unknown key '{name}'", guess + advice)


# -------- settings that need the consent of the user

# They give away data or rights, or send keys of the environment to an address.

OWN_KEY, OLLAMA_KEY = "OPENAI_API_KEY", "OLLAMA_API_KEY"
HOSTED = "https://api.openai.com"
UNTRUSTED = Settings(
    mode="read-only",
    preload=False,
    recall="off",
    capture="off",
    proactive="off",
    memory=Memory(pages=False),
)
"""The settings of a home that nobody has said yes to, whatever its file says."""
Target = tuple[str, str]  # an environment variable, and the address that its value would be sent to


def needing_consent(values: Mapping[str, tuple[Any, int]]) -> dict[str, Any]:
    """The values of a settings file (`read_values`) that need a yes, by dotted key."""
    return {
        name: value
        for name, (value, _) in values.items()
        if _is_path(name, value) or (keys()[name].asks and value != keys()[name].default)
    }


def _is_path(name: str, value: Any) -> bool:
    """Return True when a model is a file, which a program in C reads."""
    names = value if name == "fallbacks" else (value,) if name == "model" else ()
    return any(str(each).casefold().endswith(".gguf") for each in names)


def targets(settings: Settings) -> list[Target]:
    """The variables that the settings send, with their addresses; without the default one."""
    openai = settings.openai
    found = [(openai.api_key_env, address_of(openai.base_url or HOSTED))]
    if settings.ollama.host:
        found.append((OLLAMA_KEY, address_of(settings.ollama.host)))
    for server in read_servers(settings.mcp or {})[0] if settings.mcp else ():
        texts = (server.url, *server.headers.values()) if server.url else ()
        names = {name for text in texts for name in VARIABLE.findall(text)}
        found += [(name, address_of(server.url)) for name in sorted(names)]
    if settings.index.store:
        text = json.dumps(settings.index.store, sort_keys=True, default=str)
        # Libraries send some by themselves: PGPASSWORD, PINECONE_API_KEY, ...
        package = str(settings.index.store.get("class")).upper().split(".")[2:3]
        begins = ("PGPASSWORD", *(f"{each}_" for each in package))
        names = {*VARIABLE.findall(text), *(each for each in os.environ if each.startswith(begins))}
        found += [(name, f"index.store {text}") for name in sorted(names)]
    return [each for each in dict.fromkeys(found) if each != (OWN_KEY, HOSTED)]


def new_targets(home: Home, settings: Settings) -> list[Target]:
    """The targets that nobody has said yes to, of variables that are set."""
    given = [each for each in targets(settings) if os.environ.get(each[0])]
    return [each for each in given if not Trust().known(home, _kind(each))]


def allow_targets(home: Home, found: list[Target]) -> None:
    """Keep a yes to these."""
    for each in found:
        Trust().allow(home, "yes", _kind(each))


def check_targets(home: Home, settings: Settings) -> None:
    """Raise Refused when a key of the environment would be sent to an address for the first time.

    The first address of a key needs no yes when it is this machine, which the key does not leave.
    """
    for target in new_targets(home, settings):
        variable, address = target
        known = Trust().kinds(home)
        first = not any(kind.startswith(f"key {variable} ") for kind in known)
        if first and is_loopback(address):
            allow_targets(home, [target])
            continue
        raise Refused(
            f"{variable} of your environment would be sent to {address}, which is new",
            f'if that is what you want, say so: openclaw --home "{home.root}" trust',
        )


def address_of(url: str) -> str:
    """Scheme, host and port of an address, in one spelling. What is no address stays as it is."""
    text = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return url
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def is_loopback(url: str) -> bool:
    """Return True when a URL is an address of this machine."""
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _kind(target: Target) -> str:
    return f"key {target[0]} {target[1]}"
