"""The search: what is found, where it stands, and that it is never from old text."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from openclaw.errors import OpenclawError, UsageError
from openclaw.retrieval.chunking import ELSEWHERE
from openclaw.retrieval.embedder_choice import EmbedderChoice
from openclaw.retrieval.index import BACKGROUND
from openclaw.retrieval.passages import Passage
from openclaw.retrieval.question import LONGEST_QUESTION
from openclaw.retrieval.ranking import respell
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from openclaw.retrieval.snapshot import SnapshotView
from openclaw.storage.home import Home
from openclaw.types import Shown, ToolProblem
from tests.fakes.embedder import WordEmbedder
from tests.fakes.files import write_file

DAY = """# 2026-03-02

- The boiler was serviced by Olsen.
- Dentist moved to Friday.

# 2026-03-02 evening

- The cat eats at seven.
"""

TRIP = "# Trip\n\nThe ferry to Bergen leaves at noon.\n"

Opened = Callable[..., Search]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write(tmp_path, "memory/2026-03-02.md", DAY)
    write(tmp_path, "workspace/trip.md", TRIP)
    return tmp_path


@pytest.fixture
def opened(home: Path) -> Iterator[Opened]:
    """Opens searches of the home; by words only unless an embedder is given."""
    made = []

    def open_search(embedder: Any = None, **how: Any) -> Search:
        options = how.pop("options", IndexOptions())
        choose = embedder if callable(embedder) else lambda: embedder
        made.append(Search(Home(home), options, choose, home / ".openclaw", **how))
        return made[-1]

    yield open_search
    for search in made:
        search.close()


def write(home: Path, path: str, text: str) -> Path:
    return write_file(home / path, text)


def places(found: list[Passage]) -> list[str]:
    return [f"{passage.path}:{passage.start_line}" for passage in found]


# -------- what is found


def test_a_passage_is_the_line_as_it_stands_with_its_place(opened: Opened) -> None:
    first = opened().search("who serviced the boiler?")[0]
    assert (first.path, first.start_line, first.end_line) == ("memory/2026-03-02.md", 3, 3)
    assert first.text == "- The boiler was serviced by Olsen."
    assert first.date == "2026-03-02" and 0 < first.score <= 1
    assert first.ranks["words"][0] == 1 and "meaning" not in first.ranks and first.reason


def test_both_ranks_are_told_when_there_are_vectors(opened: Opened) -> None:
    search = opened(WordEmbedder())
    first = search.search("the feline eats at seven")[0]
    assert first.text == "- The cat eats at seven."
    assert first.ranks["meaning"][0] == 1 and first.ranks["meaning"][1] > 0.3
    assert search.notices == []


@pytest.mark.parametrize("question", ["", " \n", "zebra", "?"])
def test_a_question_that_nothing_answers_finds_nothing(opened: Opened, question: str) -> None:
    assert opened().search(question) == []


def test_an_empty_home_and_one_word_files_are_searched(tmp_path: Path, opened: Opened) -> None:
    empty = Search(Home(tmp_path / "none"), IndexOptions(), WordEmbedder, tmp_path / "p")
    assert empty.search("boiler") == []
    empty.close()
    write(tmp_path, "memory/a.md", "volcano")
    assert places(opened().search("volcano")) == ["memory/a.md:1"]


def test_at_most_k_are_given(home: Path, opened: Opened) -> None:
    write(home, "memory/many.md", "".join(f"- volcano number {n} erupts\n" for n in range(30)))
    search = opened()
    assert [len(search.search("volcano", k)) for k in (1, 5, 12)] == [1, 5, 12]


@pytest.mark.parametrize("gap", [" " * 20_000, " <!--" * 4_000])
def test_a_line_of_blanks_or_marks_holds_up_no_search(home: Path, opened: Opened, gap: str) -> None:
    write(home, "memory/a.md", f"- volcano{gap}.\n")
    search = opened()
    assert search.search("volcano")
    began = time.process_time()
    assert search.search("volcano")
    assert time.process_time() - began < 0.5


def test_equal_texts_are_given_once(home: Path, opened: Opened) -> None:
    write(home, "memory/a.md", "- The volcano erupts.\n")
    write(home, "memory/b.md", "* the  volcano erupts.\n\n\n\nThe volcano sleeps.\n")
    assert len(opened().search("volcano", 10)) == 2


def test_a_path_narrows_the_search(home: Path, opened: Opened) -> None:
    write(home, "workspace/house/boiler.md", "The boiler manual is blue.\n")
    for other in ("workspace/household/a.md", "workspace/house.md", "memory/b.md"):
        write(home, other, f"The boiler of {other} is red.\n")
    search = opened()
    found = {
        path: {passage.path for passage in search.search("boiler", path=path)}
        for path in ("workspace/house/", "workspace\\house", "./workspace/house.md", "memory", ".")
    }
    assert [*found.values()][:2] == [{"workspace/house/boiler.md"}] * 2
    assert found["./workspace/house.md"] == {"workspace/house.md"}
    assert {path[:7] for path in found["memory"]} == {"memory/"}
    assert len(found["."]) == len(search.search("boiler", path=str(home))) == 5
    assert search.search("boiler", path="workspace/trip") == []


def test_since_goes_by_the_date_of_the_line_else_of_the_file(home: Path, opened: Opened) -> None:
    write(home, "memory/log.md", "# 2026-01-01\n\n- volcano one\n\n# 2026-05-01\n\n- volcano two\n")
    for name, day in (("old", "2025-12-31"), ("new", "2026-04-01")):
        file = write(home, f"workspace/{name}.md", f"The {name} volcano\n")
        seconds = datetime.fromisoformat(day).timestamp() + 3600
        os.utime(file, (seconds, seconds))
    found = opened().search("volcano", 10, since="2026-04-01")
    assert sorted(places(found)) == ["memory/log.md:7", "workspace/new.md:1"]


def test_since_may_be_before_all_days_that_have_a_timestamp(opened: Opened) -> None:
    assert opened().search("boiler", since="0001-01-01")


def test_a_file_from_after_the_year_2262_is_searched(home: Path, opened: Opened) -> None:
    os.utime(home / "workspace/trip.md", ns=(0, 2**63 + 10**9))
    for _ in range(2):
        assert opened().search("ferry to Bergen")[0].path == "workspace/trip.md"
    assert not opened().refresh().changed


def test_since_must_be_a_day(opened: Opened) -> None:
    with pytest.raises(UsageError, match="not a day: 'soon'"):
        opened().search("boiler", since="soon")


def test_a_named_day_is_answered_by_its_lines_though_they_do_not_say_it(
    home: Path, opened: Opened
) -> None:
    write(home, "memory/2026-03-03.md", "- Bought paint.\n- Called Ines.\n")
    found = opened().search("what did I do on 3 March?", today=date(2026, 3, 9))
    assert {*places(found)} == {"memory/2026-03-03.md:1", "memory/2026-03-03.md:2"}
    assert opened().search("what did I do on 4 March?", today=date(2026, 3, 9)) == []


def test_a_named_day_is_answered_by_a_later_line_that_tells_of_it(
    home: Path, opened: Opened
) -> None:
    write(home, "memory/2026-03-04.md", "- The day before yesterday the goat ran away.\n- Rain.\n")
    found = opened().search("on 2 March 2026", 9)
    assert "memory/2026-03-04.md:1" in places(found)
    assert "memory/2026-03-04.md:2" not in places(found)
    assert next(p for p in found if p.path.endswith("04.md")).reason.endswith("tells of that day")


def test_a_coming_day_is_answered_by_all_lines_of_its_plan(home: Path, opened: Opened) -> None:
    plan = "# Bookings\n\n## Monday 30 November\n\n- 9:30 Bella\n\n## Tuesday 1 December\n\n"
    dogs = "Moose Luna Rex Max Bo Kira Tilly Otto Zoe Finn".split()
    lines = (f"- {hour}:00 {dog}\n" for hour, dog in enumerate(dogs, 8))
    write(home, "workspace/bookings.md", plan + "".join(lines))
    search, today = opened(), date(2026, 11, 28)
    for question in (
        "what is in the diary for tuesday?",
        "who comes on 1 December?",
        "when does Otto come on tuesday?",
    ):
        found = search.chosen_for_prompt(question, (), 6, 400, len, today, kind="own").passages
        assert found[0].place == "workspace/bookings.md:7-18", question


def test_a_heading_comes_after_what_stands_below_it(home: Path, opened: Opened) -> None:
    write(home, "memory/trip.md", "# Volcano\n\n- We walk up the volcano at dawn.\n")
    assert places(opened().search("volcano"))[0] == "memory/trip.md:3"


def test_a_very_long_question_is_read_at_both_ends(opened: Opened) -> None:
    log = " ".join(f"line{n}" for n in range(5000))
    embedder = WordEmbedder()
    found = opened(embedder).search(f"who serviced the boiler {log} ferry to Bergen", 10)
    assert {"memory/2026-03-02.md:3", "workspace/trip.md:3"} <= {*places(found)} or not found
    assert len(embedder.questions[-1]) <= LONGEST_QUESTION + 1


def test_today_is_what_yesterday_counts_from(home: Path, opened: Opened) -> None:
    for day in ("2026-03-01", "2026-03-05"):
        write(home, f"memory/{day}.md", "- Lunch was soup.\n" + "- Something else.\n" * 3)
        write(home, f"memory/{day}.md", f"- Lunch was soup {day[-1]}.\n")
    search = opened()
    for today, file in ((date(2026, 3, 2), "2026-03-01"), (date(2026, 3, 6), "2026-03-05")):
        first = search.search("what was lunch yesterday?", today=today)[0]
        assert first.path == f"memory/{file}.md"


# -------- never from old text


def test_an_edit_is_found_at_once_and_what_was_there_is_not(home: Path, opened: Opened) -> None:
    search = opened(WordEmbedder())
    assert search.search("Olsen")
    write(home, "memory/2026-03-02.md", "\n\n" + DAY.replace("Olsen", "Petersen"))
    assert places(search.search("Petersen", 1)) == ["memory/2026-03-02.md:5"]
    assert "Olsen" not in "".join(p.text for p in search.search("Olsen boiler"))
    (home / "memory" / "2026-03-02.md").rename(home / "memory" / "b.md")
    assert places(search.search("Petersen", 1)) == ["memory/b.md:5"]
    (home / "memory" / "b.md").unlink()
    assert search.search("Petersen") == []


class LoadedAhead(WordEmbedder):
    """Notes that it was to be loaded, and fails."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded = threading.Semaphore(0)

    def load(self) -> None:
        self.loaded.release()
        raise RuntimeError("damaged")


