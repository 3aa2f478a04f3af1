"""Pages of persons and topics, gathered from the lines of the memory.

`memory/people/lena.md` repeats, by topic, what tells of Lena, each line with a link to the file
where it stands; `memory/topics/garden.md` what has the tag #garden:

    ## Hobbies, sport and free time

    - Lena has signed up for a pottery course [[2026-03-04]]

    <!-- gathered 3f2a91bc -->

The comment at a page's end holds a sum of each line that the program has written. A line whose sum
is there is the program's: it goes when its source does. All others are the user's and stay; what
was changed or removed by hand is not gathered again. The pages are made from the files each time,
so that a correction of a source and an undo need no work of their own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.memory.entries import MemoryEntry, entries_of
from openclaw.memory.markdown import change_file, read_markdown, read_page
from openclaw.memory.notes import DAILY, LASTING
from openclaw.nlp.classifier import read_topic
from openclaw.nlp.persons import find_names, persons_of
from openclaw.security.foreign_files import FILE as FOREIGN_FILES
from openclaw.security.foreign_files import ForeignFiles
from openclaw.storage.home import Home
from openclaw.storage.safe_open import NotOrdinary, check_no_links, is_ordinary, md5
from openclaw.storage.text import join_surrogates, remove_file, without_comments, write_text
from openclaw.types import BeforeWrite, record_no_write

PEOPLE, BY_TOPIC = "people", "topics"
USER = "workspace/USER.md"
TOPICS = {
    "birthday": "Birthday",
    "gifts": "Gifts and presents",
    "food": "Food, drink and allergies",
    "health": "Health",
    "family": "Family and pets",
    "work": "Work and studies",
    "owed": "Lent, borrowed and owed",
    "home": "Home, address and phone",
    "travel": "Travel",
    "media": "Books, films and music",
    "hobbies": "Hobbies, sport and free time",
}
"""The topics of a line, and their headings, in words by which people ask for them."""
RULES = 5  # changes whenever other lines are gathered from the same files
LONGEST = 300  # characters of a line that is gathered: a longer one tells of more than one thing
FEWEST_TAGGED = 3
_LINE = re.compile(r"[-*+] (?P<text>.*) (?P<link>\[\[[^\[\]]+\]\])")
_SUMS = re.compile(r"<!-- gathered((?: [0-9a-f]{8})*) -->")
_TAG = re.compile(r"(?<![\w&#/])#([^\W\d_][\w-]{1,40})")
_HEADING = re.compile(r"(?<!\n)\n(## )")
_BOX = re.compile(r"\[[ xX]\]")
OWN_SOURCES = ("", "typed", "session")
"""First words of the source of an entry that is in the user's own words."""
IMPORTED = "Imported from "
"""Begins the heading of what was taken over from another agent: nobody knows who said it."""
_NO_PROSE = ("#", ">", "|", "<", "=", "---")


@frozen
class SourceLine:
    """A line of the memory that may be gathered, perhaps below a heading of a page. `file`: its
    name without the ending."""

    file: str
    text: str
    section: str = ""

    @property
    def sum(self) -> str:
        return md5(f"{self.text} {self.file}".encode(errors="replace"))[:8]

    def __str__(self) -> str:
        """As the program writes it on a page."""
        return f"- {self.text} [[{self.file}]]"


def gathered_lines(text: str) -> dict[int, SourceLine]:
    """Return what the program's lines of a page repeat, by their indexes."""
    sums, found = _sums_of(text), {}
    for at, line in enumerate(_lines_of(text) if sums else ()):
        if read := _LINE.fullmatch(line.strip()):
            source = SourceLine(read["link"][2:-2], read["text"])
            if source.sum in sums:
                found[at] = source
    return found


def _sums_of(text: str) -> set[str]:
    return {each for sums in _SUMS.findall(text) for each in sums.split()}


def is_page(path: str) -> bool:
    """Return True for the path, in the home, of a page that is gathered."""
    return path.startswith((f"memory/{PEOPLE}/", f"memory/{BY_TOPIC}/"))


def take_sums(*texts: str) -> tuple[list[str], set[str]]:
    """Return versions of a page without their comments, and the sums of all."""
    pages = ([line for line in _lines_of(text) if not _is_sums(line)] for text in texts)
    plain = ["".join(f"{line}\n" for line in _stripped(page)) for page in pages]
    return plain, set().union(*map(_sums_of, texts))


def with_sums(merged: str, sums: Iterable[str]) -> str:
    """Return what was merged with one comment, so that no line becomes the user's, and with the
    empty line above a section that both devices have begun."""
    lines = _lines_of(_HEADING.sub(r"\n\n\1", merged))
    return "\n".join([*lines, *_comment(sums)])


