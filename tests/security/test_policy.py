"""What may be done: one table of cases, readable as a description, and what must hold for all."""

from __future__ import annotations

import unicodedata
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.security.grants import Grant, read_grant
from openclaw.security.policy import IDENTITY_NAMES, RULES, TABLE, Decision, Policy, plain_parts
from openclaw.types import Action, Effect, Mode

MODES: tuple[Mode, ...] = get_args(Mode)
ALL_EFFECTS: tuple[Effect, ...] = get_args(Effect)
DAY = "2026-11-21"

# mode | read untrusted text before? | effect | target | grants | decision | words of the reason
CASES = r"""
# ---- the table: each mode, each effect
read-only | - | read            | workspace/a.md  | | allow | mode read-only allows reading the home
read-only | - | write           | workspace/a.md  | | deny  | mode read-only forbids changing
read-only | - | read-elsewhere  | /srv/a.md       | | ask   | reading outside the home
read-only | - | write-elsewhere | /srv/a.md       | | deny  | forbids writing outside the home
read-only | - | run             | make test       | | deny  | forbids running a command
read-only | - | get             | example.org     | | ask   | getting from the network
read-only | - | send            | example.org     | | deny  | forbids sending to the network
ask  | - | read            | workspace/a.md  | | allow | mode ask allows reading the home
ask  | - | write           | workspace/a.md  | | ask   | mode "ask": changing the home
ask  | - | read-elsewhere  | /srv/a.md       | | ask   | mode "ask": reading outside
ask  | - | write-elsewhere | /srv/a.md       | | ask   | mode "ask": writing outside
ask  | - | run             | make test       | | ask   | mode "ask": running a command
ask  | - | get             | example.org     | | ask   | mode "ask": getting
ask  | - | send            | example.org     | | ask   | mode "ask": sending
edit | - | read            | workspace/a.md  | | allow | mode edit allows reading the home
edit | - | write           | workspace/a.md  | | allow | mode edit allows changing the home
edit | - | read-elsewhere  | /srv/a.md       | | ask   | mode "edit": reading outside
edit | - | write-elsewhere | /srv/a.md       | | ask   | mode "edit": writing outside
edit | - | run             | make test       | | ask   | mode "edit": running a command
edit | - | get             | example.org     | | ask   | mode "edit": getting
edit | - | send            | example.org     | | ask   | mode "edit": sending
full | - | read            | workspace/a.md  | | allow | mode full allows reading the home
full | - | write           | workspace/a.md  | | allow | mode full allows changing the home
full | - | read-elsewhere  | /srv/a.md       | | allow | mode full allows reading outside
full | - | write-elsewhere | /srv/a.md       | | allow | mode full allows writing outside
full | - | run             | make test       | | allow | mode full allows running a command
full | - | get             | example.org     | | allow | mode full allows getting
full | - | send            | example.org     | | allow | mode full allows sending

# ---- calls that name nothing
edit | - | write | | | allow | mode edit
edit | - | run   | | | ask   | mode "edit"
full | untrusted | get | | | ask | untrusted text
full | untrusted | write | | | allow | mode full

# ---- credentials are out of reach in every mode, whatever was granted
read-only | - | read            | workspace/.env        | | deny | may hold credentials
ask       | - | read            | workspace/.env        | | deny | may hold credentials
edit      | - | read            | workspace/.env        | | deny | may hold credentials
full      | - | read            | workspace/.env        | | deny | may hold credentials
full      | untrusted | read    | workspace/.env        | | deny | may hold credentials
full      | - | write           | workspace/.env        | | deny | may hold credentials
full      | - | read-elsewhere  | /home/me/.ssh/id_rsa  | | deny | may hold credentials
full      | - | write-elsewhere | /home/me/.ssh/id_rsa  | | deny | may hold credentials
edit      | - | read-elsewhere  | /home/me/.ssh/id_rsa  | tool it | deny | may hold credentials
edit      | - | write           | workspace/.env        | tool it | deny | may hold credentials
full      | - | read            | workspace/Key.PEM     | | deny  | may hold credentials
full      | - | read            | workspace/\uff0eenv   | | deny  | may hold credentials
full      | - | read            | workspace\\.ENV.       | | deny  | may hold credentials
full      | - | write           | workspace/.env.example | | allow | mode full
full      | - | read            | workspace/environment | | allow | mode full
edit      | - | run             | cat .env              | command cat .env | allow | granted

# ---- the files that make the agent: a yes each time, but in full while nothing untrusted was read
read-only | - | write | workspace/SOUL.md      | | deny  | mode read-only
ask       | - | write | workspace/SOUL.md      | | ask   | SOUL.md decides who the agent is
edit      | - | write | workspace/SOUL.md      | | ask   | SOUL.md decides who the agent is
full      | - | write | workspace/SOUL.md      | | allow | mode full
full      | untrusted | write | workspace/SOUL.md | | ask | SOUL.md decides who the agent is
edit      | - | read  | workspace/SOUL.md      | | allow | mode edit
edit      | untrusted | read | workspace/SOUL.md | | allow | mode edit
edit      | - | write | workspace/AGENTS.md    | | ask   | AGENTS.md decides
full      | - | write | workspace/AGENTS.md    | | allow | mode full
full      | untrusted | write | workspace/AGENTS.md | | ask | AGENTS.md decides
edit      | - | write | workspace/IDENTITY.md  | | ask   | IDENTITY.md decides
full      | untrusted | write | workspace/IDENTITY.md | | ask | IDENTITY.md decides
edit      | - | write | workspace/TOOLS.md     | | ask   | TOOLS.md decides
full      | untrusted | write | workspace/TOOLS.md | | ask | TOOLS.md decides
edit      | - | write | workspace/HEARTBEAT.md | | ask   | HEARTBEAT.md decides
full      | untrusted | write | workspace/HEARTBEAT.md | | ask | HEARTBEAT.md decides
edit      | - | write | openclaw.yaml          | | ask   | openclaw.yaml decides
full      | - | write | openclaw.yaml          | | allow | mode full
full      | untrusted | write | openclaw.yaml  | | ask   | openclaw.yaml decides
edit      | - | write | workspace/SOUL.md      | tool it | ask | SOUL.md decides
edit      | - | write | openclaw.yaml          | tool it | ask | openclaw.yaml decides
ask       | - | write | workspace/SOUL.md      | tool it | ask | SOUL.md decides
full      | untrusted | write | openclaw.yaml  | tool it | ask | openclaw.yaml decides
edit      | - | write-elsewhere | /srv/other/workspace/SOUL.md | | ask | SOUL.md decides

# ---- however they are spelled
edit | - | write | workspace/soul.md               | | ask | soul.md decides
edit | - | write | WORKSPACE/SOUL.MD               | | ask | decides
edit | - | write | ./workspace/SOUL.md             | | ask | decides
edit | - | write | workspace//SOUL.md              | | ask | decides
edit | - | write | workspace/./SOUL.md             | | ask | decides
edit | - | write | workspace/x/../SOUL.md          | | ask | decides
edit | - | write | workspace/SOUL.md/.             | | ask | decides
edit | - | write | workspace/SOUL.md/              | | ask | decides
edit | - | write | workspace\\SOUL.md               | | ask | decides
edit | - | write | workspace/SOUL.md.              | | ask | decides
edit | - | write | workspace/SOUL.md ..            | | ask | decides
edit | - | write | workspace/SOUL.md::$DATA        | | ask | decides
edit | - | write | C:SOUL.md                       | | ask | decides
edit | - | write | workspace/SOUL.md:stream        | | ask | decides
edit | - | write | workspace/\uff33\uff2f\uff35\uff2c.md | | ask | decides
edit | - | write | workspace/SOUL\uff0emd          | | ask | decides
edit | - | write | workspace\uff0fSOUL.md          | | ask | decides
edit | - | write | workspace/SO\u200bUL.md         | | ask | decides
edit | - | write | workspace/\u202eSOUL.md         | | ask | decides
edit | - | write | workspace/\u017fOUL.md          | | ask | decides
edit | - | write | workspace/AGENTS.md\u00a0       | | ask | decides
edit | - | write | OPENCL~1.YAM                    | | ask | decides
edit | - | write | workspace/HEARTB~1.MD           | | ask | decides
edit | - | write | OPENCLAW.YAML                   | | ask | decides
edit | - | write | ./openclaw.yaml                 | | ask | decides

# ---- and nothing else is one of them
edit | - | write | workspace/my-soul.md            | | allow | mode edit
edit | - | write | workspace/SOUL.md.bak           | | allow | mode edit
edit | - | write | workspace/SOUL/notes.md         | | allow | mode edit
edit | - | write | workspace/soul.txt              | | allow | mode edit
edit | - | write | workspace/openclaw.yaml.md      | | allow | mode edit
edit | - | write | workspace/USER.md               | | allow | mode edit
edit | - | write | memory/MEMORY.md                | | allow | mode edit
edit | - | write | skills/tidy/SKILL.md            | | allow | mode edit
edit | - | write | workspace/SO UL.md              | | allow | mode edit

# ---- what lasts beyond the conversation, after untrusted text was read
edit | untrusted | write | workspace/USER.md          | | ask   | USER.md lasts beyond
full | untrusted | write | workspace/USER.md          | | ask   | USER.md lasts
full | untrusted | write | workspace/user.MD.         | | ask   | lasts
full | untrusted | write | memory/MEMORY.md           | | ask   | MEMORY.md lasts
edit | untrusted | write | memory/2026-11-21.md       | | ask   | 2026-11-21.md lasts
edit | untrusted | write | memory/TODO.md             | | ask   | TODO.md lasts
full | untrusted | write | skills/tidy/SKILL.md       | | ask   | SKILL.md lasts
full | untrusted | write | skills/.proposed/x/SKILL.md | | ask  | SKILL.md lasts
full | untrusted | write | SKILLS/tidy/run.sh         | | ask   | lasts
full | untrusted | write | ./skills//x                | | ask   | lasts
full | untrusted | write | skills\\x                   | | ask   | lasts
full | untrusted | write | workspace/../skills/x      | | ask   | lasts
full | untrusted | write | /home/me/openclaw/skills/x | | ask   | lasts
full | untrusted | write | skills::$INDEX_ALLOCATION/x | | ask  | lasts
edit | untrusted | write | memory/inbox/2026-11-21.md | | allow | mode edit
full | untrusted | write | memory/inbox/x.md          | | allow | mode full
full | untrusted | write | memory/inbox/../MEMORY.md  | | ask   | lasts
edit | untrusted | write | workspace/notes.md         | | allow | mode edit
ask  | untrusted | write | workspace/notes.md         | | ask   | mode "ask"
read-only | untrusted | write | memory/inbox/x.md     | | deny  | mode read-only
edit | untrusted | write | memory/MEMORY.md           | tool it | ask | lasts
full | untrusted | write | skills/x/SKILL.md          | tool it | ask | lasts

# ---- what goes out of the house, after untrusted text was read
full | untrusted | send            | evil.test   | | ask   | sending to the network after
full | untrusted | get             | evil.test   | | ask   | getting from the network after
full | untrusted | run             | make test   | | ask   | running a command after
full | untrusted | write-elsewhere | /srv/a.md   | | ask   | writing outside the home after
full | untrusted | read-elsewhere  | /srv/a.md   | | allow | mode full
edit | untrusted | get             | evil.test   | | ask   | untrusted text
edit | untrusted | send            | evil.test   | | ask   | untrusted text
edit | untrusted | run             | make test   | | ask   | untrusted text
edit | untrusted | read-elsewhere  | /srv/a.md   | | ask   | mode "edit"
read-only | untrusted | get        | evil.test   | | ask   | untrusted text
read-only | untrusted | send       | evil.test   | | deny  | mode read-only
full | untrusted | get  | example.org | host example.org | allow | host example.org
full | untrusted | send | example.org | host example.org | allow | host example.org
full | untrusted | run  | make test   | command make test | allow | granted
full | untrusted | run  | git log -3  | prefix git log    | allow | granted
full | untrusted | get  | evil.test   | host example.org  | ask | untrusted text
full | untrusted | run  | make evil   | command make test | ask | untrusted text

# ---- a grant of a host is for that host alone
edit | - | get  | docs.python.org     | host docs.python.org | allow | host docs.python.org
edit | - | get  | DOCS.Python.org     | host docs.python.org | allow | granted
edit | - | get  | docs.python.org.    | host docs.python.org | allow | granted
edit | - | send | docs.python.org     | host docs.python.org | allow | granted
edit | - | get  | python.org          | host docs.python.org | ask   | mode "edit"
edit | - | get  | x.docs.python.org   | host docs.python.org | ask   | mode "edit"
edit | - | get  | docs.python.org.evil.test | host docs.python.org | ask | mode "edit"
edit | - | get  | evil-docs.python.org | host docs.python.org | ask  | mode "edit"
edit | - | get  | docs.python.org@evil.test | host docs.python.org | ask | mode "edit"
edit | - | get  |                     | host docs.python.org | ask   | mode "edit"
edit | - | get  | ::1                 | host ::1             | allow | granted
edit | - | run  | docs.python.org     | host docs.python.org | ask   | mode "edit"
edit | - | write-elsewhere | docs.python.org | host docs.python.org | ask | mode "edit"
read-only | - | get  | docs.python.org | host docs.python.org | allow | granted
read-only | - | send | docs.python.org | host docs.python.org | deny  | mode read-only

# ---- a grant of a command is for that line, word for word
edit | - | run | make test             | command make test | allow | command make test
edit | - | run | make test && rm -r .  | command make test | ask   | mode "edit"
edit | - | run | make  test            | command make test | ask   | mode "edit"
edit | - | run | make test -k          | command make test | ask   | mode "edit"
edit | - | run | make                  | command make test | ask   | mode "edit"
edit | - | run | Make test             | command make test | ask   | mode "edit"
edit | - | run | a; b \| c > d         | command a; b \| c > d | allow | granted
edit | - | get | make test             | command make test | ask   | mode "edit"
read-only | - | run | make test        | command make test | deny  | mode read-only

# ---- a grant of a prefix is for plain words behind it
edit | - | run | git log                     | prefix git log | allow | prefix git log
edit | - | run | git log -5 --oneline        | prefix git log | allow | granted
edit | - | run | git log -p -- src/main.py   | prefix git log | allow | granted
edit | - | run | git log HEAD..main@{1}      | prefix git log | ask   | mode "edit"
edit | - | run | git log --format=%h         | prefix git log | allow | granted
edit | - | run | git logs                    | prefix git log | ask   | mode "edit"
edit | - | run | git                         | prefix git log | ask   | mode "edit"
edit | - | run | git -C /x log               | prefix git log | ask   | mode "edit"
edit | - | run | git log; rm -r workspace    | prefix git log | ask   | mode "edit"
edit | - | run | git log;rm                  | prefix git log | ask   | mode "edit"
edit | - | run | git log && rm x             | prefix git log | ask   | mode "edit"
edit | - | run | git log \|\| rm x           | prefix git log | ask   | mode "edit"
edit | - | run | git log \| sh               | prefix git log | ask   | mode "edit"
edit | - | run | git log & rm x              | prefix git log | ask   | mode "edit"
edit | - | run | git log > x                 | prefix git log | ask   | mode "edit"
edit | - | run | git log < x                 | prefix git log | ask   | mode "edit"
edit | - | run | git log $(rm x)             | prefix git log | ask   | mode "edit"
edit | - | run | git log `rm x`              | prefix git log | ask   | mode "edit"
edit | - | run | git log $HOME               | prefix git log | ask   | mode "edit"
edit | - | run | git log *                   | prefix git log | ask   | mode "edit"
edit | - | run | git log {a,b}               | prefix git log | ask   | mode "edit"
edit | - | run | git log ~/x                 | prefix git log | ask   | mode "edit"
edit | - | run | git log "x y"               | prefix git log | ask   | mode "edit"
edit | - | run | git log 'x'                 | prefix git log | ask   | mode "edit"
edit | - | run | git log \\\\x                 | prefix git log | ask   | mode "edit"
edit | - | run | git log #x                  | prefix git log | ask   | mode "edit"
edit | - | run | git log !x                  | prefix git log | ask   | mode "edit"
edit | - | run | git log (x)                 | prefix git log | ask   | mode "edit"
edit | - | run | git log\nrm x               | prefix git log | ask   | mode "edit"
edit | - | run | git log\trm                 | prefix git log | ask   | mode "edit"
edit | - | run | git log\r                   | prefix git log | ask   | mode "edit"
edit | - | run | git log \u200bx             | prefix git log | ask   | mode "edit"
edit | - | run | GIT_PAGER=x git log         | prefix git log | ask   | mode "edit"
edit | - | run | git log --output=x          | prefix git log | ask   | mode "edit"
edit | - | run | git log --outp=x            | prefix git log | ask   | mode "edit"
edit | - | run | git fetch --upload-pack=x y | prefix git fetch | ask | mode "edit"
edit | - | run | git grep -Oevil x           | prefix git grep | ask  | mode "edit"
edit | - | run | git clone -c core.sshCommand=x y | prefix git clone | ask | mode "edit"
edit | - | run | make test SHELL=./x         | prefix make test | ask | mode "edit"
edit | - | run | make test -j4               | prefix make test | allow | granted
edit | - | run | find . -name x.md           | prefix find | allow | granted
edit | - | run | find . -delete              | prefix find | ask   | mode "edit"
edit | - | run | find . -exec rm x           | prefix find | ask   | mode "edit"

# ---- a grant of a tool is for what names neither a command nor a host
ask  | - | write | workspace/a.md | tool it         | allow | tool it
ask  | - | write | workspace/a.md | tool that       | ask   | mode "ask"
edit | - | get   |                | tool it         | allow | granted
edit | - | send  |                | tool it         | allow | granted
full | untrusted | send |         | tool it         | allow | granted
full | untrusted | send |         | tool that       | ask   | untrusted text
edit | - | get   | example.org    | tool it         | ask   | mode "edit"
edit | - | run   | make test      | tool it         | ask   | mode "edit"
edit | - | read-elsewhere  | /srv/a | tool it       | ask   | mode "edit"
edit | - | write-elsewhere | /srv/a | tool it       | ask   | mode "edit"
read-only | - | write | workspace/a.md | tool it    | deny  | mode read-only

# ---- several grants: any that fits
edit | - | run | git log -1 | host a.test ++ prefix git log | allow | prefix git log
edit | - | get | b.test     | host a.test ++ host b.test    | allow | host b.test
edit | - | get | c.test     | host a.test ++ host b.test    | ask   | mode "edit"
"""


