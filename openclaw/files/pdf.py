"""The text of a PDF, page by page."""

from __future__ import annotations

import io

from openclaw.files.child import SECONDS, ReadingError, read_in_child
from openclaw.files.quiet import quiet

MOST_PAGES = 2000
MOST_TEXT = 20_000_000
"""Characters; pages may share what is large in them."""


class NoText(ValueError):
    """A PDF that cannot be read; says what it is ("an encrypted PDF")."""


def pdf_text(data: bytes, seconds: float = SECONDS) -> str:
    """What stands on the pages, a form feed before each but the first; at most `MOST_PAGES`.

    Raises NoText for one that is encrypted or damaged, has no text (a scan) or takes too long.
    """
    try:
        told = read_in_child(f"{__name__}:extract", data, {}, seconds)
    except ReadingError as error:
        raise NoText(f"a PDF that is too much work: {error}") from error
    if "reason" in told:
        raise NoText(told["reason"])
    return str(told["text"])


def paged_text(data: bytes, seconds: float = SECONDS) -> str:
    """The same, each page below a line with its number. Raises NoText."""
    pages = pdf_text(data, seconds).split("\n\f")
    return "\n\n".join(f"[page {n}]\n{page}" for n, page in enumerate(pages, 1)) + "\n"


def extract(data: bytes, most_pages: int = MOST_PAGES) -> dict[str, str]:
    """The text of a PDF, or the reason why there is none. Imports pypdf."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    pages: list[str] = []
    size = 0
    try:
        with quiet("pypdf"):
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                return {"reason": "an encrypted PDF"}
            for number in range(min(len(reader.pages), most_pages)):
                pages.append(reader.pages[number].extract_text())
                size += len(pages[-1])
                if size > MOST_TEXT:
                    return {"reason": f"a PDF with more than {MOST_TEXT:,} characters of text"}
    except DependencyError:
        return {"reason": "an encrypted PDF"}
    except Exception as error:  # noqa: BLE001 - a damaged file can make pypdf raise nearly anything
        return {"reason": f"a damaged PDF ({type(error).__name__})"}
    lines = ("\n".join(page.replace("\f", " ").splitlines()) for page in pages)
    text = "\n\f".join(lines)
    return {"text": text} if text.strip() else {"reason": "a PDF without text (scanned pages?)"}