def _is_sums(line: str) -> bool:
    return bool(_SUMS.fullmatch(line.strip()))


def _comment(sums: Iterable[str]) -> list[str]:
    """Return the last lines of a page with these sums, in an order that all devices have."""
    return ["", f"<!-- gathered {' '.join(sorted(sums))} -->", ""] if sums else [""]


def refresh(home: Home, keep: BeforeWrite = record_no_write) -> list[str]:
    """Gather the pages when the files of the memory have changed since, unless the setting
    `memory.pages` is off. Returns what the user should know: what could not be done."""
    try:
        if not load_settings(home).memory.pages:
            return []
        stamp, now = home.private / "cache" / "pages", _stamp(home)
        if read_markdown(stamp) != now:
            gather(home, keep)
            write_text(stamp, now)
    except (OpenclawError, OSError) as error:
        off = "without them: openclaw config set memory.pages false"
        return [f"pages of persons were not brought up to date: {error} ({off})"]
    return []


def _stamp(home: Home) -> str:
    """Return a sum of the names, sizes and times of the files that the pages are made from."""
    others = (home.root / USER, home.private / FOREIGN_FILES)
    paths = (*filter(_is_source, sorted(home.memory.glob("*.md"))), *filter(Path.is_file, others))
    found = [(p.name, s.st_size, s.st_mtime_ns) for p in paths for s in [p.stat()]]
    return md5(repr((RULES, found)).encode(errors="replace"))


def gather(home: Home, keep: BeforeWrite = record_no_write) -> list[Path]:
    """Write the pages as the files of the memory are now; return those that changed.

    `keep` is called before each change. Raises OpenclawError when a file cannot be written.
    """
    paths = [path for path in sorted(home.memory.glob("*.md")) if _is_source(path)]
    files = {home.relative(path): [*_statements(read_markdown(path))] for path in paths}
    foreign = ForeignFiles(home)
    blocks = _blocks(foreign.own_lines(files))
    pages = {**_people(home, blocks), **_tagged(home, blocks)}
    for folder in (PEOPLE, BY_TOPIC):
        for path in sorted((home.memory / folder).glob("*.md")):
            pages.setdefault(path, [])
    held = {line.sum for line in chain(*_blocks(files))}
    return [
        path
        for path, lines in pages.items()
        if _write(path, lines, keep, held if foreign.source(home.relative(path)) else ())
    ]


def _blocks(files: Mapping[str, Iterable[str]]) -> list[list[SourceLine]]:
    """Return the lines of each file in their order; an empty one for each that is not gathered."""
    return [[SourceLine(Path(name).stem, said) for said in files[name]] for name in files]


def _is_source(path: Path) -> bool:
    named = DAILY.fullmatch(path.name) or path.name == LASTING
    return bool(named) and is_ordinary(path)


def _statements(text: str) -> Iterator[str]:
    """Yield the list items and paragraphs of a text, each on one line; an empty line for a heading
    and for what is not gathered: to-dos, tables, what is struck through or too long."""
    page, entries = read_page(text), {entry.at: entry for entry in entries_of(text)}
    skipped = {*page.opaque, *(bullet.at for bullet in page.bullets)}
    skipped.update(section.start for section in page.sections if section.level)
    end = next((s.start for s in page.sections if s.name.startswith(IMPORTED)), len(page.lines))
    paragraph: list[str] = []
    at = 0
    while at <= end:
        line = page.lines[at].strip() if at < end else ""
        if line and at not in skipped and not line.startswith(_NO_PROSE):
            paragraph.append(line)
        elif paragraph:
            said = join_surrogates(without_comments(" ".join(paragraph)).strip())
            yield said if len(said) <= LONGEST else ""
            paragraph = []
        entry = entries.get(at)
        if line and at in skipped:
            yield entry.text if entry and _is_own(entry) else ""
        at = entry.end if entry else at + 1


def _is_own(entry: MemoryEntry) -> bool:
    """Return True for what still holds in the user's own words, is short enough and no to-do."""
    own = entry.meta.source.partition(" ")[0] in OWN_SOURCES
    long = len(entry.text) > LONGEST
    return own and not (long or entry.superseded or _BOX.match(entry.text))


def _people(home: Home, blocks: Sequence[Sequence[SourceLine]]) -> dict[Path, list[SourceLine]]:
    user = home.root / USER
    about = [entry.text for entry in entries_of(read_markdown(user))] if is_ordinary(user) else []
    names = find_names([*about, *(line.text for line in chain(*blocks))])
    pages: dict[Path, dict[str, SourceLine]] = {}
    for block in blocks:
        persons_in = persons_of([line.text for line in block], names)
        for line, persons in zip(block, persons_in, strict=True):
            topic = _topic_of(line.text, persons) if persons else ""
            for name in persons if topic else ():
                path = home.memory / PEOPLE / f"{name.casefold()}.md"
                pages.setdefault(path, {})[line.text] = replace(line, section=topic)
    return {path: [*lines.values()] for path, lines in pages.items()}


