"""Whether two checkouts of the program do the same, byte for byte.

    python -m benchmarks.unchanged OLD_CHECKOUT [NEW_CHECKOUT=.] [--only PART]

Each checkout is run as a program (`python -m openclaw`), one after the other, in the very same
folders: a copy of the checkout, homes, and a user's folder. Nothing of the program is imported, so
its modules may have any names. The model is the stand-in server of the tests. Compared are:

    requests  what the server receives for prompts in many homes, in both protocols
    help      what `--help` and `help X` print for every command, found by walking the help itself
    commands  standard output, standard error and exit code of every command, plain and as JSON
    errors    the same of what a user does wrongly and of what is broken
    files     the bytes of a home's files, and git's log, after turns that call tools

What time and chance decide is replaced by a word (`CHANGING`). It prints a line a part and a diff
for each difference, and exits with 1 when there is one. Do not run it across midnight.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tests.fakes.ollama_server import Answer, FakeModel, FakeOllama

TOP = Path(__file__).resolve().parent.parent
AT_ONCE = 3
DIFF_LINES = 12
SPLIT = re.compile(r"\\n|,(?= ?\")")
"""Where the long lines of JSON are broken to show what is different in them."""
PROTOCOLS = ("native", "json")
MODELS = [FakeModel("fake:8b", parameter_size="8B", family="qwen3")]
KEY = "0123456789abcdef" * 4 + "\n"
YAML = "model: ollama/fake:8b\nembedding: none\nrecall_wait: 60\n"

# ---------------------------------------------------------------- what time and chance decide

CHANGING = (
    ("time", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:?\d\d|Z)?"),
    ("session", r"\b\d{4}-\d\d-\d\d-\d{6}(-[0-9a-f]{4})?\b"),
    ("minute", r"\b\d{4}-\d\d-\d\d,? \d\d:\d\d(:\d\d)?\b"),
    ("aside", r"(?<=\.damaged)[-.][\w-]+"),
    ("clock", r"\b\d\d:\d\d:\d\d\b"),
    ("seed", r"seed\\*\": ?\d+"),
    ("marker", r"marker\\*\": ?\\*\"[0-9a-f]{8}"),  # of the minute and the prompt
    ("id", r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b|(?<!\": )(?<!\.)\b[0-9a-f]{8}\b"),
    ("port", r"(?<=127\.0\.0\.1:)\d+"),
    ("pid", r"(?<=pid )\d+"),
    ("span", r"(seconds|_rate)\\*\": ?\d+(\.\d+)?(e-\d+)?"),  # JSON
    ("span", r"\b\d+(\.\d+)? ?(s|ms|GB free|tokens/s|t/s)\b(?!')"),
    ("span", r"(?<=ok      )\d\.\d+ +"),  # `log --actions`
    ("rate", r" +[\d,]+\.\d(?= +#|$)"),  # `usage`
)
"""(its word, what it looks like). Each value gets a number by the order in which it comes, so that
it still shows where the same one stands twice."""
TOGETHER = re.compile("|".join(f"(?P<n{n}>{p})" for n, (_, p) in enumerate(CHANGING)), re.M)
COUNTED = ("session", "id")


def steady(text: str) -> str:
    """The text with words in place of what time and chance decide."""
    seen: dict[str, int] = {}

    def word(found: re.Match[str]) -> str:
        name = next(CHANGING[int(g[1:])][0] for g, said in found.groupdict().items() if said)
        if name not in COUNTED:
            return f"<{name}>"
        return f"<{name} {seen.setdefault(found[0], len(seen) + 1)}>"

    return TOGETHER.sub(word, text)


# ---------------------------------------------------------------- where a checkout is run


@dataclass
class World:
    """A folder of its own in which a checkout is run: a home, a user's folder and a server.
    `found` are the names of what was looked at with what was seen."""

    folder: Path
    checkout: Path
    server: FakeOllama
    found: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def start(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
        """Run this Python with these words, far from the user's own settings."""
        user = self.folder / "user"
        environ = {
            **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ},
            **{f"XDG_{kind.upper()}_HOME": str(user / kind) for kind in XDG},
            **FIXED,
            "HOME": str(user),
            "USERPROFILE": str(user),
            "OPENCLAW_HOME": str(self.home),
            "OPENCLAW_MODELS": str(self.folder / "models"),
            "OLLAMA_HOST": self.server.url,
            "PYTHONPATH": str(self.checkout),
        }
        elsewhere = self.folder / "elsewhere"
        return subprocess.run(
            [sys.executable, *words],
            cwd=elsewhere, env=environ, input=stdin.encode(), capture_output=True,
            check=False, timeout=240,
        )  # fmt: skip

    def run(self, *words: str, stdin: str = "") -> str:
        """What openclaw prints for these words, and its exit code."""
        ran = self.start("-m", "openclaw", *words, stdin=stdin)
        out, err = ran.stdout.decode(), ran.stderr.decode()
        return f"exit code {ran.returncode}\n--- stdout\n{out}\n--- stderr\n{err}"

    def note(self, line: str, stdin: str = "") -> None:
        """Run a command line and keep what it prints."""
        name = line if line not in self.found else f"{line} (again {len(self.found)})"
        self.found[name] = self.run(*shlex.split(line), stdin=stdin)

    def make_home(self, yaml: str = "", files: Mapping[str, str] | None = None) -> None:
        """A home of the starter files, and of these."""
        self.run("init")
        put(self.home, {"openclaw.yaml": YAML + yaml, ".openclaw/cache/key": KEY, **(files or {})})
        put(self.folder / "user/data/openclaw", {"openclaw-history.key": KEY})
        (self.folder / "user/data/openclaw/openclaw-history.key").chmod(0o600)

    def answer(self, *calls: tuple[str, dict[str, Any]]) -> None:
        """Let the model ask for these calls, one a reply, and answer everything else."""
        self.server.script.clear()
        self.server.say(*(calling(tool, given) for tool, given in calls), *[certainly] * 60)


