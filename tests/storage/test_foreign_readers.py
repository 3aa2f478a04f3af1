"""Foreign data is read in a process that ends when it is too much work."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from openclaw.storage.foreign_readers import NoText, ReadingError, pdf_text, read_in_child
from openclaw.tools.web.page import read_page_in_child
from openclaw.tools.web.web_tools import WebPages
from openclaw.types import ToolProblem, TurnChanges
from tests.fakes.pdf import heavy_pdf, pdf
from tests.fakes.web_server import FakeSite, Said

HERE = __name__


def sizes(data: bytes, word: str) -> list[object]:
    return [len(data), word, os.getpid()]


def busy(data: bytes) -> None:
    while True:
        pass


def asleep(data: bytes) -> None:
    time.sleep(600)


def hoard(data: bytes) -> int:
    return len(bytearray(3 << 30))


def test_what_the_child_makes_of_data_comes_back() -> None:
    size, word, process = read_in_child(f"{HERE}:sizes", b"x" * 3_000_000, {"word": "té"})
    assert (size, word) == (3_000_000, "té")
    assert process != os.getpid()


@pytest.mark.parametrize("reader", ["busy", "asleep"])
def test_a_child_that_takes_too_long_is_ended(reader: str) -> None:
    began = time.monotonic()
    with pytest.raises(ReadingError, match="it takes more than"):
        read_in_child(f"{HERE}:{reader}", b"", {}, seconds=0.2)
    assert time.monotonic() - began < 20


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory")
def test_a_child_that_takes_too_much_memory_is_ended() -> None:
    with pytest.raises(ReadingError, match="1024 MB"):
        read_in_child(f"{HERE}:hoard", b"", {})


def test_a_pdf_that_is_much_work_is_given_up() -> None:
    data = heavy_pdf(300, 100_000)
    assert len(data) < 100_000
    with pytest.raises(NoText, match=r"a PDF that is too much work: it takes more than 0\.2 s"):
        pdf_text(data, seconds=0.2)
    with pytest.raises(ToolProblem, match=r"too much work, [\d,.]+ (MB|bytes): it takes"):
        read_page_in_child(data, "application/pdf", "https://a.example/", seconds=0.2)


def test_a_page_is_read_in_a_child_and_says_what_it_says_here() -> None:
    pages = {
        "/page": Said(b"<title>T</title><p>Two cups.</p>"),
        "/pdf": Said(pdf("Invoice 4711"), "application/pdf"),
        "/none": Said(b"\x89PNG\0", "image/png"),
    }
    with FakeSite(pages) as site:
        web = WebPages(
            TurnChanges(),
            allow_hosts=(f"localhost:{site.port}",),
            resolve=lambda *_: ("127.0.0.1",),
        )
        assert "Two cups." in web.fetch_url(site.url("/page"))
        assert "Invoice 4711" in web.fetch_url(site.url("/pdf"))
        with pytest.raises(ToolProblem, match="image/png, 5 bytes"):
            web.fetch_url(site.url("/none"))


def test_no_module_of_the_folder_comes_into_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert read_in_child(f"{HERE}:sizes", b"", {"word": "a"})[1] == "a"
