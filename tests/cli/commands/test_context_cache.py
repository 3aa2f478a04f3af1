"""`openclaw context --cache`: what of each request the model had read before."""

from __future__ import annotations

from openclaw.cli.commands.context import cache_lines
from openclaw.inspection.usage import cache_json, calls_of
from openclaw.messages import Entry, Usage
from openclaw.sessions.session import Session
from openclaw.sessions.store import SessionStore
from tests.fakes.command import CommandLine

claw = CommandLine()

COLD = Usage(1000, 0, 20, 11.0, 12.0, 1, read_seconds=10.0)
WARM = Usage(1100, 1050, 20, 0.6, 2.0, 1, read_seconds=0.5)
SUMMED = Usage(2100, 1050, 40, 11.0, 14.0, 2, read_seconds=10.5)


def saved(store: SessionStore, *usages: Usage | None) -> Session:
    session = store.new(None, "fake/one")
    for usage in usages:
        session.messages += [Entry("user", "Which port?")]
        session.messages += [
            Entry("assistant", "8080", usage=usage, at="2026-11-21T15:30:00+01:00")
        ]
    store.save(session)
    return session


def test_each_call_tells_how_much_was_reused_and_the_last_line_sums_up(store: SessionStore) -> None:
    saved(store, COLD, WARM)
    head, cold, warm, *sums = claw("context", "--cache").splitlines()
    assert head.split()[:7] == ["MESSAGE", "AT", "TOKENS", "CACHED", "SHARE", "FIRST", "TOKEN"]
    assert cold.split() == "#2 2026-11-21 15:30 1,000 0 0.0% 11.00 s".split()
    assert warm.split() == "#4 2026-11-21 15:30 1,100 1,050 95.5% 0.60 s".split()
    assert "2 calls, 2,100 tokens, 1,050 cached (50.0%)" in sums[0]
    assert "10.5 s of reading saved at 100 tokens a second" in sums[-1]


def test_as_json_it_has_the_same_numbers(store: SessionStore) -> None:
    session = saved(store, COLD, WARM)
    saved(store, COLD)
    told = claw.json("context", "--cache", "--session", session.id)
    assert told["session"] == session.id
    assert [call["reused"] for call in told["calls"]] == [0, 1050]
    assert told["together"] == {
        "calls": 2,
        "tokens": 2100,
        "reused": 1050,
        "share": 0.5,
        "reading_rate": 100.0,
        "saved_seconds": 10.5,
    }


def test_without_a_session_it_says_so(store: SessionStore) -> None:
    assert "there is no conversation yet" in claw.error("context", "--cache", code=2)


def test_messages_that_tell_nothing_of_one_call_are_left_out(store: SessionStore) -> None:
    session = saved(store, COLD, None, SUMMED, Usage(calls=1), WARM)
    assert [call.message for call in calls_of(store.messages(session))] == [2, 10]


def test_calls_that_were_archived_count_too(store: SessionStore) -> None:
    session = saved(store, COLD, WARM, WARM, WARM)
    store.compact(session, 4, "The port is 8080.")
    assert [call.message for call in calls_of(store.messages(session))] == [2, 4, 6, 8]


def test_where_no_server_tells_the_time_nothing_is_said_of_what_was_saved() -> None:
    entry = Entry("assistant", "8080", usage=Usage(1000, 900, 5, 1.0, 2.0, 1))
    calls = calls_of([(2, entry)])
    assert cache_json("s", calls)["together"]["reading_rate"] == 0.0
    assert cache_json("trip", calls)["together"]["saved_seconds"] == 0.0
    assert cache_lines("trip", calls)[-1].endswith("900 cached (90.0%)")


def test_a_conversation_without_calls_is_one_line() -> None:
    assert cache_lines("trip", []) == ["trip: no questions asked yet"]