def test_the_embedder_is_loaded_beside_the_first_scan_and_may_fail(
    home: Path, opened: Opened
) -> None:
    opened(WordEmbedder()).search("boiler")
    embedder = LoadedAhead()
    search = opened(embedder)
    search.refresh_ahead()
    assert embedder.loaded.acquire(timeout=10)
    assert places(search.search("who serviced the boiler?"))[0] == "memory/2026-03-02.md:3"
    assert not search.notices


def test_no_embedder_is_loaded_ahead_where_no_passage_has_a_vector(
    home: Path, opened: Opened
) -> None:
    embedder = LoadedAhead()
    opened(embedder).refresh_ahead()
    assert not embedder.loaded.acquire(timeout=0.2)


def test_a_file_that_changes_while_it_is_searched_is_searched_again(
    home: Path, opened: Opened
) -> None:
    class Saboteur(WordEmbedder):
        """Changes the file when the index has been read and the question is embedded."""

        def query(self, text: str) -> Any:
            if not self.questions:
                write(home, "memory/2026-03-02.md", "# New\n\n" + DAY)
            return super().query(text)

    found = opened(Saboteur()).search("who serviced the boiler?")
    assert places(found)[0] == "memory/2026-03-02.md:5"


# -------- meaning that fails


def test_a_server_that_dies_half_way_leaves_an_answer_and_one_notice(
    home: Path, opened: Opened
) -> None:
    write(home, "memory/many.md", "".join(f"- item {n} of the list\n" for n in range(200)))
    embedder = WordEmbedder(left=150)  # the first batch and the lines around it
    search = opened(embedder)
    search.refresh()
    search.embed()
    assert 32 < len(embedder.texts) <= 150
    assert places(search.search("boiler serviced"))[0] == "memory/2026-03-02.md:3"
    assert search.notices == ["search goes by words only: the embedding server is away (start it)"]
    search.close()
    fresh = WordEmbedder()
    opened(fresh).embed()
    assert fresh.texts and len({*fresh.texts} & {*embedder.texts}) <= 2 * ELSEWHERE