XDG = ("config", "data", "cache", "state")
FIXED = {
    "COLUMNS": "100", "LANG": "C.UTF-8", "NO_COLOR": "1", "PYTHONUTF8": "1", "TERM": "dumb",
    "TZ": "UTC", "GIT_CONFIG_NOSYSTEM": "1", "PYTHONHASHSEED": "0",
}  # fmt: skip


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def calling(tool: str, given: Mapping[str, Any]) -> Callable[[dict[str, Any]], Answer]:
    """The reply that calls a tool, in the protocol of the request."""

    def reply(body: dict[str, Any]) -> Answer:
        if body.get("tools"):
            return Answer(calls=[(tool, given)])
        kind = "look" if tool in ("read_file", "memory_search") else "change"
        return Answer(json.dumps({"kind": kind, "tool": tool, **given}))

    return reply


def certainly(body: dict[str, Any]) -> str:
    return '{"kind": "answer", "answer": "Certainly."}' if body.get("format") else "Certainly."


# ---------------------------------------------------------------- requests

SKILL = (
    "---\nname: {0}\ndescription: Does {0}. Use when the user asks for {0}.\n---\n\n# {0}\nDo.\n"
)
PROSE = "The pump on floor {0} was asked for its state and said {1}. "
NOTES = {
    "memory/MEMORY.md": "# Memory\n\n"
    "- I take the 7:40 train. <!-- preference, 2026-01-21, typed -->\n"
    "- ~~The standup is at 9:30~~ (until 2026-02-01)\n- The standup is at 9:45.\n",
    "memory/2026-03-02.md": "# 2026-03-02\n\n- Oriol fixed the pump of the greenhouse.\n",
    "memory/2026-03-03.md": "# 2026-03-03\n\n- The greenhouse needs new glass, 40 x 60 cm.\n",
}
TODOS = {
    "memory/TODO.md": "# To-dos\n\n## Tasks\n\n- [ ] call Anna due:2026-01-10 ^a1b2c3d4\n"
    "- [x] pay rent ^b1b2c3d4\n\n## Home\n\n- [ ] water the plants ^c1b2c3d4\n"
}
TRAIN = "When does my train leave, and what is with the greenhouse pump?"


@dataclass(frozen=True)
class Prompts:
    """A home, and the command lines that are run in it; those that begin with ! are no prompt.
    `stdin` is given to the last one."""

    files: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ("'Say hello.'",)
    yaml: str = ""
    stdin: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


