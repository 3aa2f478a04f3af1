"""The search in conversations: what is found by which words, in which order, shown how."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.messages import Entry, ToolUse
from openclaw.sessions.session import Session
from openclaw.sessions.session_search import (
    PASSAGE_LENGTH,
    SessionHit,
    fold,
    make_snippet,
    read_terms,
    search,
    split_passages,
)
from openclaw.sessions.store import SessionStore


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def saved(store: SessionStore, *said: str | ToolUse, name: str | None = None) -> Session:
    """Messages of user and assistant in turn, a minute apart; a call is the assistant's."""
    session = store.new(name)
    for number, words in enumerate(said):
        at = f"2026-11-21T10:{number:02}:00+00:00"
        if isinstance(words, ToolUse):
            session.messages.append(Entry("assistant", "", tool_calls=(words,), at=at))
        else:
            session.messages.append(Entry("assistant" if number % 2 else "user", words, at=at))
    store.save(session)
    return session


def read(output: str, path: str = "a.md", tool: str = "read_file") -> ToolUse:
    return ToolUse("1", tool, {"path": path}, output, ok=True)


def numbers(hits: list[SessionHit]) -> list[int]:
    return [hit.number for hit in hits]


# -------- which messages


def test_messages_with_all_words_keep_others_out_newest_first(store: SessionStore) -> None:
    saved(store, "red fox", "The RED dog and fox.", "fox", "firefox is not red, the fox is")
    hits = store.search("fox red")
    assert numbers(hits) == [4, 2, 1]
    assert {hit.missing for hit in hits} == {()}


def test_without_any_such_the_best_of_those_with_some_words_are_found(store: SessionStore) -> None:
    saved(
        store,
        *("The plumber comes on Monday.", "Fine."),
        *("The plumber asked for the key of the cellar.", "Fine."),
        *("The weather is fine on Monday.", "Fine."),
    )
    hits = store.search("plumber cellar tomorrow")
    assert [(hit.number, hit.missing) for hit in hits] == [(3, ("tomorrow",))]
    assert numbers(store.search("cellar zebra quagga okapi")) == [3]
    assert store.search("zebra quagga") == []
    assert store.search("x") == store.search(" ") == store.search("?!") == []


def test_any_word_is_enough_where_that_is_asked_for(store: SessionStore) -> None:
    saved(store, "The plumber comes.", "Monday is fine.", "the rest")
    asked = "plumber on Monday with a very long ladder and pipe"
    hits = search(store.talks(), asked, any_word=True)
    assert sorted(numbers(hits)) == [1, 2]
    assert len(search(store.talks(), asked, any_word=True, most=1)) == 1


def test_small_words_neither_find_nor_hinder(store: SessionStore) -> None:
    saved(
        store,
        *("What is the best of all ways to do this?", "That depends on what you want it to be."),
        *("the staging server listens on 8215", "Noted."),
    )
    hits = store.search("What port is the staging server on?")
    assert numbers(hits) == [3]
    assert numbers(store.search("What is this")) == [1]


def test_archived_and_remaining_messages_are_found_by_their_numbers(store: SessionStore) -> None:
    session = saved(store, "the key is under the pot", "Fine.", "and the key of the car", "Yes.")
    store.compact(session, 2, "a key was mentioned")
    assert [(hit.number, hit.archived) for hit in store.search("key")] == [(3, False), (1, True)]


def test_what_tools_got_and_gave_is_found_and_says_so(store: SessionStore) -> None:
    use = read("line one\nThe gasket costs 7.20 here\nline three", path="workspace/parts.csv")
    saved(store, "What does it cost?", use, "Thanks.")
    (hit,) = store.search("gasket 7.20")
    assert (hit.number, hit.role, hit.tool) == (2, "tool", "read_file")
    assert hit.snippet == "The gasket costs 7.20 here"
    assert store.search("parts.csv")[0].snippet == "path: workspace/parts.csv"
    listed = ToolUse(
        "1", "todo", {"action": "add", "items": ["call Ana", "buy leeks"]}, "", ok=True
    )
    saved(store, "x", listed, name="other")
    assert "call Ana, buy leeks" in store.search("leeks")[0].snippet


