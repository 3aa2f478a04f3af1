"""`openclaw memory list`, `add`, `forget` and `review` as a user types them."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from openclaw.memory.notes import Notes
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import CommandLine
from tests.fakes.files import write_files
from tests.fakes.terminal import exit_code, on_terminal, terminals


def today() -> str:
    """Asked in each test: a run may begin before midnight."""
    return date.today().isoformat()


MEMORY = "# Memory\n\n- The standup is at 9:30\n- Ada\n  - my sister\n- I like tea <!-- why -->\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home that OPENCLAW_HOME names in every test."""
    files = {
        "workspace/SOUL.md": "# Soul\n",
        "memory/MEMORY.md": MEMORY,
        "memory/2026-01-02.md": "- met Bob\n- ~~met Eve~~ (until 2026-01-03)\n",
    }
    root = write_files(tmp_path / "home", files)
    trust_home(Home(root))
    return root


@pytest.fixture
def claw(home: Path) -> Claw:
    return Claw(home)


class Claw(CommandLine):
    def __init__(self, home: Path) -> None:
        super().__init__("memory")
        self.notes = Notes(home / "memory")
        self.path = home / "memory" / "MEMORY.md"

    def texts(self, *words: str) -> list[str]:
        return [note["text"] for note in self.json("list", *words)]

    def file(self) -> str:
        return self.path.read_text("utf-8")


def test_the_list_has_places_and_texts_and_changes_nothing(claw: Claw) -> None:
    assert "memory/MEMORY.md:3    " in claw("list")
    assert claw.texts() == ["The standup is at 9:30", "Ada", "my sister", "I like tea", "met Bob"]
    assert claw.texts("--all")[-1] == "met Eve"
    assert "met Eve (until 2026-01-03)" in claw("list", "--all")
    assert claw.file() == MEMORY


def test_json_has_all_that_is_known_of_a_memory(claw: Claw) -> None:
    assert claw.json("list", "--all")[-1] == {
        "path": "memory/2026-01-02.md",
        "line": 2,
        "text": "met Eve",
        "category": "fact",
        "date": "2026-01-02",
        "source": None,
        "importance": None,
        "superseded": True,
        "until": "2026-01-03",
    }


def test_the_list_can_be_filtered(claw: Claw) -> None:
    claw("add", "Bob's number is 555-0101")
    assert claw.texts("--category", "preference") == ["I like tea"]
    assert claw.texts("--category", "entity") == ["Bob's number is 555-0101"]
    assert claw.texts("--since", "2026-01-02") == ["Bob's number is 555-0101", "met Bob"]
    assert claw.texts("--since", "yesterday") == ["Bob's number is 555-0101"]
    assert claw("list", "--since", str(date.today() + timedelta(1))) == ""
    assert "nothing" in claw.err


def test_a_fact_is_added_with_its_metadata(claw: Claw) -> None:
    words = ("add", "rent", "is", "due", "--category", "decision", "--importance", "0.7")
    assert claw(*words) == "remembered in memory/MEMORY.md:7\n"
    assert claw.file() == (
        f"{MEMORY}- rent is due <!-- decision, {today()}, typed, importance 0.7 -->\n"
    )
    note = claw.json("add", "lunch at noon", "--today")
    assert (note["path"], note["line"], note["replaced"]) == (f"memory/{today()}.md", 3, [])


def test_what_a_fact_supersedes_is_told(claw: Claw) -> None:
    assert claw("add", "The standup is at 10:00") == (
        "remembered in memory/MEMORY.md:4\nsuperseded memory/MEMORY.md:3: The standup is at 9:30\n"
    )
    assert f"- ~~The standup is at 9:30~~ (until {today()})\n- The standup is at 10:00 " in (
        claw.file()
    )
    note = claw.json("add", "I like coffee", "--replaces", "tea")
    assert [old["text"] for old in note["replaced"]] == ["I like tea"]
    note = claw.json("add", "Bob left", "--replaces", "memory/2026-01-02.md:1")
    assert note["path"] == "memory/MEMORY.md"
    assert [old["path"] for old in note["replaced"]] == ["memory/2026-01-02.md"]
    assert "met Bob" not in claw.texts() and "met Bob" in claw.texts("--all")


def test_what_is_known_already_is_no_mistake(claw: Claw) -> None:
    before = claw.path.read_text("utf-8")
    assert claw("add", "i like tea.") == "already in memory/MEMORY.md:6\n"
    told = claw.json("add", "i like tea.")
    assert (told["known"], told["line"], told["replaced"]) == (True, 6, [])
    assert claw.path.read_text("utf-8") == before
    assert claw.json("add", "I like cake")["known"] is False


@pytest.mark.parametrize(
    "words",
    [
        ("add", " "),
        ("add", "x", "--category", "gossip"),
        ("add", "x", "--importance", "7"),
        ("add", "x", "--replaces", "cheese"),
        ("add", "x", "--replaces", "Ada"),
        ("list", "--category", "gossip"),
        ("list", "--since", "soon"),
        ("forget", "cheese"),
        ("forget", "MEMORY.md:99"),
        ("forget", "tea"),
        ("forget",),
        ("review", "--accept", "1"),
    ],
)
def test_wrong_words_are_usage_errors_and_change_nothing(claw: Claw, words: list[str]) -> None:
    assert claw(*words, code=2) == ""
    assert claw.err
    assert claw.file() == MEMORY


# ---- forget