@pytest.mark.parametrize("spoilt", [[float("nan")] * 64, [0.0] * 64, [1.0, 2.0]])
def test_an_unusable_vector_costs_a_notice_and_no_answer(
    home: Path, opened: Opened, spoilt: list[float]
) -> None:
    search = opened(WordEmbedder(spoilt=spoilt))
    for _ in range(3):
        assert places(search.search("boiler"))[0] == "memory/2026-03-02.md:3"
    assert len(search.notices) == 1 and "words only" in search.notices[0]


def test_no_embedder_is_told_once_with_what_to_do(opened: Opened) -> None:
    why = "no model is installed, search goes by words only"
    search = opened(EmbedderChoice(None, why, "fetch it"))
    assert search.search("boiler") and search.search("cat")
    assert search.notices == [f"{why} (fetch it)"]
    assert search.embed() == 0


def test_words_only_by_choice_are_no_news(opened: Opened) -> None:
    search = opened(EmbedderChoice(None))
    assert search.search("boiler") and search.notices == []


def test_a_setting_that_is_wrong_stops_no_search(opened: Opened) -> None:
    def choose() -> None:
        raise OpenclawError("not an embedding: 'x'", "set it to auto")

    search = opened(choose)
    assert search.search("boiler")
    assert search.notices == ["search goes by words only: not an embedding: 'x' (set it to auto)"]