def read_cases() -> list[tuple[str, ...]]:
    cases = []
    for line in CASES.splitlines():
        if line and not line.startswith("#"):
            cells = [cell.strip(" ") for cell in line.replace("\\|", "\0").split("|")]
            assert len(cells) == 7, line
            cases.append(tuple(plain(cell.replace("\0", "|")) for cell in cells))
    return cases


def plain(cell: str) -> str:
    """A cell with its escapes (`\\n`, `\\u202e`) read."""
    return cell.encode("ascii").decode("unicode_escape")


def grants_of(cell: str) -> list[Grant]:
    return [read_grant(f"{DAY} {text}") for text in cell.split(" ++ ") if text]


TABLE_OF_CASES = read_cases()


@pytest.mark.parametrize(
    ("mode", "tainted", "effect", "target", "grants", "decision", "reason"), TABLE_OF_CASES
)
def test_the_policy_decides(
    mode: Mode,
    tainted: str,
    effect: Effect,
    target: str,
    grants: str,
    decision: Decision,
    reason: str,
) -> None:
    policy = Policy(mode, grants=grants_of(grants))
    verdict = policy.decide(Action("it", effect, target), tainted=tainted == "untrusted")
    assert verdict.decision == decision, verdict
    assert reason in verdict.reason
    assert verdict.reason.count("\n") <= target.count("\n")
    assert bool(verdict.grant) == verdict.reason.startswith("granted: ")


