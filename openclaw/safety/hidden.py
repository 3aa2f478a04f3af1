"""What nobody sees in a text and a model reads all the same: found, taken out, or made visible.

The one table of such characters. Sources: Unicode's Default_Ignorable_Code_Point, the direction
controls of UAX 9, the emoji sequences of UTS 51, and the joiners of UAX 31, section 2.3.
"""

from __future__ import annotations

import re

_CONTROL = r"\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"  # all but tab and what ends a line
_DIRECTION = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN = (
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    r"\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"  # tag letters, and variants 17 to 256
)
_JOINERS = r"\u200c\u200d"
_VARIANTS = r"\ufe00-\ufe0f"

_EMOJI = r"\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_JOINED = r"\u0600-\u0dff\u0f00-\u109f\u1780-\u18af"  # scripts whose letters need joiners
_KEPT = (
    rf"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])"
    rf"|(?<=[{_JOINED}])[{_JOINERS}](?![{_JOINERS}])"
    rf"|(?<=[0-9#*{_EMOJI}])[\ufe0e\ufe0f](?![{_VARIANTS}])"
)
_ALWAYS = re.compile(rf"[{_CONTROL}\x0c{_DIRECTION}{_UNSEEN}]")
_HIDDEN = re.compile(rf"(?P<kept>{_KEPT})|[{_CONTROL}{_DIRECTION}{_UNSEEN}{_JOINERS}{_VARIANTS}]")
_ESCAPE = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,9}[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)"  # titles and hyperlinks
)
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def strip(text: str) -> str:
    """The text without what is hidden in it. Escape sequences of a terminal go as a whole; every
    kind of line end becomes a newline; joiners stay in emoji and in scripts that need them."""
    plain = _LINE_END.sub("\n", _ESCAPE.sub("", text))
    return _HIDDEN.sub(lambda found: found["kept"] or "", plain)


def hidden(text: str) -> list[str]:
    """The hidden characters of a text, in their order; what ends a line is none."""
    return [found[0] for found in _HIDDEN.finditer(text) if not found["kept"]]


def visible(text: str) -> str:
    """The whole text with signs for what is hidden in it, such as <U+202E>. Newlines and tabs stay;
    a carriage return that does not end a line is shown, as it could write over one."""
    plain = text.replace("\r\n", "\n").replace("\r", "\u240d")
    plain = _HIDDEN.sub(lambda found: found["kept"] or sign(found[0]), plain)
    return re.sub("[\x0c\u2028\u2029]", lambda found: sign(found[0]), plain)


def visible_piece(text: str) -> str:
    """A piece of a stream with signs for what is hidden in it. Joiners and variants stay, as their
    neighbours may be in another piece; carriage returns and soft breaks are dropped."""
    return _ALWAYS.sub(lambda found: sign(found[0]), re.sub("[\r\u00ad\u200b]", "", text))


def sign(character: str) -> str:
    """A visible sign for a character that has none."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<{code:02X}>" if code < 0xA0 else f"<U+{code:04X}>"
