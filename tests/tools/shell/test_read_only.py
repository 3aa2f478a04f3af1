"""Reading a shell line: what only reads is told from everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.tools.shell.command_rules import PROGRAMS
from openclaw.tools.shell.read_only import read_line
from tests.data.shell_lines import ELSEWHERE, OTHERS, READS

HOME = "/home/ann"


def no_doubt(folder: str) -> str:
    return ""


@pytest.mark.parametrize("line", READS)
def test_a_line_that_only_reads_the_home_is_safe(line: str) -> None:
    reading = read_line(line, home=HOME, git=no_doubt)
    assert (reading.safe, reading.reason) == (True, "")
    assert reading.programs
    unforeseen = [name for name in reading.elsewhere if not name.startswith("$(")]
    assert unforeseen == []


@pytest.mark.parametrize(("line", "name"), ELSEWHERE.items())
def test_a_name_that_may_lie_elsewhere_is_told(line: str, name: str) -> None:
    reading = read_line(line, home=HOME, git=no_doubt)
    assert (reading.safe, reading.reason) == (True, "")
    assert name.strip('"') in reading.elsewhere


@pytest.mark.parametrize(("line", "reason"), OTHERS)
def test_a_line_that_may_do_more_is_not_safe_and_says_why(line: str, reason: str) -> None:
    reading = read_line(line, home=HOME, git=no_doubt)
    assert not reading.safe
    assert reason in reading.reason


def test_the_table_is_large_enough() -> None:
    assert len(READS) + len(ELSEWHERE) + len(OTHERS) >= 450
    assert len(PROGRAMS) >= 60


def test_names_are_told_apart() -> None:
    reading = read_line("grep -r -f words.txt workspace && cat *.md ~/x", home=HOME)
    assert reading.programs == ("grep", "cat")
    assert reading.paths == ("words.txt", "workspace", f"{HOME}/x")
    assert reading.patterns == ("*.md",)
    assert reading.trees == ("workspace",)
    assert reading.elsewhere == ()


def test_after_cd_a_name_may_be_of_either_folder() -> None:
    reading = read_line("cd workspace && cat x", home=HOME)
    assert reading.paths == ("workspace", "x", "workspace/x")


def test_a_name_in_the_working_folder_is_not_elsewhere() -> None:
    assert read_line("cat /home/ann/x", home=HOME).elsewhere == ()
    assert read_line("cat /home/ann/x", home=HOME + "/").elsewhere == ()
    assert read_line("cat /home/ann/x").elsewhere == ("/home/ann/x",)


def test_without_a_home_what_depends_on_it_is_elsewhere() -> None:
    assert read_line('cat ~/x "$HOME/y"').elsewhere == ("~/x", "$HOME/y")


def test_a_home_with_a_blank_in_its_name_splits_no_word() -> None:
    assert read_line('cat "$HOME/x"', home="/home/ann b").paths == ("/home/ann b/x",)
    assert read_line("sort $HOME/x", home="/home/ann -o x").safe is False


def test_git_is_not_safe_unless_its_folder_has_been_looked_at() -> None:
    assert not read_line("git status").safe
    seen: list[str] = []

    def look(folder: str) -> str:
        seen.append(folder)
        return "the repository sets filter.x.clean" if folder == "odd" else ""

    assert read_line("git status && ls", git=look).safe
    reading = read_line("cd odd && git status", git=look)
    assert (reading.safe, reading.reason) == (False, "`git`: the repository sets filter.x.clean")
    assert seen == [".", ".", "odd"]


def test_a_file_of_a_revision_is_named() -> None:
    assert ".env" in read_line("git show HEAD:.env", git=no_doubt).paths


def test_programs_of_an_unsafe_line_are_named() -> None:
    assert read_line("ls | sort -o x").programs == ("ls", "sort")
    assert read_line("ls | rm $(cat x)").programs == ("ls", "cat", "rm")
    assert read_line("ls &").programs == ()


def test_a_pattern_is_wide_enough_for_what_shells_match() -> None:
    reading = read_line("""cat 'a*'*.md [!x^]y/z "[ab]"* && cd 'a*' && cat b*""", home=HOME)
    wide = ("a[*]*.md", "*/z", "[[]ab]*")
    assert reading.patterns[:3] == wide
    assert reading.patterns[3:] == ("b*", "a[*]/b*")


def test_what_follows_links_in_a_folder_names_all_that_lies_there() -> None:
    assert read_line("diff workspace 'b[1]'").patterns == ("workspace/**", "b[[]1]/**")
    assert read_line("grep -r x ./*").patterns == ("./*", "./*/**")


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    reading = read_line(text, home=HOME)
    assert reading.safe is not bool(reading.reason)


@pytest.mark.parametrize(
    ("line", "shows"),
    [
        *((line, True) for line in """
            git log -p
            git log -n1 -u
            git log -U3 -- workspace
            git log -S word
            git log -G word --oneline
            git log -c
            git log -L 1,3:notes.md
            git log --word-diff
            git log --stat -p
            git show
            git show --stat HEAD
            git show HEAD:notes.md
            git diff
            git diff --cached
            git grep word HEAD
            git grep -c word
            git blame notes.md
            git cat-file -p HEAD
            git whatchanged
            git stash show
            git stash show -p
            git stash list -p
            git reflog show -p
            git status -vv
            git status --verbose
            git for-each-ref '--format=%(raw)'
            git tag -l '--format=%(*raw)'
            ls && git diff | head
        """.strip().splitlines()),
        *((line, False) for line in """
            git log
            git log --oneline --graph --all
            git log --stat -3
            git log --name-only --format=%s
            git status -sb
            git status --short
            git ls-files
            git ls-tree -r HEAD
            git branch -v
            git stash list
            git reflog
            git tag -l
            git shortlog -sn
            git rev-parse HEAD
            ls
        """.strip().splitlines()),
    ],
)  # fmt: skip
def test_it_is_known_whether_git_shows_lines_of_files(line: str, shows: bool) -> None:
    reading = read_line(line.strip(), git=no_doubt)
    assert (reading.safe, reading.history) == (True, shows)


def test_a_file_of_the_index_is_named() -> None:
    assert ".env" in read_line("git show :0:.env", git=no_doubt).paths
    assert ".env" in read_line("git show 'HEAD^{/fix: x}:.env'", git=no_doubt).paths