def test_what_an_earlier_search_gave_back_is_not_found_again(store: SessionStore) -> None:
    use = ToolUse("1", "search_sessions", {"words": "walrus"}, "1: the walrus", ok=True)
    saved(store, "Where is it?", use, "the walrus")
    assert numbers(store.search("walrus")) == [3]


# -------- what is the same word


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("OPS-4217", "see OPS-4217, please"),
        ("ops-4217", "(OPS-4217)"),
        ("4217", "see OPS-4217."),
        ("src/app.py", "in `src/app.py:12`"),
        ("app.py", "in src/app.py"),
        ("./run.sh", "call ./run.sh now"),
        ("10.0.0.7", "host 10.0.0.7:22"),
        ("1,234.50", "it cost 1,234.50 euros"),
        ("1234.50", "it cost 1,234.50 euros"),
        ("1,234", "it cost 1234 euros"),
        ("invoices", "the invoice is here"),
        ("parties", "a party of nine"),
        ("boxes", "one box"),
        ("invoice?", "three invoices"),
        ("M\u00dcLLER", "mu\u0308ller & sons"),
        ("stra\u00dfe", "STRASSE 7"),
        ("Kessler's", "from Kessler & Sons"),
        ('"standing order"', "the Standing\n  order runs"),
        ("\u201cstanding order\u201d", "a standing order"),
        ("c++", "written in C++, mostly"),
        ("\u6771\u4eac", "\u4eca\u65e5\u306f\u6771\u4eac\u306b\u3044\u308b"),
        ("wi-fi", "the wifi is down"),
        ("e-mail", "an e mail"),
    ],
)
def test_a_word_is_found_in_the_forms_that_people_write(
    store: SessionStore, query: str, text: str
) -> None:
    saved(store, text, "another thing")
    hits = store.search(query)
    assert numbers(hits) == [1]
    assert not hits[0].missing


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ('"standing order"', "an order for standing lamps"),
        ("OPS-4217", "OPS-4218"),
        ("10.0.0.7", "10.0.1.7"),
    ],
)
def test_what_only_looks_alike_does_not_hold_the_word(
    store: SessionStore, query: str, text: str
) -> None:
    saved(store, text)
    assert not [hit for hit in store.search(query) if not hit.missing]


def test_a_question_finds_other_forms_of_its_words(store: SessionStore) -> None:
    saved(store, "Dana leads billing now.", "Noted.", "The pump leaked.", "Oh.", "x", "y")
    assert numbers(search(store.talks(), "who is leading billing"))[0] == 1
    assert numbers(search(store.talks(), "is the pump leaking"))[0] == 3


# -------- which come first


def test_whole_words_rare_words_and_short_texts_come_first(store: SessionStore) -> None:
    noise = "\n".join(f"request {n} to the database took {n} ms" for n in range(300))
    saved(
        store,
        *("The database moved to atlas.", read(noise), "Is the database slow?", "Yes."),
        *("atlas is a book of maps", "the databases", "database, database", "."),
    )
    hits = search(store.talks(), "database atlas", any_word=True)
    assert numbers(hits)[:2] == [1, 5]
    assert set(numbers(hits)) == {1, 2, 3, 5, 6, 7}


def test_a_long_result_counts_by_its_best_place(store: SessionStore) -> None:
    rows = [f"row {n}: nothing of note" for n in range(500)]
    rows[400] = "row 400: the boiler has serial number BX-99"
    scattered = ["the boiler", *rows[:200], "a serial", *rows[200:300], "a number"]
    saved(store, "a", read("\n".join(scattered)), "b", read("\n".join(rows)), "c", "d")
    hits = search(store.talks(), "boiler serial number")
    assert numbers(hits)[0] == 4
    assert "BX-99" in hits[0].snippet


