"""What a server sends becomes text: the main part, in Markdown, without what nobody sees."""

from __future__ import annotations

import sys
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.tools.web.page import LONGEST, decode_text, read_page
from openclaw.types import ToolProblem
from tests.fakes.pdf import pdf

HERE = Path(__file__).parents[2] / "pages"
URL = "https://site.example/a/b.html"


def html(source: str) -> str:
    return read_page(source.encode(), "text/html; charset=utf-8", URL).text


# Pages of ten kinds: what must be in the text, in this order, and what must not.
PAGES = {
    "docs": (
        [
            "# Timeouts\n",
            "**five seconds**",
            "```python\nclient = Client(timeout=10.0)\n\nwith client:\n    reply =",
            "- `connect`: until",
            "[pool limits](https://site.example/limits#pool)",
            "A timeout of None waits",
        ],
        ["NAVLINK", "FOOTERTOOL", "TRACKER", "¶", "Search docs"],
    ),
    "blog": (
        ["# Why I moved", "Mara Voss", "*4,212 notes*", "> A file outlives", "### What I won"],
        ["SHARENET", "RELATEDPOST", "BLOGWARE", "Accept all"],
    ),
    "news": (
        ["# City opens", "Line 9 runs", "Ines Carvalho", "1,900 people", "Ruth Amsel", "600,000"],
        ["ADWORD", "SECTIONLINK", "MOSTREAD", "NEWSLETTERWORD", "Imprint", "IGNORE ALL"],
    ),
    "recipe": (
        ["55 minutes", "| 150 g | butter, cold |", "1. Heat the oven", "4. Bake", "custard"],
        ["NAVLINK", "NEWSLETTERWORD"],
    ),
    "forum": (
        ["kestrel42", "Every night at about 3:15", "old_cable", "forced reconnect", "That was it!"],
        ["LOGINLINK", "FORUMWARE"],
    ),
    "reference": (
        ["# Error codes", "| `E101` | disk full | yes |", "| `E120` |", "| 3 | the lock is held |"],
        [],
    ),
    "german": (
        ["# Reisepass beantragen", "persönlich", "- ab 24 Jahren: 70,00", "Größere", "Öffnung"],
        ["NAVLINK", "\ufffd"],
    ),
    "code": (
        [
            "What is the usual way?",
            '```\nwith open("big.log") as file:\n    for line in file:\n        if "ERR',
            "`readlines()`",
            "```\ngrep ERROR big.log | head -n 20\n```",
        ],
        ["NAVLINK"],
    ),
    "short": (["# All systems operational", "12 days ago"], []),
    "bare": (["tool-1.0.tar.gz      03-Jan-2026 10:00   120K", "tool-2.0.tar.gz"], []),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_main_part_of_a_page_comes_as_markdown(name: str) -> None:
    wanted, unwanted = PAGES[name]
    text = read_page((HERE / f"{name}.html").read_bytes(), "text/html", URL).text
    at = -1
    for words in wanted:
        assert words in text
        assert (at := text.index(words, at + 1)) >= 0
    assert [words for words in unwanted if words in text] == []


def test_where_no_main_part_is_found_all_of_it_is_taken() -> None:
    links = "".join(f'<div><a href="/{n}">Entry {n}</a></div>' for n in range(40))
    text = html(f"<html><body><div id=sidebar>{links}</div></body></html>")
    assert "[Entry 0](https://site.example/0)" in text
    assert "Entry 39" in text
    small = "<main>Loading</main>" + "<p>The real text, which is long enough to matter.</p>" * 9
    assert "The real text" in html(small)


HIDDEN = [
    '<p style="display:none">{}</p>',
    '<p style="DISPLAY : NONE !important">{}</p>',
    '<p style="color:red; display:none">{}</p>',
    '<p style="visibility:hidden">{}</p>',
    '<p style="opacity:0">{}</p>',
    '<p style="opacity: 0.0;">{}</p>',
    '<p style="font-size:0">{}</p>',
    '<p style="font-size:0px;color:red">{}</p>',
    '<p style="font-size: 1px">{}</p>',
    '<p style="font:0/0 a">{}</p>',
    '<p style="color:white">{}</p>',
    '<p style="color:#fff;background:#ffffff">{}</p>',
    '<div style="background-color:black"><p style="color: #000">{}</p></div>',
    '<table bgcolor="white"><tr><td><font color="#FFF">{}</font></td></tr></table>',
    '<font color="white">{}</font>',
    '<p style="color:transparent">{}</p>',
    '<p style="color: rgba(0, 0, 0, 0)">{}</p>',
    '<p style="position:absolute;left:-9999px">{}</p>',
    '<p style="text-indent:-9999em">{}</p>',
    '<p style="height:0;overflow:hidden">{}</p>',
    '<p style="width:0px; overflow: hidden">{}</p>',
    '<p style="max-height:0">{}</p>',
    '<p style="clip:rect(0,0,0,0);position:absolute">{}</p>',
    '<p style="clip-path: inset(100%)">{}</p>',
    '<p style="transform:scale(0)">{}</p>',
    '<p style="display/**/:none;display:/* x */none">{}</p>',
    "<p hidden>{}</p>",
    '<p hidden="until-found">{}</p>',
    '<p aria-hidden="true">{}</p>',
    "<div hidden><div><p>{}</p></div></div>",
    "<dialog>{}</dialog>",
    "<template>{}</template>",
    "<noscript>{}</noscript>",
    "<script>{}</script>",
    "<style>{}</style>",
    '<script type="application/ld+json">{{"x":"{}"}}</script>',
    "<svg><text>{}</text></svg>",
    '<iframe srcdoc="{}">{}</iframe>',
    "<object>{}</object>",
    "<!-- {} -->",
    "<!--[if IE]>{}<![endif]-->",
    "<?php {} ?>",
    '<img alt="{}" src="x.png">',
    '<img title="{}" src="https://evil.example/{}">',
    '<p title="{}">x</p>',
    '<a href="/x" title="{}">x</a>',
    '<a href="javascript:{}">x</a>',
    '<a href="data:text/html,{}">x</a>',
    '<input value="{}">',
    '<input type="hidden" value="{}">',
    "<textarea>{}</textarea>",
    "<select><option>{}</option></select>",
    "<button>{}</button>",
    '<meta name="description" content="{}">',
    '<div data-prompt="{}">x</div>',
    "<style>.gone{{display:none}}</style><p class='x gone'>{}</p>",
    "<style>a{{}} .b, p.gone , #i {{ color: red; display : none }}</style><p class=gone>{}</p>",
    "<style>@media print{{.x{{a:b}}}} .gone{{display:none}}</style><p class=gone>{}</p>",
    "<style>/* }} */ #gone{{visibility:hidden}}</style><p id=gone>{}</p>",
]


@pytest.mark.parametrize("source", HIDDEN)
def test_what_nobody_sees_is_not_told(source: str) -> None:
    words = "send-the-files"
    hidden = source.format(words, words)
    page = f"<html><body><h1>Tea</h1>{hidden}<p>Two cups a day.</p></body></html>"
    text = html(page)
    assert words not in text
    assert "Two cups a day." in text


SHOWN = [
    '<p style="display:block">{}</p>',
    '<p style="opacity:0.9">{}</p>',
    '<p style="font-size:0.9em">{}</p>',
    '<p style="font-size:10px">{}</p>',
    '<p style="color:white;background:navy">{}</p>',
    '<div style="background:#123"><p style="color:#fff">{}</p></div>',
    '<div class="hero"><p style="color:#fff">{}</p></div>',
    '<p style="margin-left:-10px">{}</p>',
    '<p style="overflow:hidden;height:20px">{}</p>',
    '<p style="background:url(/display:none.png)">{}</p>',
    '<p aria-hidden="false">{}</p>',
    "<dialog open>{}</dialog>",
    "<form><p>{}</p></form>",
    "<details><summary>More</summary>{}</details>",
    "<style>@media print{{.x{{display:none}}}} .y{{color:red}}</style><p class=x>{}</p>",
    "<style media=print>.x{{display:none}}</style><p class=x>{}</p>",
    "<style>.x a{{display:none}} .x:hover{{display:none}}</style><p class=x>{}</p>",
]


@pytest.mark.parametrize("source", SHOWN)
def test_what_people_see_is_told(source: str) -> None:
    assert "plain words" in html(f"<html><body>{source.format('plain words')}</body></html>")


def test_an_element_that_goes_leaves_the_text_behind_it() -> None:
    assert html("<p>one <span hidden>two</span> three</p>") == "one three"


def test_links_are_whole_and_lead_somewhere() -> None:
    page = (
        '<base href="https://other.example/x/"><a href="y?a=b">one</a> <a href="#top">two</a> '
        '<a href="mailto:a@b.example">three</a> <a href="//c.example">four</a> '
        f'<a href="/{"z" * 400}">five</a> <a href="http://[">six</a>'
    )
    assert html(page) == (
        "[one](https://other.example/x/y?a=b) two three [four](https://c.example) five six"
    )


@pytest.mark.parametrize(
    ("body", "header"),
    [
        ("Größe".encode(), ""),
        ("Größe".encode(), "utf-8"),
        ("Größe".encode("latin-1"), "iso-8859-1"),
        ("Größe".encode("latin-1"), ""),
        ("Größe".encode("utf-16"), ""),
        ("Größe".encode("utf-8-sig"), "latin-1"),
        (b'<meta charset="iso-8859-15">' + "Größe".encode("latin-1"), ""),
        (b'<?xml version="1.0" encoding="windows-1252"?>' + "Größe".encode("cp1252"), ""),
        ("Größe".encode("cp437"), "'CP437'"),
        ("Größe".encode(), "no-such-charset"),
        ("Größe".encode(), "zlib"),
        ("Größe".encode(), "utf-7"),
        ("Größe".encode(), "unicode_escape"),
    ],
)
def test_the_charset_is_found(body: bytes, header: str) -> None:
    assert decode_text(body, header).endswith("Größe")


def test_latin_1_is_read_as_windows_does() -> None:
    assert decode_text(b"\x93Tea\x94 \x80 5", "ISO-8859-1") == "\u201cTea\u201d \u20ac 5"


@pytest.mark.parametrize("name", ["x-sjis", "X-SJIS", "Shift_JIS"])
def test_the_names_of_old_pages_are_known(name: str) -> None:
    assert decode_text("お茶".encode("shift_jis"), name) == "お茶"


def test_text_cut_inside_a_character_is_still_utf_8() -> None:
    assert decode_text("Tee für".encode() + "ü".encode()[:1]) == "Tee für\ufffd"


def test_json_is_laid_out() -> None:
    page = read_page(b'{"b":[1,{"a":"\xc3\xa4"}]}', "application/ld+json", URL)
    assert page.text == '{\n "b": [\n  1,\n  {\n   "a": "ä"\n  }\n ]\n}'
    for odd in (b"{not json", b"[" * 100_000, b"9" * 6000):
        assert read_page(odd, "application/json", URL).text == odd.decode()


def test_deep_json_does_not_fill_the_memory() -> None:
    deep = b"[" * 400 + b"1," * 150_000 + b"1" + b"]" * 400  # 60 MB of indents
    tracemalloc.start()
    text = read_page(deep, "application/json", URL).text
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.endswith("[The rest is left out.]")
    assert peak < 20_000_000


RSS = b"""<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<rss><channel><title>The Feed</title><link>https://f.example/</link>
<item><title>One &amp; only &x;</title><link>/1</link><pubDate>Mon, 2 Nov 2026</pubDate></item>
<item><title><![CDATA[<b>Two</b>]]></title><link>https://f.example/2</link></item>
<item><link>javascript:alert(1)</link><media:no-namespace/></item></channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>Atom</title><entry><title>One</title>
<link rel="self" href="/self"/><link href="/1"/><updated>2026-11-02</updated></entry></feed>"""


def test_a_feed_is_a_list_of_links() -> None:
    page = read_page(RSS, "application/rss+xml", "https://f.example/rss")
    assert page.title == "The Feed"
    assert page.text == (
        "- One & only &x; (Mon, 2 Nov 2026)\n  https://f.example/1\n"
        "- <b>Two</b>\n  https://f.example/2\n- (no title)"
    )
    page = read_page(ATOM, "application/xml", "https://f.example/atom")
    assert page.text == "- One (2026-11-02)\n  https://f.example/1"


def test_entities_do_not_multiply() -> None:
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE rss [<!ENTITY l0 "ha">{lines}]><rss><item><title>&l11;</title></item></rss>'
    assert len(read_page(bomb.encode(), "text/xml", URL).text) < 2_000


def test_other_xml_is_shown_as_it_is() -> None:
    assert read_page(b"<a>\n<b/>\n</a>", "application/xml", URL).text == "<a>\n<b/>\n</a>"


def test_the_text_of_a_pdf_is_read() -> None:
    data = pdf("Invoice 4711")
    assert "Invoice 4711" in read_page(data, "application/octet-stream", URL).text
    with pytest.raises(ToolProblem, match="damaged PDF"):
        read_page(data[:60], "application/pdf", URL)


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png", "image/png, 10 bytes"),
        (b"\x89PNG\r\n\x1a\n\xff", "image/png", "image/png"),
        (b"PK\x03\x04" + b"\0" * 20_000, "application/zip", "application/zip, 0.02 MB"),
        (b"\xff\xfb\x90", "", "no text"),
    ],
)
def test_what_is_no_text_is_told_with_type_and_size(body: bytes, kind: str, words: str) -> None:
    with pytest.raises(ToolProblem, match=words):
        read_page(body, kind, URL)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"a < b\n", "a < b"),
        ("text/markdown; charset=utf-8", b"# Tea", "# Tea"),
        ("application/x-yaml", b"a: 1", "a: 1"),
        ("application/octet-stream", b"plain", "plain"),
        ("", b"<!DOCTYPE html><p>Hi</p>", "Hi"),
        ("", b"just text", "just text"),
        ("text/csv", "Größe;1".encode("cp1252"), "Größe;1"),
    ],
)
def test_text_of_any_kind_is_read(kind: str, body: bytes, text: str) -> None:
    assert read_page(body, kind, URL).text == text


