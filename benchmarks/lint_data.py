"""A made-up memory of 2,000 entries with 44 planted faults, for `benchmarks.lint`.

Everything is drawn by a seeded generator: the same seed gives the same files on every system. Most
of it is ordinary; some hundred lines look like faults and are none (`_near_misses`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

from benchmarks.lint_faults import Plant, plants
from benchmarks.lint_sheets import sheets
from benchmarks.lint_words import HELD, TUNED, Words

ENTRIES = 2000
FIRST_DAY = date(2026, 1, 5)
TUNED_SEEDS = 3
DAYS = 84
FIRST = (
    "Anna Anna Anna Ben Ben Clara David David Elif Farid Greta Hannes Ines Jonas Jonas Karim Lena "
    "Lena Marta Nils Olga Pavel Rosa Samir Tessa Uwe Vera Wanda Yusuf Zoe Amira Bruno Carla Dario"
).split()
LAST = (
    "Berger Lindqvist Okafor Novak Haddad Moreau Santos Keller Iversen Petrov Tanaka Weiss Romero "
    "Duarte Falk Nguyen Sorensen Baumann Costa Demir Ekberg Fischer Gruber Holm"
).split()
CITIES = "Bonn Graz Porto Lyon Utrecht Malmo Turin Ghent Bergen Krakow Basel Cork Bilbao".split()
FIRMS = "Nordwind Helix Brightwater Quarry Lumen Saltbox Tidal Ferrum Osprey Cedarline".split()
FOODS = (
    "olives|walnuts|rye bread|smoked trout|ginger tea|black coffee|plum cake|lentil soup"
    "|goat cheese|pickled beets|mango|dark chocolate|fennel|pears|couscous|miso|radishes|figs"
).split("|")
SHOPS = "the corner shop|Hartmann|the flea market|an online auction|the hardware store".split("|")
DEVICES = (
    "boiler|dishwasher|bicycle|printer|balcony door|water heater|projector|sewing machine|kettle"
    "|record player|lawn mower|freezer|coffee grinder|router|garage door|vacuum cleaner"
).split("|")
PROJECTS = "Kestrel Marlin Juniper Basalt Orchid Falcon Tundra Willow Copper Saffron".split()
TOPICS = (
    "the roof repair|the school trip|her thesis|the tax return|a used piano|the garden fence"
    "|the choir concert|his knee operation|the summer house|the car insurance|a job offer"
    "|the birthday dinner|the moving boxes|the broken window|the reading group|the ski week"
).split("|")
THINGS = "printer paper|a bus ticket|seed potatoes|two lamps|paint|a filter|stamps|firewood".split(
    "|"
)
BOOKS = "the sea novel|the cook book|the history of maps|the chess manual|the bird guide".split("|")
RIVERS = "river|canal|lake|old railway|forest path".split("|")
ROOMS = "Alder Birch Cedar Dogwood Elm Fir Gorse Hazel".split()
MONTHS = "March April May June".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


@dataclass(slots=True)
class Draft:
    """One file that is being made: its title, and its entries in sections (heading, lines)."""

    path: str
    title: str
    sections: dict[str, list[str]] = field(default_factory=dict)

    def add(self, section: str, line: str) -> None:
        self.sections.setdefault(section, []).append(line)

    def text(self) -> str:
        parts = [f"# {self.title}", ""]
        for heading, lines in self.sections.items():
            parts += ([f"## {heading}", ""] if heading else []) + [*lines, ""]
        return "\n".join(parts)


def make(root: Path, seed: int) -> tuple[int, list[Plant]]:
    """Write memory/ below `root`. Returns how many entries it has and what is planted. Seeds over
    `TUNED_SEEDS` have faults and near misses in words that the checks were not written with."""
    chance, words = random.Random(seed), TUNED if seed <= TUNED_SEEDS else HELD
    drafts = {draft.path: draft for draft in _ordinary(chance)}
    for path, section, line in _near_misses(chance, words):
        _into(drafts[path], section, line, chance)
    for path, section, lines in sheets(tuned=seed <= TUNED_SEEDS):
        draft = drafts.setdefault(path, Draft(path, Path(path).stem.capitalize()))
        for line in lines:
            draft.add(section, f"- {line}")
    planted = plants(chance, FIRST_DAY, words)
    for plant in planted:
        for path, line in plant.lines:
            draft = drafts[path]
            _into(draft, chance.choice([*draft.sections]), line, chance)
    _fill(drafts, chance)
    for draft in drafts.values():
        file = root / draft.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(draft.text(), encoding="utf-8", newline="")
    return _entries(drafts), planted


def _into(draft: Draft, section: str, line: str, chance: random.Random) -> None:
    lines = draft.sections.setdefault(section, [])
    lines.insert(chance.randrange(len(lines) + 1), line)


def _entries(drafts: dict[str, Draft]) -> int:
    return sum(len(lines) for draft in drafts.values() for lines in draft.sections.values())


def _fill(drafts: dict[str, Draft], chance: random.Random) -> None:
    """Events of the days, until there are as many entries as wanted."""
    days = [draft for path, draft in drafts.items() if path[7:11].isdigit()]
    people = _people(chance)
    while (missing := ENTRIES - _entries(drafts)) > 0:
        for draft in chance.sample(days, min(missing, len(days))):
            line = f"- {_event(chance, people)}"
            if line not in draft.sections[""]:  # twice on one day would be a fault
                draft.add("", line)


def _people(chance: random.Random) -> list[str]:
    names = [f"{first} {last}" for first in dict.fromkeys(FIRST) for last in LAST]
    return chance.sample(names, 150)


def _stamp(chance: random.Random, category: str = "fact") -> str:
    day = FIRST_DAY + timedelta(days=chance.randrange(DAYS))
    session = f"{chance.getrandbits(24):06x}"
    return f"<!-- {category}, {day}, session {session} turn {chance.randrange(1, 9)} -->"


def _ordinary(chance: random.Random) -> Iterator[Draft]:
    yield _memory(chance)
    yield _people_file(chance)
    yield _projects(chance)
    yield _household(chance)
    for at in range(DAYS):
        day = FIRST_DAY + timedelta(days=at)
        yield Draft(f"memory/{day}.md", str(day), {"": []})
    inbox = Draft("memory/inbox/2026-03-20.md", "Inbox 2026-03-20")
    for at, food in enumerate(chance.sample(FOODS, 10)):
        who = ROOMS[at % len(ROOMS)]
        source = f"<!-- fact, 2026-03-20, source: web: page{at}.example -->"
        inbox.add("", f"- Room {who} serves {food} at the fair stand {at + 1}. {source}")
    yield inbox
    yield _todos(chance)


def _memory(chance: random.Random) -> Draft:
    draft = Draft("memory/MEMORY.md", "Memory")
    for number, (firm, city) in enumerate((firm, city) for firm in FIRMS for city in CITIES[:12]):
        day = WEEKDAYS[number % 5]
        line = chance.choice(
            (
                f"The {city} office of {firm} is closed on {day}s.",
                f"{firm} in {city} sends its invoices from desk {number + 11}.",
                f"The contact for {firm} in {city} sits on floor {number % 9 + 1}.",
                f"{firm} pays the {city} branch within {number % 40 + 10} days.",
            )
        )
        draft.add("Work", f"- {line} {_stamp(chance)}")
    for at, food in enumerate(FOODS):
        verb = ("I like", "I cannot stand", "I only eat")[at % 3]
        when = ("in winter", "at breakfast", "when travelling", "on long hikes")[at % 4]
        draft.add("Preferences", f"- {verb} {food} {when}. {_stamp(chance, 'preference')}")
    for at in range(60):
        number = chance.randrange(10, 99)
        line = chance.choice(
            (
                f"Locker {at + 100} at the {CITIES[at % 13]} pool has the dent on its door.",
                f"The bus {at + 200} stops {number} metres from the {ROOMS[at % 8]} hall.",
                f"Door code {at * 37 + 4210} opens the archive in {CITIES[at % 13]}.",
                f"My library card for {CITIES[at % 13]} ends with {number}{at:02}.",
            )
        )
        draft.add("Odds and ends", f"- {line} {_stamp(chance)}")
    return draft


def _people_file(chance: random.Random) -> Draft:
    draft = Draft("memory/people.md", "People")
    for name in _people(chance)[:130]:
        facts = [
            f"{name}'s phone number is +49 17{chance.randrange(10)} {chance.getrandbits(23):07}.",
            f"{name}'s birthday is {chance.choice(MONTHS)} {chance.randrange(1, 29)}.",
            f"{name} works at {chance.choice(FIRMS)}.",
            f"{name} lives in {chance.choice(CITIES)}.",
            f"{name} likes {chance.choice(FOODS[:9])}.",
            f"{name} likes {chance.choice(FOODS[9:])}.",
            f"{name} is allergic to {chance.choice(FOODS)}.",
            f"Met {name} at the {chance.choice(RIVERS)} fair in {chance.randrange(2009, 2026)}.",
        ]
        for fact in chance.sample(facts, chance.randrange(3, 6)):
            draft.add(name, f"- {fact} {_stamp(chance, 'entity')}")
    return draft


def _projects(chance: random.Random) -> Draft:
    draft = Draft("memory/projects.md", "Projects")
    for project in PROJECTS:
        for at, part in enumerate("api worker cache mailer scheduler search billing web".split()):
            number = chance.randrange(3000, 9000)
            sha = f"{chance.getrandbits(160):040x}"
            line = chance.choice(
                (
                    f"The {project} {part} listens on port {number}.",
                    f"{project}'s {part} was last released from commit {sha}.",
                    f"{project} {part}: the timeout is {number // 100} seconds.",
                    f"The {part} of {project} is started by `scripts/{part}-{project.lower()}.sh`.",
                    f"Decided on 2026-0{at % 3 + 1}-1{at} that the {project} {part} drops retries.",
                )
            )
            draft.add(project, f"- {line} {_stamp(chance, 'decision')}")
    return draft


def _household(chance: random.Random) -> Draft:
    draft = Draft("memory/household.md", "Household")
    for device in DEVICES:
        for at, room in enumerate(ROOMS):
            line = chance.choice(
                (
                    f"The {room} {device} was bought in {at + 2012} at {chance.choice(SHOPS)}.",
                    f"The {device} in {room} needs {chance.randrange(2, 40)} minutes to warm up.",
                    f"The manual of the {room} {device} lies in drawer {chance.randrange(1, 60)}.",
                    f"The {room} {device} has the serial number {chance.getrandbits(48):012X}.",
                )
            )
            draft.add(room, f"- {line} {_stamp(chance)}")
    return draft


def _todos(chance: random.Random) -> Draft:
    draft = Draft("memory/TODO.md", "To-dos")
    for at, topic in enumerate(TOPICS):
        mark = "x" if at % 3 == 0 else " "
        day = FIRST_DAY + timedelta(days=chance.randrange(120))
        draft.add("Tasks", f"- [{mark}] Ask about {topic} due:{day} ^{chance.getrandbits(32):08x}")
    return draft


def _event(chance: random.Random, people: Sequence[str]) -> str:
    who, topic = chance.choice(people), chance.choice(TOPICS)
    return chance.choice(
        (
            f"Ran {chance.randrange(3, 16)} km along the {chance.choice(RIVERS)}.",
            f"Called {who} about {topic}.",
            f"Lunch with {who} in {chance.choice(CITIES)}; talked about {topic}.",
            f"Paid {chance.randrange(3, 240)} euros for {chance.choice(THINGS)}.",
            f"Meet {who} tomorrow at {chance.randrange(8, 19)}:{chance.randrange(10, 60)}.",
            f"Read chapter {chance.randrange(2, 40)} of {chance.choice(BOOKS)}.",
            f"Weight {chance.randrange(70, 84)}.{chance.randrange(10)} kg.",
            f"Fixed the {chance.choice(PROJECTS)} build, commit {chance.getrandbits(28):07x}.",
            f"{who} wrote: back from {chance.choice(CITIES)}, {topic} can wait.",
            f"Slept {chance.randrange(5, 9)} hours, rain until noon, then {topic}.",
            f"Yesterday's talk with {who} was about {topic}.",
        )
    )


def _near_misses(chance: random.Random, words: Words) -> Iterator[tuple[str, str, str]]:
    """Lines that look like faults and are none: (path, section, line)."""
    old, new = chance.sample(range(700, 1400), 2)
    memory, home = "memory/MEMORY.md", "memory/household.md"
    yield (
        memory,
        "Odds and ends",
        (f"- ~~The rent is {old} euros.~~ (until 2026-02-01) <!-- fact, 2026-01-05 -->"),
    )
    yield memory, "Odds and ends", f"- The rent is {new} euros. <!-- fact, 2026-02-01 -->"
    yield (
        memory,
        "Odds and ends",
        ("- ~~My dentist is Dr. Weber.~~ (until 2026-03-01) <!-- entity, 2026-01-09 -->"),
    )
    yield memory, "Odds and ends", "- My dentist is Dr. Adeyemi. <!-- entity, 2026-03-01 -->"
    for line in words.near:
        place = memory if "[" in line else chance.choice((memory, home))
        yield place, "Near", f"- {line}"
    for line in words.near_dated:
        yield memory, "Near", f"- {line} {_stamp(chance)}"
    yield from _namesakes(chance)
    for day in range(0, 60, 9):
        path = f"memory/{FIRST_DAY + timedelta(days=day)}.md"
        yield path, "", "- Ran 5 km along the canal before breakfast."
        yield path, "", f"- The scale says {70 + day % 7} kg; the oven needs a new bulb."
        yield path, "", "- Next week the plumber comes; in 3 days the parcel."
    yield "memory/2026-02-02.md", "", "- Stand-up was at 10:30 today, an exception."


def _namesakes(chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """The same said of people with the same first name."""
    for first, last in (("Anna", "Holm"), ("Anna", "Falk"), ("Ben", "Holm"), ("Ben", "Falk")):
        number = chance.randrange(10**6, 10**7)
        name = f"{first} Maria {last}"
        yield "memory/people.md", name, f"- {name}'s phone number is +49 170 {number}."
        yield "memory/people.md", name, f"- {name} takes the {number % 12 + 6}:40 train."