def test_among_equals_the_own_conversation_comes_first_then_the_newer(store: SessionStore) -> None:
    one = saved(store, "my tailor is rich", "Good.", "my tailor is rich", name="one")
    saved(store, "x", "y", "z", "v", "my tailor is rich", name="two")
    hits = search(store.talks(), "tailor")
    assert [(hit.id, hit.number) for hit in hits] == [("two", 5), ("one", 3), ("one", 1)]
    hits = search(store.talks(one), "tailor", first="one")
    assert [(hit.id, hit.number) for hit in hits] == [("one", 3), ("one", 1), ("two", 5)]


def test_a_hit_in_what_the_user_said_has_the_beginning_of_the_answer(store: SessionStore) -> None:
    call = read("x")
    saved(store, "How tall is the tower?", call, "ok", "It has 96 steps.\nAnd a bell.", "Tower!")
    saved(store, "the tower", name="last")
    replies = {(hit.id == "last", hit.number): hit.reply for hit in store.search("tower")}
    assert replies[True, 1] == ""
    assert replies[False, 1] == ""  # the user spoke again before anything was answered
    assert replies[False, 5] == ""
    saved(store, "How old is the well?", read("x"), name="third")
    third = store.load("third")
    third.messages.append(Entry("assistant", "Dug in\n1871."))
    store.save(third)
    assert store.search("old well")[0].reply == "Dug in 1871."


# -------- what is shown


def test_the_snippet_is_the_line_with_the_most_words(store: SessionStore) -> None:
    saved(store, "first fox\nthe quick   brown fox\nlast fox")
    assert store.search("fox brown")[0].snippet == "the quick brown fox"


def test_a_longer_snippet_shows_the_lines_around(store: SessionStore) -> None:
    text = "a heading\n\n- one\n- the brown fox\n- two\n" + "z" * 400
    assert make_snippet(text, ["fox"], 300) == "a heading / - one / - the brown fox / - two"
    assert make_snippet(text, ["fox"], 30) == "- the brown fox"


@given(
    st.text(max_size=3000) | st.text(" ab\n", min_size=900, max_size=4000),
    st.lists(st.text("ab", min_size=1, max_size=3), max_size=3),
    st.integers(20, 400),
)
def test_pieces_are_the_text_and_snippets_are_short(
    text: str, words: list[str], length: int
) -> None:
    cut = list(split_passages(text))
    assert "".join(cut) == text
    assert all(len(piece) <= PASSAGE_LENGTH + PASSAGE_LENGTH // 4 for piece in cut)
    shown = make_snippet(text, words, length)
    assert len(shown) <= length + len("......")
    assert "\n" not in shown


@given(st.text(max_size=200), st.text(max_size=400))
def test_any_words_can_be_looked_for_in_any_text(query: str, text: str) -> None:
    session = Session("x", messages=[Entry("user", text)])
    hits = search([(session, [(1, session.messages[0])])], query, any_word=True)
    assert len(hits) <= 1
    assert all(0.0 <= term.worth(fold(text)) <= 1.0 for term in read_terms(query))


@pytest.mark.parametrize(
    "query", ["9" * 6000, "1" + ",000" * 2000, "a " * 9000, '"' * 5000, "-" * 99]
)
def test_a_monstrous_search_is_no_failure(query: str) -> None:
    session = Session("x", messages=[Entry("user", "9 of 1,000 a's " * 9000)])
    search([(session, [(1, session.messages[0])])], query, any_word=True)
    assert len(read_terms(query)) <= 40
    assert len(read_terms(" ".join(f"w{number}" for number in range(300)))) == 40


@given(st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=1, max_size=6, unique=True))
def test_a_message_is_found_by_all_of_its_words(words: list[str]) -> None:
    session = Session("x", messages=[Entry("user", " ".join(words)), Entry("assistant", "0")])
    hits = search([(session, enumerate(session.messages, 1))], " ".join(reversed(words)))
    assert [(hit.number, hit.missing) for hit in hits] == [(1, ())]
