"""Attached images: sent to a model with vision, named in the session, never stored."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.cli.main import run
from openclaw.errors import UsageError
from openclaw.events import Notice
from openclaw.home.attachments import attach, read_stdin
from openclaw.inspection.context import context_report
from openclaw.messages import MAX_IMAGE_BYTES, Image, Material, Message
from openclaw.models import ollama, openai, token_count
from openclaw.models.token_count import Meter
from tests.fakes.files import write_file
from tests.fakes.ollama_server import FakeModel, FakeOllama
from tests.fakes.scripted import CARD, ScriptedModel
from tests.fakes.talk import Talk, answer, new_home, talk
from tests.fakes.tokens import cost

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
SEEING = replace(CARD, vision=True)
BEGINNINGS = {
    "png": PNG,
    "jpeg": b"\xff\xd8\xff\xe0" + bytes(20),
    "gif": b"GIF89a" + bytes(20),
    "webp": b"RIFF\x14\0\0\0WEBPVP8 " + bytes(8),
}


def picture(root: Path, name: str = "workspace/cat.png", data: bytes = PNG) -> Path:
    return write_file(root / name, data)


def show(it: Talk, prompt: str, said: str) -> list[object]:
    """Ask with the images that the prompt attaches."""
    it.model.say(answer(said))
    return list(it.app.ask(prompt, it.session, attach(prompt, "", it.root, it.root)))


def sent(it: Talk) -> list[tuple[Image, ...]]:
    """Return the images in the user messages of the newest request."""
    return [said.images for said in it.requests[-1].messages if said.role == "user"]


def talk_about_a_picture(folder: Path) -> Talk:
    it = talk(folder / "home", card=SEEING)
    picture(it.root)
    show(it, "What is on @workspace/cat.png?", "A cat.")
    return it


def assert_no_longer_sent(it: Talk) -> None:
    """The image of the first message does not go with the next one of another process."""
    again = talk(it.root, card=SEEING, session=it.session.id)
    again.say("What colour?", answer("Grey."))
    assert sent(again) == [(), ()]


# -------- what is attached


@pytest.mark.parametrize(("kind", "data"), BEGINNINGS.items())
def test_an_image_is_known_by_its_bytes(tmp_path: Path, kind: str, data: bytes) -> None:
    picture(tmp_path, "any.name", data)
    (material,) = attach("@any.name", "", tmp_path, tmp_path)
    image = Image("any.name", kind, hashlib.sha256(data).hexdigest(), data)
    assert material == Material("image any.name", "", "any.name", image)


def test_an_image_from_elsewhere_is_named_by_its_whole_path(tmp_path: Path) -> None:
    path = picture(tmp_path, "cat.png")
    (material,) = attach(f"@{path}", "", tmp_path, tmp_path / "home")
    assert material.image and material.image.path == path.resolve().as_posix()
    assert material.path == ""


def test_an_image_that_is_too_large_or_asked_for_lines_is_refused(tmp_path: Path) -> None:
    picture(tmp_path, "cat.png", PNG + bytes(MAX_IMAGE_BYTES))
    with pytest.raises(UsageError, match=r"'cat\.png' is larger than 10 MB"):
        attach("@cat.png", "", tmp_path, tmp_path)
    picture(tmp_path, "cat.png")
    with pytest.raises(UsageError, match="no lines"):
        attach("@cat.png:1-2", "", tmp_path, tmp_path)


def test_an_image_that_is_piped_in_says_how_to_attach_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught, picture(tmp_path).open("rb") as stream:
        read_stdin(stream)
    assert "as @path" in str(caught.value.hint)


# -------- in a conversation


def test_a_model_with_vision_is_sent_the_image(tmp_path: Path) -> None:
    it = talk_about_a_picture(tmp_path)
    ((image,),) = sent(it)
    assert image.data == PNG
    assert it.requests[-1].messages[-1].content.endswith("cat.png?\n[image cat.png]")
    (said, _) = it.stored["messages"]
    named = {"path": "workspace/cat.png", "kind": "png", "sha256": image.sha256}
    assert said["images"] == [named]
    assert base64.b64encode(PNG).decode() not in json.dumps(it.stored)


def test_a_model_without_vision_is_sent_no_image(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    picture(it.root)
    with pytest.raises(UsageError, match="scripted/model cannot see images") as caught:
        show(it, "What is on @workspace/cat.png?", "A cat.")
    assert "--model ollama/" in str(caught.value.hint)
    it.model.script.clear()
    assert it.requests == [] and it.session.messages == []


def test_an_unchanged_image_is_sent_again(tmp_path: Path) -> None:
    it = talk_about_a_picture(tmp_path)
    path = it.root / "workspace/cat.png"
    again = talk(tmp_path / "home", card=SEEING, session=it.session.id)
    again.say("What colour?", answer("Grey."))
    assert [[i.data for i in images] for images in sent(again)] == [[PNG], []]
    first, second = it.requests[0].messages, again.requests[0].messages
    assert second[: len(first)] == first
    path.write_bytes(PNG + b"!")
    changed = talk(tmp_path / "home", card=SEEING, session=it.session.id)
    notice = Notice("workspace/cat.png is gone or has changed; the model does not see it again")
    assert notice in changed.say("And its name?", answer("Tom."))
    assert sent(changed) == [(), (), ()]
    assert "[image cat.png, no longer shown]" in changed.requests[0].messages[1].content
    assert notice not in changed.say("Sure?", answer("Yes."))
    assert changed.stored["messages"][0]["images"]


def test_a_later_model_without_vision_continues_without_the_image(tmp_path: Path) -> None:
    it = talk_about_a_picture(tmp_path)
    blind = talk(tmp_path / "home", session=it.session.id)
    happened = blind.say("What colour?", answer("Grey."))
    told = [event for event in happened if isinstance(event, Notice)]
    assert told == [Notice("scripted/model cannot see images; workspace/cat.png is not sent")]
    assert sent(blind) == [(), ()]
    assert told[0] not in blind.say("Sure?", answer("Yes."))
    blind.app.model = blind.model = ScriptedModel(answer("Grey."), card=SEEING)
    blind.say("What colour?")
    assert [bool(images) for images in sent(blind)] == [True, False, False, False]


@pytest.mark.parametrize("path", ["/dev/zero", "/etc/passwd", "..", "a\0b", "workspace/SOUL.md"])
def test_a_session_that_names_something_else_gets_nothing_read(tmp_path: Path, path: str) -> None:
    it = talk_about_a_picture(tmp_path)
    file = it.root / "sessions" / f"{it.session.id}.json"
    told = it.stored
    soul = hashlib.sha256((it.root / "workspace/SOUL.md").read_bytes()).hexdigest()
    told["messages"][0]["images"][0] |= {"path": path, "sha256": soul}
    file.write_text(json.dumps(told), "utf-8")
    assert_no_longer_sent(it)
    told["messages"][0]["images"] = [{"path": 1}, "x"]
    file.write_text(json.dumps(told), "utf-8")
    assert_no_longer_sent(it)


@pytest.mark.skipif(os.name == "nt", reason="a file with holes")
def test_a_huge_file_in_the_place_of_an_image_from_elsewhere_is_not_read(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", card=SEEING)
    path = picture(tmp_path, "cat.png")
    show(it, f"What is on @{path}?", "A cat.")
    os.truncate(path, 2**40)
    assert_no_longer_sent(it)


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_a_link_in_the_place_of_the_image_is_not_followed(tmp_path: Path) -> None:
    it = talk_about_a_picture(tmp_path)
    path = it.root / "workspace/cat.png"
    path.rename(tmp_path / "cat.png")
    path.symlink_to(tmp_path / "cat.png")
    assert_no_longer_sent(it)


def test_an_image_from_outside_the_home_is_foreign(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", card=SEEING)
    path = picture(tmp_path, "cat.png")
    show(it, f"What is on @{path}?", "A cat.")
    assert f"file {path.resolve().as_posix()}" in it.session.extra["foreign"]


# -------- sizes, and the wire


def test_an_image_counts_in_the_window_and_teaches_no_ratio(tmp_path: Path) -> None:
    image = Image("a.png", "png", "00", PNG)
    plain, seen = Message("user", "hi"), Message("user", "hi", images=(image,))
    assert cost([seen]) - cost([plain]) == token_count.IMAGE_TOKENS
    assert Meter(1.0).cost([seen]) - Meter(1.0).cost([plain]) == token_count.IMAGE_TOKENS
    it = talk(tmp_path / "home", card=SEEING)
    picture(it.root)
    prompt = "What is on @workspace/cat.png?"
    report = context_report(it.app, it.session, prompt, attach(prompt, "", it.root, it.root))
    (part,) = (part for part in report.parts if part.name == "image")
    assert (part.path, part.tokens) == ("workspace/cat.png", token_count.IMAGE_TOKENS)


def test_images_go_out_as_each_server_wants_them() -> None:
    said = Message("user", "What?", images=(Image("a.jpg", "jpeg", "00", b"abc"),))
    assert ollama.message(said)["images"] == ["YWJj"]
    text, image = openai.message(said)["content"]
    assert text == {"type": "text", "text": "What?"}
    assert image["image_url"]["url"] == "data:image/jpeg;base64,YWJj"


def test_an_image_goes_to_ollama(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = new_home(tmp_path / "home")
    monkeypatch.setenv("OPENCLAW_HOME", str(home))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    picture(home)
    models = [FakeModel("seeing:4b", ("completion", "tools", "vision")), FakeModel("blind:4b")]
    with FakeOllama(models=models) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        server.say("A cat.")
        assert run(["--model", "ollama/seeing:4b", "What is on @workspace/cat.png?"]) == 0
        assert "A cat." in capsys.readouterr().out
        assert server.chats[0]["messages"][-1]["images"] == [base64.b64encode(PNG).decode()]
        assert run(["--model", "ollama/blind:4b", "What is on @workspace/cat.png?"]) == 2
        said = capsys.readouterr().err
        assert "ollama/blind:4b cannot see images" in said
        assert "ask a model that can: --model ollama/seeing:4b" in said
        assert len(server.chats) == 1
