"""Web search: results, no results, and a search engine that shuts us out are three things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

from openclaw.tools.web.web_tools import SeenPages, WebPages, WebTools
from openclaw.types import Action, ToolProblem, TurnChanges

HIT = {"title": "Tea", "href": "https://example.org/tea", "body": "All  about\ntea."}


class Engine:
    """Answers each query from a table; a value that is an exception is raised."""

    def __init__(self, answers: Mapping[str, Sequence[Mapping[str, str]] | Exception]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, int]] = []

    def __call__(self, query: str, region: str, count: int) -> Sequence[Mapping[str, str]]:
        self.asked.append((query, region, count))
        answer = self.answers[query]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_results_come_with_title_address_and_text() -> None:
    turn_changes = TurnChanges()
    engine = Engine({"green tea": [HIT, HIT, HIT, HIT]})
    text = WebTools(turn_changes, "de-de", 2, engine).web_search(" green\ntea ")
    entry = "Tea\nhttps://example.org/tea\nAll about tea."
    assert text == f"1. {entry}\n\n2. {entry}"
    assert engine.asked == [("green tea", "de-de", 2)]
    assert turn_changes.searches == ["green tea"]


def test_long_snippets_are_cut_at_a_word() -> None:
    engine = Engine({"x": [{**HIT, "body": "word " * 200}]})
    text = WebTools(TurnChanges(), search=engine).web_search("x")
    assert len(text) < 400
    assert text.endswith("word ...")


@pytest.mark.parametrize("nothing", [[], DDGSException("No results found.")])
def test_no_results_are_told_when_another_search_has_some(
    nothing: Sequence[Mapping[str, str]] | Exception,
) -> None:
    engine = Engine({"qzxv": nothing, "weather": [HIT]})
    assert 'no results for "qzxv"' in WebTools(TurnChanges(), search=engine).web_search("qzxv")
    assert [asked[0] for asked in engine.asked] == ["qzxv", "weather"]


@pytest.mark.parametrize("nothing", [[], DDGSException("No results found.")])
def test_an_engine_that_never_has_results_shuts_us_out(
    nothing: Sequence[Mapping[str, str]] | Exception,
) -> None:
    engine = Engine({"tea": nothing, "weather": nothing})
    with pytest.raises(ToolProblem, match="rate limit"):
        WebTools(TurnChanges(), search=engine).web_search("tea")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RatelimitException("202"), "rate limit"),
        (TimeoutException("timed out"), "cannot be reached"),
        (DDGSException("ConnectError: dns"), "cannot be reached"),
        (ConnectionError("refused"), "cannot be reached"),
    ],
)
def test_trouble_is_told_in_words_that_forbid_guessing(error: Exception, words: str) -> None:
    with pytest.raises(ToolProblem, match=words) as raised:
        WebTools(TurnChanges(), search=Engine({"tea": error})).web_search("tea")
    assert "do not guess" in str(raised.value)


def test_an_empty_query_is_not_sent() -> None:
    turn_changes = TurnChanges()
    with pytest.raises(ToolProblem, match="query is empty"):
        WebTools(turn_changes, search=Engine({})).web_search("  ")
    assert turn_changes.searches == []


def test_a_search_names_the_engine_and_its_addresses_are_known_afterwards() -> None:
    seen = SeenPages()
    web = WebTools(
        TurnChanges(),
        search=Engine({"tea": [{**HIT, "href": "https://a.example/?id=1"}]}),
        seen=seen,
    )
    (tool,) = web.tools()
    assert tool.foreign == "web"
    assert tool.action is not None
    assert tool.action({"query": "tea"}) == Action("web_search", "get", "duckduckgo.com", "tea")
    pages = WebPages(TurnChanges(), seen)
    assert pages.action({"url": "https://a.example/?id=1"}).effect == "send"
    web.web_search("tea")
    assert pages.action({"url": "https://a.example/?id=1"}).effect == "get"