def test_a_new_model_embeds_all_again_and_one_line_says_so(home: Path, opened: Opened) -> None:
    first = opened(WordEmbedder("fake/one@1a2b"))
    first.search("boiler")
    first.close()
    embedder = WordEmbedder("fake/two", width=32)
    second = opened(embedder)
    assert second.search("the feline eats")[0].text == "- The cat eats at seven."
    assert second.notices == [
        "the embedding model is now fake/two, before it was fake/one@1a2b: 7 passages are embedded"
        " again; the vectors of before are kept (back: openclaw config set embedding fake/one)"
    ]
    assert len(embedder.texts) >= 4


def ask_once(opened: Opened, embedder: WordEmbedder) -> tuple[int, list[str]]:
    """How many texts the embedder had to embed for a question, and what the user was told."""
    embedder.texts.clear()
    search = opened(embedder)
    assert search.search("the feline eats")[0].ranks["meaning"]
    search.close()
    return len(embedder.texts), search.notices


def test_the_user_can_go_back_to_the_last_model_without_embedding_again(
    home: Path, opened: Opened
) -> None:
    one, two, three = (WordEmbedder(f"fake/{name}") for name in ("one", "two", "three"))
    for new in (one, two):
        assert ask_once(opened, new)[0] > 0
    for known in (one, two, one):
        assert ask_once(opened, known) == (0, [])
    assert ask_once(opened, three)[0] > 0
    assert ask_once(opened, one) == (0, [])
    assert ask_once(opened, two)[0] > 0  # of the two before three only the last one is kept