def test_a_very_long_page_is_cut_and_says_so() -> None:
    page = read_page(b"word " * 200_000, "text/plain", URL)
    assert page.text.endswith("[The rest is left out.]")
    assert len(page.text) < LONGEST + 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 50_000 + "deep",
        "<ul><li>" * 5_000 + "deep",
        "<p " + " ".join(f"a{n}=1" for n in range(20_000)) + ">many attributes</p>",
        "<p>" + " " * 300_000 + "blanks</p>",
        "<a " * 50_000,
        "<" * 100_000,
        "<style>" + "a{" * 50_000 + "</style>",
        "<p style='" + "color:" * 20_000 + "'>x</p>",
        "<table><tr><td>" * 200 + "x",
        "<pre>" + "`" * 50_000,
        "\0<p>x\0y</p>",
        "",
        "<!-- never closed",
    ],
)
def test_a_hostile_page_does_not_take_long(source: str) -> None:
    start = time.process_time()
    html(source)
    assert time.process_time() - start < 5


PIECES = (
    *"<p> </p> <div> </div> <b> <table> <tr> <td> </table> <ul> <li> <pre> </pre> <code>".split(),
    *"<a> <main> </main> <article> <nav> text &amp; &#0; <!-- --> <style> </style> ]]>".split(),
    *("<![CDATA[", "<a href='/x'>", "<p hidden>", "<br/>", "<h1>", "</h1>", "<font color=white>"),
    *(" ", "\n", "\0", "\u200b"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_no_page_makes_it_fail(pieces: list[str]) -> None:
    html("".join(pieces))


KINDS = (
    *("", "text/html", "text/plain", "text/xml", "application/json", "application/rss+xml"),
    *("application/pdf", "image/png", ";;;", "a/b; charset="),
)


@given(st.binary(max_size=300), st.sampled_from(KINDS))
def test_no_bytes_make_it_fail_otherwise_than_in_words(body: bytes, kind: str) -> None:
    try:
        read_page(body, kind, URL)
    except ToolProblem as problem:
        assert str(problem).endswith("nothing to read.")


def test_every_page_of_the_folder_is_tried() -> None:
    assert sorted(PAGES) == sorted(path.stem for path in HERE.glob("*.html"))


LONG = {
    "items of a list": ("<ol>", "<li>a</li>", "</ol>"),
    "rows of a head": ("<table><thead>", "<tr><td>a</td></tr>", "</thead></table>"),
    "parts of a table": ("<table>", "<tbody><tr><td>a</td></tr></tbody>", "</table>"),
    "hidden in long styles": ("<div style='" + "x:y;" * 500 + "'>", "<p style='color:#fff'>a", ""),
}


@pytest.mark.parametrize("kind", LONG)
def test_what_is_twice_as_long_is_twice_the_work(kind: str) -> None:
    def steps(times: int) -> int:
        first, each, last = LONG[kind]
        count = 0

        def step(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(step)
        try:
            html(first + each * times + last)
        finally:
            sys.setprofile(None)
        return count

    steps(10)  # imports
    assert steps(1_200) < 2.5 * steps(600)


def test_a_numbered_list_begins_where_it_says_and_counts_on() -> None:
    first = "<ol start=9><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ol>"
    assert (
        html(f"<main>{first}<ol start=\u00b2><li>e</li></ol></main>")
        == "9. a\n   - b\n10. c\n\n    d\n\n1. e"
    )


def test_a_cell_of_many_columns_is_not_as_long_as_it_says() -> None:
    assert len(html("<table><tr><td colspan=1000>a<td colspan=²>b</table>")) < 1_500


def test_a_page_of_very_many_elements_becomes_plain_text() -> None:
    assert html("<table><tr>" + "<td>a</td>" * 60_000 + "</table>") == "\n".join(["a"] * 60_000)
