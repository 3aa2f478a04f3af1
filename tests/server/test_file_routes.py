"""Files, to-dos, memory, its search and skills over HTTP."""

from __future__ import annotations

import hashlib
from pathlib import Path

import httpx
import pytest

from openclaw.server.access_tokens import add_token, tokens_file
from openclaw.server.routes.file_routes import describe_file
from openclaw.storage.home import Home
from tests.fakes.git_home import make_repository


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def save(http: httpx.Client, path: str, content: str, etag: str = "") -> httpx.Response:
    headers = {"If-Match": f'"{etag}"'} if etag else {}
    return http.post("/api/files", json={"path": path, "content": content}, headers=headers)


def test_a_file_is_read_and_saved_as_a_step_of_the_history(http: httpx.Client, home: Path) -> None:
    before = (home / "workspace/USER.md").read_text()
    read = http.get("/api/files", params={"path": "workspace/USER.md"})
    assert read.json()["content"] == before
    assert read.headers["etag"] == f'"{md5(before)}"'
    saved = save(http, "workspace/USER.md", "I am Ann.\n", md5(before))
    assert saved.json()["etag"] == md5("I am Ann.\n")
    assert (home / "workspace/USER.md").read_text() == "I am Ann.\n"
    assert http.get("/api/log").json()[0]["id"] == saved.json()["turn"]
    http.post("/api/undo", json={})
    assert (home / "workspace/USER.md").read_text() == before


def test_a_file_that_is_removed_while_the_tree_is_read_is_left_out(home: Path) -> None:
    kept, gone = home / "workspace/USER.md", home / "workspace/gone.md"
    told = [describe_file(Home(home), file) for file in (kept, gone)]
    assert [each and each["path"] for each in told] == ["workspace/USER.md", None]


def test_changes_of_others_since_are_merged_into_what_is_saved(
    http: httpx.Client, home: Path
) -> None:
    file = home / "workspace/list.md"
    save(http, "workspace/list.md", "one\ntwo\nthree\n")
    etag = http.get("/api/files", params={"path": "workspace/list.md"}).json()["etag"]
    file.write_text("one\ntwo\nthree\nfour\n")
    merged = save(http, "workspace/list.md", "ONE\ntwo\nthree\n", etag)
    assert merged.json()["merged"]
    assert file.read_text() == "ONE\ntwo\nthree\nfour\n"


def test_a_client_may_send_the_text_that_was_edited(http: httpx.Client, home: Path) -> None:
    file = home / "workspace/list.md"
    file.write_text("one\ntwo\nthree\nfour\n")  # by an editor, and in no history yet
    body = {"path": "workspace/list.md", "base": "one\ntwo\nthree\n", "content": "1\ntwo\nthree\n"}
    assert http.post("/api/files", json=body).json()["merged"]
    assert file.read_text() == "1\ntwo\nthree\nfour\n"


def test_both_sides_are_told_where_the_same_lines_were_changed(
    http: httpx.Client, home: Path
) -> None:
    file = home / "workspace/list.md"
    etag = save(http, "workspace/list.md", "one\n").json()["etag"]
    file.write_text("mine\n")
    refused = save(http, "workspace/list.md", "yours\n", etag)
    said = refused.json()
    assert (refused.status_code, said["current"], said["yours"]) == (409, "mine\n", "yours\n")
    assert said["etag"] == md5("mine\n")
    assert file.read_text() == "mine\n"
    assert save(http, "workspace/list.md", "both\n", said["etag"]).status_code == 200


def test_a_new_file_takes_the_place_of_none(http: httpx.Client, home: Path) -> None:
    body = {"path": "workspace/list.md", "content": ""}
    only_new = {"If-None-Match": "*"}
    assert http.post("/api/files", json=body, headers=only_new).status_code == 200
    (home / "workspace/list.md").write_text("one\n")
    refused = http.post("/api/files", json=body, headers=only_new)
    assert (refused.status_code, (home / "workspace/list.md").read_text()) == (409, "one\n")


def test_a_save_over_a_version_that_nobody_knows_is_refused(http: httpx.Client) -> None:
    assert save(http, "workspace/list.md", "one\n", md5("never")).status_code == 409


