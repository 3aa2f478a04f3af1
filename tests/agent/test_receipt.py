"""The receipt of a turn: its changes, from the texts before and after."""

from __future__ import annotations

from openclaw.agent.recording import make_receipt
from openclaw.receipt import FileChange, Receipt
from openclaw.types import Change

TODO = "memory/TODO.md"


def receipt(
    *changes: tuple[str, str | None, str | None], searches: tuple[str, ...] = ()
) -> Receipt:
    return make_receipt([Change(*change) for change in changes], searches)


def todos(before: str, after: str) -> set[tuple[str, str]]:
    return set(receipt((TODO, before, after)).todos)


def test_a_file_is_created_changed_or_deleted_with_its_lines_counted() -> None:
    made = receipt(
        ("workspace/new.md", None, "one\ntwo\n"),
        ("workspace/old.md", "a\nb\nc\n", "a\nB\nc\nd\n"),
        ("workspace/gone.md", "x\n", None),
    )
    assert made.files == (
        FileChange("workspace/new.md", "created", 2, 0),
        FileChange("workspace/old.md", "changed", 2, 1),
        FileChange("workspace/gone.md", "deleted", 0, 1),
    )


def test_unchanged_files_are_not_listed() -> None:
    made = receipt(("a.md", "same\n", "same\n"), ("b.md", None, None))
    assert made == Receipt()
    assert not made


def test_a_new_empty_file_is_a_change() -> None:
    made = receipt(("a.md", None, ""))
    assert made and made.files == (FileChange("a.md", "created", 0, 0),)


def test_lines_that_look_like_a_diff_are_counted_too() -> None:
    made = receipt(("a.md", "--- x\n", "+++ y\n++ z\n"))
    assert (made.files[0].added, made.files[0].removed) == (2, 1)


def test_todos_that_were_added_done_undone_and_removed_are_named() -> None:
    before = "# To-dos\n\n- [ ] tea ^aaaaaaaa\n- [x] rent ^bbbbbbbb\n- [ ] old ^cccccccc\n"
    after = "# To-dos\n\n- [x] tea ^aaaaaaaa\n- [ ] rent ^bbbbbbbb\n- [ ] milk ^dddddddd\n"
    assert todos(before, after) == {
        ("done", "tea"),
        ("undone", "rent"),
        ("added", "milk"),
        ("removed", "old"),
    }


def test_a_line_that_only_gets_its_id_is_not_new() -> None:
    before = "## Tasks\n- [ ] tea\n- [ ] rent\n"
    after = "## Tasks\n- [x] tea ^aaaaaaaa\n- [ ] rent ^bbbbbbbb\n"
    assert todos(before, after) == {("done", "tea")}


def test_a_line_without_an_id_that_goes_is_removed() -> None:
    assert todos("- [ ] tea\n- [ ] rent\n", "- [ ] rent\n") == {("removed", "tea")}


def test_the_same_words_on_another_list_are_a_todo_of_their_own() -> None:
    before = "## Home\n- [ ] milk ^aaaaaaaa\n"
    after = before + "## Office\n- [ ] milk ^bbbbbbbb\n"
    assert todos(before, after) == {("added", "milk")}


def test_the_first_list_added_and_the_last_one_removed_are_named() -> None:
    lines = "## Shop\n- [ ] milk ^aaaaaaaa\n- [ ] tea ^bbbbbbbb\n"
    made = receipt((TODO, None, lines))
    assert made.todos == (("added", "milk"), ("added", "tea"))
    assert {what for what, _ in receipt((TODO, lines, "")).todos} == {"removed"}


def test_memories_are_the_new_lines_of_other_memory_files() -> None:
    made = receipt(
        (
            "memory/MEMORY.md",
            "# Memory\n\n- likes tea\n",
            "# Memory\n\n- likes tea\n- owns a cat\n",
        ),
        ("memory/2026-11-21.md", None, "# 2026-11-21\n\n- called Ada\n"),
        ("workspace/notes.md", "", "- not a memory\n"),
    )
    assert made.memories == ("owns a cat", "called Ada")


def test_a_memory_is_listed_without_comment_and_the_replaced_one_not_at_all() -> None:
    made = receipt(
        (
            "memory/MEMORY.md",
            "- The standup is at 9:30\n",
            "- ~~The standup is at 9:30~~ (until 2026-11-21)\n"
            "- The standup is at 10 <!-- fact, 2026-11-21, typed -->\n",
        )
    )
    assert made.memories == ("The standup is at 10",)


def test_a_search_changes_nothing_but_is_listed() -> None:
    made = receipt(searches=("weather in Bern",))
    assert made.searches == ("weather in Bern",)
    assert not made
