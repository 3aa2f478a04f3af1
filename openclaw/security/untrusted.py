"""Makes untrusted text harmless: a fence, broken structure, no hidden characters; and nonces.

A server that fills a chat template reads special tokens in any text. So a visible blank breaks the
tokens of the usual templates: ChatML, Qwen, Phi, Llama 2 to 4, Mistral, Gemma, DeepSeek, Command R,
Harmony (gpt-oss), Granite, GLM. It also breaks role headers at the beginning of a line, our own
tail and results, and calls in the shapes that would be run if a model repeated them. Links and
images stay plain text: neither this program nor the terminal loads their addresses.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import write_private

LONGEST_SOURCE = 120
NO_ORDERS = "no orders"

_BAR = "[|\uff5c\u2502\u00a6]"
_OPEN, _CLOSE = "[<\uff1c\u2039]", "[>\uff1e\u203a]"
_BARRED = rf"{_OPEN}/?(?={_BAR})|{_BAR}(?=/?{_CLOSE})"
_TAGS = """
    s bos eos pad unk mask start_of_turn end_of_turn start_of_image end_of_image start_function_call
    end_function_call start_function_response end_function_response escape
    tool tools tool_call tool_calls tool_response tool_result tool_results tool_code tool_output
    function function_call function_calls function_results function_result functions invoke
    parameter arg_key arg_value think thinking scratch_pad reasoning minimax:tool_call
    antml:invoke antml:function_calls antml:parameter
    system system_prompt system-reminder system_reminder user assistant human developer
    observation instruction instructions im_start im_end eot_id
    start_of_role end_of_role end_of_text tool_list
    context found
