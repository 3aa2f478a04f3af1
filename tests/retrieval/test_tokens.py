"""The words of documents and questions: what meets what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.retrieval.tokens import language_of, words


def meet(question: str, document: str) -> bool:
    """Return True when the document has every word of the question."""
    return set(words(question)) <= set(words(document))


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("C++", "I write C++, mostly"),
        ("C#", "the C# compiler"),
        (".NET", "runs on .NET 8"),
        ("R", "plots are made with R."),
        ("Node.js", "we use Node.js here"),
        ("OPS-4217", "see (OPS-4217)."),
        ("ops-4217", "OPS-4217: done"),
        ("4217", "OPS-4217"),
        ("a.b@c.de", "write to <a.b@c.de>"),
        ("7:40", "the train at 7:40."),
        ("v1.2.3", "since v1.2.3,"),
        ("1.2.3", "v1.2.3"),
        ("2023-05-08", "on 2023-05-08"),
        ("3000", "3,000 EUR"),
        ("the 12th", "on 12 December"),
        ("getUserName", "call getUserName()"),
        ("user name", "getUserName()"),
        ("user name", "user_name = 1"),
        ("chunks.py", "openclaw/retrieval/chunks.py"),
        ("email", "her e-mail"),
        ("email", "HER EMAIL"),
        ("running", "she runs"),
        ("buy", "she bought bread"),
        ("leave", "she leaves, he left"),
        ("child", "two children's"),
        ("Caroline", "Caroline\u2019s brother"),
        ("cafe", "the Caf\u00e9"),
        ("Muller", "Frau M\u00fcller"),
        ("Strasse", "Stra\u00dfe"),
        ("IT", "the IT department"),
        ("\u6771\u4eac", "\u6771\u4eac\u30bf\u30ef\u30fc"),
        ("\u30bf\u30ef\u30fc", "\u6771\u4eac\u30bf\u30ef\u30fc"),
        ("\u5929\u6c14", "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002"),
        ("\uff21\uff22\uff23", "ABC"),
        ("\u0934\u092c\u094d\u0926", "\u0934\u092c\u094d\u0926 \u0938\u0942\u091a\u0940"),
    ],
)
def test_a_question_meets_the_text_that_says_it_in_another_form(
    question: str, document: str
) -> None:
    assert words(question)
    assert meet(question, document)


@pytest.mark.parametrize(
    ("question", "document"),
    [("C++", "the letter C"), ("C", "C++"), ("1.2", "1.2.3"), ("OPS-4217", "4217"), ("R", "are")],
)
def test_a_question_does_not_meet_something_else(question: str, document: str) -> None:
    assert not meet(question, document)


def test_small_words_are_left_out_but_where_there_are_no_others() -> None:
    assert words("What is the port of it?") == ["port"]
    assert words("to be or not to be") == words("To be, or not to be?")
    assert words("Who am I?")


@pytest.mark.parametrize(
    ("language", "question", "document"),
    [
        (
            "german",
            "Wo stehen die H\u00e4user?",
            "Das Haus ist in der Stadt und nicht auf dem Land",
        ),
        (
            "french",
            "Quand sont les r\u00e9unions ?",
            "La r\u00e9union est dans une salle du bureau",
        ),
        (
            "spanish",
            "\u00bfD\u00f3nde est\u00e1n las casas?",
            "La casa est\u00e1 en el pueblo de mi padre",
        ),
        ("italian", "Quando sono le riunioni?", "La riunione \u00e8 di lun\u00ec con il mio capo"),
        ("dutch", "Waar zijn de huizen?", "De huizen zijn niet ver van het station"),
    ],
)
def test_a_text_clearly_in_another_language_is_stemmed_in_it(
    language: str, question: str, document: str
) -> None:
    assert language_of(question.split()) == language_of(document.split()) == language
    assert set(words(question)) & set(words(document)) - set(words("die la les le las de sono"))


def test_a_line_too_short_to_show_its_language_still_meets_the_question() -> None:
    assert set(words("Wo sind meine Schl\u00fcssel?")) & set(words("Schl\u00fcssel: Schublade"))


def test_english_is_not_taken_for_another_language() -> None:
    for text in ("He was in the die cast shop", "The data is in a table", "Los Angeles was hot"):
        assert language_of(text.split()) == ""


@given(st.text())
def test_any_text_gives_words_without_blanks_and_the_same_ones_again(text: str) -> None:
    found = words(text)
    assert found == words(text)
    assert all(word and not any(char.isspace() for char in word) for word in found)


@given(st.text(alphabet=st.characters(categories=("Ll", "Lu", "Lo", "Nd")), min_size=1))
def test_whatever_has_letters_or_digits_has_words(text: str) -> None:
    assert words(text)