def test_what_a_new_model_costs_is_told_before_it_embeds(home: Path, opened: Opened) -> None:
    write(home, "memory/many.md", "".join(f"- item {n} of the list\n" for n in range(996)))
    old = opened(WordEmbedder("fake/one"))
    old.refresh()
    old.embed()
    old.tell_cost()
    assert old.notices == []
    old.close()
    slow = WordEmbedder("fake/two", seconds=1.92)  # for 16 texts
    new = opened(slow)
    new.tell_cost()
    missing, changed = new.notices
    assert missing.startswith("0 of 1,003 passages have vectors, the others are found by their")
    assert re.search(r"all get one in about [2-9] min in the background", missing)
    assert changed.startswith("the embedding model is now fake/two, before it was fake/one: 1,003")
    assert changed.endswith("(back: openclaw config set embedding fake/one)")
    assert len(slow.texts) == 17 and new.held() == (3, 1003, 0)


def test_a_model_that_fails_costs_nothing_and_says_why(home: Path, opened: Opened) -> None:
    opened().refresh()
    search = opened(WordEmbedder(left=0))
    search.tell_cost()
    assert search.notices == ["search goes by words only: the embedding server is away (start it)"]


def test_a_slow_model_holds_a_prompt_up_only_shortly_and_the_notice_counts(
    home: Path, opened: Opened
) -> None:
    write(home, "memory/many.md", "".join(f"- item {n} of the list\n" for n in range(196)))
    search = opened(WordEmbedder(seconds=0.31))  # longer than a prompt waits: one batch
    recalled(search, "the boiler")
    assert search.notices == [
        "32 of 203 passages have vectors, the others are found by their words only;"
        " all get one in the background (now: openclaw memory index)"
    ]
    assert search.missing == 171
    seen: list[tuple[int, int]] = []
    assert search.embed(on_progress=lambda *at: seen.append(at)) == 0
    assert seen[-1] == (171, 171)
    assert len(search.notices) == 1


def test_the_notice_says_how_long_the_missing_vectors_will_take(home: Path, opened: Opened) -> None:
    write(home, "memory/many.md", "".join(f"- item {n} of the list\n" for n in range(620)))
    search = opened(WordEmbedder(seconds=4.0))  # one batch, in the moment that a prompt waits
    recalled(search, "the boiler")
    (notice,) = search.notices
    assert re.search(r"all get one in about [1-9]\d* min in the background", notice)


def holder(home: Path) -> subprocess.Popen[str]:
    """A process that makes vectors in the background, and does not end by itself."""
    held = home / ".openclaw/index" / BACKGROUND
    held.parent.mkdir(parents=True, exist_ok=True)
    code = (
        "import sys, pathlib; from openclaw.storage.lock import hold_lock\n"
        "with hold_lock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(held)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_one_process_at_a_time_makes_the_vectors_in_the_background(
    home: Path, opened: Opened
) -> None:
    search = opened(WordEmbedder())
    search.refresh()
    with holder(home) as other:
        search.embed_in_background()
        assert search.held()[2] == 0
        search.embed_alone()  # this is waited for, and so takes over
        assert other.wait(10) != 0
    assert search.held()[1:] == (7, 7)
    write(home, "memory/new.md", "- The roof is new.\n")
    search.refresh()
    search.embed_in_background()
    assert search.held()[1:] == (8, 8)


def test_the_meaning_of_a_question_is_that_without_instructions(opened: Opened) -> None:
    search = opened(embedder := WordEmbedder())
    search.search("Please list the ferries. Mention only the towns.")
    search.search("Please")
    assert [" ".join(text.split()) for text in embedder.questions] == [
        "the ferries the towns.",
        "Please",
    ]


# -------- for a prompt


def recalled(search: Search, question: str, *skip: str) -> list[Passage]:
    return search.chosen_for_prompt(question, skip, 3, 400, len).passages


