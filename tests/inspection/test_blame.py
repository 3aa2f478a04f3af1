"""Who wrote a line: checked against git where it is there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as some

from openclaw.history.differences import lines_of
from openclaw.history.turns import Kind, Turn
from openclaw.inspection.blame import blame
from tests.fakes.needs import needs_git

texts = some.lists(some.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "e"]), max_size=12).map(
    lambda lines: "".join(line if line.endswith("\n") else line + "\n" for line in lines).encode()
)


def turn(name: str, kind: Kind = "turn") -> Turn:
    return Turn(name, kind)


def by(versions: Sequence[tuple[Turn | None, bytes | None]], now: bytes) -> list[str]:
    """The ids of the writers, "-" for none."""
    return [line.turn.id if line.turn else "-" for line in blame(versions, now)]


def test_a_line_belongs_to_the_turn_that_wrote_it() -> None:
    versions = [
        (turn("3"), b"new first\none\ntwo\n"),
        (turn("2"), b"one\ntwo\n"),
        (turn("1"), b"one\n"),
    ]
    assert by(versions, b"new first\none\ntwo\n") == ["3", "1", "2"]


def test_what_is_in_no_version_is_not_recorded() -> None:
    assert by([(turn("1"), b"one\n")], b"one\nmine\n") == ["1", "-"]
    assert by([], b"mine\n") == ["-"]


def test_an_empty_file_has_no_lines() -> None:
    assert blame([(turn("1"), b"one\n")], b"") == []


def test_a_line_that_came_back_after_the_file_was_deleted_is_new() -> None:
    assert by([(turn("3"), b"one\n"), (turn("2"), None), (turn("1"), b"one\n")], b"one\n") == ["3"]


def test_an_undo_and_a_redo_write_nothing_themselves() -> None:
    one, two = b"one\nkept\n", b"two\nkept\n"
    versions = [(turn("2"), two), (turn("1"), one)]
    undone = [(turn("u", "undo"), one), *versions]
    assert by(undone, one) == ["1", "1"]
    assert by([(turn("r", "redo"), two), *undone], two) == ["2", "1"]


def test_an_undo_that_was_merged_gives_lines_back_to_their_writers() -> None:
    versions = [
        (turn("u", "undo"), b"mine\none\nkept\n"),
        (turn("o", "outside"), b"mine\ntwo\nkept\n"),
        (turn("2"), b"two\nkept\n"),
        (turn("1"), b"one\nkept\n"),
    ]
    assert by(versions, b"mine\none\nkept\n") == ["o", "1", "1"]


def test_no_more_versions_are_read_than_are_needed() -> None:
    read: list[str] = []

    def versions() -> Iterator[tuple[Turn | None, bytes | None]]:
        for name, content in (("3", b"all new\n"), ("2", b"old\n"), ("1", b"older\n")):
            read.append(name)
            yield turn(name), content

    assert by(list(versions()), b"all new\n") == ["3"]
    read.clear()
    assert [line.turn and line.turn.id for line in blame(versions(), b"all new\n")] == ["3"]
    assert read == ["3", "2"]


def test_a_line_end_is_no_part_of_the_text() -> None:
    lines = blame([], b"one\r\ntwo")
    assert [(line.number, line.text) for line in lines] == [(1, "one"), (2, "two")]


@given(some.lists(texts, min_size=1, max_size=6))
def test_every_line_has_a_writer_whose_version_holds_it_and_the_one_before_need_not(
    contents: list[bytes],
) -> None:
    versions = [(turn(str(n)), content) for n, content in enumerate(contents)]
    now = contents[-1]
    for line in blame(reversed(versions), now):
        assert line.turn is not None
        written = contents[int(line.turn.id)]
        assert f"{line.text}\n".encode() in lines_of(written)


@needs_git
def test_a_file_that_only_grows_and_shrinks_is_blamed_as_git_does(tmp_path: Path) -> None:
    contents = [
        b"a\nb\nc\n",
        b"a\nb\nb2\nc\n",
        b"head\na\nb\nb2\nc\n",
        b"head\na\nb2\nc\ntail\n",
        b"head\nA\nb2\nc\ntail\nend\n",
    ]
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*git, "init", "-q"], check=True)
    for number, content in enumerate(contents):
        (tmp_path / "f").write_bytes(content)
        subprocess.run([*git, "add", "f"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", str(number)], check=True)
    told = subprocess.run(
        [*git, "blame", "--line-porcelain", "f"], check=True, capture_output=True, text=True
    ).stdout
    expected = [line[8:] for line in told.splitlines() if line.startswith("summary ")]
    versions = [(turn(str(n)), content) for n, content in enumerate(contents)]
    assert by(versions[::-1], contents[-1]) == expected