@pytest.mark.parametrize(
    "path",
    [
        "openclaw.yaml",
        ".openclaw/server.json",
        ".openclaw/secrets.json",
        ".git/config",
        "hooks/run.py",
        "sessions/a.json",
        "../outside.md",
        "/etc/passwd",
        "workspace/../.openclaw/tokens.json",
        "workspace/.env",
        "workspace/id_rsa",
        "memory",
        "WORKSPACE/../openclaw.yaml",
        "workspace/link.md",
        "",
    ],
)
def test_what_is_closed_is_neither_read_nor_written(
    http: httpx.Client, home: Path, path: str
) -> None:
    (home / "workspace/link.md").symlink_to("/etc/hostname")
    (home / "workspace/.env").write_text("KEY=1\n")
    (home / "workspace/id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert http.get("/api/files", params={"path": path}).status_code == 403
    assert save(http, path, "mine\n").status_code == 403
    assert path not in [each["path"] for each in http.get("/api/tree").json()]


def test_secrets_of_a_file_are_shown_by_name_and_the_file_is_not_saved(
    http: httpx.Client, home: Path
) -> None:
    text = "api_key = sk-proj-Ab3dEf6hIj9kLmN0pQr2StUv5WxYz8aBcDeF\n"
    (home / "workspace/notes.md").write_text(text)
    shown = http.get("/api/files", params={"path": "workspace/notes.md"}).json()
    assert (shown["read_only"], "sk-proj" in shown["content"]) == (True, False)
    assert save(http, "workspace/notes.md", "mine\n").status_code == 403
    assert (home / "workspace/notes.md").read_text() == text


def test_files_that_are_missing_or_no_text_are_told_so(http: httpx.Client, home: Path) -> None:
    (home / "workspace/a.bin").write_bytes(b"\0\1\2")
    assert http.get("/api/files", params={"path": "workspace/none.md"}).status_code == 404
    assert http.get("/api/files", params={"path": "workspace/a.bin"}).status_code == 415


def test_the_tree_and_the_tokens_of_files(http: httpx.Client) -> None:
    paths = [each["path"] for each in http.get("/api/tree").json()]
    assert {"workspace/SOUL.md", "memory/MEMORY.md"} <= set(paths)
    asked = {"paths": ["workspace/SOUL.md", "workspace/none.md", "openclaw.yaml"]}
    counted = http.post("/api/tokens/files", json=asked).json()["files"]
    assert counted[0]["tokens"] > 10
    assert ["error" in each for each in counted] == [False, True, True]


def test_each_line_of_a_file_tells_who_wrote_it(http: httpx.Client, home: Path) -> None:
    make_repository(home)
    file = home / "workspace/list.md"
    file.write_text("by hand\n")
    saved = save(http, "workspace/list.md", "by hand\nby the page\n").json()
    file.write_text("by hand\nby the page\nby hand later\n")
    lines = http.get("/api/blame", params={"path": "workspace/list.md"}).json()
    assert [(line["text"], line["by"]) for line in lines] == [
        ("by hand", "you"),
        ("by the page", saved["turn"]),
        ("by hand later", "not recorded"),
    ]
    assert http.get("/api/blame", params={"path": "openclaw.yaml"}).status_code == 403


def test_todos_are_added_changed_and_removed(http: httpx.Client, home: Path) -> None:
    added = http.post("/api/todos", json={"text": "buy milk", "list": "Shop", "due": "2026-12-01"})
    todo = added.json()
    assert (added.status_code, todo["list"], todo["due"]) == (201, "Shop", "2026-12-01")
    path = f"/api/todos/{todo['id']}"
    assert http.patch(path, json={"done": True}).json()["done"]
    assert "- [x] buy milk" in (home / "memory/TODO.md").read_text()
    changed = http.patch(path, json={"text": "buy oat milk", "done": False}).json()
    [found] = [each for each in http.get("/api/todos").json() if each["list"] == "Shop"]
    assert (found["text"], found["done"]) == (changed["text"], False)
    assert http.patch(path, json={"list": "Home"}).json()["list"] == "Home"
    assert http.patch(path, json={"due": "2026-12-24"}).json()["due"] == "2026-12-24"
    assert http.patch(path, json={"due": ""}).json()["due"] is None
    assert http.patch(path, json={"due": "some day"}).status_code == 400
    assert http.request("DELETE", f"/api/todos/{found['id']}", json={}).status_code == 200
    assert "milk" not in (home / "memory/TODO.md").read_text()
    assert http.patch(path, json={"done": True}).status_code == 404


def test_memories_are_added_listed_searched_and_forgotten(http: httpx.Client, home: Path) -> None:
    noted = http.post("/api/memory", json={"text": "The boat costs 640 euros."}).json()
    assert noted["path"] == "memory/MEMORY.md"
    assert "The boat costs 640 euros." in [each["text"] for each in http.get("/api/memory").json()]
    asked = {"q": "price of the boat", "explain": "1"}
    [best, *_] = http.get("/api/search", params=asked).json()["passages"]
    assert (best["path"], "ranks" in best) == ("memory/MEMORY.md", True)
    place = f"{noted['path']}:{noted['line']}"
    gone = http.request("DELETE", "/api/memory", params={"note": place}, json={})
    assert gone.status_code == 200
    assert http.get("/api/search", params={"q": "boat"}).json()["passages"] == []
    assert (
        http.request("DELETE", "/api/memory", params={"note": "boat"}, json={}).status_code == 404
    )
    assert http.get("/api/search").status_code == 400


def test_candidates_are_accepted_and_rejected(http: httpx.Client, home: Path) -> None:
    (home / "memory/inbox").mkdir(exist_ok=True)
    (home / "memory/inbox/2026-11-01.md").write_text("- Ann likes tea.\n- Bob likes rum.\n")
    assert [each["n"] for each in http.get("/api/review").json()] == [1, 2]
    done = http.post("/api/review", json={"accept": ["1"], "reject": ["Bob likes rum."]}).json()
    assert [each["did"] for each in done] == ["accepted", "rejected"]
    assert "Ann likes tea." in (home / "memory/MEMORY.md").read_text()
    assert http.get("/api/review").json() == []
    assert http.post("/api/review", json={"accept": ["1"]}).status_code == 400


def test_skills_are_listed_and_shown(http: httpx.Client) -> None:
    listed = http.get("/api/skills").json()
    assert all(each["eligible"] for each in listed)
    assert "#" in http.get(f"/api/skills/{listed[0]['name']}").json()["body"]
    assert http.get("/api/skills/nothing").status_code == 404


def test_a_token_does_only_what_its_scope_allows(http: httpx.Client, home: Path) -> None:
    allowed = {}
    for scope in ("read", "chat", "files"):
        token = add_token(tokens_file(Home(home)), scope, scope)
        headers = {"Authorization": f"Bearer {token}"}
        answers = (
            http.get("/api/todos", headers=headers),
            http.post("/api/todos", json={"text": scope}, headers=headers),
            http.get("/api/runs", headers=headers),
            http.patch("/api/config", json={"temperature": 1}, headers=headers),
        )
        allowed[scope] = [answer.status_code < 400 for answer in answers]
    assert allowed == {
        "read": [True, False, False, False],
        "chat": [False, False, True, False],
        "files": [True, True, False, False],
    }
