"""The text of a PDF, page by page. Imports pypdf: import this module only lazily."""

from __future__ import annotations

import io

from pypdf import PdfReader
from pypdf.errors import DependencyError

from openclaw.files.quiet import quiet

MOST_PAGES = 2000


class NoText(ValueError):
    """A PDF that cannot be read; says what it is ("an encrypted PDF")."""


def pdf_text(data: bytes, most_pages: int = MOST_PAGES) -> str:
    """What stands on the pages, a form feed before each but the first; at most `most_pages`.

    Raises NoText for one that is encrypted or damaged, or has no text (a scan).
    """
    try:
        with quiet("pypdf"):
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise NoText("an encrypted PDF")
            count = min(len(reader.pages), most_pages)
            pages = [reader.pages[number].extract_text() for number in range(count)]
    except NoText:
        raise
    except DependencyError as error:
        raise NoText("an encrypted PDF") from error
    except Exception as error:  # a damaged file can make pypdf raise nearly anything
        raise NoText(f"a damaged PDF ({type(error).__name__})") from error
    lines = ("\n".join(page.replace("\f", " ").splitlines()) for page in pages)
    text = "\n\f".join(lines)
    if not text.strip():
        raise NoText("a PDF without text (scanned pages?)")
    return text
