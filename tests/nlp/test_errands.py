"""Addresses, commands and tools that a request asks for."""

from __future__ import annotations

import pytest

from openclaw.nlp.errands import read_errands


@pytest.mark.parametrize(
    ("request_", "urls"),
    [
        ("Read https://example.org/a?b=c#d and sum it up.", ("https://example.org/a?b=c#d",)),
        ("What is on http://localhost:8080/x.html?", ("http://localhost:8080/x.html",)),
        ("(see https://a.test/b), https://a.test/b.", ("https://a.test/b",)),
        ("Compare https://a.test/ and https://b.test/", ("https://a.test/", "https://b.test/")),
        ("Read example.org", ()),
        ("ftp://a.test/x", ()),
    ],
)
def test_addresses_are_pages_to_read(request_: str, urls: tuple[str, ...]) -> None:
    found = read_errands(request_)
    assert found.urls == urls
    assert ("fetch_url" in found.tools) is bool(urls)


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        ("Run `make test` and tell me the result.", "make test"),
        ("Please execute the command `ls -l workspace`", "ls -l workspace"),
        ("Was ergibt das? F\u00fchre `date` aus.", "date"),
        ("Put `make test` on my list.", ""),
        ("I run a shop. `x` is a letter.", ""),
    ],
)
def test_a_quoted_command_is_run_word_for_word(request_: str, command: str) -> None:
    found = read_errands(request_)
    assert found.command == command
    assert ("run_shell" in found.tools) is bool(command)


@pytest.mark.parametrize(
    ("request_", "tools"),
    [
        ("Use the shell to count the lines.", ("run_shell",)),
        ("Run the script build.sh", ("run_shell",)),
        ("How many commits are there? Look in the terminal.", ("run_shell",)),
        ("Work it out with Python.", ("run_python",)),
        ("Search the web for the opening hours.", ("web_search",)),
        ("Was kostet das? Such im Internet.", ("web_search",)),
        ("Find out online who won.", ("web_search",)),
        ("What is my locker number?", ()),
        ("The python escaped from the zoo.", ()),
        ("remove an item from a list in python", ()),
        ("Seashells are pretty.", ()),
        ("Who runs the shop?", ()),
        ("Write a note about my Google account.", ()),
    ],
)
def test_words_for_a_tool_ask_for_it(request_: str, tools: tuple[str, ...]) -> None:
    assert read_errands(request_).tools == tools