def test_the_table_is_long_enough_and_says_nothing_twice() -> None:
    assert len(TABLE_OF_CASES) >= 150
    assert len({case[:5] for case in TABLE_OF_CASES}) == len(TABLE_OF_CASES)
    assert {case[0] for case in TABLE_OF_CASES} == set(MODES)
    assert {case[2] for case in TABLE_OF_CASES} == set(ALL_EFFECTS)


def test_every_mode_says_something_of_every_effect() -> None:
    assert all(set(row) == set(ALL_EFFECTS) for row in TABLE.values())
    assert set(TABLE) == set(MODES)


def test_a_command_without_a_sandbox_says_so_when_it_is_asked_for() -> None:
    policy = Policy("edit", unconfined=lambda: "bubblewrap is not installed")
    run, get = Action("run_shell", "run", "make"), Action("fetch_url", "get", "a.test")
    assert policy.decide(run, tainted=False).reason == (
        'mode "edit": running a command needs your OK; it runs without a sandbox: '
        "bubblewrap is not installed"
    )
    assert "sandbox" not in policy.decide(get, tainted=False).reason
    assert "sandbox" in policy.decide(run, tainted=True).reason


def test_each_rule_is_named_by_what_it_decides() -> None:
    policy = Policy("full", hooked=True)
    actions = [
        Action("it", "read", "workspace/.env"),
        Action("it", "write", "workspace/SOUL.md"),
        Action("it", "write", ".obsidian/app.json"),
        Action("it", "write", "build/a.mk"),
        Action("it", "write", "skills/x"),
        Action("it", "send"),
        Action("it", "read", held=".env"),
        Action("it", "read", "workspace/a.md"),
    ]
    seen = [policy.decide(action, tainted=True).rule for action in actions]
    assert seen == [*(rule.name for rule in RULES), ""]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "target"),
    [
        ("run_shell", "git status .env"),
        ("run_shell", "grep -rn import.meta.env"),
        ("run_shell", "ls workspace/*.key"),
        ("run_shell", "echo hello.env"),
        ("fetch_url", "docs.example.wallet"),
    ],
)
def test_a_line_or_a_host_that_looks_like_a_file_of_credentials_is_none(
    mode: Mode, tool: str, target: str
) -> None:
    assert Policy(mode).decide(Action(tool, "read", target), tainted=False).decision == "allow"
    as_file = Policy(mode).decide(Action("read_file", "read", target), tainted=False)
    assert (as_file.decision, as_file.rule) == ("deny", "credentials")


