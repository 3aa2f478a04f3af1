"""What a replay must not do: write through links, obey a session file, leave secrets behind."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.commands.sessions.replay import _ended
from openclaw.config import Settings
from openclaw.evals.replay import cues_from, limits_of
from openclaw.messages import TurnRecord
from openclaw.security.masking import Masker
from openclaw.security.policy import PermissionQuestion
from tests.evals.test_replay import TOKEN, World, new_world, turn
from tests.fakes.hashing import Line
from tests.fakes.talk import new_toolbox


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path / "home")


def linked(path: Path, target: Path) -> None:
    try:
        path.symlink_to(target, target_is_directory=target.is_dir())
    except OSError:
        pytest.skip("no links on this system")


def move_out(path: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    path.replace(target)
    linked(path, target)


def copied(world: World) -> dict[str, bytes | None]:
    """What a live stage holds of the memory; None for what leads out of it."""
    with world.stage() as stage:
        root = stage.open_home.home.root
        return {
            path.relative_to(root).as_posix(): path.read_bytes()
            if Path(os.path.realpath(path)).is_relative_to(root)
            else None
            for path in root.joinpath("memory").rglob("*")
            if path.is_file()
        }


@pytest.mark.parametrize("name", ["memory/TODO.md", "memory/MEMORY.md", "workspace/USER.md"])
def test_a_file_that_is_a_link_stays_as_it_is_elsewhere(
    world: World, tmp_path: Path, name: str
) -> None:
    session = world.record([turn("Hello.", "Fine.")])
    add: Line = [("todo", {"action": "add", "list": "Home", "items": ["buy milk"]})]
    world.record([turn("Add milk.", add, "Added.")])
    real = tmp_path / "vault" / "real.md"
    move_out(world.home.root / name, real)
    with real.open("a", encoding="utf-8") as file:
        file.write("- [ ] call the lawyer\n")
    before = real.read_bytes()
    world.model.plays = {"Hello.": (add, "Fine.")}
    (each,) = world.replay(session.id, live=True)
    assert each.played is not None and each.played.said[0].tool_calls[0].ok
    assert real.read_bytes() == before


def test_no_link_of_the_copy_leads_out_of_it(world: World, tmp_path: Path) -> None:
    masker = tmp_path / "vault"
    masker.mkdir()
    for name in ("people.md", "day.md"):
        (masker / name).write_text(name, "utf-8")
    memory = world.home.memory
    linked(memory / "people.md", masker / "people.md")
    linked(memory / "journal", masker)
    linked(memory / "plan.md", world.home.workspace / "plan.md")
    linked(memory / "keys.md", world.home.private / "learned.json")
    found = copied(world)
    assert "memory/people.md" not in found
    assert None not in found.values()
    assert not [name for name in found if re.search("journal|keys|plan", name)]


def test_a_folder_that_is_a_link_is_not_written_into(world: World, tmp_path: Path) -> None:
    session = world.record([turn("Write.", "Fine.")])
    masker = tmp_path / "vault"
    masker.mkdir()
    linked(world.home.workspace / "journal", masker)
    write: Line = [("write_file", {"path": "workspace/journal/a.md", "content": "x"})]
    world.model.plays = {"Write.": (write, "Done.")}
    world.replay(session.id, live=True)
    assert list(masker.iterdir()) == []


def test_what_a_session_file_allows_does_not_count_for_live_tools(
    world: World, tmp_path: Path
) -> None:
    session = world.record([turn("Do.", "Fine.")])
    user = session.messages[0]
    record = {**user.record_json, "mode": "full", "asked": True}
    session.messages[0] = replace(user, record_json=record)
    world.app().sessions.save(session)
    out = tmp_path / "out.md"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("run_shell", {"command": f"echo x > {out}; echo x > workspace/made.md"}),
        ("fetch_url", {"url": "http://example.com/"}),
        ("web_search", {"query": "secret words"}),
        ("write_file", {"path": str(out), "content": "x"}),
    ]
    world.model.plays = {"Do.": (*([call] for call in calls), "Done.")}
    (each,) = world.replay(session.id, live=True)
    assert each.played is not None
    uses = [use for said in each.played.said for use in said.tool_calls]
    assert [use.tool for use in uses] == [name for name, _ in calls]
    assert not any(use.ok for use in uses)
    assert all(use.output.startswith("Refused") for use in uses[:3])
    assert not out.exists()


def test_live_tools_do_nothing_outside_even_where_mode_and_user_would_allow_it(
    world: World,
) -> None:
    from openclaw.evals.playback import Playback
    from openclaw.messages import ToolCall

    def yes(question: PermissionQuestion) -> str:
        return "once"

    app = world.app()
    app.mode, app.ask_user = "full", yes
    player = Playback(new_toolbox(app), [], live=True)
    outcome = player.run(ToolCall("1", "run_shell", {"command": "touch x"}))
    assert outcome.text.startswith("Refused (a replay does without")
    assert player.run(ToolCall("2", "list_files", {})).ok


def test_secrets_are_in_memory_and_not_in_the_copy(world: World) -> None:
    world.record([turn(f"My token is {TOKEN}, keep it.", "Fine.")])
    other = TOKEN.replace("x7Kq", "y8Lr")
    with world.stage() as stage:
        masker, root = stage.open_home.masker, stage.open_home.home.root
        assert masker.mask(f"It is {TOKEN}.") == "It is {{secret:github-token-1}}."
        assert masker.mask(f"It is {other}.") == "It is {{secret:github-token-2}}."
        held = b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
        assert TOKEN.encode() not in held and other.encode() not in held
    kept = (world.home.private / "secrets.json").read_text("utf-8")
    assert TOKEN in kept and other not in kept


def test_a_vault_in_memory_copes_with_no_file_and_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "private" / "secrets.json"
    path.parent.mkdir()
    assert Masker.in_memory(path).names() == ()
    path.write_text("{", "utf-8")
    assert Masker.in_memory(path).names() == ()
    assert [each.name for each in path.parent.iterdir()] == ["secrets.json"]


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process without a signal")
def test_a_signal_to_end_removes_the_copy(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    stage = world.stage(live=False)
    with pytest.raises(SystemExit) as ended, _ended(), stage:
        assert list((tmp_path / "tmp").iterdir())
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
    assert ended.value.code == 128 + signal.SIGTERM
    assert list((tmp_path / "tmp").iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_values_of_the_wrong_type_in_a_record_are_not_taken() -> None:
    settings = Settings()
    odd = {"temperature": "hot", "max_tokens": None, "max_steps": "x", "seed": "y", "think": 3}
    usual = limits_of(TurnRecord(), settings)
    assert limits_of(TurnRecord(options=odd), settings) == usual
    out = {"temperature": float("nan"), "max_tokens": True, "max_steps": 0, "seed": -1}
    assert limits_of(TurnRecord(options=out), settings) == usual
    assert limits_of(TurnRecord.from_json({"options": "x"}), settings) == usual
    assert limits_of(TurnRecord(options={"max_tokens": 7, "seed": None}), settings).max_tokens == 7
    seen = cues_from({"asks": "x", "known_lists": 5, "lines": {"a": 1}, "errands": {"urls": 1}})
    assert seen == cues_from({})


def test_a_record_of_odd_values_is_run_all_the_same(world: World) -> None:
    session = world.record([turn("Hello.", "Fine.")])
    user, said = session.messages
    odd = {"model": ["x"], "marker": 9, "skill": 7, "head": 5, "options": "x", "mode": ["full"]}
    session.messages[:] = [
        replace(user, record_json={**user.record_json, **odd}),
        replace(said, record_json={**said.record_json, "changed": 7}),
    ]
    world.app().sessions.save(session)
    (each,) = world.replay(session.id)
    assert each.played is not None and each.played.answer == "Fine."
