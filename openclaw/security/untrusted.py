"""The fence around text that gives no orders, and what in it must not look like structure.

A server that fills a chat template reads special tokens out of any text, so those of the usual
templates are broken by a blank that everybody sees: ChatML, Qwen, Phi, Llama 2 to 4, Mistral,
Gemma, DeepSeek, Command R, Harmony (gpt-oss), Granite, GLM. So are role headers at the beginning of
a line, our own tail and results, and calls in the shapes that `agent/parse` would run if a model
repeated them. Links and images stay the text that they are: nothing here or in the terminal loads
an address, however long its query is.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError
from openclaw.storage.home import PROPOSED, Home
from openclaw.storage.lock import locked
from openclaw.storage.readers import parse_foreign_json
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import decode, md5, read_text, write_if_same, write_private, write_text

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
"""Only what can hardly be anything else than a token."""

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
    """The text between two lines that bear this turn's marker and say where it is from.

    With `own`, for the user's own files, only what a chat template or this fence would read is
    broken: all other lines stay as they are, so that an edit finds them.
    """
    body = inert(text) if own else defused(text)
    body = _without(body, marker).strip("\n")
    label = _without(plain_source(source), marker)
    return f"<<data {marker} from {label}, {NO_ORDERS}>>\n{body}\n<</data {marker}>>"


def inert(text: str) -> str:
    """The text with the tokens of chat templates, and our fence, broken by a blank."""
    return _compiled(_SPECIAL).sub(_with_blank, text)


def defused(text: str) -> str:
    """The text without what is hidden, and with nothing in it that passes for a token, a tag, a
    role, a result or a call of ours."""
    text = _compiled(_ESCAPED).sub(lambda found: chr(int(found[1], 16)), strip(text))
    for pattern in (_BARRED, _TAG, _BRACKET, _HEADER, _OURS, _FENCED, _CALL):
        text = _compiled(pattern).sub(_with_blank, text)
    return text


def plain_source(source: str) -> str:
    """A source as a few words on one line that close no fence."""
    line = " ".join(strip(source).split())
    line = defused(line).replace("<", "(").replace(">", ")")
    return line if len(line) <= LONGEST_SOURCE else line[: LONGEST_SOURCE - 3] + "..."


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """At first use: a turn without text of others needs none of them."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _with_blank(found: re.Match[str]) -> str:
    return f"{found[0]} "


def _without(text: str, marker: str) -> str:
    """The text with every spelling of the marker gone; no two ends can join to it again."""
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


SIZE = 32
_here = os.urandom(SIZE)


@dataclass(frozen=True, slots=True)
class Nonces:
    """Draws by a key that lies in a file of the user's alone. Without the file, which may be
    deleted at any time, there is a new key; where none can be written each process has its own."""

    path: Path

    def draw(self, *words: object) -> bytes:
        """32 bytes for these words: HMAC-SHA256 (RFC 2104) under the key."""
        said = "\0".join(map(str, words)).encode(errors="backslashreplace")
        return hmac.digest(self._key(), said, hashlib.sha256)

    def _key(self) -> bytes:
        key = self._kept()
        if not key:
            with suppress(OSError, OpenclawError):
                write_private(self.path, os.urandom(SIZE).hex() + "\n")
            key = self._kept()  # another process may have been quicker
        return key or _here

    def _kept(self) -> bytes:
        try:
            key = bytes.fromhex(read_bytes(self.path).decode("ascii"))
        except (OSError, ValueError):
            return b""
        return key if len(key) == SIZE else b""