Call = tuple[str, dict[str, Any]]
READ: Call = ("read_file", {"path": "workspace/AGENTS.md"})
LONG = tuple(
    f"-s long 'Turn {turn}. {''.join(PROSE.format(turn, n) for n in range(25))}'"
    for turn in range(5)
)
HOMES = {
    "empty": Prompts(),
    "persona": Prompts(
        {
            "workspace/SOUL.md": "# Soul\n\nYou are Tilda, and you are brief.\n",
            "workspace/USER.md": "# User\n\nIna, a baker in Ghent. Speaks Dutch.\n",
            "workspace/AGENTS.md": "# Rules\n\n- Write dates as 2026-03-01.\n",
        }
    ),
    "to-dos": Prompts(TODOS, ("'What is due?'", "'Good morning.'")),
    "memory": Prompts(NOTES, (f"'{TRAIN}'",)),
    "index": Prompts(NOTES, ("!memory index", f"'{TRAIN}'", f"-c --no-memory '{TRAIN}'")),
    "skills": Prompts(
        {f"skills/do-{n}/SKILL.md": SKILL.format(f"do-{n}") for n in range(200)},
        ("'Please do-17 this table.'", "'Say hello.'"),
    ),
    "skill": Prompts({}, ("--skill digest 'The minutes of today.'", "'/digest the minutes'")),
    "grants": Prompts(
        yaml="grants:\n  - 2026-11-21 command make test\n  - 2026-11-21 host docs.python.org\n"
        "web:\n  allow_hosts: ['localhost:8080']\nlanguage: German\nwindow: 4096\n"
    ),
    "modes": Prompts(lines=tuple(f"--mode {m} Hello." for m in "read-only ask edit full".split())),
    "attachment": Prompts(
        {"workspace/report.md": "".join(f"line {n}\n" for n in range(400))},
        ("'Sum up @workspace/report.md:10-40'", "'And all of @workspace/report.md?'"),
    ),
    "stdin": Prompts(lines=("'What is this?'",), stdin="diff --git a b\n+ one more line\n"),
    "continued": Prompts(
        NOTES, ("'Who are you?'", "-c 'And the rules?'", "-s trip Hi.", "-c More."), calls=(READ,)
    ),
    "long": Prompts(
        lines=(*LONG, "!sessions compact long", "-c 'What was it about?'"), yaml="window: 4096\n"
    ),
    "chat": Prompts(TODOS, ("chat",), stdin="Hello.\n/context\nAnd what is due?\n/quit\n"),
    "unasked": Prompts(NOTES, ("heartbeat",), "recall: 'off'\nproactive: 'off'\ncapture: 'off'\n"),
}  # fmt: skip


def requests(name: str, protocol: str) -> Callable[[World], None]:
    """What the server receives in one of the homes."""
    prompts = HOMES[name]

    def work(world: World) -> None:
        files = {"workspace/HEARTBEAT.md": "- Look at the to-dos.\n"} if name == "unasked" else {}
        world.make_home(f"protocol: {protocol}\n{prompts.yaml}", {**prompts.files, **files})
        world.answer(*prompts.calls)
        for line in prompts.lines:
            words = shlex.split(line.removeprefix("!"))
            world.run(*words, stdin=prompts.stdin if line == prompts.lines[-1] else "")
        chats = [asked for asked in world.server.requests if asked.path.endswith("/api/chat")]
        for number, asked in enumerate(chats, 1):
            world.found[f"{name}, {protocol}, request {number}"] = asked.raw.decode()
        world.found[f"{name}, {protocol}, count"] = str(len(chats))

    return work


# ---------------------------------------------------------------- help


def helps(world: World) -> None:
    """Every help, from the first one down."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        words = waiting.pop(0)
        said = world.run(*words, "--help")
        world.found[" ".join((*words, "--help"))] = said
        world.note(" ".join(("help", *words)))
        commands = said.partition("\nCommands:\n")[2].partition("\n\n")[0]
        waiting += [(*words, name) for name in re.findall(r"^  ([\w-]+)  ", commands, re.M)]
    pages = world.checkout / "docs"
    world.found["docs/generate.py"] = str(world.start(str(pages / "generate.py"), "--check"))
    for page in ("commands.md", "settings.md", "policy.md"):
        world.found[f"docs/{page}"] = (pages / page).read_text("utf-8")


# ---------------------------------------------------------------- commands

TURNS: tuple[Call, ...] = (
    ("write_file", {"path": "workspace/status.md", "content": "# Status\n\nready\n"}),
    ("todo", {"action": "add", "list": "Home", "items": ["sweep the yard"]}),
    ("remember", {"fact": "The glazier is called Ines.", "where": "lasting"}),
    ("edit_file", {"path": "workspace/status.md", "find": "ready", "replace": "done"}),
)  # fmt: skip
PREPARED = {
    **NOTES,
    **TODOS,
    "memory/inbox/2026-03-04.md": "# Inbox 2026-03-04\n\n- Ada likes tea\n- Bo likes rye\n",
    "memory/TESTS.md": "# Tests\n\n- Who fixed the pump?\n  - memory/2026-03-02.md\n",
    "hooks/say.py": "print('{}')\n",
    "skills/broken/SKILL.md": "---\nname: Broken!\n---\n",
    "skills/.proposed/fold/SKILL.md": SKILL.format("fold"),
    "skills/knit/SKILL.md": SKILL.format("knit"),
    "skills/knit/evals/triggers.yaml": "should:\n  - knit a scarf\nshould_not:\n  - hello\n",
    "workspace/HEARTBEAT.md": "- Look at the to-dos.\n",
}
MORE_YAML = f"""\
grants:
  - 2026-11-21 prefix git log
  - a line that nobody can read
