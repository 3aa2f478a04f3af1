"""Several requests in one message are told apart."""

from __future__ import annotations

import pytest

from openclaw.nlp.several_requests import split_request


@pytest.mark.parametrize(
    ("request_", "orders", "asked"),
    [
        (
            "When is the dentist, and put floss on the shopping list.",
            ["put floss on the shopping list."],
            ["When is the dentist"],
        ),
        (
            "The soup is done but we need butter now.",
            ["The soup is done", "we need butter now."],
            [],
        ),
        (
            "please mark the dentist as done and add 'buy floss'",
            ["please mark the dentist as done", "add 'buy floss'"],
            [],
        ),
        (
            "Keep in mind that my locker is 218, and add socks to my list.",
            ["Keep in mind that my locker is 218", "add socks to my list."],
            [],
        ),
    ],
)
def test_several_requests_about_to_dos_are_told_apart(
    request_: str, orders: list[str], asked: list[str]
) -> None:
    assert split_request(request_, ["make soup", "dentist"]) == (orders, asked)


@pytest.mark.parametrize(
    "request_",
    [
        "Add milk and eggs to the shopping list",
        "Write a letter to Paul and Anna",
        "Read trip.md and old.md and write who leaves first to out.md",
        "rename a.md to b.md, then tell me what's in it",
        "Could you get rid of the bread on my list? I bought it",
        "How many legs has a dog? Just the number",
        "has jonas got any allergies? i want to bake for him",
        "Hello, how are you?",
        "",
    ],
)
def test_one_request_those_about_files_and_what_is_not_sure_stay_whole(request_: str) -> None:
    assert split_request(request_, ["make soup"]) == ([], [])