# -------- what may be granted


@pytest.mark.parametrize(
    ("target", "tainted"),
    [
        ("workspace/SOUL.md", False),
        ("openclaw.yaml", False),
        ("workspace/SOUL.md", True),
        ("memory/MEMORY.md", True),
        ("skills/x/SKILL.md", True),
    ],
)
def test_files_that_are_asked_for_each_time_are_never_offered(target: str, tainted: bool) -> None:
    action = Action("write_file", "write", target)
    assert Policy("ask").offers(action, tainted=tainted) == ()
    assert Policy("ask").offers(Action("write_file", "write", "workspace/a.md"), tainted=tainted)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("effect", ALL_EFFECTS)
@pytest.mark.parametrize("tainted", [False, True])
@pytest.mark.parametrize("target", ["", "example.org", "git log -3", "workspace/SOUL.md"])
def test_what_is_offered_is_what_allows_it_the_next_time(
    mode: Mode, effect: Effect, tainted: bool, target: str
) -> None:
    action = Action("it", effect, target)
    before = Policy(mode).decide(action, tainted=tainted)
    for grant in Policy(mode).offers(action, tainted=tainted):
        after = Policy(mode, grants=(grant,)).decide(action, tainted=tainted)
        assert after.decision == ("deny" if before.decision == "deny" else "allow")


