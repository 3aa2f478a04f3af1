"""Code ranks skills for a request."""

from __future__ import annotations

from openclaw.nlp.intent import cues
from openclaw.nlp.relevance import (
    MOST_LISTED,
    Blurb,
    found,
    is_clear_match,
    listed,
    nearest,
    ranked,
)

PLAN = Blurb("plan-day", "Turns to-dos and notes into a short plan for today.")
INVOICE = Blurb("invoice", "Writes an invoice file from hours and a rate.")
RECIPES = [Blurb(f"recipe-{n}", "Cooks a plan of meals from notes.") for n in range(50)]
MANY = [*RECIPES, PLAN, INVOICE]


def names(blurbs: list[Blurb]) -> list[str]:
    return [blurb.name for blurb in blurbs]


def test_a_rare_word_counts_more_than_one_that_all_skills_have() -> None:
    assert names(ranked("Turn my notes into a plan for the day", MANY))[0] == "plan-day"
    assert names(ranked("write the invoice for ten hours", MANY))[0] == "invoice"


def test_one_shared_word_finds_a_skill_but_does_not_rank_it() -> None:
    assert ranked("what is my rate", [PLAN, INVOICE]) == []
    assert names(found("rate", MANY)) == ["invoice"]
    assert found("the", MANY) == [] and ranked("", MANY) == []


def test_a_whole_name_is_enough_but_not_one_word_of_it() -> None:
    notes = Blurb("keep-notes", "Keeps lessons in memory.")
    digest = Blurb("digest", "Boils a text down.")
    assert ranked("What do my notes say about the landlord?", [notes, digest]) == []
    assert names(ranked("Keep notes of it", [notes, digest])) == ["keep-notes"]
    assert names(ranked("A digest, please", [notes, digest])) == ["digest"]
    log = Blurb("boat-log", "Keeps the harbour book.")
    assert names(ranked("Log the boat Seagull", [log])) == ["boat-log"]
    assert is_clear_match("Log the boat Seagull", log) and not is_clear_match(
        "Log it when the boat comes", log
    )
    look = Blurb("look-up", "Researches a question.")
    assert names(ranked("Look it up", [look])) == ["look-up"]
    for request in ("Look at that!", "Look, I got up late", "Up there, look"):
        assert ranked(request, [look]) == []


def test_examples_count_like_the_description() -> None:
    deploy = Blurb("ship", "Releases software.", ("roll out the new version to staging",))
    assert names(ranked("please roll out to staging", [*MANY, deploy])) == ["ship"]


def test_two_words_shared_with_all_examples_together_are_too_little() -> None:
    log = Blurb("log", "Records.", ("boats arrive at the pier", "guests leave the harbour hotel"))
    assert ranked("boats by a hotel for twenty guests of mine and their dogs", [log]) == []
    assert names(ranked("Two boats arrive", [log])) == ["log"]


def test_the_tail_names_the_shortlist_of_many_skills() -> None:
    lines = cues("Turn my notes into a plan for the day", (), MANY).lines
    assert lines[0] == "The skill plan-day fits."
    near = [line for line in lines if line.startswith("Skill that may fit: recipe-")]
    assert 1 <= len(near) <= 3 and near[0].endswith(": Cooks a plan of meals from notes.")


def test_the_tail_does_not_repeat_skills_that_the_head_lists() -> None:
    assert PLAN not in listed(MANY) and RECIPES[0] in listed(MANY)
    near = nearest("Turn my notes into a plan for the day", MANY)
    assert near[0] == PLAN and not set(near) & set(listed(MANY))


def test_with_few_skills_the_tail_repeats_none() -> None:
    lines = cues("Turn my notes into a plan for the day", (), MANY[-MOST_LISTED:]).lines
    assert lines == ("The skill plan-day fits.",)
