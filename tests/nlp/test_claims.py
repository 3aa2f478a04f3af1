"""Claims of a change are found, and no unchecked claim of an answer is shown."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.nlp.claims import count_releasable, find_claims

ORDER = "Save my notes in notes.md"


@pytest.mark.parametrize(
    "sentence",
    [
        "I have saved the file.",
        "I've added milk to your list!",
        "I\u2019ve just updated USER.md.",
        "I successfully created notes.md.",
        "I just deleted it.",
        "Sure! I wrote the note.",
        "The file has been updated.",
        "The file has been successfully updated.",
        "Your notes have now been saved.",
        "The item was successfully removed from the list.",
        "The port is now set to 8080.",
        "Done. Milk is on the list.",
        "Added milk to the list.",
        "OK:\nSaved it in notes.md",
        "Ich habe die Datei gespeichert.",
        "Ich habe Milch zur Liste hinzugef\u00fcgt.",
        "Ich habe den Eintrag gel\u00f6scht.",
        "Die Datei wurde gespeichert.",
        "Die Eintr\u00e4ge wurden gel\u00f6scht.",
        "J'ai ajout\u00e9 le lait.",
        "J\u2019ai enregistr\u00e9 le fichier.",
        "He a\u00f1adido la leche a la lista.",
        "He guardado el archivo.",
        "Ho salvato il file.",
    ],
)
def test_a_claim_is_found_whoever_is_its_subject_and_in_several_languages(sentence: str) -> None:
    assert find_claims(sentence, ORDER)


@pytest.mark.parametrize(
    "sentence",
    [
        "I could not save the file.",
        "I have not saved anything.",
        "I haven't changed it.",
        "Nothing was changed.",
        "The file was not updated.",
        "No file has been created.",
        "Ich habe die Datei nicht gespeichert.",
        "Ich konnte nichts speichern.",
        "Je n'ai pas ajout\u00e9 le lait.",
        "No he guardado el archivo.",
    ],
)
def test_a_denial_is_no_claim(sentence: str) -> None:
    assert find_claims(sentence, ORDER) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "I can add it to the list.",
        "I'll save it if you like.",
        "Shall I save it? I'll do it at once.",
        "Once I have saved it, you can close the editor.",
        "Shall I delete it?",
        "Should it have been updated?",
        "Do you want it added to the list?",
        "Where should the note be saved?",
        "Put the eggs into boiling water.",
        "Set the oven to 180 degrees.",
        "Your notes are in notes.md.",
        "",
    ],
)
def test_offers_questions_and_advice_are_no_claims(sentence: str) -> None:
    assert find_claims(sentence, ORDER) == ()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("When was the file changed?", "The file was changed on Monday."),
        ("Who wrote the report?", "It was written by Ada."),
        ("Summarize meeting.md", "The date was moved to Friday and Bob was added."),
        ("Tell me what stands in log.md", "The server was moved to Berlin."),
        ("Please read news.md and explain it.", "A new bridge has been placed over the river."),
        ("Did you save my note?", "Yes, I saved it in notes.md."),
        ("Have you added the milk?", "Yes, I have added it."),
        ("Hast du die Datei gespeichert?", "Ja, ich habe sie gespeichert."),
    ],
)
def test_an_answer_about_the_past_is_no_claim(request_: str, answer: str) -> None:
    assert find_claims(answer, request_) == ()


def test_a_question_does_not_excuse_an_invented_action() -> None:
    assert find_claims("It is 80. I have changed it to 90.", "Which port is it?") == (
        "I have changed it to 90.",
    )


def test_an_order_that_begins_like_a_question_is_still_an_order() -> None:
    assert find_claims("The milk was added.", "Read list.md and add milk to it")
    assert find_claims("The milk was added.", "Can you add milk to the list?")


def test_only_the_sentences_with_a_claim_are_returned() -> None:
    answer = "Hello! I have saved it. Anything else?"
    assert find_claims(answer, ORDER) == ("I have saved it.",)


# -------- what is said to be done at once


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Save my notes in notes.md", "I will save it in notes.md."),
        ("Would you mind adding milk to my list?", "Sure, I'll add milk to your list."),
        ("Could you cross out the yoga line?", "Of course! I\u2019ll cross out the yoga line."),
        ("Please tidy costs.md", "Okay \u2013 I'm going to tidy costs.md now."),
        ("Can we get rid of the yoga line?", "Yes, we can get rid of the yoga line."),
        ("Could you add oat milk to it?", "Yes, I can add oat milk to it."),
        ("Put Bob on the list", "Let me add Bob to the list."),
        ("Remind me to add milk", "I'll remind you to add milk."),
        (
            "Schreib Milch auf die Einkaufsliste",
            "Ich werde die Einkaufsliste aktualisieren. Bitte warte, bis ich fertig bin.",
        ),
        ("Ajoute du lait \u00e0 la liste", "D'accord, je vais ajouter du lait \u00e0 la liste."),
        ("\u00bfPodr\u00edas a\u00f1adir leche?", "S\u00ed, voy a a\u00f1adir la leche."),
        (
            "Trag noch Butterpl\u00e4tzchen bei den Pl\u00e4tzchen ein",
            "Ja, ich werde Butterpl\u00e4tzchen bei den Pl\u00e4tzchen eintragen.",
        ),
    ],
)
def test_a_promise_to_act_at_once_is_a_claim(request_: str, answer: str) -> None:
    assert find_claims(answer, request_)
    shown = max(count_releasable(answer[:end]) for end in range(len(answer) + 1))
    assert find_claims(answer[:shown], request_) == ()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("Add milk to the list", "I'll be happy to help with the list."),
        ("Fix the garden plan", "I will need more details about the garden plan."),
        ("Fix the garden plan", "I will help you with the garden plan."),
        ("Add milk to the list", "Sure! I'll add milk. Which list shall I add it to?"),
        ("Add milk to the list", "I will add milk to the list once you tell me its name."),
        ("Delete the list", "I will not delete the list."),
        ("Check the oven on Friday", "I'll check the oven on Friday."),
        ("My colleague is called Ruth", "I'll remember that your colleague is called Ruth."),
        ("I am off to bed", "Good night! I'll see you in the morning."),
        ("What is on the list?", "I'll add milk to it, and you watch."),
        ("Explain the recipe", "I will explain the recipe: you put the eggs into water."),
        ("Write a note to Ann", "I'll write a short note: Ann, the key is with Bob."),
        ("Write a poem", "Let me write a poem. Roses are red. Violets are blue."),
        ("Can you edit files?", "Yes, I can edit files."),
        ("Write a poem about the sea", "I will write about the sea,\nwhich is set in stone."),
        ("Hilf mir mit der Liste", "Ich werde dir gerne mit der Liste helfen."),
    ],
)
def test_offers_needs_and_promises_for_later_are_no_claims(request_: str, answer: str) -> None:
    assert find_claims(answer, request_) == ()


# -------- what may be shown

PLAIN = (
    "Hello there. It is noon: time to eat, and the soup is cold! Would you like some?\nYes or no."
)


def test_plain_text_is_shown_as_it_arrives_and_whole_at_the_end() -> None:
    assert count_releasable(PLAIN) == len(PLAIN)
    for end in range(len(PLAIN)):
        word = PLAIN[:end].split(" ")[-1]
        assert end - count_releasable(PLAIN[:end]) <= len(word) + len("was ")


@pytest.mark.parametrize(
    "claim",
    [
        "I have saved it.",
        "I've just added the milk.",
        "I successfully created it.",
        "Added milk to the list.",
        "Done. It is there.",
        "The file has been changed.",
        "The file was successfully changed.",
        "The port is now set.",
        "Ich habe die Datei gespeichert.",
        "Die Datei wurde gespeichert.",
        "J'ai ajout\u00e9 le lait.",
        "He guardado el archivo.",
    ],
)
def test_no_claim_is_shown_before_it_is_checked(claim: str) -> None:
    text = f"Hello. {claim} Bye."
    last_harmless, shown = text.index(claim.split()[-1]), ""
    for end in range(len(text) + 1):
        shown = text[: count_releasable(text[:end], len(shown))]
        assert find_claims(shown, ORDER) == ()
        assert len(shown) < last_harmless
    assert count_releasable(text) <= text.index(claim) + len("The file ")


def test_a_word_of_a_claim_holds_its_sentence_back_until_it_ends() -> None:
    text = "It is done at noon. Then we eat."
    assert count_releasable("It is done at no") == 0
    assert count_releasable(text) == len(text)


@given(st.text(alphabet="abI hasvedwntu.!?:\n'", max_size=60))
def test_the_shown_part_only_grows(text: str) -> None:
    ends = [count_releasable(text[:end]) for end in range(len(text) + 1)]
    assert all(0 <= shown <= end for end, shown in enumerate(ends))
    shown = 0
    for end, without in enumerate(ends):  # what came out before changes nothing
        shown, known = max(shown, count_releasable(text[:end], shown)), shown
        assert shown == max(known, without)
    assert count_releasable(f"{text}\nSo it is, yes.\n") >= 0


@given(st.lists(st.sampled_from(["soup", "is", "hot", "cat", "They", "eat", "blue."]), max_size=30))
def test_words_without_a_claim_are_shown_in_the_end(words: list[str]) -> None:
    text = " ".join(words)
    assert count_releasable(f"{text} today.") == len(f"{text} today.")


def test_an_endless_answer_is_not_checked_with_each_piece() -> None:
    begun = time.process_time()
    for _ in range(200):
        assert count_releasable("x" * 1_000_000, 40_000) == 40_000
    assert time.process_time() - begun < 2
