"""Checks of what an answer needs: the settings, the model, memory search, tools, this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from openclaw.agent.agent import Agent
from openclaw.config import Settings, load_settings
from openclaw.config.mcp_settings import read_servers
from openclaw.errors import Damaged, ModelMissing, OpenclawError, UsageError
from openclaw.maintenance.doctor.finding import Check
from openclaw.models import token_count
from openclaw.models.base import Model
from openclaw.retrieval.embedder_choice import open_embedder
from openclaw.security.display import one_line, some_of
from openclaw.security.grants import read_grants
from openclaw.security.network import read_url
from openclaw.security.program_trust import why_untrusted
from openclaw.security.secrets import find_secrets
from openclaw.storage.home import Home
from openclaw.storage.program import models_folder
from openclaw.storage.safe_open import read_bytes, read_text
from openclaw.tools.mcp.start import ServerStarter, fault_line
from openclaw.tools.shell.sandbox import why_unavailable
from openclaw.types import ToolProblem

REQUIRED = ("SOUL.md", "AGENTS.md", "USER.md")
FREE_BYTES = 2_000_000_000
MAX_MEMORIES = 400
MAX_CHARS = 200_000

SchemaCheck = Callable[[Model, Settings], Check]
"""Whether the replies of a thinking model are held to a schema."""


def check_home(home: Home) -> Check:
    root = home.root
    if not os.access(root, os.R_OK | os.X_OK):
        found, advice = f"{root} cannot be read", "give this user access to the folder"
    elif not os.access(root, os.W_OK):
        found = f"{root} is read-only"
        advice = "give this user the right to write, or choose another home with --home"
    else:
        found = f"{root} is not trusted yet, so that its settings do not count"
        advice = f'openclaw --home "{root}" trust shows what it would turn on'
        return _warning("home", "" if home.trusted else found, advice, str(root))
    return Check("home", "fault", found, advice, Damaged.exit_code)


def check_files(home: Home) -> Iterator[Check]:
    """Check the three files that make the agent who it is; it answers without them, but worse."""
    for name in REQUIRED:
        path = home.workspace / name
        where = f"workspace/{name}"
        if not path.is_file():
            advice = f'openclaw init "{home.root}"'
            yield Check(name, "warning", f"{where} is missing", advice)
            continue
        try:
            size = len(read_bytes(path))
        except OSError as error:
            found = f"{where} cannot be read: {error.strerror}"
            yield Check(name, "fault", found, "give this user access to it", Damaged.exit_code)
            continue
        yield Check(name, "ok", f"{where}, {size:,} bytes")


def check_settings(home: Home) -> tuple[Settings | None, Check]:
    try:
        settings = load_settings(home)
    except OpenclawError as error:
        return None, to_fault("settings", error, Damaged.exit_code)
    there = "openclaw.yaml" if home.settings.is_file() else "defaults (no openclaw.yaml)"
    return settings, Check("settings", "ok", f"{there}, model: {settings.model}")


def check_model(
    home: Home, settings: Settings, name: str | None, check_schema: SchemaCheck
) -> Iterator[Check]:
    """Check which model would answer, whether it can be reached, and what it can do."""
    with closing(Agent.open(home, settings, model=name)) as agent:
        try:
            card = agent.model.card
        except OpenclawError as error:
            yield to_fault("model", error)
            return
        abilities = [
            word for word, able in (("tools", card.tools), ("thinking", card.thinking)) if able
        ]
        digits = ".1f" if card.parameters >= 0.1 else ".1g"
        size = f", {card.parameters:{digits}} billion parameters" if card.parameters else ""
        can = ", ".join(abilities) or "no native tools"
        yield Check("model", "ok", f"{card.name}: window {card.window:,} tokens, {can}{size}")
        if card.thinking and card.name.startswith("ollama/"):
            yield check_schema(agent.model, settings)


def check_embedding(settings: Settings) -> Check:
    """Check what memory search embeds with, by embedding one word. Search works without it: only a
    setting that means nothing is a fault."""
    try:
        embedder, why_not, advice = open_embedder(settings)
        if embedder is None:
            found = why_not or "none, as set: memory search goes by words only"
            return Check("embedding", "warning" if why_not else "ok", found, advice)
        with closing(embedder):
            dimensions = len(embedder.query("openclaw"))
    except UsageError as error:
        return to_fault("embedding", error)
    except OpenclawError as error:
        return Check("embedding", "warning", one_line(str(error)), error.hint)
    return Check("embedding", "ok", f"{embedder.name}, {dimensions} dimensions")


def check_tokenizer() -> Check:
    advice = "install llama-index-core again"
    try:
        count = token_count.count("one two three four five six seven eight nine ten eleven")
    except Exception as error:  # noqa: BLE001  (tiktoken raises whatever its download raises)
        return Check("tokenizer", "fault", f"{type(error).__name__}: {error}", advice, 1)
    if count != 11:
        found = "the encoding was not found, tokens are estimated from characters"
        return Check("tokenizer", "warning", found, advice)
    return Check("tokenizer", "ok", "cl100k_base, found offline")


def check_memory(home: Home) -> Check:
    """Check for secrets in a memory, where every conversation reads them and git keeps them."""
    found = []
    for path in sorted(home.memory.rglob("*.md"))[-MAX_MEMORIES:]:
        try:
            text = read_text(path)[:MAX_CHARS]
        except OSError:
            continue
        for secret in find_secrets(text):
            line = text.count("\n", 0, secret.start) + 1
            found.append(f"{home.relative(path)}:{line} ({secret.kind})")
    problem = f"in plain text: {some_of(found)}" if found else ""
    advice = "take them out, and have them replaced where they are used: git may have kept them"
    return _warning("secrets", problem, advice, "none in plain text in memory/")


def check_machine() -> Iterator[Check]:
    """Check what every home needs: tokenizer, engine, sandbox, and room for models."""
    yield check_tokenizer()
    problem = "the embedded engine is not installed; only a model server can answer"
    installed = importlib.util.find_spec("xllamacpp")
    advice, fine = "pip install 'openclaw[embedded]'", "llama.cpp (xllamacpp) is installed"
    yield _warning("engine", "" if installed else problem, advice, fine)
    # Without a sandbox the user is asked about each command that does more than read.
    why = why_unavailable()
    advice = "install bubblewrap" if why and sys.platform == "linux" else ""
    found = f"commands run without a sandbox: {why}" if why else "commands run in bubblewrap"
    yield Check("sandbox", "ok", found, advice)
    folder = Path(models_folder())
    there = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    free = shutil.disk_usage(there).free
    found = f"{folder}, {free / 1e9:.1f} GB free"
    advice = "free some space, or set OPENCLAW_MODELS to another folder"
    yield _warning("model folder", found if free < FREE_BYTES else "", advice, found)


def check_grants(settings: Settings) -> Check:
    grants, notices = read_grants(settings.grants)
    problem = one_line(some_of(notices, 3, "; "))
    fine = f"{len(grants) or 'none'} in openclaw.yaml"
    return _warning("grants", problem, "openclaw policy revoke NUMBER|VALUE", fine)


def check_hosts(settings: Settings) -> Check:
    hosts = settings.web.allow_hosts
    wrong = one_line(some_of([host for host in hosts if not _may_match(host)], 3, "; "))
    problem = f"never the host of a page: {wrong}" if wrong else ""
    advice = "write host or host:port, for example localhost:8080"
    return _warning("web.allow_hosts", problem, advice, f"{len(hosts) or 'no'} hosts")


def check_mcp(home: Home, settings: Settings) -> Check:
    servers, faults = read_servers(settings.mcp or {})
    if faults:
        found = one_line(some_of([fault_line(home, fault) for fault in faults], 3, "; "))
        return Check("mcp", "warning", found, "fix them in openclaw.yaml (docs/mcp.md)")
    if any(not server.disabled for server in servers) and importlib.util.find_spec("mcp") is None:
        found = f"{len(servers)} servers are named, but MCP is not installed"
        return Check("mcp", "warning", found, "pip install 'openclaw[mcp]'")
    # Nobody has trusted the files that they run.
    starts = ServerStarter(home, servers)
    now = starts.asked()
    why = why_untrusted(now, starts.state(now)) if now.servers else ""
    names = ", ".join(server.name for server in now.servers)
    problem = f"not started ({names}), as they run files of this home: {why}" if why else ""
    return _warning("mcp", problem, "openclaw mcp trust", f"{len(servers) or 'no'} servers")


def _may_match(entry: str) -> bool:
    """Tell whether an entry is a host, or a host and a port, that a page may have."""
    if any(sign in entry for sign in "/?#\\"):
        return False
    try:
        read_url(f"http://{entry}")
    except ToolProblem:
        return False
    return True


def _warning(name: str, problem: str, advice: str, fine: str) -> Check:
    """A warning of the problem, if there is one; else what is fine."""
    return Check(name, "warning", problem, advice) if problem else Check(name, "ok", fine)


def to_fault(name: str, error: OpenclawError, code: int = 0) -> Check:
    """The check that an error is; `code` in place of its own exit code."""
    advice = error.hint or ("openclaw models list" if isinstance(error, ModelMissing) else "")
    known = error.exit_code if error.exit_code in (1, 4, 5, 6) else 1
    return Check(name, "fault", one_line(str(error)), advice, code or known)
