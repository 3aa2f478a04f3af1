"""The API is what openapi.json says."""

from __future__ import annotations

import httpx
import pytest
from jsonschema import Draft202012Validator

from tests.fakes.ollama_server import FakeOllama


@pytest.fixture
def names(http: httpx.Client, fake_ollama: FakeOllama) -> dict[str, str]:
    """A value for each name in a path."""
    fake_ollama.say("One.")
    state = http.post("/api/chat", json={"message": "Say one.", "stream": False}).json()
    run = f"/api/runs/{state['run_id']}"
    http.get(f"{run}/events")
    return {
        "model": "openclaw",
        "run": state["run_id"],
        "session": state["session_id"],
        "turn": http.get("/api/log").json()[0]["id"],
        "todo": http.get("/api/todos").json()[0]["id"],
        "name": http.get("/api/skills").json()[0]["name"],
    }


def test_the_description_is_valid_and_answers_have_its_shapes(
    http: httpx.Client, names: dict[str, str]
) -> None:
    from openapi_spec_validator import validate

    api = http.get("/api/openapi.json").json()
    validate(api)
    looked = 0
    for path, methods in api["paths"].items():
        if "get" in methods and not path.endswith(("/export", "/events")):
            answer = http.get(path.format(**names), params={"q": "one", "path": "memory/TODO.md"})
            shape = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            assert answer.status_code == 200, path
            Draft202012Validator(shape).validate(answer.json())
            looked += 1
    assert looked > 25


def test_a_body_of_another_form_is_refused_by_every_route(
    http: httpx.Client, names: dict[str, str]
) -> None:

    api = http.get("/api/openapi.json").json()
    for path, methods in api["paths"].items():
        for method in {"post", "put", "patch", "delete"} & methods.keys():
            for body in (b"[]", b"{", b'"text"'):
                refused = http.request(method, path.format(**names), content=body)
                assert refused.status_code == 400, f"{method} {path}: {body!r}"


def test_the_capabilities_name_what_a_client_may_count_on(http: httpx.Client) -> None:
    found = http.get("/api/capabilities").json()
    assert "full" not in found["modes"]
    assert {"token", "done", "question", "changed"} <= set(found["events"])
    assert "/api/chat" in found["routes"]