# -------- where nobody can be asked


@pytest.mark.parametrize(
    ("mode", "effect", "tool", "grants", "refused"),
    [
        ("edit", "read", "fetch_url", "", False),
        ("edit", "get", "fetch_url", "", True),
        ("edit", "get", "fetch_url", "host a.test", False),
        ("edit", "get", "fetch_url", "tool other", True),
        ("edit", "get", "fetch_url", "command make", True),
        ("edit", "send", "notes__add", "tool notes__add", False),
        ("edit", "send", "notes__add", "host a.test", True),
        ("edit", "run", "run_shell", "", True),
        ("edit", "run", "run_shell", "prefix git log", False),
        ("edit", "run", "run_shell", "host a.test", True),
        ("edit", "run", "run_shell", "tool run_python", True),
        ("edit", "run", "run_python", "prefix git log ++ command make", True),
        ("edit", "run", "run_python", "tool run_python", False),
        ("read-only", "run", "run_shell", "prefix git log", True),
        ("full", "send", "fetch_url", "", False),
    ],
)
def test_a_tool_that_could_only_be_refused_is_known(
    mode: Mode, effect: Effect, tool: str, grants: str, refused: bool
) -> None:
    alone = Policy(mode, grants=grants_of(grants))
    assert alone.refuses(effect, tool) == refused
    asking = Policy(mode, lambda question: "", grants_of(grants))
    assert asking.refuses(effect, tool) == (TABLE[mode][effect] == "deny")


