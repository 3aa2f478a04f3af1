"""Code ranks skills for a request."""

from __future__ import annotations

from openclaw.nlp.intent import read_cues
from openclaw.nlp.relevance import (
    MAX_LISTED,
    Blurb,
    is_clear_match,
    nearest_unlisted,
    rank_blurbs,
    search_skills,
    skills_in_head,
)

PLAN = Blurb("plan-day", "Turns to-dos and notes into a short plan for today.")
INVOICE = Blurb("invoice", "Writes an invoice file from hours and a rate.")
RECIPES = [Blurb(f"recipe-{n}", "Cooks a plan of meals from notes.") for n in range(50)]
MANY = [*RECIPES, PLAN, INVOICE]


def names(blurbs: list[Blurb]) -> list[str]:
    return [blurb.name for blurb in blurbs]


def test_a_rare_word_counts_more_than_one_that_all_skills_have() -> None:
    assert names(rank_blurbs("Turn my notes into a plan for the day", MANY))[0] == "plan-day"
    assert names(rank_blurbs("write the invoice for ten hours", MANY))[0] == "invoice"


def test_one_shared_word_finds_a_skill_but_does_not_rank_it() -> None:
    assert rank_blurbs("what is my rate", [PLAN, INVOICE]) == []
    assert names(search_skills("rate", MANY)) == ["invoice"]
    assert search_skills("the", MANY) == [] and rank_blurbs("", MANY) == []


def test_a_whole_name_is_enough_but_not_one_word_of_it() -> None:
    notes = Blurb("keep-notes", "Keeps lessons in memory.")
    digest = Blurb("digest", "Boils a text down.")
    assert rank_blurbs("What do my notes say about the landlord?", [notes, digest]) == []
    assert names(rank_blurbs("Keep notes of it", [notes, digest])) == ["keep-notes"]
    assert names(rank_blurbs("A digest, please", [notes, digest])) == ["digest"]
    log = Blurb("boat-log", "Keeps the harbour book.")
    assert names(rank_blurbs("Log the boat Seagull", [log])) == ["boat-log"]
    assert is_clear_match("Log the boat Seagull", log) and not is_clear_match(
        "Log it when the boat comes", log
    )
    look = Blurb("look-up", "Researches a question.")
    assert names(rank_blurbs("Look it up", [look])) == ["look-up"]
    for request in ("Look at that!", "Look, I got up late", "Up there, look"):
        assert rank_blurbs(request, [look]) == []


def test_examples_count_like_the_description() -> None:
    deploy = Blurb("ship", "Releases software.", ("roll out the new version to staging",))
    assert names(rank_blurbs("please roll out to staging", [*MANY, deploy])) == ["ship"]


def test_two_words_shared_with_all_examples_together_are_too_little() -> None:
    log = Blurb("log", "Records.", ("boats arrive at the pier", "guests leave the harbour hotel"))
    assert rank_blurbs("boats by a hotel for twenty guests of mine and their dogs", [log]) == []
    assert names(rank_blurbs("Two boats arrive", [log])) == ["log"]


def test_the_tail_names_the_shortlist_of_many_skills() -> None:
    lines = read_cues("Turn my notes into a plan for the day", (), MANY).lines
    assert lines[0] == "The skill plan-day fits."
    near = [line for line in lines if line.startswith("Skill that may fit: recipe-")]
    assert 1 <= len(near) <= 3 and near[0].endswith(": Cooks a plan of meals from notes.")


def test_the_tail_does_not_repeat_skills_that_the_head_lists() -> None:
    assert PLAN not in skills_in_head(MANY) and RECIPES[0] in skills_in_head(MANY)
    near = nearest_unlisted("Turn my notes into a plan for the day", MANY)
    assert near[0] == PLAN and not set(near) & set(skills_in_head(MANY))


def test_with_few_skills_the_tail_repeats_none() -> None:
    lines = read_cues("Turn my notes into a plan for the day", (), MANY[-MAX_LISTED:]).lines
    assert lines == ("The skill plan-day fits.",)