FILE = "learned.json"
VERSION = 1
VERSION_KEY = "version"
TEXT_OF = "text of "
"""Begins the key of a file's fingerprints; they stand behind the source and a newline."""
INBOX = "memory/inbox/"
_PLACES: Mapping[str, str] = {
    INBOX: "the inbox",
    "sessions/": "earlier conversations",
    f"{PROPOSED}/": "a skill that nobody has accepted",
}
LOCK_SECONDS = 5.0
SHORTEST_LINE = 16
MOST_BYTES = 200_000
MOST_GONE = 1_000
"""Paths that are kept though no file is there: an undo may have taken it away, and be undone."""
MOST_PRINTS, MOST_OF_A_FILE = 40_000, 2_000
"""Fingerprints that are kept; of a longer file the lowest, which are from anywhere in it."""
LARGEST = 10_000_000
_PLACE = re.compile(r"^([^\n:]{1,300}?)(?::\d+(?:-\d+)?:|, lines \d+-\d+ of \d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of the files of one home. Nothing is held: another process may add to it."""

    home: Home

    def source(self, path: str) -> str:
        """Where the text of a file (relative to the home) is from, "" for what is the user's."""
        return _source(path, self._noted())

    def note(self, path: str, source: str, text: str | None = None) -> None:
        """Remember that a file holds text from there; `text` is the part of it that does, by
        default all. Raises OpenclawError when it cannot be written."""
        self.note_all([(path, source, text)])

    def note_all(self, files: Iterable[tuple[str, str, str | None]]) -> None:
        """See `note`."""
        with locked(self.home.private / "locks" / "learned.lock", LOCK_SECONDS):
            noted = self._noted()
            kept = dict(noted)
            for path, source, text in files:
                self._add(kept, path, source, text)
            if kept != noted:
                self._keep_damaged()
                write_text(self.home.private / FILE, as_text(self._bounded(kept)))

    def _add(self, kept: dict[str, str], path: str, source: str, text: str | None) -> None:
        if text is None:
            text = _start(self.home.root / path)
        path = _key(path)
        if _source(path, kept) in ("", kept.get(path)):
            kept[path] = source
        known = _prints_of(kept.pop(TEXT_OF + path, ""))
        if prints := sorted({*known, *fingerprints(text)})[:MOST_OF_A_FILE]:
            kept[TEXT_OF + path] = "\n".join((source, " ".join(prints)))

    def named_in(self, line: str) -> str:
        """Whose text a command line may show that has the name of a file or folder in it, "" for
        none."""
        known = {**_PLACES, **_paths(self._noted())}
        names = ((path.rstrip("/").rpartition("/")[2], source) for path, source in known.items())
        return next((source for name, source in names if name in line), "")

    def shown_in(self, text: str) -> str:
        """Whose text a result shows: of a file that it names with a line number, as our own tools
        do, or that is known by its words. "" for none."""
        noted = self._noted()
        for name in dict.fromkeys(_PLACE.findall(text)):
            if source := _source(name.strip(), noted):
                return source
        return self.known(text)

    def known(self, text: str) -> str:
        """Whose text stands in another one: by its fingerprints, or as one of the lines of a file
        of which there are none. "" for none."""
        if source := self.copied(text):
            return source
        for path, source in self._files(self._noted()):
            if any(line in text for line in _telling_lines(path)):
                return source
        return ""

    def copied(self, text: str) -> str:
        """Whose text stands in another one, by its fingerprints alone: no file is read."""
        kept = [value for key, value in self._noted().items() if key.startswith(TEXT_OF)]
        found = set(all_fingerprints(text)) if kept else set()
        return next(
            (_source_in(value) for value in kept if not found.isdisjoint(_prints_of(value))), ""
        )

    def _files(self, noted: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
        for place in (INBOX, f"{PROPOSED}/"):
            for path in sorted((self.home.root / place).rglob("*")):
                yield path, _PLACES[place]
        for name, source in _paths(noted).items():
            if TEXT_OF + name not in noted:
                yield self.home.root / name, source

    def _noted(self) -> dict[str, str]:
        """Raises Damaged for a file of a newer version: nobody knows then whose words files hold,
        and nothing may be written over it."""
        try:
            data = read_bytes(self.home.private / FILE, LARGEST)
        except OSError:
            return {}
        try:
            return entries_in(data)
        except ValueError:
            return saved_from(data)

    def _bounded(self, noted: dict[str, str]) -> dict[str, str]:
        """The entries without the oldest of what no file is there for, and of the fingerprints."""
        gone = [path for path in _paths(noted) if not (self.home.root / path).exists()]
        left = MOST_PRINTS
        over = set(gone[:-MOST_GONE])
        for key in reversed(noted):
            if key.startswith(TEXT_OF):
                left -= len(_prints_of(noted[key]))
                over |= {key} if left < 0 else set()
        return {key: value for key, value in noted.items() if key not in over}

    def _keep_damaged(self) -> None:
        """Keep a copy of a file that can only be read in part, before it is written anew."""
        path = self.home.private / FILE
        try:
            data = read_bytes(path)
            entries_in(data)
        except FileNotFoundError:
            return
        except ValueError:
            aside = path.with_name(f"learned.damaged-{md5(data)[:8]}.json")
            write_if_same(aside, None, data)


def entries_in(data: bytes) -> dict[str, str]:
    """What the file says, by path. Damaged for one of a newer version, ValueError for what is none
    of ours."""
    found = parse_foreign_json(decode(data))
    if not isinstance(found, dict):
        raise ValueError("not a list of files")
    version = found.get(VERSION_KEY)
    if isinstance(version, int | float) and version > VERSION:
        raise Damaged(
            f"{FILE} has version {version}, this openclaw knows {VERSION}",
            "install a newer openclaw",
        )
    return {path: source for path, source in found.items() if isinstance(source, str)}


def saved_from(data: bytes) -> dict[str, str]:
    """The whole lines of a damaged file: each is a path and its source."""
    lines = (line.strip().rstrip(",") for line in decode(data).splitlines())
    found: dict[str, str] = {}
    for line in lines:
        with suppress(ValueError):
            found |= {
                p: s for p, s in parse_foreign_json(f"{{{line}}}").items() if isinstance(s, str)
            }
    return found


def as_text(noted: Mapping[str, str]) -> str:
    """The text of the file; what was noted last stands last."""
    shape = {VERSION_KEY: VERSION, **noted}
    return json.dumps(shape, ensure_ascii=False, indent=2) + "\n"


def _key(path: str) -> str:
    """How a path stands in the file: one of the home's root that is called as our own keys are has
    its folder with it."""
    return f"./{path}" if path == VERSION_KEY or path.startswith(TEXT_OF) else path


def _paths(noted: Mapping[str, str]) -> dict[str, str]:
    return {key: source for key, source in noted.items() if not key.startswith(TEXT_OF)}


def _source_in(value: str) -> str:
    return value.partition("\n")[0]


def _prints_of(value: str) -> list[str]:
    return value.partition("\n")[2].split()


def _source(path: str, noted: Mapping[str, str]) -> str:
    path = _key(path)
    places = (source for place, source in _PLACES.items() if path.startswith(place))
    return next(places, "") or noted.get(path, "")


def _telling_lines(path: Path) -> list[str]:
    """The lines of a file that hardly stand in another one by chance."""
    with suppress(OSError):
        if path.stat().st_size <= MOST_BYTES:
            lines = (line.strip() for line in _start(path).splitlines())
            return [line for line in lines if len(line) >= SHORTEST_LINE]
    return []


def _start(path: Path) -> str:
    """What a file begins with; "" for none."""
    with suppress(OSError, OpenclawError):
        return read_text(path, MOST_BYTES) if path.is_file() else ""
    return ""


RUN = 8
FEWEST, SHORTEST = 4, 16
"""Words and signs of a line that hardly stands in another text by chance."""
LENGTH = 12
"""Hex digits: of a million pairs of different runs, one in 280 million is taken for the same."""

_WORD = re.compile(r"[^\W_]+")
_FIRST, _LAST = "\u3040", "\u9fff"
"""Of the scripts without blanks: each sign counts as a word."""


def fingerprints(text: str) -> Iterator[str]:
    """Those that are kept of a text, some of them more than once."""
    yield from _runs(_words(text), RUN)
    for line in text.splitlines():
        words = _words(line)
        if FEWEST <= len(words) < RUN:
            yield from _runs(words, len(words))


def all_fingerprints(text: str) -> Iterator[str]:
    """Those that a text may share with what is kept of another one."""
    words = _words(text)
    for length in range(FEWEST, RUN + 1):
        yield from _runs(words, length)


def _runs(words: list[str], length: int) -> Iterator[str]:
    for at in range(len(words) - length + 1):
        run = " ".join(words[at : at + length])
        if length == RUN or len(run) >= SHORTEST:
            yield md5(run.encode(errors="replace"))[:LENGTH]


def _words(text: str) -> list[str]:
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        signs = not word.isascii() and any(_FIRST <= sign <= _LAST for sign in word)
        found += word if signs else [word]
    return found