def test_any_code_is_granted_in_the_sandbox_only_and_not_after_untrusted_text() -> None:
    code, grants = Action("run_python", "run"), grants_of("tool run_python")
    confined = Policy("edit", grants=grants)
    assert confined.decide(code, tainted=False).decision == "allow"
    assert [str(grant) for grant in confined.offers(code, tainted=False)] == ["tool run_python"]
    bare = Policy("edit", grants=grants, unconfined=lambda: "bubblewrap is not installed")
    for policy, tainted in ((confined, True), (bare, False)):
        assert policy.decide(code, tainted=tainted).decision == "ask"
        assert policy.offers(code, tainted=tainted) == ()
    assert bare.refuses("run", "run_python") and not confined.refuses("run", "run_python")
    line = Action("run_shell", "run", "make")
    assert confined.decide(line, tainted=False).decision == "ask"


# -------- what holds for everything

FILES = ("workspace/SOUL.md", "workspace/AGENTS.md", "workspace/IDENTITY.md", "workspace/TOOLS.md",
         "workspace/HEARTBEAT.md", "openclaw.yaml", "hooks/check.sh",
         ".obsidian/plugins/it/main.js", "Work/.obsidian/app.json",
         "logseq/custom.js")  # fmt: skip
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
UNSEEN = "\u200b\u200d\u2060\ufeff\u202e\u00ad"


