"""openclaw.yaml: typed values, faults with their line, and changes that keep all else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.config import (
    Settings,
    add_line,
    load_settings,
    origins,
    render,
    set_value,
    starter_text,
)
from openclaw.config.file import parse_value, read_values
from openclaw.config.settings import keys
from openclaw.errors import Damaged, UsageError
from openclaw.storage.home import Home
from tests.fakes.loaded import loaded_by


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "h").mkdir()
    return Home(tmp_path / "h")


def put(home: Home, text: str) -> None:
    home.settings.write_text(text, encoding="utf-8", newline="")


def test_without_a_file_all_is_default(home: Home) -> None:
    assert load_settings(home) == Settings()
    assert {origin for _, _, origin in origins(home)} == {"default"}


def test_values_are_typed_and_their_lines_known(home: Home) -> None:
    put(
        home,
        "# mine\nmodel: ollama/qwen3:4b\nfallbacks:\n  - a\n  - b\ntemperature: 1\nthink: no\n"
        "mode: read-only\nollama:\n  host: 127.0.0.1:9\nopenai: {base_url: http://x/v1}\ngit:\n",
    )
    got = load_settings(home)
    assert (got.model, got.fallbacks, got.think) == ("ollama/qwen3:4b", ("a", "b"), False)
    assert (got.temperature, type(got.temperature), got.mode) == (1.0, float, "read-only")
    assert (got.ollama.host, got.openai.base_url) == ("127.0.0.1:9", "http://x/v1")
    assert got.git.auto_commit
    where = {key: origin for key, _, origin in origins(home)}
    assert where["model"] == "openclaw.yaml:2"
    assert where["ollama.host"] == "openclaw.yaml:10"
    assert where["window"] == "default"


def test_a_choice_is_taken_as_it_is_written(home: Home) -> None:
    put(home, "recall: off\n")
    assert load_settings(home).recall == "off"


@pytest.mark.parametrize("written", ["no", "30", "2026-11-21", '"no"', "on", "1.5"])
def test_a_text_is_taken_as_it_is_written(home: Home, written: str) -> None:
    put(home, f"language: {written}\n")
    assert load_settings(home).language == written.strip('"')


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("\n\nmodle: x\n", "line 3: unknown key 'modle'", "did you mean 'mode' or 'model'?"),
        ("ollama:\n  hots: x\n", "line 2: unknown key 'ollama.hots'", "'ollama.host'"),
        ("host: x\n", "line 1: unknown key 'host'", "'ollama.host'"),
        ("window: big\n", "line 1: window: expected a whole number of at least 1024", ""),
        ("window: 12\n", "line 1: window: expected a whole number of at least 1024, not '12'", ""),
        ("window: true\n", "line 1: window: expected a whole number", ""),
        ("window: 8192.5\n", "line 1: window: expected a whole number", ""),
        (
            "shell:\n  timeout: .inf\n",
            "line 2: shell.timeout: expected a number of at least 1 and at most 3600, not '.inf'",
            "",
        ),
        ("temperature: warm\n", "expected a number of at least 0, not 'warm'", ""),
        ("protocol: xml\n", "protocol: expected auto, native or json, not 'xml'", ""),
        ("mode: all\n", "mode: expected read-only, ask, edit, full or null, not 'all'", ""),
        ("think: maybe\n", "think: expected true, false or null, not 'maybe'", ""),
        ("model:\n", "model: expected text, not nothing", ""),
        ("model: [a]\n", "model: expected text, not a list", ""),
        ("fallbacks: a\n", "fallbacks: expected a list of texts, not 'a'", ""),
        ("fallbacks: [[1]]\n", "fallbacks: expected a list of texts, not a list", ""),
        ("keep_alive: 30\n", "keep_alive: expected a time such as 30m", ""),
        ("ollama: x\n", "line 1: ollama: expected keys and values", ""),
        ("- a\n", "line 1: expected keys and values", ""),
        ("model: a\nmodel: b\n", "line 2: 'model' is given twice", ""),
        ("model: a\nx: [1,\n", "line 2: not YAML", ""),
        ("model: a\n\tmode: x\n", "line 2: not YAML", ""),
        ("model: a\nlanguage: \x07\n", "line 2: not YAML", ""),
        ("window: !!python/object:os.system x\n", "line 1: window: expected", ""),
        ("a: b: c\n", "line 1: not YAML", ""),
    ],
)
def test_a_fault_names_its_line_and_what_was_expected(
    home: Home, text: str, message: str, hint: str
) -> None:
    put(home, text)
    with pytest.raises(UsageError) as caught:
        load_settings(home)
    assert message in str(caught.value)
    assert str(caught.value).startswith("openclaw.yaml line ")
    assert hint in caught.value.hint
    assert caught.value.hint


def test_settings_that_cannot_be_read_damage_the_home(home: Home) -> None:
    home.settings.mkdir()
    with pytest.raises(Damaged, match="cannot be read"):
        load_settings(home)


@given(st.text(max_size=60))
def test_any_text_gives_values_or_an_error_with_a_line(text: str) -> None:
    try:
        read_values(text)
    except UsageError as error:
        assert "line " in str(error)


def test_the_starter_changes_nothing_and_every_line_in_it_is_the_default(home: Home) -> None:
    put(home, starter_text())
    assert load_settings(home) == Settings()
    uncommented = [line.removeprefix("# ") for line in starter_text().splitlines()]
    put(home, "\n".join(uncommented))
    assert load_settings(home) == Settings()
    assert all(origin != "default" for _, _, origin in origins(home))


def test_setting_a_value_keeps_comments_and_other_lines(home: Home) -> None:
    put(home, starter_text())
    set_value(home, "window", "4096")
    set_value(home, "ollama.host", "127.0.0.1:9")
    set_value(home, "ollama.host", "127.0.0.1:10")
    set_value(home, "fallbacks", "a, ollama/b:1")
    text = home.settings.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert all(line in lines for line in starter_text().splitlines())
    commented = next(number for number, line in enumerate(lines) if "# window" in line)
    assert lines[commented + 1] == "window: 4096"
    got = load_settings(home)
    assert (got.window, got.ollama.host) == (4096, "127.0.0.1:10")
    assert got.fallbacks == ("a", "ollama/b:1")
    assert text.count("host: ") == 2


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("model: a  # why\nwindow: 2048\n", "model", "b", "model: b  # why\nwindow: 2048\n"),
        ("model: a\r\nwindow: 2048\r\n", "model", "b", "model: b\r\nwindow: 2048\r\n"),
        ("ollama:\n    # x\n    host: a\n", "ollama.host", "b", "ollama:\n    # x\n    host: b\n"),
        ("ollama: {host: a}  # c\n", "ollama.host", "b", "ollama: {host: b}  # c\n"),
        (
            "openai: {base_url: a}\n",
            "openai.api_key_env",
            "K",
            "openai: {api_key_env: K, base_url: a}\n",
        ),
        ("git: {}\nwindow: 2048\n", "git.auto_commit", "false", None),
        (
            "git:\nwindow: 2048\n",
            "git.auto_commit",
            "no",
            "git:\n  auto_commit: false\nwindow: 2048\n",
        ),
        ("openai:\n   base_url: a\nweb: {}\n", "openai.api_key_env", "K", None),
        (
            "fallbacks:  # mine\n- a\n# keep me\n- b  # last\nwindow: 2048\n",
            "fallbacks",
            "c",
            "fallbacks: [c]  # mine  # last\n# keep me\nwindow: 2048\n",
        ),
        ("fallbacks: [a,\n  b]\nwindow: 2048\n", "fallbacks", "", "fallbacks: []\nwindow: 2048\n"),
        ("language: |\n  de\nwindow: 2048\n", "language", "fr", "language: fr\nwindow: 2048\n"),
        (
            'language: "d\u00e9"\n',
            "language",
            "f\u00fc\u00df: #x",
            'language: "f\u00fc\u00df: #x"\n',
        ),
        ("model: a", "think", "null", "model: a\nthink: null\n"),
        ("mcp:\n  a: {url: b}\n", "mcp", "null", "mcp: null\n"),
        ("mcpServers:\n  a:\n    url: b\n# x\nseed: 1\n", "mcp", "{}", None),
        (
            "hooks:  # mine\n  before_turn:\n    - run: a  # b\n# c\nseed: 1\n",
            "hooks",
            "null",
            "hooks: null  # mine  # b\n# c\nseed: 1\n",
        ),
        ("grants: &a\n- *a\n", "grants", "", "grants: []\n"),
        ("fallbacks: [a]\n", "fallbacks", "null", "fallbacks: []\n"),
    ],
)
def test_one_value_is_changed_in_place(
    home: Home, before: str, key: str, value: str, after: str | None
) -> None:
    put(home, before)
    old = {name: known for name, known, _ in origins(home)}
    typed = set_value(home, key, value)
    new = {name: known for name, known, _ in origins(home)}
    assert new == old | {key: typed}
    if after is not None:
        assert home.settings.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("{model: a}\n", set_value),
        ("{model: a}\n", add_line),
        ("model: a\n...\n", add_line),
        ("? links\n: - a\n", set_value),
    ],
)
def test_a_file_that_a_program_cannot_change_safely_is_left_alone(
    home: Home, text: str, change: Callable[[Home, str, str], Any]
) -> None:
    put(home, text)
    with pytest.raises(UsageError, match="cannot be changed") as caught:
        change(home, "links", "b")
    assert "by hand" in caught.value.hint
    assert home.settings.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("modle", "x", "unknown key 'modle'"),
        ("ollama", "x", "'ollama' is a section, not a key"),
        ("window", "big", "window: expected a whole number of at least 1024, not 'big'"),
        ("window", "1: [", "window: expected"),
        ("window", "", "window: expected"),
    ],
)
def test_a_value_that_does_not_fit_is_not_set(
    home: Home, key: str, value: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message.split(",")[0].replace("[", r"\[")):
        set_value(home, key, value)
    assert not home.settings.exists()


VALUES = st.one_of(
    st.text(max_size=20),
    st.integers(0, 99999).map(str),
    st.sampled_from(["null", "no", "a, b", "-"]),
)


@given(st.sampled_from(sorted(keys())), VALUES)
def test_what_is_rendered_reads_as_the_same_value(name: str, text: str) -> None:
    key = keys()[name]
    try:
        value: Any = parse_value(key, text)
    except UsageError:
        return
    section, _, leaf = name.rpartition(".")
    line = f"{leaf}: {render(value)}"
    assert read_values(f"{section}: {{{line}}}" if section else line)[name][0] == value


def test_settings_are_read_without_pydantic_and_defaults_without_yaml(home: Home) -> None:
    put(home, starter_text())
    code = (
        "from pathlib import Path; from openclaw.config import load_settings\n"
        "from openclaw.storage.home import Home\n"
        f"load_settings(Home(Path({str(home.root)!r})))"
    )
    assert loaded_by(code, "yaml", "pydantic", "subprocess") == []


LAUGHS = "\n".join(
    ["mcp:", "  a0: &a0 {command: x}"]
    + [f"  a{n}: &a{n} {{env: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]
)
MERGED = "\n".join(
    ["mcp:", "  a0: &a0 {k: v}"]
    + [f"  a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (LAUGHS, 6, "its aliases stand for more than 20,000 values"),
        (MERGED, 6, "its aliases stand for more than 20,000 values"),
        (f"grants: &g [{'x, ' * 9_000}]\nhooks: [*g, *g, *g]\n", 2, "its aliases stand for"),
        ("mode: ask\nmcp: " + "[" * 50_000, 2, "more than 64 levels"),
        ("\n".join("  " * n + "a:" for n in range(500)), 65, "more than 64 levels"),
    ],
)
def test_settings_that_stand_for_too_much_are_refused_by_their_line(
    home: Home, text: str, line: int, problem: str
) -> None:
    put(home, text)
    for read in (load_settings, origins, lambda home: set_value(home, "mode", "ask")):
        with pytest.raises(UsageError, match=rf"line {line}: .*{problem}"):
            read(home)


def test_many_lines_without_an_alias_are_no_bomb(home: Home) -> None:
    put(home, "grants:\n" + "  - 2026-11-21 command make test\n" * 25_000)
    assert len(load_settings(home).grants) == 25_000


def test_days_among_keys_and_values_are_text_and_what_is_no_json_is_refused(home: Home) -> None:
    put(home, "mcp: {a: {env: {D: 2026-11-21}}}\nhooks: {e: [{2026-11-21: 2026-11-22}]}\n")
    got = load_settings(home)
    assert got.mcp == {"a": {"env": {"D": "2026-11-21"}}}
    assert got.hooks == {"e": [{"2026-11-21": "2026-11-22"}]}
    for value in ("{a: !!binary aGk=}", "{a: [!!set {b}]}", "{a: .inf}", "{a: [.nan]}"):
        put(home, f"mcp: {value}\n")
        with pytest.raises(UsageError, match="mcp: expected keys and values"):
            load_settings(home)


def test_a_number_has_an_end(home: Home) -> None:
    put(home, "temperature: .inf\n")
    with pytest.raises(UsageError, match="expected a number"):
        load_settings(home)