hooks:
  after_turn: [{{run: [{json.dumps(sys.executable)}, hooks/say.py]}}]
mcp:
  bare: {{command: {json.dumps(sys.executable)},
    args: [-S, {json.dumps(str(TOP / "tests/fakes/bare_mcp_server.py"))}, plain]}}
"""
READING = """
hooks trust --yes; config show; config get model; config path; policy show; models list
models test --list; mcp list; mcp test bare; hooks list; hooks test after_turn; context hello
context --raw hello; context --cache; context --diff; usage; usage -s work --since 2026-01-01; why
why --full work:2; sessions list; sessions show work; sessions search glazier; sessions export work
sessions compact work --dry-run; sessions replay work; sessions test ../tried --from work; log
log --actions; log --file workspace/status.md; diff; diff --all work:1; show; show work:2
blame workspace/status.md; blame workspace/status.md:1 --open; todo; todo list --all
todo list --overdue; todo list --due 2026-01-10; memory list; memory list --all --category fact
memory search --explain greenhouse glass; memory review; memory index; memory reindex; memory test
memory lint; memory lint --fix; skills list; skills show digest; skills validate digest
skills validate broken; skills review; skills test knit --no-model; skills test knit; doctor
doctor --deep; heartbeat; ask --no-save hello; import ../other --dry-run
"""
CHANGING_LINES = """
config set max_steps 9; config set bell false; policy allow host docs.python.org
policy allow prefix git status; policy revoke docs.python.org; models use ollama/fake:8b
todo add buy milk --due 2026-12-01 --list Shop; todo done buy milk; todo undone buy milk
todo rm buy milk; todo rm --list Shop; memory add 'Ina bakes on Mondays.' --category fact
memory add --today 'Saw Oriol.'; memory add 'The standup is at 10.' --replaces 'standup is at 9:45'
memory forget 'Ina bakes on Mondays.' --yes; memory review --accept 1; memory review --reject all
memory test --add 'What does Ada like?' --expect tea; memory lint --fix --apply --yes
skills new weave --description 'Weaves. Use when asked.'; skills disable knit; skills enable knit
skills review --accept fold; skills install ../bundle/spin --yes; skills update spin --yes
skills remove spin --yes; import ../other --yes; sessions fork work --at 2
sessions rename trip 'The trip'; sessions compact work; sessions restore work
sessions delete 'The trip' --yes; undo; redo; undo 2 --yes; redo 2; undo -s work --files
heartbeat --quiet-hours 0-23; ask --output json hello; ask --output stream-json hello
ask -q hello; -c --output json 'and now?'; hooks trust --yes; hooks trust --revoke
mcp trust --yes; mcp trust --revoke; trust --revoke; trust --yes; doctor --fix; log -n 50
models pull fake:8b; backup ../home.tar.gz; backup ../home.tar.gz; restore ../home.tar.gz ../again
init ../new --yes; init ../new --yes
"""
NO_JSON = re.compile(
    r"config (path|set)|policy (allow|revoke)|models (use|pull)|(hooks|mcp) trust|trust|-c|ask|init"
    r"|sessions (export|fork|rename|restore|delete)|backup|restore|context --raw"
)


def lines_of(text: str) -> list[str]:
    return [line.strip() for part in text.strip().splitlines() for line in part.split(";")]


def prepare(world: World) -> None:
    """A home with everything in it, and two conversations."""
    world.make_home(MORE_YAML, PREPARED)
    put(world.folder / "bundle/spin", {"SKILL.md": SKILL.format("spin")})
    put(world.folder / "other", {"SOUL.md": "# Soul\n\nI am Rex.\n", "MEMORY.md": "- Rex barks.\n"})
    for number, call in enumerate(TURNS, 1):
        world.answer(call)
        world.run("-s", "work", "--mode", "edit", f"Please do task {number} for me now.")
    world.answer()
    world.run("-s", "trip", "Where is Lisbon?")


def commands(world: World) -> None:
    """What only reads, plain and as JSON; then what changes the home, plain."""
    prepare(world)
    for line in lines_of(READING):
        world.answer()
        world.note(line)
        if not NO_JSON.match(line):
            world.note(f"{line} --json")
    for line in lines_of(CHANGING_LINES):
        world.answer()
        world.note(line)
    state(world, "at the end of the commands")


def as_json(world: World) -> None:
    """What changes the home, as JSON; a line that has no JSON only where others need it."""
    prepare(world)
    for line in lines_of(CHANGING_LINES):
        world.answer()
        if not NO_JSON.match(line):
            world.note(f"{line} --json")
        elif line.startswith("sessions"):
            world.note(line)
    state(world, "at the end of the JSON")


# ---------------------------------------------------------------- errors

WRONG = """
tood; todo ad x; todo list --jsn; --nonsense; todo add; todo done nothing; todo add x --due someday
todo rm; config get modle; config set modle x; config set window 12; config set mode wild
policy allow planet earth; policy revoke 7; models use ollama/none; models pull nothing
-m ollama/none hello; -m strange/none hello; -s none -c hello; sessions show none
sessions delete none --yes; sessions replay none; sessions export none; sessions fork none
sessions rename none x; undo; redo; diff; diff abcdef; show none; why; why 3; blame none.md
blame memory/TODO.md:900; memory forget nothing --yes; memory review --accept 9
memory search; memory search x -k 0; memory search x --since someday; skills show none
skills validate none; skills enable none; skills remove none; skills install ../none
skills new 'Bad Name'; skills test none; mcp test none; hooks test none; import ../none
import . --as strange; restore ../none ../x; backup /none/x.tar.gz; heartbeat --quiet-hours x
--skill none hello; --mode wild hello; --output xml hello; @none.md; 'what is @none.md?'
--max-steps 0 hello; help none; todo help; completion; --version; ask; context @none.md
usage --since someday; log -n 0; --home ../nowhere todo; doctor -m ollama/none
"""
DAMAGED = {
    "yaml is no mapping": "- a\n- b\n",
    "yaml is cut": "model: [ollama/fake:8b\n",
    "unknown key": "modle: x\n",
    "wrong value": "model: ollama/fake:8b\nwindow: wide\nmode: wild\n",
    "twice": "model: auto\nmodel: ollama/fake:8b\n",
}


def wrong_lines(world: World) -> None:
    """What a user types wrongly, in a home in which nothing was done yet."""
    world.make_home()
    for line in lines_of(WRONG):
        world.answer()
        world.note(line)


def broken_places(world: World) -> None:
    """Homes and servers that are missing or damaged."""
    commands = ("hello", "todo", "config show")
    for line in (*commands, "doctor"):
        world.found[f"no home: {line}"] = world.run(*line.split())
    world.make_home()
    for name, text in DAMAGED.items():
        put(world.home, {"openclaw.yaml": text})
        world.answer()
        for line in commands:
            world.found[f"{name}: {line}"] = world.run(*line.split())
    put(world.home, {"openclaw.yaml": YAML, "sessions/bad.json": "{", "memory/TODO.md": "\0\xff"})
    for line in (*commands, "doctor", "sessions list", "sessions show bad", "-s bad hello"):
        world.found[f"damaged files: {line}"] = world.run(*line.split())
    for answer in (Answer(status=500), Answer("a b c", cut_after=1), Answer("")):
        world.server.script.clear()
        world.server.say(*[answer] * 20)
        world.found[f"the server says {answer}"] = world.run("hello")
    (world.folder / "user/data/openclaw/openclaw-trust.json").unlink()
    for line in (*commands, "todo add x", "trust"):
        world.found[f"not trusted: {line}"] = world.run(*line.split())
    world.server.models.clear()
    world.found["the model is gone"] = world.run("hello")
    put(world.home, {"openclaw.yaml": "model: ollama/fake:8b\nollama: {host: '127.0.0.1:9'}\n"})
    world.run("trust", "--yes")
    for line in commands:
        world.found[f"no server: {line}"] = world.run(*line.split())


# ---------------------------------------------------------------- files

SKIPPED = re.compile(r"(^|/)(\.git|cache|index|locks|skills\.json)(/|$)")


def state(world: World, when: str) -> None:
    """Keep every file of the home and of the user's data folder, and git's log."""
    for top in (world.home, world.folder / "user"):
        for path in sorted(top.rglob("*")):
            name = path.relative_to(top).as_posix()
            if path.is_file() and not SKIPPED.search(name):
                text = path.read_bytes().decode(errors="backslashreplace")
                kept = f"{top.name}/{steady(name)}, {when}"
                world.found[kept] = f"{world.found.get(kept, '')}{path.stat().st_mode:o}\n{text}"
    git = (
        "git",
        "-C",
        str(world.home),
        "log",
        "--format=%an <%ae>%n%B%n--",
        "--patch",
        "--full-index",
    )
    log = subprocess.run(git, capture_output=True, check=False)
    world.found[f"git log, {when}"] = (log.stdout + log.stderr).decode(errors="backslashreplace")


def files(protocol: str) -> Callable[[World], None]:
    """What is written in turns that call tools."""

    def work(world: World) -> None:
        world.make_home(f"protocol: {protocol}\n", {**NOTES, **TODOS})
        state(world, f"{protocol}, new")
        for number, call in enumerate(TURNS, 1):
            world.answer(call, READ)
            world.note(f"-s work --mode edit 'Please do task {number} for me now, {protocol}.'")
            state(world, f"{protocol}, turn {number}")
        world.answer()
        world.note("'I prefer tea to coffee. My sister Imke is allergic to nuts.'")
        world.note("undo 2 --yes")
        world.note("sessions compact work")
        state(world, f"{protocol}, end")

    return work


# ---------------------------------------------------------------- both sides

Work = Callable[[World], None]
PARTS: dict[str, list[Work]] = {
    "commands": [commands, as_json],
    "errors": [wrong_lines, broken_places],
    "files": [files(protocol) for protocol in PROTOCOLS],
    "requests": [requests(name, protocol) for name in HOMES for protocol in PROTOCOLS],
    "help": [helps],
}


def side(checkout: Path, folder: Path, parts: list[str]) -> dict[str, dict[str, str]]:
    """What a copy of the checkout does, by part and name."""
    copy = folder / "checkout"
    ignored = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache")
    shutil.copytree(checkout, copy, symlinks=True, ignore=ignored)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(copy / "openclaw")], check=False)

    def done(part: str, number: int, work: Work) -> dict[str, str]:
        place = folder / f"{part}-{number}"
        (place / "elsewhere").mkdir(parents=True)
        with FakeOllama(models=list(MODELS)) as server:
            world = World(place, copy, server)
            work(world)
            server.failed = ""  # a script that ran out shows in what was printed
        return {name: steady(text) for name, text in world.found.items()}

    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = [
            (part, pool.submit(done, part, number, work))
            for part in parts
            for number, work in enumerate(PARTS[part])
        ]
        found: dict[str, dict[str, str]] = {part: {} for part in parts}
        for part, future in begun:
            number = len(found[part])
            found[part] |= {
                (f"{name} [{number}]" if name in found[part] else name): text
                for name, text in future.result().items()
            }
    shutil.rmtree(folder)
    return found


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(name, short diff) of each thing that is not the same on both sides."""
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, "not there"), new.get(name, "not there")
        if before != after:
            one, two = (SPLIT.sub("\\g<0>\n", text).splitlines() for text in (before, after))
            lines = islice(difflib.unified_diff(one, two, n=0, lineterm=""), 2, None)
            yield name, "\n".join(f"    {line[:400]}" for line in islice(lines, DIFF_LINES))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unchanged")
    parser.add_argument("old", type=Path, metavar="OLD_CHECKOUT")
    parser.add_argument("new", type=Path, metavar="NEW_CHECKOUT", nargs="?", default=Path())
    parser.add_argument("--only", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    asked = parser.parse_args()
    parts = [asked.only] if asked.only else list(PARTS)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="unchanged-") as top:
        folder = Path(top).resolve() / "now"
        old, new = (side(path.resolve(), folder, parts) for path in (asked.old, asked.new))
    different = 0
    for part in parts:
        found = list(differences(old[part], new[part]))
        print(f"{part}: {len(old[part] | new[part])} compared, {len(found)} differ")
        for name, diff in found:
            print(f"  {name}\n{diff}")
        different += len(found)
    print(f"{different} differences, {time.monotonic() - began:.0f} s")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
