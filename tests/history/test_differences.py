"""What a turn changed: checked against git where it is there."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from openclaw.history.differences import Difference, differences, lines_of
from openclaw.history.turns import UNKNOWN, TurnStep
from openclaw.storage.merge import blocks
from tests.fakes.needs import needs_git

texts = some.lists(some.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "e"]), max_size=12).map(
    lambda lines: "".join(line if line.endswith("\n") else line + "\n" for line in lines).encode()
)


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
