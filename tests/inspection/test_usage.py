"""`openclaw usage`: what the turns of all conversations have cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openclaw.cli.commands.usage import session_lines, usage_lines
from openclaw.inspection.usage import all_turns, group_turns, sum_turns, turns_of, window_used
from openclaw.messages import Entry, ToolUse, Usage
from openclaw.sessions.session import Session
from openclaw.sessions.store import SessionStore
from tests.fakes.command import CommandLine
from tests.fakes.talk import call, talk

claw = CommandLine()

DAY = "2026-11-21T15:30:00+01:00"
COLD = Usage(1000, 0, 20, 11.0, 13.0, 1, read_seconds=10.0)
WARM = Usage(1100, 1000, 40, 1.5, 3.5, 1, read_seconds=1.0)


def saved(store: SessionStore, name: str, *turns: list[Usage], at: str = DAY) -> Session:
    """A session of these turns, each a list of the usages of its calls."""
    session = store.new(name, "fake/one")
    for usages in turns:
        session.messages.append(Entry("user", "Which port?", at=at))
        session.messages += [Entry("assistant", "8080", usage=usage, at=at) for usage in usages]
    store.save(session)
    return session


def later(usage: Usage, seconds: float) -> Usage:
    """The same usage as another call would have it."""
    return replace(usage, total_seconds=usage.total_seconds + seconds)


def test_the_calls_of_a_turn_are_taken_together(store: SessionStore) -> None:
    turn = turns_of(store, saved(store, "trip", [COLD, WARM]))[0]
    assert (turn.number, turn.usage.calls, turn.day, turn.model) == (1, 2, "2026-11-21", "fake/one")
    assert (turn.usage.prompt_tokens, turn.usage.cached_tokens, turn.usage.generated_tokens) == (
        2100,
        1000,
        60,
    )
    assert turn.usage.first_token_seconds == 11.0


def test_speeds_come_from_what_was_read_anew_and_from_the_time_after_the_first_token(
    store: SessionStore,
) -> None:
    sums = sum_turns("", turns_of(store, saved(store, "trip", [COLD], [WARM])))
    assert sums.reading_rate == pytest.approx(1100 / 11.0)
    assert sums.writing_rate == pytest.approx(60 / 4.0)
    assert sums.share == pytest.approx(1000 / 2100)
    assert sums.first_token_seconds == pytest.approx((11.0 + 1.5) / 2)


def test_where_no_server_tells_times_there_are_no_speeds(store: SessionStore) -> None:
    silent = Usage(900, 0, 5, 0.0, 0.0, 1)
    sums = sum_turns("", turns_of(store, saved(store, "trip", [silent])))
    assert (sums.reading_rate, sums.writing_rate, sums.first_token_seconds) == (0.0, 0.0, 0.0)


def test_a_turn_that_was_given_up_counts_its_calls_once(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", max_steps=2)
    it.say("Look.", call("list_files"), call("list_files", path="memory"))
    last = it.session.messages[-1]
    assert last.usage is not None and last.usage.calls == 2
    turn = turns_of(it.app.sessions, it.session)[0]
    assert turn.usage.calls == 2
    assert turn.usage.prompt_tokens == last.usage.prompt_tokens
    # Sessions of older versions do not note how a turn ended.
    it.session.messages[-1] = replace(last, record_json={})
    assert turns_of(it.app.sessions, it.session)[0] == turn


def test_archived_turns_count_under_their_numbers(store: SessionStore) -> None:
    session = saved(store, "trip", [COLD], [WARM], [later(WARM, 1)])
    store.compact(session, 2, "The port is 8080.")
    assert [turn.number for turn in turns_of(store, session)] == [1, 2, 3]
    assert sum_turns("", all_turns(store)).prompt_tokens == 3200


def test_what_a_fork_has_from_its_source_counts_once(store: SessionStore) -> None:
    saved(store, "trip", [COLD], [WARM])
    fork = store.fork("trip", 2)
    fork.messages += [
        Entry("user", "And now?", at=DAY),
        Entry("assistant", "Now.", usage=later(WARM, 1), at=DAY),
    ]
    store.save(fork)
    assert len(turns_of(store, fork)) == 2
    assert sum(turn.usage.prompt_tokens for turn in all_turns(store)) == 3200
    store.delete("trip")
    assert sum(turn.usage.prompt_tokens for turn in all_turns(store)) == 2100


def test_days_and_models_have_sums_of_their_own(store: SessionStore) -> None:
    saved(store, "trip", [COLD], [WARM])
    other = saved(store, "old", [later(COLD, 1)], at="2026-10-02T09:00:00+02:00")
    other.messages[0] = replace(other.messages[0], record_json={"model": "fake/two"})
    store.save(other)
    turns = all_turns(store)
    days = [(row.name, row.turns) for row in group_turns(turns, lambda turn: turn.day)]
    models = [(row.name, row.turns) for row in group_turns(turns, lambda turn: turn.model)]
    assert days == [("2026-10-02", 1), ("2026-11-21", 2)]
    assert models == [("fake/one", 2), ("fake/two", 1)]
    assert len(all_turns(store, "2026-11-01")) == 2


def test_as_json_there_are_sums_in_all_by_model_and_by_day(store: SessionStore) -> None:
    saved(store, "trip", [COLD], [WARM])
    told = claw.json("usage")
    assert set(told) == {"together", "models", "days"}
    assert told["together"]["prompt_tokens"] == 2100
    assert told["together"]["share"] == 0.4762
    assert told["days"][0]["name"] == "2026-11-21"
    told = claw.json("usage", "--session", "trip")
    assert told["session"] == "trip"
    assert [turn["cached_tokens"] for turn in told["turns"]] == [0, 1000]


def test_since_a_day_leaves_older_turns_out_and_wants_a_date(store: SessionStore) -> None:
    saved(store, "trip", [COLD])
    assert "no questions asked since then" in claw("usage", "--since", "2026-11-22")
    assert "not a date" in claw.error("usage", "--since", "soonish", code=2)


def test_a_damaged_session_is_told_and_the_others_count(store: SessionStore) -> None:
    saved(store, "trip", [COLD])
    (store.folder / "broken.json").write_text("{", "utf-8")
    out = claw("usage")
    assert "1 turn in 1 conversation" in out and "broken is damaged" in claw.err


def test_a_session_is_shown_turn_by_turn_with_the_sum(store: SessionStore) -> None:
    saved(store, "trip", [COLD, later(WARM, 2)], [WARM])
    lines = claw("usage", "--session", "latest").splitlines()
    assert lines[0].startswith("trip: fake/one")
    assert lines[2].split() == "CALLS SENT CACHED WRITTEN 1ST TOKEN IN/S OUT/S TURN".split()
    assert lines[3].split()[:5] == "2 2,100 48% 60 11.0".split()
    assert lines[3].endswith(" 1 2026-11-21 15:30")
    assert lines[-1].split()[:2] == ["3", "3,200"] and lines[-1].endswith("in all")


def test_of_many_days_the_newest_are_shown_and_all_models(store: SessionStore) -> None:
    for number in range(20):
        at = f"2026-11-{number + 1:02}T09:00:00+01:00"
        many = Usage(1_234_567, 1_000_000, 98_765, 123.4, 987.0 + number, 1, 100.0)
        session = saved(store, f"trip-{number}", [many], at=at)
    session.model = "embedded/a-model-with-quite-a-long-name-1.5b-instruct"
    store.save(session)
    lines = usage_lines(all_turns(store))
    assert any(line.endswith(f"  {session.model}") for line in lines)
    assert lines[-2].endswith("  2026-11-20")
    assert lines[-1] == "6 earlier days not shown: --since 2026-11-01"


def test_what_a_turn_really_cost_is_found_again(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Look.", call("list_files"), "Nothing there.")
    turn = turns_of(it.app.sessions, it.session)[0]
    sent = [entry.usage for entry in it.session.messages if entry.usage]
    assert turn.usage.calls == 2
    assert turn.usage.prompt_tokens == sum(usage.prompt_tokens for usage in sent) > 0
    assert turn.model == "scripted/model"


def test_names_of_others_in_a_session_file_do_nothing_to_the_terminal(store: SessionStore) -> None:
    session = saved(store, "trip", [COLD])
    session.model = "fake/\x1b[2Jone"
    session.messages.append(Entry("assistant", "", tool_calls=(ToolUse("1", "x", {}, "", True),)))
    assert "\x1b" not in "\n".join(session_lines("trip", turns_of(store, session)))


def test_the_use_of_the_window_is_that_of_one_request() -> None:
    asked = Entry("user", "hi", record_json={"window": 8192})
    end = Entry("assistant", "I stopped.", usage=Usage(8000, generated_tokens=192, calls=2))
    assert window_used(Session("a", messages=[asked, end]), 0) == "50 % of 8,192"
    assert window_used(Session("a"), 8192) == ""