def _topic_of(line: str, persons: Iterable[str]) -> str:
    """Return the heading for what a line tells of persons, "" when that is not sure."""
    told = read_topic(line, persons)
    return TOPICS[told.best(*TOPICS)] if told.has("personal") else ""


def _tagged(home: Home, blocks: Iterable[Sequence[SourceLine]]) -> dict[Path, list[SourceLine]]:
    pages: dict[Path, list[SourceLine]] = {}
    for line in chain(*blocks):
        for tag in dict.fromkeys(map(str.casefold, _TAG.findall(line.text))):
            pages.setdefault(home.memory / BY_TOPIC / f"{tag}.md", []).append(line)
    return {path: lines for path, lines in pages.items() if len(lines) >= FEWEST_TAGGED}


def _write(
    path: Path, wanted: Sequence[SourceLine], keep: BeforeWrite, held: Collection[str]
) -> bool:
    try:
        check_no_links(path)
    except NotOrdinary as error:
        raise OpenclawError(f"{path} is left alone: {error.strerror}") from error
    before = read_markdown(path)
    if not wanted and not _sums_of(before):
        return False  # a page of the user alone
    after = update_page(before, path.stem, wanted, held)
    if after == before:
        return False
    if after:
        change_file(path, lambda text: update_page(text, path.stem, wanted, held), keep)
    else:
        remove_file(path, keep)
    return True


def update_page(
    text: str, name: str, wanted: Sequence[SourceLine], held: Collection[str] = ()
) -> str:
    """Return a page with the wanted lines in their sections, and without those of the program that
    are not wanted; "" when nothing but headings is left.

    A line with a sum of `held` stays: another device has gathered it, to whom it is no text of
    others. If each device removed the other's lines, a page would change at each sync for ever.
    """
    sums = {line.sum: line for line in wanted}
    known, title = _sums_of(text), f"# {name.capitalize()}"
    told = sums.keys() | known.intersection(held)
    gone, seen = set(), set[str]()
    for at, source in gathered_lines(text).items():
        if (sum_ := source.sum) in seen or sum_ not in told:
            gone.add(at)
        seen.add(sum_)
    kept = [
        line for at, line in enumerate(_lines_of(text)) if at not in gone and not _is_sums(line)
    ]
    missing: dict[str, list[str]] = {}
    for line in sums.values():
        if line.sum not in known and str(line) not in kept:
            missing.setdefault(line.section, []).append(str(line))
    kept = _stripped(kept) or ([title] if missing else [])
    for section in sorted(missing, key=[*TOPICS.values(), ""].index):
        kept = _insert(kept, f"## {section}" if section else title, missing[section])
    kept = _stripped(_without_empty_sections(kept))
    newline = "\r\n" if "\r\n" in text else "\n"
    return "" if not told and kept in ([], [title]) else newline.join([*kept, *_comment(told)])


def _insert(lines: list[str], heading: str, new: Sequence[str]) -> list[str]:
    """Put new lines at the end of the section with this heading, a new one at the end of all."""
    if heading not in lines:
        return [*_stripped(lines), "", heading, "", *new]
    start = lines.index(heading) + 1
    end = next((n for n in range(start, len(lines)) if lines[n].startswith("#")), len(lines))
    above = _stripped(lines[:end])
    gap = [] if len(above) > start else [""]
    return [*above, *gap, *new, *([""] if lines[end:] else []), *lines[end:]]


def _lines_of(text: str) -> list[str]:
    """Not by `splitlines`: a gathered line may hold U+2028."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _stripped(lines: list[str]) -> list[str]:
    """Return the lines without blank ones at their end."""
    return lines[: max((n for n, line in enumerate(lines, 1) if line.strip()), default=0)]


def _without_empty_sections(lines: list[str]) -> list[str]:
    """Remove the program's headings below which nothing stands."""
    headings = {f"## {name}" for name in TOPICS.values()}
    for at in reversed([n for n, line in enumerate(lines) if line in headings]):
        below = next((n for n in range(at + 1, len(lines)) if lines[n].strip()), len(lines))
        if below == len(lines) or lines[below].startswith(("# ", "## ")):
            lines = [*_stripped(lines[:at]), *([""] if lines[below:] else []), *lines[below:]]
    return lines
