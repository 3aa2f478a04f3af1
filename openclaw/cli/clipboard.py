"""Puts text into the clipboard by the terminal itself, so that it works over ssh as well."""

from __future__ import annotations

import re
from base64 import b64encode
from textwrap import dedent
from typing import TextIO

from openclaw.cli.visible import harmless

_BLOCK = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n(.*?)^ *\1[`~]* *$", re.MULTILINE | re.DOTALL)


def copy(text: str, out: TextIO) -> None:
    """Ask the terminal to take a text over as it was shown (OSC 52): an escape in it could end the
    paste that it becomes. Whether the terminal does so is not known."""
    shown = harmless(text).encode("utf-8", "replace")
    out.write(f"\x1b]52;c;{b64encode(shown).decode()}\x07")
    out.flush()


def code_in(markdown: str) -> list[str]:
    """The code blocks of a text, each without its fences and its indent."""
    return [dedent(found[2]) for found in _BLOCK.finditer(markdown)]