def test_forgetting_shows_the_lines_and_takes_them_out(claw: Claw) -> None:
    assert claw("forget", "ada", "--yes") == "forgotten: Ada\n"
    shown = "memory/MEMORY.md:4: - Ada\nmemory/MEMORY.md:5:   - my sister\n"
    assert claw.err == f"{shown}  take it back: openclaw undo\n"
    assert claw.file() == MEMORY.replace("- Ada\n  - my sister\n", "")
    (gone,) = claw.json("forget", "memory/MEMORY.md:4", "--yes")
    assert (gone["text"], gone["lines"]) == ("I like tea", ["- I like tea <!-- why -->"])
    assert claw.texts() == ["The standup is at 9:30", "met Bob"]


def test_without_a_terminal_forgetting_needs_a_yes(claw: Claw) -> None:
    claw("forget", "tea", code=2)
    assert "- I like tea" in claw.err and "--yes" in claw.err
    assert claw.file() == MEMORY


def test_several_that_fit_are_listed_with_their_places(claw: Claw) -> None:
    claw("add", "I like tea pots")
    claw("forget", "like", "--yes", code=2)
    assert "fits 2 memories" in claw.err
    assert "memory/MEMORY.md:6  I like tea\n" in claw.err
    assert "memory/MEMORY.md:7  I like tea pots\n" in claw.err
    assert claw("forget", "I", "like", "tea", "--yes") == "forgotten: I like tea\n"


@terminals
@pytest.mark.parametrize(("reply", "code"), [("n", 1), ("y", 0)])
def test_on_a_terminal_forgetting_asks_first(claw: Claw, reply: str, code: int) -> None:
    terminal = on_terminal("-m", "openclaw", "memory", "forget", "tea")
    terminal.expect("- I like tea")
    terminal.expect("Forget this")
    terminal.sendline(reply)
    assert exit_code(terminal) == code
    assert ("tea" in claw.file()) == (reply == "n")


@terminals
def test_a_command_that_control_c_ends_says_so(claw: Claw) -> None:
    terminal = on_terminal("-m", "openclaw", "memory", "forget", "tea")
    terminal.expect("Forget this")
    terminal.sendintr()
    terminal.expect("openclaw: interrupted")
    assert exit_code(terminal) == 130 and "tea" in claw.file()


# ---- review


def test_what_waits_is_listed_and_is_not_in_memory(claw: Claw) -> None:
    assert claw("review") == ""
    assert "nothing to review" in claw.err
    claw.notes.propose("Bob sells tea", "https://example.com")
    claw.notes.propose("The standup is at 11:00", "a mail")
    assert claw("review").splitlines() == [
        "N  DATE        SOURCE               TEXT",
        f"1  {today()}  https://example.com  Bob sells tea",
        f"2  {today()}  a mail               The standup is at 11:00",
    ]
    first, second = claw.json("review")
    assert (first["n"], first["text"], first["source"]) == (
        1, "Bob sells tea", "https://example.com",
    )  # fmt: skip
    assert second["path"] == f"memory/inbox/{today()}.md"
    assert "Bob sells tea" not in claw.texts("--all")


def test_candidates_are_accepted_and_rejected_by_number_or_text(claw: Claw) -> None:
    for text in ("Bob sells tea", "The standup is at 11:00", "Eve sells tea", "I like tea, too"):
        claw.notes.propose(text, "a page")
    claw("review", "--accept", "sells", code=2)
    assert "1  Bob sells tea" in claw.err and "3  Eve sells tea" in claw.err
    claw("review", "--accept", "1", "--reject", "bob", code=2)
    out = claw("review", "--accept", "2", "--accept", "bob", "--reject", "eve sells")
    assert out == (
        "remembered in memory/MEMORY.md:7: Bob sells tea\n"
        "remembered in memory/MEMORY.md:4: The standup is at 11:00; "
        "superseded: The standup is at 9:30\n"
        "rejected: Eve sells tea\n"
    )
    assert [note["text"] for note in claw.json("review")] == ["I like tea, too"]
    (kept,) = claw.json("review", "--accept", "all")
    assert (kept["did"], kept["source"]) == ("accepted", "a page")
    assert claw.json("review") == []
    assert not (claw.path.parent / "inbox" / f"{today()}.md").exists()


@terminals
def test_on_a_terminal_each_candidate_is_asked_for(claw: Claw) -> None:
    for text in ("one thing", "two things", "some more", "last words"):
        claw.notes.propose(text, "a page")
    terminal = on_terminal("-m", "openclaw", "memory", "review")
    for asked, reply in (("one thing", "y"), ("two things", "n"), ("some more", "what")):
        terminal.expect(f"{asked} .from a page")
        terminal.expect("Remember it")
        terminal.sendline(reply)
    terminal.expect("Remember it")
    terminal.sendline("")
    terminal.expect("last words")
    terminal.sendline("q")
    assert exit_code(terminal) == 0
    assert "one thing" in claw.texts() and "two things" not in claw.texts()
    assert [note.text for note in claw.notes.candidates()] == ["some more", "last words"]


# ---- faults


def test_escape_sequences_of_a_memory_do_not_reach_the_terminal(claw: Claw) -> None:
    claw.path.write_text("- red \x1b[31mpaint\n", encoding="utf-8")
    assert "red \u241b[31mpaint" in claw("list")
    assert "red \u241b[31mpaint" in claw("forget", "red", "--yes")
    assert "\x1b" not in claw.err


def test_pages_are_gathered_on_order_and_follow_what_is_added_and_forgotten(claw: Claw) -> None:
    page = claw.path.parent / "people" / "lena.md"
    claw("add", "My sister Lena plays chess")
    assert "- My sister Lena plays chess [[MEMORY]]" in page.read_text("utf-8")
    page.unlink()
    assert claw.json("gather")["changed"] == ["memory/people/lena.md"]
    assert "nothing has changed" in (claw("gather"), claw.err)[1]
    claw("forget", "My sister Lena plays chess", "--yes")
    assert not page.exists()