def test_what_a_page_repeats_is_shown_where_it_was_said(home: Path, opened: Opened) -> None:
    page, day = "memory/people/lena.md", "memory/2026-03-05.md"
    write(home, day, "- Lena is allergic to nuts\n- Lena is allergic to cats\n")
    food = "# Lena\n\n## Food and drink\n\n- Lena is allergic to nuts [[2026-03-05]]\n"
    write(home, page, f"{food}\n## Hobbies\n\n- Lena sings [[Choir]]\n")
    search = opened()
    first, *_ = [p for p in search.search("which food is bad for Lena?") if "nuts" in p.text]
    assert (first.path, first.start_line) == (day, 1)
    assert first.text == "- Lena is allergic to nuts"
    assert f"{page}:9" in places(search.search("Lena sings"))
    assert f"{page}:5" in places(search.search("what is Lena allergic to?", path=page))


def test_recall_gives_what_answers(opened: Opened) -> None:
    search = opened()
    assert recalled(search, "boiler serviced Olsen")[0].path == "memory/2026-03-02.md"
    assert recalled(search, "quantum chromodynamics") == []


def test_what_the_prompt_holds_is_given_again_only_when_it_is_the_best(opened: Opened) -> None:
    search = opened()
    day, asked = "memory/2026-03-02.md", "boiler serviced Olsen"
    assert [each.path for each in recalled(search, asked, day)] == [day]
    both = "The boiler: was it serviced before the ferry to Bergen leaves at noon?"
    best = recalled(search, both)[0].path
    assert best != day and day not in [each.path for each in recalled(search, both, day)]


def test_what_the_prompt_holds_counts_among_the_passages_and_their_tokens(
    home: Path, opened: Opened
) -> None:
    head, asked = "memory/MEMORY.md", "boiler serviced Olsen cellar key"
    write(home, head, "- The boiler was serviced by Olsen, the cellar key is his.\n")
    for month in ("March", "April", "May", "June"):
        line = f"- The boiler in the cellar was serviced by Olsen in {month}.\n"
        write(home, f"memory/{month}.md", line)
    chosen = opened().chosen_for_prompt(asked, (head,), 3, 120, len)
    assert chosen.passages[0].path == head
    assert 1 < len(chosen.passages) <= 3
    assert sum(len(each.text) for each in chosen.passages) <= 120
    assert head not in [each.path for each in chosen.left_out]


def test_a_question_about_own_things_is_shown_what_is_less_near_for_want_of_better(
    opened: Opened,
) -> None:
    search = opened()
    asked = "Which ferry company did we book?"
    assert recalled(search, asked) == []
    (found,) = search.chosen_for_prompt(asked, (), 3, 400, len, kind="own").passages
    assert found.text == "The ferry to Bergen leaves at noon."
    asked = "When does the cat eat, before the ferry?"  # one that is near stands alone
    (found,) = search.chosen_for_prompt(asked, (), 3, 400, len, kind="own").passages
    assert found.text == "- The cat eats at seven."


def test_a_question_about_own_things_is_shown_the_less_near_of_what_the_prompt_holds(
    home: Path, opened: Opened
) -> None:
    write(home, "memory/MEMORY.md", "- Ayo must not head the ball until February.\n")
    search, asked = opened(), "is there anything ayo can't do?"
    chosen = search.chosen_for_prompt(asked, ["memory/MEMORY.md"], 3, 400, len, kind="own")
    assert [each.text for each in chosen.passages] == [
        "- Ayo must not head the ball until February."
    ]


def test_two_lines_of_the_head_are_repeated_where_no_other_is_nearer(
    home: Path, opened: Opened
) -> None:
    head = ("memory/MEMORY.md", "workspace/USER.md")
    write(home, head[0], "- Marta is allergic to lilies.\n")
    write(home, head[1], "I run a flower shop with my sister Marta.\n")
    asked = "can I put lilies into the shop when Marta is here?"
    chosen = opened().chosen_for_prompt(asked, head, 3, 400, len, kind="own")
    assert {each.path for each in chosen.passages} == {*head}


def test_an_order_finds_the_line_of_which_it_names_only_the_old_part(opened: Opened) -> None:
    search = opened()
    asked = "move the ferry to quarter past seven"
    assert recalled(search, asked) == []
    (found,) = search.chosen_for_prompt(asked, (), 3, 400, len, kind="order").passages
    assert found.text == "The ferry to Bergen leaves at noon."


