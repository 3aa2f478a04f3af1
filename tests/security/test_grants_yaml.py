"""Grants in openclaw.yaml: read leniently, added and dropped with all else as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.agent.agent import Agent
from openclaw.config import add_line, drop_line, load_settings, set_value, starter_text
from openclaw.config.file import read_values
from openclaw.errors import UsageError
from openclaw.security.grants import Grant
from openclaw.storage.home import Home
from tests.fakes.talk import call, done, notices, talk

HOST = "2026-11-21 host docs.python.org"
LOG = "2026-11-20 prefix git log"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "h" / "workspace").mkdir(parents=True)
    return Home(tmp_path / "h")


def written(home: Home, text: str) -> Home:
    home.settings.write_bytes(text.encode())
    return home


def text_of(home: Home) -> str:
    return home.settings.read_bytes().decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"grants:\n  - {HOST}\n"),
        ("model: auto\n", f"model: auto\ngrants:\n  - {HOST}\n"),
        ("grants:\n", f"grants:\n  - {HOST}\n"),
        ("grants: []\n", f"grants:\n  - {HOST}\n"),
        ("grants: []  # mine\n", f"grants:  # mine\n  - {HOST}\n"),
        ("grants: null\nmodel: auto\n", f"grants:\n  - {HOST}\nmodel: auto\n"),
        (f"grants:\n  - {LOG}\n", f"grants:\n  - {LOG}\n  - {HOST}\n"),
        (f"grants:\n- {LOG}\nmodel: auto\n", f"grants:\n- {LOG}\n- {HOST}\nmodel: auto\n"),
        (
            f"grants:\n    # work\n    - {LOG}  # daily\n# end\n",
            f"grants:\n    # work\n    - {LOG}  # daily\n    - {HOST}\n# end\n",
        ),
        (f"grants:\r\n  - {LOG}\r\n", f"grants:\r\n  - {LOG}\r\n  - {HOST}\r\n"),
        (
            "# grants: []  # x\nmodel: auto\n",
            f"# grants: []  # x\ngrants:\n  - {HOST}\nmodel: auto\n",
        ),
        ("index:\n  sessions: true\n", f"index:\n  sessions: true\ngrants:\n  - {HOST}\n"),
        (f"grants: [{LOG}]\n", f'grants: ["{LOG}", "{HOST}"]\n'),
        ("grants:\n  - oops\n", f"grants:\n  - oops\n  - {HOST}\n"),
    ],
)
def test_a_grant_is_added_on_a_line_of_its_own(home: Home, before: str, after: str) -> None:
    add_line(written(home, before), "grants", HOST)
    assert text_of(home) == after
    assert load_settings(home).grants[-1] == HOST


@pytest.mark.parametrize(
    ("before", "line", "after"),
    [
        (f"grants:\n  - {LOG}\n  - {HOST}\n", LOG, f"grants:\n  - {HOST}\n"),
        (f"grants:\n  - {LOG}\n  - {HOST}\n", HOST, f"grants:\n  - {LOG}\n"),
        (f"a: 1\ngrants:\n  - {HOST}\nmodel: auto\n", HOST, None),
        (f"grants:\n  - {HOST}\nmodel: auto\n", HOST, "grants: []\nmodel: auto\n"),
        (f"grants: [{LOG}, {HOST}]  # x\n", LOG, f'grants: ["{HOST}"]  # x\n'),
        (
            f"grants:\n  # a\n  - {LOG}\n  # b\n  - {HOST}\n",
            LOG,
            f"grants:\n  # a\n  # b\n  - {HOST}\n",
        ),
        (f"grants:\n  - {{a: b}}\n  - {HOST}\n", "", f"grants:\n  - {HOST}\n"),
    ],
)
def test_a_grant_is_dropped_and_nothing_else(
    home: Home, before: str, line: str, after: str | None
) -> None:
    written(home, before)
    if after is None:
        with pytest.raises(UsageError, match="unknown key 'a'"):
            drop_line(home, "grants", line)
        assert text_of(home) == before
        return
    drop_line(home, "grants", line or load_settings(home).grants[0])
    assert text_of(home) == after


@pytest.mark.parametrize("line", [LOG, HOST[:-1], ""])
def test_what_is_not_there_is_not_dropped(home: Home, line: str) -> None:
    written(home, f"grants:\n  - {HOST}\n")
    with pytest.raises(UsageError, match="no entry"):
        drop_line(home, "grants", line)


def test_a_file_that_a_program_cannot_change_is_left_alone(home: Home) -> None:
    before = "grants: &g\n  - 2026-11-21 command |\n   - x\nfallbacks: *g\n"
    written(home, before)
    with pytest.raises(UsageError, match="'grants' cannot be changed") as caught:
        add_line(home, "grants", HOST)
    assert str(home.settings) in caught.value.hint
    assert text_of(home) == before


def test_the_starter_takes_a_grant_below_its_commented_default(home: Home) -> None:
    written(home, starter_text())
    add_line(home, "grants", HOST)
    rows = text_of(home).splitlines()
    at = rows.index("grants:")
    assert rows[at - 1].startswith("# grants: []") and rows[at + 1] == f"  - {HOST}"
    assert [row for row in rows if row not in ("grants:", f"  - {HOST}")] == (
        starter_text().splitlines()
    )
    drop_line(home, "grants", HOST)
    assert load_settings(home).grants == ()


def test_those_who_change_the_settings_at_the_same_time_wait_for_each_other(home: Home) -> None:
    hosts = [f"2026-11-21 host h{number}.test" for number in range(8)]
    written(home, "".join(["grants:\n", *(f"  - {LOG} {number}\n" for number in range(8))]))

    def change(number: int) -> None:
        add_line(home, "grants", hosts[number])
        drop_line(home, "grants", f"{LOG} {number}")
        set_value(home, "web.results", "2")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    assert sorted(load_settings(home).grants) == hosts


@pytest.mark.parametrize(
    "text",
    [
        "grants:\n  - 2026-11-21 command echo a: b\n  - 2026-11-21 host a.test\n",
        "grants:\n  - [x]\n  - 2026-11-21 host a.test\n",
        "grants:\n  - 2026-13-45\n  - 2026-11-21 host a.test\n",
        "grants:\n  -\n  - 2026-11-21 host a.test\n",
        "grants:\n  - true\n  - 2026-11-21 host a.test\n",
    ],
)
def test_one_damaged_line_is_a_notice_and_the_others_count(home: Home, text: str) -> None:
    app = Agent.open(home, load_settings(written(home, text)))
    assert app.grants == [Grant("host", "a.test", "2026-11-21")]
    assert len(app.notices) == 1 and "openclaw.yaml" in app.notices[0]


@pytest.mark.parametrize("text", ["grants: yes\n", "grants: {a: b}\n"])
def test_what_is_no_list_at_all_is_told_with_its_line(home: Home, text: str) -> None:
    with pytest.raises(UsageError, match="line 1: grants: expected a list of texts"):
        load_settings(written(home, text))


def test_a_lasting_grant_of_a_talk_is_written_with_the_day_and_counts_at_once(home: Home) -> None:
    app = Agent.open(written(home, "mode: ask\n"), load_settings(home))
    app.grant(Grant("host", "a.test"), lasting=False)
    app.grant(Grant("command", "echo 'a: b'"), lasting=True)
    today = app.now().date().isoformat()
    assert [str(grant) for grant in app.grants] == ["host a.test", f"{today} command echo 'a: b'"]
    assert text_of(home) == f"mode: ask\ngrants:\n  - \"{today} command echo 'a: b'\"\n"
    assert Agent.open(home, load_settings(home)).grants == app.grants[1:]


def test_a_grant_taken_back_elsewhere_counts_no_more_in_the_next_turn(tmp_path: Path) -> None:
    it = talk(tmp_path / "h")
    it.app.mode = "ask"
    write = call("write_file", path="workspace/a.md", content="x")
    add_line(it.app.home, "grants", "2026-11-21 tool write_file")
    it.app.grant(Grant("host", "a.test"), lasting=False)
    assert not done(it.say("Write.", write, "Written.")).refused
    drop_line(it.app.home, "grants", "2026-11-21 tool write_file")
    assert done(it.say("Write.", write, "No.")).refused
    assert it.app.grants == [Grant("host", "a.test")]
    it.app.home.settings.write_text("grants: {a: b}\n", encoding="utf-8")
    assert "no lasting grant counts" in notices(it.say("Write.", write, "No."))
    assert it.app.grants == [Grant("host", "a.test")]


LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=40)


@given(lines=st.lists(LINES, max_size=5), new=LINES, crlf=st.booleans(), data=st.data())
def test_any_text_comes_back_as_it_was_added(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    new: str,
    crlf: bool,
    data: st.DataObject,
) -> None:
    root = tmp_path_factory.mktemp("home")
    home = written(Home(root), "# top\nmodel: auto  # why\n" if not crlf else "model: auto\r\n")
    for line in lines:
        add_line(home, "grants", line)
    add_line(home, "grants", new)
    assert load_settings(home).grants == (*lines, new)
    left = [*lines, new]
    line = data.draw(st.sampled_from(left))
    drop_line(home, "grants", line)
    left.remove(line)
    values = read_values(text_of(home))
    assert values["grants"][0] == tuple(left)
    assert values["model"][0] == "auto"