@st.composite
def spellings(draw: st.DrawFn, file: str) -> str:
    """The path of a file, as some system or other would still find it."""
    parts = file.split("/")
    for index, part in enumerate(parts):
        letters = []
        for letter in part:
            letter = draw(st.sampled_from([letter, letter.upper(), letter.lower()]))
            letter = letter.translate(FULL_WIDTH) if draw(st.integers(0, 9)) == 0 else letter
            unseen = draw(st.sampled_from(UNSEEN)) if draw(st.integers(0, 19)) == 0 else ""
            letters.append(unseen + letter)
        form = draw(st.sampled_from(FORMS))
        tail = draw(st.text(". ", max_size=3))
        stream = draw(st.sampled_from(["", "", "", "::$DATA", ":x"]))
        parts[index] = unicodedata.normalize(form, "".join(letters)) + tail + stream
    slash = st.sampled_from(["/", "//", "/./", "\\", "\\\\", "/x/../", "\uff0f"])
    path = parts[0]
    for part in parts[1:]:
        path += draw(slash) + part
    return draw(st.sampled_from(["", "./", ".\\", "a/../", "././/"])) + path


def yes_to_all(path: str) -> list[Grant]:
    return [Grant("tool", "it"), Grant("command", path), Grant("prefix", path), Grant("host", path)]