# -------- reading on


def test_lines_are_read_with_their_numbers(opened: Opened) -> None:
    assert opened().get("memory/2026-03-02.md", 3, 4) == (
        "memory/2026-03-02.md, lines 3-4 of 8:\n"
        "3  - The boiler was serviced by Olsen.\n"
        "4  - Dentist moved to Friday.",
        Shown("memory/2026-03-02.md", 3, 4),
    )


def test_reading_on_is_lenient_with_ends_and_names(opened: Opened) -> None:
    search = opened()
    whole, shown = search.get("trip.md", 0, 99)
    assert shown == Shown("workspace/trip.md", 1, 3)
    assert whole.startswith("workspace/trip.md, lines 1-3 of 3:") and "Bergen" in whole
    assert search.get("./workspace\\trip.md", 3, 1)[0].splitlines()[1:] == [
        "3  The ferry to Bergen leaves at noon."
    ]


def test_a_long_file_is_read_page_by_page(home: Path, opened: Opened) -> None:
    write(home, "memory/long.md", "".join(f"line {n}\n" for n in range(1, 301)))
    page, shown = opened().get("memory/long.md", 50)
    assert shown == Shown("memory/long.md", 50, 169)
    assert page.splitlines()[1] == " 50  line 50"
    assert page.splitlines()[-1] == "[131 more lines: ask for 170 to 300]"


@pytest.mark.parametrize(
    ("path", "start", "says"),
    [
        ("memory/2026-03-03.md", 1, "Did you mean memory/2026-03-02.md?"),
        ("../secret.md", 1, "is not in memory"),
        ("openclaw.yaml", 1, "is not in memory"),
        (".openclaw/index/index.sqlite", 1, "is not in memory"),
        ("memory/2026-03-02.md", 90, "has only 8 lines"),
    ],
)
def test_what_is_not_indexed_is_not_read(
    home: Path, opened: Opened, path: str, start: int, says: str
) -> None:
    write(home, "openclaw.yaml", "model: auto\n")
    write(home.parent, "secret.md", "secret")
    with pytest.raises(ToolProblem, match=says.replace("?", r"\?")):
        opened().get(path, start)


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("Where does Jonh live?", "memory/people.md:3"),
        ("Lisbonne", "memory/people.md:4"),
        ("where is lisbonne", ""),
        ("Lisa", ""),
        ("כינרתה", "memory/people.md:5"),
    ],
)
def test_a_name_that_the_index_does_not_know_is_read_as_the_nearest_that_it_knows(
    home: Path, opened: Opened, question: str, path: str
) -> None:
    people = (
        "# People\n\n- John stays by the harbour.\n- Tram 28 in Lisbon is full.\n- כינרת calls.\n"
    )
    write(home, "memory/people.md", people)
    search = opened()
    assert [*places(search.search(question)), ""][0] == path
    nodes = search.retriever().retrieve(question)
    assert bool(nodes) == bool(path)


def test_a_compound_is_found_by_its_parts_and_its_parts_by_a_compound(
    home: Path, opened: Opened
) -> None:
    write(home, "memory/notes.md", "- Der Hallenschlüssel.\n- All green.\n- The roof of a boat.\n")
    search = opened()
    view = SnapshotView(search.current(0))
    assert respell(view, ["schlussel", "hall", "green"], "") == ["green", "hallenschlussel"]
    assert respell(view, ["boatroof", "blue"], "") == ["blue", "boat", "roof"]
    assert places(search.search("Bei wem ist der Schlüssel der Halle?"))[0] == "memory/notes.md:1"


def test_an_identifier_is_never_read_as_another(home: Path, opened: Opened) -> None:
    write(home, "memory/tickets.md", "- OPS-4271 is closed, as Olsen says.\n")
    view = SnapshotView(opened().current(0))
    assert respell(view, ["ops-4217", "4217", "olesn"], "Did Olesn close OPS-4217?") == [
        "ops-4217",
        "4217",
        "olsen",
    ]
