"""Conversations over HTTP: their list, their messages, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import httpx

from openclaw.sessions.store import SessionStore
from openclaw.storage.home import Home
from tests.fakes.ollama_server import Answer, FakeOllama


def ask(http: httpx.Client, message: str, session: str) -> None:
    """Have a prompt answered to its end."""
    body = {"message": message, "session_id": session}
    assert "event: done" in http.post("/api/chat", json=body).text


def begin(http: httpx.Client, title: str = "") -> str:
    made = http.post("/api/sessions", json={"title": title})
    assert made.status_code == 201
    return str(made.json()["id"])


def test_a_conversation_is_begun_answered_and_listed(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer(calls=[("read_file", {"path": "workspace/USER.md"})]), "About you.")
    session = begin(http, "Reading")
    ask(http, "Read workspace/USER.md", session)
    [listed] = http.get("/api/sessions").json()
    assert (listed["id"], listed["title"], listed["messages"]) == (session, "Reading", 3)
    found = http.get(f"/api/sessions/{session}/history").json()
    assert [m["role"] for m in found["messages"]] == ["user", "assistant", "assistant"]
    assert found["messages"][1]["tool_calls"][0]["tool"] == "read_file"
    assert found["run"] is None


def test_only_the_newest_messages_are_sent_when_few_are_asked_for(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.")
    session = begin(http)
    ask(http, "Say one.", session)
    ask(http, "Say two.", session)
    found = http.get(f"/api/sessions/{session}?last=1").json()
    assert [(m["number"], m["content"]) for m in found["messages"]] == [(4, "Two.")]
    assert found["left_out"] == 3
    assert http.get(f"/api/sessions/{session}?last=no").status_code == 400


def test_the_messages_are_the_request_that_the_next_prompt_would_send(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.")
    session = begin(http)
    ask(http, "Say one.", session)
    found = http.get(f"/api/sessions/{session}/messages").json()
    assert [m["role"] for m in found["messages"]][:3] == ["system", "user", "assistant"]
    assert "Say one." in found["raw"]
    counts = http.get(f"/api/tokens/session/{session}").json()
    assert counts["total_tokens"] == counts["system_tokens"] + counts["message_tokens"]
    assert counts["message_tokens"] > 0


def test_a_conversation_is_renamed_forked_exported_and_deleted(
    http: httpx.Client, fake_ollama: FakeOllama, home: Path
) -> None:
    fake_ollama.say("One.")
    session = begin(http)
    ask(http, "Say one.", session)
    assert http.put(f"/api/sessions/{session}", json={"title": "Ones"}).json()["title"] == "Ones"
    fork = http.post(f"/api/sessions/{session}/fork", json={"at": 1}).json()
    assert len(http.get(f"/api/sessions/{fork['id']}").json()["messages"]) == 1
    assert "Say one." in http.get(f"/api/sessions/{session}/export").text
    assert http.request("DELETE", f"/api/sessions/{session}", json={}).json()["ok"]
    assert http.get(f"/api/sessions/{session}").status_code == 404
    assert http.post("/api/undo", json={}).status_code == 200
    assert SessionStore(Home(home).sessions, home / "locks").find(session) == session


def test_a_title_is_made_from_the_first_words_and_on_request_by_the_model(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    session = begin(http, "Unnamed")
    untold = http.post(f"/api/sessions/{session}/generate-title", json={})
    assert untold.status_code == 409
    fake_ollama.say("One.", '"The number one."')
    ask(http, "Say one.", session)
    made = http.post(f"/api/sessions/{session}/generate-title", json={}).json()
    assert made == {"session_id": session, "title": "Say one."}
    asked = http.post(f"/api/sessions/{session}/generate-title", json={"with_model": True}).json()
    assert asked["title"] == "The number one"
    assert http.get("/api/sessions").json()[0]["title"] == "The number one"


def test_a_conversation_is_compressed_and_restored(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    session = begin(http)
    too_short = http.post(f"/api/sessions/{session}/compress", json={})
    assert (too_short.status_code, "nothing to compact" in too_short.json()["error"]) == (400, True)
    lists: dict[str, list[str]] = {"done": [], "decisions": [], "open": [], "identifiers": []}
    summary = json.dumps({"goal": "say one", **lists})
    fake_ollama.say("One.", "Two.", "Three.", summary, summary)
    for word in ("one", "two", "three"):
        ask(http, f"Say {word}.", session)
    done = http.post(f"/api/sessions/{session}/compress", json={}).json()
    assert "Say one." in done["summary"]
    restored = http.post(f"/api/sessions/{session}/restore", json={}).json()
    assert restored["messages"] == 2


def test_why_and_usage_tell_what_an_answer_is_made_of(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.")
    session = begin(http)
    ask(http, "Say one.", session)
    why = http.get(f"/api/sessions/{session}/why").json()
    assert (why["prompt"], why["answer"]) == ("Say one.", "One.")
    assert http.get(f"/api/sessions/{session}/usage").json()["together"]["turns"] == 1
    assert http.get("/api/usage").json()["together"]["turns"] == 1
    tokens, seconds = http.get("/api/usage/plots").json()
    assert tokens["names"] == ["read", "read before", "written"]
    assert ElementTree.fromstring(seconds["svg"]).get("role") == "img"


def test_files_that_a_prompt_names_go_along(
    http: httpx.Client, home: Path, fake_ollama: FakeOllama
) -> None:
    (home / "workspace/trip.md").write_text("We fly on 14 March.\n")
    fake_ollama.say("On 14 March.")
    session = begin(http)
    ask(http, "When do we fly? @workspace/trip.md", session)
    assert "We fly on 14 March." in fake_ollama.chats[-1]["messages"][-1]["content"]
    (home.parent / "other.md").write_text("Of somebody else.\n")
    asked = len(fake_ollama.chats)
    for closed in ("@openclaw.yaml", f"@{home.parent}/", f"@{home.parent}/other.md"):
        refused = http.post("/api/chat", json={"message": f"Read {closed}"})
        assert (refused.status_code, len(fake_ollama.chats)) == (403, asked), closed
    missing = http.post("/api/chat", json={"message": f"Read @{home.parent}/othe.md"})
    assert missing.status_code == 404
    assert "other.md" not in missing.text


def test_a_skill_is_used_by_its_name(http: httpx.Client, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Done.")
    asked = http.post("/api/chat", json={"message": "", "skill": "digest", "stream": False}).json()
    assert asked["message"] == "Do what the skill digest says."


def test_an_unknown_conversation_is_told_as_missing(http: httpx.Client) -> None:
    for method, path in (("GET", ""), ("GET", "/history"), ("PUT", ""), ("DELETE", "")):
        body = {"title": "x"} if method == "PUT" else {}
        found = http.request(method, f"/api/sessions/nobody{path}", json=body)
        assert (found.status_code, "no conversation" in found.json()["error"]) == (404, True)


def test_a_conversation_that_is_answered_is_not_changed_meanwhile(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    session = begin(http)
    fake_ollama.say(Answer("Slowly.", stall=0.5))
    body = {"message": "Say it.", "session_id": session, "stream": False}
    run = http.post("/api/chat", json=body).json()["run_id"]
    refused = http.request("DELETE", f"/api/sessions/{session}", json={})
    assert (refused.status_code, refused.json()["run_id"]) == (409, run)
    assert http.post("/api/undo", json={"session": session}).status_code == 409
    assert http.get(f"/api/sessions/{session}").json()["run"]["id"] == run
