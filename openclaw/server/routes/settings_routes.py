"""Settings, models, the policy, and what the next prompt would send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from openclaw.config import load_settings, origins, set_value
from openclaw.config.file import expected
from openclaw.config.settings import find_key, keys
from openclaw.inspection.context import context_report
from openclaw.inspection.policy_report import describe_policy
from openclaw.inspection.usage import all_turns, usage_json
from openclaw.inspection.usage_plot import usage_plots
from openclaw.models.model_names import all_models, find_auto_model
from openclaw.models.registry import check_setting
from openclaw.security.display import value_text
from openclaw.server.api import NUMBER, OBJECT, TEXT, TRUTH, ApiCall, Routes, a_list, an_object
from openclaw.server.wire import HttpError

ROUTES = Routes()
KEY = an_object("key origin", required={"value": {}}, about=TEXT, takes=TEXT, terminal=TRUTH)
RAG = an_object("recall", required={"rag_mode": TRUTH})


@ROUTES.add("GET", "/api/config", "read", answer=a_list(KEY))
def show(call: ApiCall) -> Any:
    """Every setting with its value and where that comes from. Those of the `terminal` can only be
    changed there."""
    known = keys()
    return [
        {
            "key": name,
            "value": value,
            "origin": origin,
            "about": known[name].about,
            "takes": expected(known[name]),
            "terminal": known[name].asks,
        }
        for name, value, origin in origins(call.server.home)
    ]


@ROUTES.add("PATCH", "/api/config", "owner", body=OBJECT, answer=OBJECT)
def change(call: ApiCall, /, **values: Any) -> Any:
    """Set some settings, as {KEY: VALUE}; comments and other lines of openclaw.yaml stay."""
    for name in values:
        if find_key(name).asks:
            hint = f"openclaw config set {name} VALUE"
            raise HttpError(403, f"{name} is changed at the terminal only", hint)
    return _set(call, values)


@ROUTES.add("GET", "/api/config/rag-mode", "read", answer=RAG)
def show_rag_mode(call: ApiCall) -> Any:
    """Whether each prompt is looked up in memory."""
    recall = load_settings(call.server.home).recall
    return {"rag_mode": recall == "auto", "recall": recall}


@ROUTES.add("PUT", "/api/config/rag-mode", "owner", answer=RAG)
def change_rag_mode(
    call: ApiCall, enabled: bool | None = None, rag_mode: bool | None = None
) -> Any:
    """Look up each prompt in memory, or only when the model asks."""
    chosen = rag_mode if enabled is None else enabled
    if chosen is None:
        raise HttpError(400, "say enabled: true or false")
    _set(call, {"recall": "auto" if chosen else "tool"})
    return show_rag_mode(call)


@ROUTES.add(
    "GET", "/api/models", "read", answer=an_object(required={"models": a_list(OBJECT)}, auto=TEXT)
)
def list_models(call: ApiCall) -> Any:
    """The models of the catalogue, of the models folder and of Ollama, and which one answers."""
    settings = load_settings(call.server.home)
    rows, away = all_models(settings.ollama.host)
    auto = find_auto_model(settings.ollama.host)
    return {"model": settings.model, "auto": auto, "models": rows, "away": away}


@ROUTES.add("GET", "/api/policy", "read", answer=OBJECT)
def policy(call: ApiCall) -> Any:
    """What tools may do, and what was granted; see docs/policy.md."""
    return describe_policy(load_settings(call.server.home))


@ROUTES.add("GET", "/api/usage", "read", query={"since": "an ISO day"}, answer=OBJECT)
def usage(call: ApiCall, since: str = "") -> Any:
    """Tokens and seconds in all, by model and by day."""
    return usage_json(all_turns(call.server.sessions, since))


@ROUTES.add(
    "GET",
    "/api/usage/plots",
    "read",
    answer=a_list(an_object("title svg", required={"names": a_list(TEXT)})),
)
def plot_usage(call: ApiCall) -> Any:
    """The usage day by day as plots."""
    return [asdict(plot) for plot in usage_plots(all_turns(call.server.sessions))]


@ROUTES.add(
    "GET",
    "/api/context",
    "read",
    query={"session": "its conversation; else a new one", "message": "the prompt"},
    answer=OBJECT,
)
def context(call: ApiCall, session: str = "", message: str = "") -> Any:
    """What a prompt would send, part by part."""
    with call.server.agent(model=True) as agent:
        chosen = agent.sessions.choose(False, session or None, agent.model_name)
        return context_report(agent, chosen, message).as_json()


@ROUTES.add(
    "GET",
    "/api/tokens/session/{session}",
    "read",
    answer=an_object(
        required={"system_tokens": NUMBER, "message_tokens": NUMBER, "total_tokens": NUMBER},
        window=NUMBER,
    ),
)
def count_session(call: ApiCall, session: str) -> Any:
    """The tokens that the next prompt of a conversation would send besides its own."""
    with call.server.agent(model=True) as agent:
        report = context_report(agent, agent.sessions.load(session), "")
    said = sum(part.tokens for part in report.parts if part.name in ("history", "earlier"))
    return {
        "system_tokens": report.used - said,
        "message_tokens": said,
        "total_tokens": report.used,
        "window": report.window,
    }


def _set(call: ApiCall, values: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: value_text(value) for name, value in values.items()}
    for name, text in texts.items():  # all of them before the first is set
        check_setting(name, text)
    with call.server.changing(f"config set {' '.join(map(' '.join, texts.items()))}") as turn:
        for name, text in texts.items():
            set_value(call.server.home, name, text, turn.keep)
    found = {name: value for name, value, _ in origins(call.server.home)}
    return {name: found[name] for name in values}
