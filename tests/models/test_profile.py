"""Profiles of models: saving, finding, and their effects."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.agent import Agent
from openclaw.agent.protocols.native import choose_protocol
from openclaw.cli.commands.models.test import blocks
from openclaw.config import Settings
from openclaw.config.settings import Ollama
from openclaw.evals.model_probes import RunningModel, window_of
from openclaw.events import Notice
from openclaw.models.base import ModelCard, Profile, Score
from openclaw.models.gguf import MemoryNeed, memory_need
from openclaw.models.machine import free_memory, is_elsewhere, place_of, total_memory
from openclaw.models.profile import (
    file_of,
    known_profiles,
    read_profile,
    reply_limits,
    window_notice,
    with_profile,
    write_profile,
)
from openclaw.models.registry import open_one
from openclaw.storage.home import Home
from openclaw.storage.program import profiles_folder
from tests.fakes.ollama_server import FakeModel, FakeOllama

FULL = Profile(
    "embedded/some",
    "0123456789abcdef",
    "2026-11-22T05:00:00+00:00",
    place=place_of(""),
    complete=True,
    read_rate=120.5,
    window=8192,
    window_fits=4096,
    window_by="computed",
    native=Score(2, 3),
    json_forced=Score(3, 3),
    think_off=True,
    tasks={"right tool": True, "exact to-do": False},
)
CARD = ModelCard("embedded/some", 8192, True, digest="0123456789abcdef", parameters=7.0)


def test_a_profile_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    write_profile(tmp_path, FULL)
    assert read_profile(tmp_path, FULL.model, FULL.digest) == FULL
    assert known_profiles(tmp_path) == [FULL]


def test_another_file_of_the_same_name_has_no_profile(tmp_path: Path) -> None:
    write_profile(tmp_path, FULL)
    assert read_profile(tmp_path, FULL.model, "fedcba9876543210") is None
    assert read_profile(tmp_path, FULL.model, "") is None
    moved = file_of(tmp_path, FULL.model, "fedcba9876543210")
    file_of(tmp_path, FULL.model, FULL.digest).rename(moved)
    assert read_profile(tmp_path, FULL.model, "fedcba9876543210") is None


def test_keys_of_a_newer_version_do_no_harm(tmp_path: Path) -> None:
    told = {**FULL.to_json(), "colour": "blue"}
    file_of(tmp_path, FULL.model, FULL.digest).write_text(json.dumps(told), "utf-8")
    assert read_profile(tmp_path, FULL.model, FULL.digest) == FULL


def test_a_test_that_was_stopped_keeps_what_earlier_ones_found(tmp_path: Path) -> None:
    write_profile(tmp_path, FULL)
    later = Profile(FULL.model, FULL.digest, "later", FULL.place, read_rate=99.0)
    write_profile(tmp_path, later)
    kept = read_profile(tmp_path, FULL.model, FULL.digest)
    assert kept == replace(FULL, at="later", read_rate=99.0)


def test_a_window_that_would_not_stay_in_memory_is_lowered_with_a_notice(tmp_path: Path) -> None:
    write_profile(tmp_path, FULL)
    card = with_profile(CARD, tmp_path)
    assert (card.window, card.profile) == (4096, FULL)
    assert "4,096 tokens instead of 8,192" in window_notice(card)
    small = with_profile(replace(CARD, window=3000), tmp_path)
    assert (small.window, window_notice(small)) == (3000, "")


@pytest.mark.parametrize(
    ("fits", "by", "window"),
    [(None, "", 8192), (0, "computed", 2048), (4096, "at least", 8192), (1024, "measured", 2048)],
)
def test_a_window_is_lowered_only_to_what_was_found_and_is_of_use(
    tmp_path: Path, fits: int | None, by: str, window: int
) -> None:
    write_profile(tmp_path, replace(FULL, window_fits=fits, window_by=by))
    assert with_profile(CARD, tmp_path).window == window


def test_speeds_and_windows_of_another_machine_do_not_count_the_rest_does(tmp_path: Path) -> None:
    far = replace(FULL, place="elsewhere, 4 GB")
    write_profile(tmp_path, far)
    card = with_profile(CARD, tmp_path)
    assert (card.window, window_notice(card)) == (8192, "")
    assert card.profile is not None
    assert (card.profile.read_rate, card.profile.window_fits) == (None, None)
    assert (card.profile.native, card.profile.tasks) == (FULL.native, FULL.tasks)
    assert "another" in blocks([far], 140)
    assert "another" not in blocks([FULL], 140)


def test_a_test_that_was_stopped_does_not_keep_what_holds_elsewhere(tmp_path: Path) -> None:
    write_profile(tmp_path, replace(FULL, place="elsewhere, 4 GB"))
    write_profile(tmp_path, Profile(FULL.model, FULL.digest, "later", FULL.place, write_rate=9.0))
    kept = read_profile(tmp_path, FULL.model, FULL.digest)
    assert kept is not None
    assert (kept.place, kept.read_rate, kept.write_rate) == (FULL.place, None, 9.0)
    assert (kept.window_fits, kept.native) == (None, FULL.native)


@pytest.mark.parametrize(
    ("server", "place"),
    [
        ("http://big.example:11434", "big.example:11434"),
        ("https://user:word@api.example/v1", "api.example"),
        ("http://127.0.0.1:11434", f"{place_of('')}, port 11434"),
        ("http://localhost", f"{place_of('')}, port 80"),
        ("http://[::1]:99/v1", f"{place_of('')}, port 99"),
    ],
)
def test_a_place_is_this_machine_or_the_server(server: str, place: str) -> None:
    assert place_of(server) == place
    assert not is_elsewhere(place)


def test_without_a_profile_a_card_is_what_it_was(tmp_path: Path) -> None:
    assert with_profile(CARD, tmp_path / "none") is CARD
    assert with_profile(CARD, None) is CARD
    assert window_notice(CARD) == ""


# -------- protocol and limits


def _card(native: Score, forced: Score = FULL.json_forced, **changed: Any) -> ModelCard:
    profile = replace(FULL, native=native, json_forced=forced)
    return replace(CARD, profile=profile, **changed)


@pytest.mark.parametrize(
    ("card", "chosen"),
    [
        (CARD, "native"),
        (_card(Score(3, 3)), "native"),
        (_card(Score(0, 3)), "json"),
        (_card(Score(2, 3)), "json"),
        (_card(Score(2, 3), Score(1, 3)), "native"),
        (_card(Score(0, 3), Score(1, 3)), "json"),
        (_card(Score(0, 1)), "native"),
        (_card(Score(3, 3), tools=False), "native"),
        (_card(Score(3, 3), parameters=1.5), "json"),
        (_card(Score(3, 3), window=2048), "json"),
        (_card(Score(3, 3), name="ollama/qwen2.5-coder:7b"), "native"),
    ],
)
def test_a_test_decides_on_the_protocol_but_not_against_the_size(
    card: ModelCard, chosen: str
) -> None:
    assert choose_protocol("auto", card).name == chosen
    assert choose_protocol("native", card).name == "native"
    assert choose_protocol("json", card).name == "json"


@pytest.mark.parametrize(
    ("only", "off", "settings", "bound"),
    [
        (False, True, Settings(), (1024, None)),
        (True, True, Settings(), (1024, False)),
        (True, True, Settings(think=True), (1024, True)),
        (True, False, Settings(), (4096, None)),
        (True, False, Settings(max_tokens=700), (700, None)),
        (True, True, Settings(max_tokens=700), (700, False)),
    ],
)
def test_a_model_that_only_thinks_is_kept_from_it_unless_a_setting_says_otherwise(
    only: bool, off: bool, settings: Settings, bound: tuple[int, bool | None]
) -> None:
    profile = replace(FULL, only_thinks=only, think_off=off)
    assert reply_limits(settings, replace(CARD, profile=profile)) == bound
    assert reply_limits(settings, CARD) == (settings.max_tokens, settings.think)


# -------- where models are opened


def _of(card: ModelCard) -> Profile:
    return replace(FULL, model=card.name, digest=card.digest, place=place_of(card.server))


def _open(server: FakeOllama, folder: Path | None, name: str = "ollama/fake:1b") -> ModelCard:
    settings = Settings(ollama=Ollama(host=server.url))
    model = open_one(name, settings, profiles=folder)
    try:
        return model.card
    finally:
        model.close()


def test_a_model_of_ollama_finds_its_profile_until_it_is_another_one(
    fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    card = _open(fake_ollama, None)
    write_profile(tmp_path, _of(card))
    assert _open(fake_ollama, tmp_path).window == 4096
    fake_ollama.models[0] = FakeModel(template="{{ .Other }}")
    assert _open(fake_ollama, tmp_path).profile is None


def test_a_name_without_a_tag_is_that_of_the_latest(
    fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    fake_ollama.models[0] = FakeModel("fake:latest")
    folder = tmp_path / "profiles"
    names = ("ollama/fake", "ollama/fake:latest", "auto")
    for tested in names[:2]:
        shutil.rmtree(folder, ignore_errors=True)
        write_profile(folder, _of(_open(fake_ollama, None, tested)))
        assert [_open(fake_ollama, folder, name).window for name in names] == [4096] * 3


def test_a_profile_of_one_server_does_not_bound_the_same_model_of_another(
    fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    write_profile(tmp_path, _of(_open(fake_ollama, None)))
    with FakeOllama() as other:
        card = _open(other, tmp_path)
    assert (card.window, card.profile and card.profile.native) == (8192, FULL.native)


def test_a_lowered_window_is_told_once_a_conversation_and_used(
    fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    card = _open(fake_ollama, None)
    write_profile(profiles_folder(), _of(card))
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    app = Agent.open(Home(tmp_path / "home"), Settings(recall="off"), model="ollama/fake:1b")
    session = app.sessions.new(None, "")
    told: list[int] = []
    try:
        for prompt in ("Hello.", "Hello again."):
            fake_ollama.say('{"kind":"answer","answer":"Hello."}')
            events = list(app.ask(prompt, session))
            told.append(sum(isinstance(e, Notice) and "4,096" in e.text for e in events))
    finally:
        app.close()
    assert told == [1, 0]
    assert {chat["options"]["num_ctx"] for chat in fake_ollama.chats} == {4096}


# -------- memory

QWEN = {
    "general.architecture": "qwen2",
    "qwen2.block_count": 28,
    "qwen2.embedding_length": 1536,
    "qwen2.attention.head_count": 12,
    "qwen2.attention.head_count_kv": 2,
    "qwen2.context_length": 32768,
}


def test_the_need_of_a_window_follows_from_layers_and_heads() -> None:
    need = memory_need(QWEN, 1_000_000_000)
    assert need is not None
    assert need.token == 28 * 2 * (128 + 128) * 2
    assert need.fits(100_000_000_000) == 32768
    half = need.fits(2_000_000_000)
    assert half == 17408
    assert need.of(half) <= 0.9 * 2_000_000_000 < need.of(half + 1024)
    assert need.fits(1_000_000_000) == 0


def test_a_header_that_does_not_say_gives_no_need() -> None:
    assert memory_need({"general.architecture": "qwen2"}, 1) is None
    assert memory_need({**QWEN, "qwen2.block_count": float("inf")}, 1) is None
    assert memory_need({**QWEN, "qwen2.block_count": -3}, 1) is None
    assert memory_need({**QWEN, "qwen2.attention.head_count_kv": None}, 1) == MemoryNeed(
        1, 28 * 12 * 256 * 2, 32768
    )


def test_no_more_memory_is_free_than_there_is() -> None:
    free, total = free_memory(), total_memory()
    assert free and total and 0 < free < total


@pytest.mark.parametrize(
    ("on_gpu", "is_here", "told"),
    [
        (5_000_000, True, (8192, "at least")),
        (2_500_000, True, (4096, "computed")),
        (500_000, False, (8192, "at least")),
        (0, False, (8192, "at least")),
    ],
)
def test_what_ollama_holds_on_the_gpu_tells_what_fits(
    on_gpu: int, is_here: bool, told: tuple[int, str]
) -> None:
    need = MemoryNeed(452_000, 500, 32768)
    assert window_of(RunningModel(4_548_000, on_gpu, 8192, need, is_here), 8192) == told
