"""Words in a skill that deserve a look before it is trusted. A look is no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw.safety.hidden import hidden

MAX_FILE = 1024 * 1024
MAX_ALL = 12 * 1024 * 1024
MAX_LINE = 10_000
MAX_SHOWN = 3
MAX_TEXT = 120
SCRIPTS = frozenset(
    ".sh .bash .zsh .fish .py .pyw .js .mjs .cjs .ts .rb .pl .php .lua .ps1 .psm1 .bat .cmd .vbs "
    ".exe .dll .so .dylib .jar .app .com .scr .msi .command .applescript .scpt .r .go .rs".split()
)
PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"BZh", b"\xfd7zXZ")

_SHELL = r"(?:(?:ba|z|da|k|fi)?sh|python[\d.]*|perl|ruby|node|php|iex|invoke-expression|osascript)"
_FETCH = r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)"
# kind: pattern; every repetition is bounded, so that no line takes long.
PATTERNS: tuple[tuple[str, str], ...] = (
    ("pipe into a shell", rf"\b{_FETCH}\b[^\n|]{{0,300}}\|\s{{0,9}}(?:sudo\s{{1,9}})?{_SHELL}\b"),
    ("pipe into a shell", rf"\b{_SHELL}\b[^\n]{{0,40}}(?:<\(|\$\(|`)\s{{0,9}}{_FETCH}\b"),
    ("pipe into a shell", rf"\b(?:eval|exec|iex)\b[^\n]{{0,9}}(?:\$\(|`|\()\s{{0,9}}{_FETCH}\b"),
    ("encoded payload", r"base64[^\n|]{0,80}\|\s{0,9}(?:sudo\s{1,9})?" + _SHELL + r"\b"),
    ("encoded payload", r"\bbase64\s{1,9}(?:-d|-D|--decode)\b|\bb64decode\b|\batob\s{0,9}\("),
    ("encoded payload", r"[A-Za-z0-9+/]{200}|(?:\\x[0-9a-f]{2}){20}|(?:%[0-9a-f]{2}){30}"),
    ("encoded payload", r"-(?:enc|encodedcommand)\s{1,9}[A-Za-z0-9+/=]{16}|\bxxd\s{1,9}-r\b"),
    ("keys and secrets", r"\.ssh\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/credentials|\.gnupg\b"),
    ("keys and secrets", r"\.(?:netrc|npmrc|pypirc|git-credentials)\b|/etc/(?:passwd|shadow)\b"),
    ("keys and secrets", r"\b(?:keychain|login\.keychain|wallet\.dat|metamask|seed phrase)\b"),
    ("keys and secrets", r"\bsecurity\s{1,9}find-\w{1,20}-password|\bcookies\.sqlite\b"),
    ("memory files", r"\b(?:SOUL|MEMORY|USER|AGENTS|IDENTITY|HEARTBEAT|CLAUDE)\.md\b"),
    (
        "orders to the model",
        r"\b(?:ignore|disregard|forget|override)\b[^\n.]{0,30}"
        r"\b(?:previous|prior|above|earlier|preceding|system|safety|all)\b[^\n.]{0,30}"
        r"\b(?:instructions?|prompts?|rules?|guidelines?|messages?)\b",
    ),
    (
        "orders to the model",
        r"\b(?:do not|don't|never|without)\b[^\n.]{0,20}\b(?:tell|telling|inform|informing|mention"
        r"|mentioning|ask|asking|notify|notifying|alert)\b[^\n.]{0,20}\b(?:the )?user\b",
    ),
    ("orders to the model", r"\byou are now\b|\bsystem prompt\b|\bjailbreak|\bdeveloper mode\b"),
    (
        "sends something away",
        r"\b(?:send|post|upload|exfiltrate|forward|transmit|submit)\b[^\n.]{0,40}"
        r"\b(?:api[ _-]?keys?|passwords?|tokens?|secrets?|credentials?|private keys?|cookies?)\b",
    ),
    ("sends something away", r"\b(?:webhook\.site|requestbin|ngrok|pastebin\.com|transfer\.sh)\b"),
    ("sends something away", r"\bdiscord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot"),
    ("lowers a guard", r"\bcom\.apple\.quarantine\b|\bspctl\b|\bset-executionpolicy\b"),
    (
        "lowers a guard",
        r"\b(?:disable|turn off)\b[^\n.]{0,30}\b(?:defender|antivirus|gatekeeper)\b",
    ),
    (
        "lowers a guard",
        r"\bsudo\s|\bchmod\s{1,9}(?:-R\s{1,9})?(?:777|[ugoa]*\+s)\b|\brm\s{1,9}-rf\b",
    ),
    ("lowers a guard", r"\b(?:archive|zip|extract|unzip)\b[^\n]{0,60}\bpassword\b"),
    ("stays behind", r"\bcrontab\b|\blaunchctl\b|\bsystemctl\s{1,9}enable\b|\.(?:bash|zsh)rc\b"),
    ("command to run while loading", r"(?:^|\s)!`[^`\n]{1,300}`"),
    (
        "network",
        r"\b(?:curl|wget|nc|ncat|telnet|scp|rsync|ftp)\s|\bimport (?:requests|httpx|socket)\b",
    ),
    ("network", r"\b(?:urllib|requests\.\w{1,9}|httpx|aiohttp|urlopen|XMLHttpRequest|websocket)\b"),
    ("network", r"\bfetch\s{0,9}\(|\binvoke-(?:webrequest|restmethod)\b|/dev/tcp/"),
)
_LINE_END = re.compile(r"\r\n|\n|\r")
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in PATTERNS)


@dataclass(frozen=True, slots=True)
class Look:
    """Something to look at: file (relative, with slashes), line (1-based, 0: the whole file)."""

    path: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.kind}: {self.text}"


def looks(folder: Path, names: Sequence[str]) -> list[Look]:
    """What deserves a look in the files of these relative names, some of each kind a file."""
    found: list[Look] = []
    left = MAX_ALL
    for name in names:
        path = folder / name
        size = path.stat().st_size
        if size > min(MAX_FILE, left):
            found.append(Look(name, 0, "not looked into", f"{size:,} bytes"))
            continue
        left -= size
        found += _looks_at(name, path.read_bytes())
    return found


def is_script(path: Path) -> bool:
    """Whether a file can be run: by its suffix, its first bytes or its mode."""
    if path.suffix.lower() in SCRIPTS:
        return True
    with path.open("rb") as file:
        head = file.read(4)
    return head.startswith((b"#!", *PROGRAMS)) or _may_run(path)


def _may_run(path: Path) -> bool:
    import os

    return os.name != "nt" and bool(path.stat().st_mode & 0o111)


def _looks_at(name: str, data: bytes) -> list[Look]:
    if data.startswith(PROGRAMS):
        return [Look(name, 0, "program", "compiled; its text cannot be read")]
    if data.startswith(ARCHIVES):
        return [Look(name, 0, "archive", "what is in it was not looked at")]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    elif b"\0" in data and not (data.startswith(b"#!") or Path(name).suffix.lower() in SCRIPTS):
        return []
    return _thinned(name, list(_in_text(name, data.decode("utf-8", "replace"))))


def _in_text(name: str, text: str) -> Iterator[Look]:
    for number, line in enumerate(_LINE_END.split(text.removeprefix("\ufeff")), 1):
        if len(line) > MAX_LINE:
            yield Look(name, number, "very long line", f"{len(line):,} characters")
            line = line[:MAX_LINE]
        if found := hidden(line):
            codes = ", ".join(f"U+{ord(c):04X}" for c in sorted(set(found))[:5])
            yield Look(name, number, "hidden characters", f"{len(found)}: {codes}")
            line = line.translate(dict.fromkeys(map(ord, found)))
        told = set()
        for kind, pattern in _COMPILED:
            if kind not in told and (match := pattern.search(line)):
                told.add(kind)
                yield Look(name, number, kind, _around(line, match.start()))


def _around(line: str, at: int) -> str:
    """The line, or the part of a long one where the words stand."""
    plain = line.strip()
    if len(plain) <= MAX_TEXT:
        return plain
    start = max(0, at - 20)
    return ("..." if start else "") + line[start : start + MAX_TEXT].strip() + "..."


def _thinned(name: str, found: list[Look]) -> list[Look]:
    """The first of each kind, and how many more there are."""
    kept: list[Look] = []
    counts: dict[str, int] = {}
    for look in found:
        counts[look.kind] = counts.get(look.kind, 0) + 1
        if counts[look.kind] <= MAX_SHOWN:
            kept.append(look)
    more = [
        Look(name, 0, kind, f"{count - MAX_SHOWN} more lines")
        for kind, count in counts.items()
        if count > MAX_SHOWN
    ]
    return kept + more
