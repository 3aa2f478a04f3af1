"""Tokens as one model counts them, learned from what its server says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openclaw.errors import PromptTooLarge
from openclaw.messages import Message
from openclaw.models.base import Request
from openclaw.models.token_count import LEAST, UNKNOWN, Meter, Meters, count, weight
from tests.fakes.tokens import cost

REQUEST = Request((Message("system", "You are Claw. " * 20), Message("user", "Say hello. " * 30)))
OURS = cost(REQUEST.messages)


def test_a_model_that_was_never_asked_is_taken_to_need_more() -> None:
    assert Meter().count("word " * 100) == pytest.approx(UNKNOWN * count("word " * 100), abs=1)


def test_the_servers_count_is_taken_over() -> None:
    meter = Meter()
    meter.learn(REQUEST, int(OURS * 1.3), 8192)
    assert meter.count("word " * 100) == pytest.approx(1.3 * count("word " * 100), rel=0.04)
    assert meter.cost(REQUEST.messages) == pytest.approx(OURS * 1.3, rel=0.05)


def test_it_rises_at_once_and_falls_slowly() -> None:
    meter = Meter()
    for share in (1.0, 1.4, 1.0):
        meter.learn(REQUEST, int(OURS * share), 8192)
    assert 1.3 < meter.ratio < 1.4
    for _ in range(60):
        meter.learn(REQUEST, OURS, 8192)
    assert meter.ratio == pytest.approx(1.0, abs=0.02)


def test_a_server_that_says_nothing_teaches_nothing() -> None:
    meter = Meter()
    meter.learn(REQUEST, 0, 8192)
    assert meter.ratio == 0.0


def test_a_server_that_read_far_less_than_was_sent_has_cut_the_prompt() -> None:
    with pytest.raises(PromptTooLarge, match=rf"only {OURS // 4} of about {OURS} tokens"):
        Meter().learn(REQUEST, OURS // 4, 8192)


def test_a_vocabulary_that_needs_half_the_tokens_is_no_cut_prompt() -> None:
    chinese = Request((Message("user", "\u4eca\u5929\u7684\u4f1a\u8bae\u5728\u54ea\u91cc" * 40),))
    meter = Meter()
    meter.learn(chinese, cost(chinese.messages) // 2, 8192)
    assert meter.ratio == pytest.approx(max(LEAST, 0.5), abs=0.05)


def test_whether_a_text_fits_is_told_as_that_model_counts() -> None:
    text = "3.14159 " * 50
    assert Meter(0.95).fits(text, weight(text)) and not Meter(1.5).fits(text, weight(text))


def test_a_digit_counts_as_a_token_of_its_own() -> None:
    assert weight("4711") == count("4711") + 2
    assert weight("no digit, or 1 alone") == count("no digit, or 1 alone")


def test_a_server_that_refuses_what_was_counted_as_fitting_is_counted_higher() -> None:
    meter, request = Meter(1.0), Request((Message("user", "x " * 100),))
    assert meter.refused(request) and meter.ratio > 1.3
    while meter.refused(request):
        pass
    assert meter.ratio <= 4.0


def test_a_server_that_says_how_much_it_counted_is_believed() -> None:
    meter, request = Meter(1.0), Request((Message("user", "word " * 1000),))
    ours = meter.cost(request.messages) / 1.02
    assert meter.refused(request, counted=int(2 * ours))
    assert meter.ratio == pytest.approx(2.0, rel=0.02)
    assert meter.refused(request, counted=int(ours))  # no help: counted higher as before
    assert meter.ratio > 2.0


# -------- kept


def test_what_was_learned_is_there_for_the_next_process(tmp_path: Path) -> None:
    meters = Meters(tmp_path / "cache" / "tokens.json")
    meters.keep("ollama/a json", Meter(1.234, rate=100.04))
    meters.keep("ollama/b json", Meter(0.9))
    again = Meters(meters.path)
    assert again.meter("ollama/a json") == Meter(1.23, rate=100.0)
    assert again.meter("ollama/b json").ratio == 0.9
    assert again.meter("ollama/c json").ratio == 0.0


def test_nothing_is_written_when_nothing_was_learned(tmp_path: Path) -> None:
    meters = Meters(tmp_path / "tokens.json")
    meters.keep("a", Meter())
    assert not meters.path.exists()
    meters.keep("a", Meter(1.1))
    before = meters.path.stat().st_mtime_ns
    meters.keep("a", Meter(1.1004))
    assert meters.path.stat().st_mtime_ns == before


def test_a_reading_rate_is_saved_anew_when_it_differs_by_a_fifth(tmp_path: Path) -> None:
    meters = Meters(tmp_path / "tokens.json")
    for rate, kept in ((100.0, 100.0), (115.0, 100.0), (130.0, 130.0)):
        meters.keep("a", Meter(rate=rate))
        assert meters.meter("a").rate == kept


@pytest.mark.parametrize(
    "rubbish", ["", "[]", "{", '{"a": 3}', '{"a": {"ratio": "x"}}', '{"a": {"ratio": 1e9}}']
)
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, rubbish: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(rubbish, "utf-8")
    assert Meters(path).meter("a").ratio == 0.0
    Meters(path).keep("a", Meter(1.2))
    assert json.loads(path.read_text("utf-8"))["a"]["ratio"] == 1.2


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file", "utf-8")
    Meters(tmp_path / "cache" / "tokens.json").keep("a", Meter(1.2))
