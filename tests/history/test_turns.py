"""Who wrote a line, and what a turn changed: checked against git where it is there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from openclaw.history.blame import blame
from openclaw.history.differences import Difference, differences, lines_of
from openclaw.history.turns import UNKNOWN, Kind, Turn, TurnStep
from openclaw.storage.merge import blocks
from tests.fakes.needs import needs_git

texts = some.lists(some.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "e"]), max_size=12).map(
    lambda lines: "".join(line if line.endswith("\n") else line + "\n" for line in lines).encode()
)


def turn(name: str, kind: Kind = "turn") -> Turn:
    return Turn(name, kind)


def by(versions: Sequence[tuple[Turn | None, bytes | None]], now: bytes) -> list[str]:
    """The ids of the writers, "-" for none."""
    return [line.turn.id if line.turn else "-" for line in blame(versions, now)]


# -------- blame


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


# -------- differences


def _unified(before: bytes | None, after: bytes | None, path: str = "f") -> list[str]:
    return list(Difference(path, before, after, before is None, after is None).unified())


def test_a_diff_looks_as_git_prints_it() -> None:
    before = "".join(f"{n}\n" for n in range(1, 21)).encode()
    after = before.replace(b"\n3\n", b"\nthree\n").replace(b"20\n", b"20\n21")
    assert _unified(before, after, "workspace/a b.md") == [
        "diff --git a/workspace/a b.md b/workspace/a b.md",
        "--- a/workspace/a b.md",
        "+++ b/workspace/a b.md",
        *("@@ -1,6 +1,6 @@", " 1", " 2", "-3", "+three", " 4", " 5", " 6"),
        *("@@ -18,3 +18,4 @@", " 18", " 19", " 20", "+21", "\\ No newline at end of file"),
    ]


def test_new_gone_and_unreadable_files_say_so() -> None:
    assert _unified(None, b"x\n")[1:] == [
        *("new file mode 100644", "--- /dev/null", "+++ b/f", "@@ -0,0 +1 @@", "+x"),
    ]
    assert _unified(b"x\n", None)[1:4] == ["deleted file mode 100644", "--- a/f", "+++ /dev/null"]
    assert _unified(b"x\0", b"y\0")[1:] == ["Binary files a/f and b/f differ"]
    assert _unified(None, b"")[1:] == ["new file mode 100644"]
    unknown = Difference("f", None, b"x", known=False)
    assert list(unknown.unified())[1:] == ["its content was not kept"]
    assert unknown.counts() == (0, 0) and unknown.action == "changed"


def test_a_path_is_quoted_as_git_does() -> None:
    head = _unified(b"a\n", b"b\n", 'odd "name"\n\u00e9.md')[0]
    assert head == 'diff --git "a/odd \\"name\\"\\n\u00e9.md" "b/odd \\"name\\"\\n\u00e9.md"'


def test_several_steps_of_a_file_come_to_one_difference() -> None:
    store = {"1": b"a\n", "2": b"b\n", "3": b"c\nd\n"}
    steps = (
        TurnStep("f", "1", "2"),
        TurnStep("gone", None, "2"),
        TurnStep("f", "2", "3"),
        TurnStep("gone", "2", None),
        TurnStep("big", "1", UNKNOWN),
        TurnStep("lost", "not there", "2"),
        TurnStep("same", "1", "1"),
    )
    found = differences(steps, lambda name: store.get(name or ""))
    assert [(d.path, d.action, d.counts(), d.known) for d in found] == [
        ("f", "changed", (2, 1), True),
        ("big", "changed", (0, 0), False),
        ("lost", "changed", (0, 0), False),
    ]


@given(texts, texts)
def test_the_blocks_of_a_comparison_make_one_of_the_other(old: bytes, new: bytes) -> None:
    before, after = lines_of(old), lines_of(new)
    made: list[bytes] = []
    at = 0
    for kind, a, b, c, d in blocks(before, after):
        assert a == at
        at = b
        made += before[a:b] if kind == "equal" else after[c:d]
    assert made == after and at == len(before)


@needs_git
@settings(max_examples=6, deadline=None)
@given(some.lists(some.tuples(texts, texts), min_size=1, max_size=5))
def test_git_can_apply_a_diff(pairs: list[tuple[bytes, bytes]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lines: list[str] = []
        for number, (old, new) in enumerate(pairs):
            Path(folder, f"f {number}").write_bytes(old)
            last = new.removesuffix(b"\n")
            lines += _unified(old, last, f"f {number}") * (old != last)
        patch = "".join(f"{line}\n" for line in lines).encode()
        if any(line.startswith("@@") for line in lines):
            words = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"]
            done = subprocess.run(words, cwd=folder, input=patch, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
            for number, (_, new) in enumerate(pairs):
                assert Path(folder, f"f {number}").read_bytes() == new.removesuffix(b"\n")


def test_a_change_in_a_long_file_is_found_quickly() -> None:
    old = b"".join(b"%d\n" % (n % 7) for n in range(50_000))
    new = old.replace(b"3\n4\n", b"3\nx\n4\n", 1)
    assert Difference("f", old, new).counts() == (1, 0)
