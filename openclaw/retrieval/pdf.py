"""The text of a PDF, page by page. Imports pypdf: import this module only lazily."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pypdf import PdfReader
from pypdf.errors import DependencyError

from openclaw.retrieval.readers import Unreadable

MOST_PAGES = 2000


def pdf_text(data: bytes) -> str:
    """What stands on the pages, a form feed before each but the first; at most `MOST_PAGES`.

    Raises Unreadable for one that is encrypted or damaged, or has no text (a scan).
    """
    try:
        with _quiet():
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("an encrypted PDF")
            count = min(len(reader.pages), MOST_PAGES)
            pages = [reader.pages[number].extract_text() for number in range(count)]
    except Unreadable:
        raise
    except DependencyError as error:
        raise Unreadable("an encrypted PDF") from error
    except Exception as error:  # a damaged file can make pypdf raise nearly anything
        raise Unreadable(f"a damaged PDF ({type(error).__name__})") from error
    lines = ("\n".join(page.replace("\f", " ").splitlines()) for page in pages)
    text = "\n\f".join(lines)
    if not text.strip():
        raise Unreadable("a PDF without text (scanned pages?)")
    return text


@contextmanager
def _quiet() -> Iterator[None]:
    """pypdf tells of every oddity by its log and by warnings."""
    log = logging.getLogger("pypdf")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