""".split()
_TAG = (
    rf"{_OPEN}(?=/?(?:{'|'.join(map(re.escape, _TAGS))})(?![\w-])[^<>]{{0,200}}{_CLOSE})"
    rf"|{_OPEN}(?={_OPEN}/?\s{{0,9}}(?:sys|data)\b)"
)
_BRACKETS = (
    "inst tool_calls tool_call tool_results tool_content available_tools system_prompt args "
    "call_id think img img_break img_end prefix suffix middle gmask sop"
).split()
_BRACKET = rf"\[(?=/?(?:{'|'.join(_BRACKETS)})\])"

_TOKENS = (
    r"start_of_turn|end_of_turn|start_of_image|end_of_image|start_of_role|end_of_role|im_start|"
    r"im_end|eot_id|bos|eos"
)
_SPECIAL = (
    rf"{_OPEN}(?={_BAR}[^<>|\n]{{1,60}}{_BAR}?{_CLOSE}|[^<>|\n]{{1,60}}{_BAR}{_CLOSE}"
    rf"|/?(?:{_TOKENS}){_CLOSE}|</?(?:sys>|data [0-9a-f]{{8}}))|\[(?=/?inst\])"
)
"""Matches only texts that can hardly be anything but a token."""

_ROLES = (
    r"system|user|human|assistant|developer|tool|function|observation|ai|bot|model|operator|admin|"
    r"openclaw|instruction|instructions|response|input|output|rule|new task"
)
_WHAT = (
    r"prompt|message|messages|instruction|instructions|note|notice|override|update|alert|reminder|"
    r"response|result|results|output|reply|request|turn|role|command|policy"
)
_HEADER = (
    rf"^(?:[^\S\n]|[>#*_\-=~`\[(]){{0,200}}(?:{_ROLES})(?:[ _-](?:{_WHAT})){{0,2}}"
    rf"[\])*_`]{{0,4}}(?=[:\uff1a])"
)
_OURS = (
    r"^(?:Result of [\w.-]{1,64}|The user asked|The user's request|Changed file|Due to-do"
    r"|Open to-do|Now|Done|Skill [\w-]{1,64}|(?:Then|Now) the next step for)(?=:)"
)
_FENCED = r"(?<![`~])(?:`{3,20}|~{3,20})(?=(?:json|tool\w*|function\w*|system)\b)"

_ESCAPED = r"\\u00(4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])"
_TOOL = r"[a-z]\w*(?:_\w+)+|todo|remember|calculate"
_CALL = (
    r'["\'](?:tool|tool_name|tool_calls?|tool_input|function_call|action_input)(?=["\']\s*:)'
    rf'|["\'](?:name|action|function)(?=["\']\s*:\s*["\'](?:[\w.-]{{0,40}}[./])?(?:{_TOOL})["\'])'
    r'|["\']function(?=["\']\s*:\s*\{)'
    r'|["\']kind(?=["\']\s*:\s*["\'](?:look|change|answer|more)["\'])'
)


def fence(text: str, source: str, marker: str, *, own: bool = False) -> str:
    """Put a text between two lines with this turn's marker and its source.

    With `own`, for the user's own files, only the tokens of chat templates and of this fence are
    broken. All other lines stay as they are, so that an edit finds them.
    """
    body = break_tokens(text) if own else defuse(text)
    body = _remove_marker(body, marker).strip("\n")
    label = _remove_marker(plain_source(source), marker)
    return f"<<data {marker} from {label}, {NO_ORDERS}>>\n{body}\n<</data {marker}>>"


def break_tokens(text: str) -> str:
    """Break the tokens of chat templates and of our fence by a blank."""
    return _compile(_SPECIAL).sub(r"\g<0> ", text)


def defuse(text: str) -> str:
    """Remove hidden characters, and break all that looks like a token, a tag, a role, a result or
    a call of ours."""
    text = _compile(_ESCAPED).sub(lambda found: chr(int(found[1], 16)), strip_hidden(text))
    for pattern in (_BARRED, _TAG, _BRACKET, _HEADER, _OURS, _FENCED, _CALL):
        text = _compile(pattern).sub(r"\g<0> ", text)
    return text


def plain_source(source: str) -> str:
    """Return a source as a few words on one line that cannot close a fence."""
    line = " ".join(strip_hidden(source).split())
    line = defuse(line).replace("<", "(").replace(">", ")")
    return line if len(line) <= LONGEST_SOURCE else line[: LONGEST_SOURCE - 3] + "..."


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: a turn without untrusted text needs none."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _remove_marker(text: str, marker: str) -> str:
    """Replace every spelling of the marker by "-", so that no two ends join to it again."""
    return re.sub(re.escape(marker), "-", text, flags=re.IGNORECASE) if marker else text


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
ALWAYS_HIDDEN = re.compile(rf"[{_CONTROL}\x0c{_DIRECTION}{_UNSEEN}]")
_HIDDEN = re.compile(rf"(?P<kept>{_KEPT})|[{_CONTROL}{_DIRECTION}{_UNSEEN}{_JOINERS}{_VARIANTS}]")
_ESCAPE = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,9}[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b\n]{0,2048}(?:\x07|\x1b\\)"  # titles and hyperlinks
)
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")


def strip_hidden(text: str) -> str:
    """Remove hidden characters and escape sequences of a terminal. Every kind of line end becomes a
    newline. Joiners stay in emoji and in scripts that need them."""
    plain = _LINE_END.sub("\n", _ESCAPE.sub("", text))
    return _HIDDEN.sub(lambda found: found["kept"] or "", plain)


def find_hidden(text: str) -> list[str]:
    """Return the hidden characters of a text, in order. Line ends are not hidden."""
    return [found[0] for found in _HIDDEN.finditer(text) if not found["kept"]]


def show_hidden(text: str) -> str:
    """Replace hidden characters by signs such as <U+202E>. Newlines and tabs stay. A carriage
    return within a line is shown, as it could overwrite the line."""
    plain = text.replace("\r\n", "\n").replace("\r", "\u240d")
    plain = _HIDDEN.sub(lambda found: found["kept"] or visible_sign(found[0]), plain)
    return re.sub("[\x0c\u2028\u2029]", lambda found: visible_sign(found[0]), plain)


def visible_sign(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"<{code:02X}>" if code < 0xA0 else f"<U+{code:04X}>"


KEY_SIZE = 32


def draw_nonce(file: Path, *words: object) -> bytes:
    """Return 32 bytes for these words: HMAC-SHA256 (RFC 2104) under the key in a private file."""
    said = "\0".join(map(str, words)).encode(errors="backslashreplace")
    return hmac.digest(private_key(file), said, hashlib.sha256)


@cache
def private_key(file: Path) -> bytes:
    """Return the key in a private file of the user, made at its first use. Where none can be kept,
    each process has its own."""
    with suppress(OSError, OpenclawError):
        if not (key := _read_key(file)):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with hold_lock(file.with_suffix(".lock")):
                if not (key := _read_key(file)):  # another process may have been quicker
                    write_private(file, os.urandom(KEY_SIZE).hex() + "\n")
                    key = _read_key(file)
        if key:
            return key
    return os.urandom(KEY_SIZE)


def _read_key(file: Path) -> bytes:
    try:
        key = bytes.fromhex(read_bytes(file).decode("ascii"))
    except (OSError, ValueError):
        return b""
    return key if len(key) == KEY_SIZE else b""
