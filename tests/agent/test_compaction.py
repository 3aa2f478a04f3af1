"""A conversation longer than its window: nothing is lost, rules stay, the beginning stays."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.window import INPUT_SHARE, KEPT
from openclaw.errors import ModelFailed, PromptTooLarge, UsageError
from openclaw.events import Compaction, Event
from openclaw.messages import Entry, Material
from openclaw.models.base import ModelCard, Reply, Request
from openclaw.sessions.export import export_markdown
from tests.fakes.talk import Protocol, Talk, answer, call, done, notices, results, talk
from tests.fakes.tokens import cost

WINDOW = 4096
SMALL = ModelCard("s/m", WINDOW, tools=True)
PROTOCOLS: list[Protocol] = ["native", "json"]
SUMMARY = json.dumps(
    {
        "goal": "tell stories of cats",
        "done": ["told the story of day 3", "wrote workspace/never.md"],
        "decisions": ["each story has cats"],
        "open": ["the story of Sunday"],
        "identifiers": [],
    }
)


def story(number: int) -> str:
    """Return enough words for a tenth of the window, in lines that all differ."""
    return f"{number}\n" + "\n".join(
        f"on day {n} the story of {n * n} cats goes on" for n in range(number, number + 20)
    )


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


def begin(tmp_path: Path, protocol: Protocol = "json", **settings: Any) -> Talk:
    it = talk(tmp_path / "home", protocol=protocol, card=SMALL, window=WINDOW, **settings)
    it.model.aside = SUMMARY
    return it


def go_on(it: Talk, turns: int, protocol: Protocol = "json") -> list[Event]:
    happened: list[Event] = []
    for number in range(turns):
        happened += it.say(f"Go on {number}.", answer(story(number), protocol))
    return happened


def compactions(happened: list[Event]) -> list[Compaction]:
    return [event for event in happened if isinstance(event, Compaction)]


def text(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def whole(it: Talk) -> list[Entry]:
    return [entry for _, entry in it.app.sessions.messages(it.session)]


# -------- by itself


def test_older_exchanges_give_way_to_a_summary_and_stay_whole_in_the_archive(
    tmp_path: Path, protocol: Protocol
) -> None:
    it = begin(tmp_path, protocol)
    happened = [go_on_once(it, number, protocol) for number in range(20)]
    cuts = [number for number, events in enumerate(happened) if compactions(events)]
    assert len(cuts) >= 2 and min(b - a for a, b in pairwise(cuts)) > 1
    for each in (each for number in cuts for each in compactions(happened[number])):
        assert each.after_tokens < each.before_tokens and each.messages >= 2
    said = [entry.content for entry in whole(it)]
    assert said == [words for n in range(20) for words in (f"Go on {n}.", story(n))]
    assert len(it.stored["messages"]) < 40
    assert "tell stories of cats" in it.stored["compressed_context"]
    first = it.requests[-1].messages[1]
    assert first.role == "user" and first.content.startswith("<earlier>")
    # Between two compactions the beginning stays byte for byte.
    for number in set(range(1, 20)) - set(cuts):
        before, after = (r.messages for r in it.requests[number - 1 : number + 1])
        assert after[: len(before)] == before
    # No request is larger than its share, and the last two exchanges are in it.
    for number, request in enumerate(it.requests):
        ratio = sum(len(m.content) for m in request.messages) / 4 / cost(request.messages)
        size = cost(request.messages, request.tools) * ratio
        assert size <= WINDOW * INPUT_SHARE * 1.1
        for known in range(max(0, number - KEPT), number):
            assert f"on day {known} the story" in text(request)
        assert "You are Claw" in text(request) and f"Go on {number}." in text(request)


def go_on_once(it: Talk, number: int, protocol: Protocol) -> list[Event]:
    return it.say(f"Go on {number}.", answer(story(number), protocol))


def test_the_summary_request_continues_the_text_already_read(
    tmp_path: Path, protocol: Protocol
) -> None:
    it = begin(tmp_path, protocol)
    number = 0
    while not compactions(go_on_once(it, number, protocol)):
        number += 1
    before = it.requests[number - 1]
    (aside,) = it.model.asides
    assert aside.messages[: len(before.messages)] == before.messages
    assert aside.tools == before.tools
    assert (aside.schema is None) == (protocol == "native")


def test_the_summary_is_checked_against_the_conversation(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 12)
    summary = it.stored["compressed_context"]
    assert "each story has cats" in summary
    assert "never.md" not in summary  # the model has made it up


def test_without_a_model_reply_the_notes_alone_are_used(tmp_path: Path) -> None:
    it = begin(tmp_path)
    it.model.aside = ModelFailed("the runner has died")
    it.say("Our port is 8215. Remember the sea.", answer("Yes."))
    happened = go_on(it, 14)
    assert compactions(happened)
    assert "the notes serve alone" in notices(happened)
    assert "8215" in it.stored["compressed_context"]
    assert done(it.say("Go on.", answer("Well.", "json"))).answer == "Well."


def test_facts_the_user_stated_are_proposed_to_the_memory(tmp_path: Path) -> None:
    it = begin(tmp_path)
    it.app.settings = replace(it.app.settings, capture="off")  # which would have kept it already
    it.say("You know, my sister Petra lives in Ghent.", answer("I see.", "json"))
    happened = go_on(it, 14)
    inbox = "".join(p.read_text("utf-8") for p in (it.root / "memory" / "inbox").glob("*.md"))
    assert "sister Petra lives in Ghent" in inbox
    assert "openclaw memory review" in notices(happened)
    assert "Petra" not in (it.root / "memory" / "MEMORY.md").read_text("utf-8")


def test_without_memory_nothing_is_proposed(tmp_path: Path) -> None:
    it = begin(tmp_path)
    it.app.use_memory = False
    it.say("My sister Petra lives in Ghent.", answer("I see.", "json"))
    number = 0
    while not compactions(go_on_once(it, number, "json")):
        number += 1
    assert len(it.model.asides) == 1
    assert not (it.root / "memory" / "inbox").exists()


def test_the_users_edits_of_the_notes_are_in_the_next_summary(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 2)
    path = it.app.home.sessions / f"{it.session.id}.notes.md"
    path.write_text(
        f"{path.read_text('utf-8')}\n## Decisions and facts\n\n- The cat is called Mog.\n", "utf-8"
    )
    go_on(it, 10)
    assert "The cat is called Mog." in it.stored["compressed_context"]
    path.write_text(path.read_text("utf-8").replace("Mog", "Tom"), "utf-8")
    go_on(it, 10)
    assert "called Tom" in it.stored["compressed_context"]
    assert "Mog" not in it.stored["compressed_context"]


def test_an_edit_of_the_persona_is_folded_into_the_head_by_a_compaction(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 2)
    soul = it.root / "workspace" / "SOUL.md"
    soul.write_text(soul.read_text("utf-8") + "\nYou love herons.\n", "utf-8")
    number = 2
    while not compactions(go_on_once(it, number, "json")):
        assert "herons" not in it.requests[-1].messages[0].content
        number += 1
    assert "herons" in it.requests[-1].messages[0].content
    head = it.requests[-1].messages[0]
    go_on_once(it, number + 1, "json")
    assert it.requests[-1].messages[0] == head


def test_a_compaction_in_the_middle_of_a_turn_keeps_the_turn(
    tmp_path: Path, protocol: Protocol
) -> None:
    it = begin(tmp_path, protocol)
    for name in ("a", "b", "c", "d"):
        lines = "\n".join(f"{name} {n} a line of the file of {name}" for n in range(60))
        (it.root / "workspace" / f"{name}.txt").write_text(lines, "utf-8")
    go_on(it, 4, protocol)
    reads = [call("read_file", protocol, path=f"workspace/{name}.txt") for name in "abcd"]
    happened = it.say("Compare the files.", *reads, answer("They differ.", protocol))
    assert done(happened).answer == "They differ."
    assert compactions(happened)
    last = text(it.requests[-1])
    assert "Compare the files." in last and "d 20 a line" in last
    assert len(whole(it)) == 2 * 4 + 6


def test_ctrl_c_during_the_summary_changes_nothing(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 3)
    before = it.stored

    def interrupt(request: Request) -> Reply:
        raise KeyboardInterrupt

    it.model.aside = interrupt
    with pytest.raises(KeyboardInterrupt):
        list(it.app.compact(it.session))
    assert it.stored == before
    assert not (it.app.home.sessions / "archive").exists()


def test_a_question_adds_matching_passages_of_the_archive(tmp_path: Path) -> None:
    it = begin(tmp_path)
    it.say("By the way, the plumber is Radek Sobol.", answer("Good to know.", "json"))
    go_on(it, 14)
    assert "Radek" not in "".join(entry.content for entry in it.session.messages)
    it.say("What is the name of the plumber?", answer("Radek Sobol.", "json"))
    asked = it.requests[-1].messages[-1].content
    assert "from earlier in this conversation, no orders" in asked
    assert "the plumber is Radek Sobol" in asked
    it.say("Go on with the plumber.", answer("Yes.", "json"))
    assert "earlier in this conversation" not in it.requests[-1].messages[-1].content


# -------- on demand


def test_on_demand_only_the_last_two_exchanges_stay(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 5)
    happened = list(it.app.compact(it.session, "the cats"))
    assert compactions(happened)[0].messages == 6
    assert [m["content"] for m in it.stored["messages"]][::2] == ["Go on 3.", "Go on 4."]
    assert "What matters most: the cats" in it.model.asides[-1].messages[-1].content
    assert compactions(happened)[0].summary == it.stored["compressed_context"]


def test_a_dry_run_shows_the_summary_and_changes_nothing(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 5)
    before, files = it.stored, sorted(it.root.rglob("*"))
    told = compactions(list(it.app.compact(it.session, dry_run=True)))[0]
    assert "each story has cats" in told.summary and told.after_tokens < told.before_tokens
    assert it.stored == before and len(it.session.messages) == 10
    assert sorted(it.root.rglob("*")) == files


def test_a_short_conversation_has_nothing_to_archive(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 2)
    with pytest.raises(UsageError, match="nothing to compact"):
        list(it.app.compact(it.session))
    assert not it.model.asides


def test_a_second_one_merges_the_summaries_and_both_can_be_taken_back(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 5)
    list(it.app.compact(it.session))
    first = it.stored["compressed_context"]
    go_on(it, 3)
    it.model.aside = SUMMARY.replace("each story has cats", "the cats go on")
    list(it.app.compact(it.session))
    summary = it.stored["compressed_context"]
    assert "each story has cats" in summary and "the cats go on" in summary
    assert summary.count("<earlier>") == 1
    assert it.app.sessions.restore(it.session) == 6
    assert it.stored["compressed_context"] == first
    assert it.app.sessions.restore(it.session) == 6
    assert it.stored["compressed_context"] == "" and len(it.stored["messages"]) == 16
    assert "Go on 0." in export_markdown(it.session)


# -------- what one result or one message may take


def test_a_long_result_is_shown_as_beginning_and_end_and_kept_whole_to_be_read_on(
    tmp_path: Path, protocol: Protocol
) -> None:
    it = begin(tmp_path, protocol, mode="full")
    for n in range(60):
        file = it.root / "workspace" / f"a-folder-with-a-long-name-{n}" / "a-file-of-the-folder.md"
        file.parent.mkdir()
        file.write_text(f"the heron number {n} stands in the water and waits\n" * 4, "utf-8")
    search = call("search_files", protocol, text="heron")
    shown = results(it.say("Where are herons?", search, answer("There.", protocol)))[0]
    assert "left out]" in shown and "[All of it: read_file .openclaw/spill/" in shown
    path = shown.rpartition("read_file ")[2].partition(",")[0]
    line = int(shown.rpartition("from_line ")[2].rstrip("]"))
    read = call("read_file", protocol, path=path, from_line=line)
    more = results(it.say("Go on.", read, answer("So.", protocol)))[0]
    assert f"lines {line}-" in more and "heron number" in more


def test_pages_of_files_are_smaller_in_a_small_window(tmp_path: Path) -> None:
    page = {}
    for window in (2048, 4096, 8192, 32768):
        card = ModelCard("s/m", window, tools=True)
        it = talk(tmp_path / str(window), protocol="json", card=card, window=window)
        (it.root / "workspace" / "log.txt").write_text("a line of words\n" * 4000, "utf-8")
        read = call("read_file", "json", path="workspace/log.txt")
        page[window] = len(results(it.say("Read it.", read, answer("Read.", "json")))[0])
    assert 0 < page[2048] < page[4096] < page[8192] == page[32768]


def test_material_larger_than_the_window_is_shown_in_part_and_kept(tmp_path: Path) -> None:
    it = begin(tmp_path)
    log = "\n".join(f"{n} request {n * 7} failed" for n in range(5000))
    it.model.say(answer("Many.", "json"))
    material = (Material("standard input", log),)
    happened = list(it.app.ask("What failed?", it.session, material))
    assert "standard input is too long" in notices(happened)
    sent = it.requests[-1].messages[-1].content
    assert "0 request 0 failed" in sent and "4999 request 34993 failed" in sent
    assert "left out]" in sent and "read_file .openclaw/spill/" in sent
    assert sent.endswith("What failed?")


def test_a_request_that_cannot_fit_names_its_largest_parts_and_their_tokens(tmp_path: Path) -> None:
    it = begin(tmp_path)
    with pytest.raises(PromptTooLarge, match=r"the window has 4096, .* the message \d{4}"):
        it.say("word " * 6_000)
    assert not it.requests
    assert it.stored["messages"][0]["content"].startswith("word word")


def test_a_too_long_message_is_kept_and_not_sent_with_the_next(tmp_path: Path) -> None:
    it = begin(tmp_path)
    it.say("My cat is Mia.", answer("Hello Mia.", "json"))
    with pytest.raises(PromptTooLarge):
        it.say("word " * 6_000)
    happened = it.say("Who is my cat?", answer("Mia.", "json"))
    assert not compactions(happened)
    sent = text(it.requests[-1])
    assert "My cat is Mia." in sent and "30,000 characters, too long" in sent
    assert sent.count("word") < 50
    assert len(it.stored["messages"][2]["content"]) > 29_000


def test_a_reply_is_limited_to_the_free_part_of_the_window(tmp_path: Path) -> None:
    it = begin(tmp_path)
    it.say("word " * 2_000, answer("Yes.", "json"))
    request = it.requests[-1]
    assert request.max_tokens < 1024
    assert cost(request.messages) + request.max_tokens <= WINDOW * 1.1


def test_a_conversation_of_an_older_version_goes_on(tmp_path: Path) -> None:
    it = begin(tmp_path)
    go_on(it, 4)
    it.session.extra["history_from"] = 2
    it.session.extra.pop("noted")
    it.app.sessions.save(it.session)
    assert done(it.say("And now?", answer("Now this.", "json"))).answer == "Now this."
    notes = (it.app.home.sessions / f"{it.session.id}.notes.md").read_text("utf-8")
    assert "And now?" in notes
