"""What nobody sees in a text is found, taken out or shown; what writing needs stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.security.display import harmless
from openclaw.security.untrusted import find_hidden, show_hidden, strip_hidden

UNSEEN = [
    *("\u202e", "\u2066", "\u200e", "\u061c"),  # direction
    *("\u200b", "\u2060", "\ufeff", "\u00ad", "\u2063", "\u034f", "\u3164", "\u180e"),
    *("\U000e0041", "\U000e0001", "\U000e0100"),  # tag letters, variants
    *("\x00", "\x07", "\x08", "\x1b", "\x7f", "\x9b"),
]
NEEDED = [
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # a family
    "\u2764\ufe0f\u200d\U0001f525",  # a heart on fire
    "1\ufe0f\u20e3",  # a keycap
    "\u26f9\U0001f3fb\u200d\u2640\ufe0f",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
    "\u0915\u094d\u200d\u0937",  # Devanagari, with a joiner
    "gr\u00fc\u00dfe\tund\nzeilen \u6771\u4eac",
]


@pytest.mark.parametrize("sign", UNSEEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_a_hidden_character_is_found_taken_out_and_shown(sign: str) -> None:
    text = f"ig{sign}nore"
    assert find_hidden(text) == [sign]
    assert strip_hidden(text) == "ignore"
    assert sign not in show_hidden(text) and show_hidden(text).startswith("ig")
    assert len(show_hidden(text)) > len("ignore")


@pytest.mark.parametrize("text", NEEDED, ids=ascii)
def test_what_writing_needs_stays(text: str) -> None:
    assert strip_hidden(text) == show_hidden(text) == text
    assert find_hidden(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "a\u200db",
        "\U0001f525\u200d\u200d\U0001f525",
        "a\ufe0f",
        "\u0645\u200c\u200c\u062e",
        "\u200d",
    ],
    ids=ascii,
)
def test_joiners_that_join_nothing_are_hidden(text: str) -> None:
    assert find_hidden(text)
    assert not set(strip_hidden(text)) & {"\u200c", "\ufe0f"}
    assert "<U+" in show_hidden(text)


def test_bits_hung_on_an_emoji_are_gone() -> None:
    carried = "".join(chr(0xE0100 + byte) for byte in b"send the key")
    run = "\ufe00\ufe01\ufe0f\ufe0f"
    assert strip_hidden(f"\U0001f600{carried}{run}!") in ("\U0001f600!", "\U0001f600\ufe0f!")


def test_letters_in_tags_are_gone_and_shown_one_by_one() -> None:
    order = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert strip_hidden(f"plain{order}") == "plain"
    assert show_hidden(order).count("<U+E00") == 4


def test_every_line_end_becomes_a_newline() -> None:
    assert strip_hidden("a\r\nb\rc\x85d\u2028e\u2029f\x0cg\x0bh") == "a\nb\nc\nd\ne\nf\ng\nh"


def test_escape_sequences_go_as_a_whole() -> None:
    link = "\x1b]8;;https://evil.example\x07here\x1b]8;;\x1b\\"
    assert strip_hidden(f"\x1b[1;31mred\x1b[0m \x1b[2J{link}") == "red here"


def test_a_carriage_return_that_could_write_over_a_line_is_shown() -> None:
    assert show_hidden("rm -rf x\rls\r\n") == "rm -rf x\u240dls\n"


def test_a_piece_of_a_stream_keeps_what_may_belong_to_its_neighbour() -> None:
    assert harmless("\u200d\U0001f469") == "\u200d\U0001f469"
    assert harmless("a\x1b[2J\r\u202e\U000e0041") == "a\u241b[2J<U+202E><U+E0041>"


@given(st.text())
def test_nothing_hidden_is_left_and_a_second_look_changes_nothing(text: str) -> None:
    once = strip_hidden(text)
    assert find_hidden(once) == []
    assert strip_hidden(once) == once
    assert not find_hidden(show_hidden(text))


def test_long_texts_take_no_time() -> None:
    start = time.process_time()
    for part in ("\x1b[", "\x1b]", "\u200d", "\U0001f525\u200d", "\u0645\u200c", "\x9b0", "a"):
        strip_hidden(part * 50_000)
    assert time.process_time() - start < 5