@pytest.mark.parametrize("file", FILES)
@given(data=st.data(), tainted=st.booleans(), granted=st.booleans())
def test_no_spelling_of_a_file_that_programs_go_by_is_written_without_a_yes(
    file: str, data: st.DataObject, tainted: bool, granted: bool
) -> None:
    path = data.draw(spellings(file))
    for mode in MODES:
        if mode == "full" and not tainted:
            continue
        for effect in ("write", "write-elsewhere"):
            action = Action("it", effect, path)
            policy = Policy(mode, grants=yes_to_all(path) if granted else ())
            assert policy.decide(action, tainted=tainted).decision != "allow"
            assert policy.offers(action, tainted=tainted) == ()


@given(
    data=st.data(),
    file=st.sampled_from(
        [
            "workspace/USER.md",
            "memory/MEMORY.md",
            "memory/2026-11-21.md",
            "memory/TODO.md",
            "skills/tidy/SKILL.md",
        ]
    ),
    mode=st.sampled_from(MODES),
)
def test_nothing_that_lasts_is_written_without_a_yes_after_untrusted_text(
    data: st.DataObject, file: str, mode: Mode
) -> None:
    path = data.draw(spellings(file))
    policy = Policy(mode, grants=yes_to_all(path))
    assert policy.decide(Action("it", "write", path), tainted=True).decision != "allow"


@given(
    mode=st.sampled_from(MODES),
    effect=st.sampled_from(ALL_EFFECTS),
    target=st.text(max_size=30),
    tainted=st.booleans(),
)
def test_a_grant_never_lifts_a_no_and_untrusted_text_never_lifts_a_question(
    mode: Mode, effect: Effect, target: str, tainted: bool
) -> None:
    action = Action("it", effect, target)
    bare = Policy(mode).decide(action, tainted=tainted)
    granted = Policy(mode, grants=yes_to_all(target)).decide(action, tainted=tainted)
    clean = Policy(mode).decide(action, tainted=False)
    order = ("deny", "ask", "allow")
    assert order.index(bare.decision) <= order.index(clean.decision)
    assert (bare.decision == "deny") == (granted.decision == "deny")
    assert bare.decision != "allow" or granted.decision == "allow"


@given(st.text(max_size=40))
def test_the_plain_names_of_a_path_are_plain(path: str) -> None:
    parts = plain_parts(path)
    assert ".." not in parts and "" not in parts and "." not in parts
    assert plain_parts("/".join(parts)) == parts


@pytest.mark.parametrize("name", sorted(IDENTITY_NAMES))
def test_the_names_to_compare_with_are_plain_themselves(name: str) -> None:
    assert plain_parts(name) == (name,)
