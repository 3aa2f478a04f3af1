"""The file tools, as the model calls them, over a home in a temporary folder."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import openclaw
from openclaw.memory.todos import parse_todos
from openclaw.messages import ToolCall
from openclaw.security.masking import Masker
from openclaw.security.policy import Policy
from openclaw.storage.home import Home
from openclaw.tools.file_tools import FileTools
from openclaw.tools.tool import Preview
from openclaw.tools.toolbox import Toolbox
from openclaw.types import ToolProblem, TurnChanges
from tests.fakes.files import write_files
from tests.fakes.pdf import pdf
from tests.fakes.person import Person

CONFIG = "[server]\nhost = example\nport = 8080\n\n[database]\nport = 5432\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    files = {
        "workspace/SOUL.md": "# Soul\n",
        "workspace/config.ini": CONFIG,
        "workspace/notes/trip.md": "Flight TP571\nHotel Casa do Rio\n",
        "memory/MEMORY.md": "# Memory\n\n- likes tea\n",
        "sessions/abc.json": '{"content": "Which hotel?"}\n',
        ".openclaw/secret.txt": "hotel secret\n",
        "workspace/.hidden": "hotel\n",
    }
    return Home(write_files(tmp_path / "home", files).resolve())


@pytest.fixture
def turn_changes() -> TurnChanges:
    return TurnChanges()


@pytest.fixture
def files(home: Home, turn_changes: TurnChanges) -> FileTools:
    return FileTools(home, turn_changes)


def problem(call: object, *arguments: object) -> str:
    """What the tool tells the model."""
    assert callable(call)
    with pytest.raises(ToolProblem) as raised:
        call(*arguments)
    return str(raised.value)


# ---- list and read


def test_the_list_has_relative_paths_and_nothing_hidden(files: FileTools) -> None:
    assert files.list_files().split("\n") == [
        "memory/MEMORY.md",
        "sessions/ (1 more files)",
        "workspace/SOUL.md",
        "workspace/config.ini",
        "workspace/notes/trip.md",
    ]
    assert files.list_files("notes") == "workspace/notes/trip.md"
    assert "no folder nowhere. Folders: memory, sessions, workspace" in problem(
        files.list_files, "nowhere"
    )


def test_a_big_folder_is_listed_in_part_and_says_so(files: FileTools, home: Home) -> None:
    for number in range(400):
        (home.workspace / f"f{number:03}.txt").write_text("x", encoding="utf-8")
    lines = files.list_files().split("\n")
    assert len(lines) < 60
    assert "workspace/ (362 more files)" in lines


def test_reading_gives_a_header_and_the_plain_text(
    files: FileTools, turn_changes: TurnChanges
) -> None:
    assert files.read_file("workspace/config.ini") == (
        "workspace/config.ini, lines 1-6 of 6:\n" + CONFIG.rstrip("\n")
    )
    assert "workspace/config.ini" in turn_changes.read


@pytest.mark.parametrize(
    "path",
    ["config.ini", "./workspace/config.ini", "`config.ini`", "CONFIG.INI", "config",
     "/workspace/config.ini", "docs/config.ini", "workspace\\config.ini"],
)  # fmt: skip
def test_a_path_is_matched_leniently(files: FileTools, path: str) -> None:
    assert files.read_file(path).startswith("workspace/config.ini, ")


def test_a_missing_file_is_answered_with_the_nearest_names(files: FileTools) -> None:
    text = problem(files.read_file, "workspace/confg.ini")
    assert "There is no file workspace/confg.ini. Files: workspace/config.ini" in text
    assert "Files: workspace/" in problem(files.read_file, "zzz.qqq")
    assert "is a folder" in problem(files.read_file, "workspace/notes")


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x", "workspace/../../x", ".openclaw/secret.txt", "C:\\x", "~/x", "a\0b"],
)
def test_a_path_outside_is_refused_by_every_tool(files: FileTools, home: Home, path: str) -> None:
    (home.root.parent / "x").write_text("private", encoding="utf-8")
    calls = [
        (files.read_file, path),
        (files.write_file, path, "t"),
        (files.edit_file, path, "a", "b"),
        (files.append_file, path, "t"),
    ]
    for call, *arguments in calls:
        text = problem(call, *arguments)
        assert "private" not in text
    assert (home.root.parent / "x").read_text(encoding="utf-8") == "private"


def test_long_files_are_read_in_pages(
    files: FileTools, home: Home, turn_changes: TurnChanges
) -> None:
    lines = [f"line {number}" for number in range(1, 451)]
    (home.workspace / "long.txt").write_text("\n".join(lines), encoding="utf-8")
    seen: list[str] = []
    start = 1
    for expected in (201, 401, None):
        page = files.read_file("long.txt", start).split("\n")
        assert page[0] == f"workspace/long.txt, lines {start}-{(expected or 451) - 1} of 450:"
        assert ("workspace/long.txt" in turn_changes.read) is (expected is None)
        if expected is None:
            seen += page[1:]
            break
        assert page[-1] == f"[{451 - expected} more lines: read_file with from_line {expected}]"
        seen += page[1:-1]
        start = expected
    assert seen == lines
    assert "only 450 lines" in problem(files.read_file, "long.txt", 500)


def test_a_five_megabyte_file_is_paged_quickly(files: FileTools, home: Home) -> None:
    (home.workspace / "big.log").write_bytes(
        b"x" * 3_000_000 + b"\n" + b"word and word\n" * 150_000
    )
    begin = time.process_time()
    page = files.read_file("big.log")
    found = files.search_files("word and")
    assert time.process_time() - begin < 15
    assert len(page) < 9_000
    assert "[cut: 3,000,000 characters in this line]" in page
    assert len(found) < 12_000


def test_what_is_not_text_says_so_and_is_not_changed(files: FileTools, home: Home) -> None:
    (home.workspace / "image.png").write_bytes(b"\x89PNG\0\0")
    latin = home.workspace / "latin.txt"
    latin.write_bytes(b"caf\xe9\nport = 1\n")
    assert "not a text file" in problem(files.read_file, "image.png")
    assert "not valid UTF-8" in files.read_file("latin.txt")
    assert "not UTF-8" in problem(files.edit_file, "latin.txt", "port = 1", "port = 2")
    assert "not UTF-8" in problem(files.append_file, "latin.txt", "x")
    assert latin.read_bytes() == b"caf\xe9\nport = 1\n"
    (home.workspace / "empty.txt").write_bytes(b"")
    assert files.read_file("empty.txt") == "workspace/empty.txt is empty."


# ---- search


def test_of_a_pdf_the_text_is_read_and_nothing_is_changed(files: FileTools, home: Home) -> None:
    data = pdf("The rent is 900 euros", "Due on Monday")
    (home.root / "workspace/bill.pdf").write_bytes(data)
    assert files.read_file("bill.pdf") == (
        "workspace/bill.pdf, lines 1-5 of 5:\n"
        "[page 1]\nThe rent is 900 euros\n\n[page 2]\nDue on Monday"
    )
    assert "PDF" in problem(files.edit_file, "bill.pdf", "900", "950")
    assert problem(files.write_file, "workspace/bill.pdf", "paid")
    assert (home.root / "workspace/bill.pdf").read_bytes() == data
    (home.root / "workspace/bill.pdf").write_bytes(b"%PDF-1.7 and no more")
    assert "damaged PDF" in problem(files.read_file, "bill.pdf")


def test_an_image_says_how_it_can_be_seen(files: FileTools, home: Home) -> None:
    (home.root / "workspace/cat.jpg").write_bytes(b"\xff\xd8\xff\xe0\0\0")
    told = problem(files.read_file, "cat.jpg")
    assert told.startswith("workspace/cat.jpg is an image (jpeg, 6 bytes).")
    assert told.endswith("attaches it: @workspace/cat.jpg")


def test_a_path_may_carry_the_line_that_a_search_has_told(files: FileTools, home: Home) -> None:
    assert "Hotel" in files.read_file("workspace/notes/trip.md:2")
    assert "Flight" not in files.read_file("workspace/notes/trip.md:2: Hotel: 7/8 nights")
    assert "Flight" in files.read_file("trip.md:Hotel")
    if os.name != "nt":
        (home.workspace / "odd:2").write_text("first\nsecond\n", "utf-8")
        assert "first" in files.read_file("odd:2")


def test_search_finds_text_in_any_case_but_not_in_talks(files: FileTools) -> None:
    assert files.search_files("HOTEL") == "workspace/notes/trip.md:2: Hotel Casa do Rio"
    assert "sessions/abc.json:1:" in files.search_files("hotel", "sessions")


def test_search_finds_skills_only_in_their_folder(files: FileTools, home: Home) -> None:
    skill = home.skills / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Example: she sells a submarine.\n", "utf-8")
    assert "skills/tea" not in files.search_files("submarine")
    assert "skills/tea/SKILL.md:1" in files.search_files("submarine", "skills")


def test_search_takes_a_regex_and_then_words_in_any_order(files: FileTools) -> None:
    assert files.search_files(r"tp\d+") == "workspace/notes/trip.md:1: Flight TP571"
    assert files.search_files("rio hotel") == "workspace/notes/trip.md:2: Hotel Casa do Rio"
    assert files.search_files("trip.md").endswith("workspace/notes/trip.md")
    assert "Try one word" in files.search_files("submarine")
    assert "(" not in files.search_files("([").partition(" in ")[2]


def test_where_no_line_has_all_words_those_with_the_rarest_are_shown(
    files: FileTools, home: Home
) -> None:
    people = "Bob: 555-0144\nAnna: 555-0122\n" + "The number of guests\n" * 20
    (home.workspace / "contacts.md").write_text(people, "utf-8")
    told, *lines = files.search_files("Bob's number").split("\n")
    assert told.startswith("No line has all of") and lines == [
        "workspace/contacts.md:1: Bob: 555-0144"
    ]
    assert "No line has" in files.search_files("when is the hairdresser")


@pytest.mark.parametrize("regex", ["(a+)+$", r"(\w+\s?)+:", "(a|a)*:", r"(.|\s)*:"])
def test_a_regex_that_never_ends_is_not_tried(files: FileTools, home: Home, regex: str) -> None:
    (home.workspace / "a.txt").write_text("a" * 60 + " " * 60 + "!", encoding="utf-8")
    begin = time.process_time()
    files.search_files(regex)
    assert time.process_time() - begin < 10


def test_many_hits_are_capped(files: FileTools, home: Home) -> None:
    for number in range(20):
        (home.workspace / f"m{number}.txt").write_text("needle\n" * 50, encoding="utf-8")
    lines = files.search_files("needle").split("\n")
    assert len(lines) == 41
    assert lines[-1].startswith("[160 more lines")


@pytest.mark.parametrize("shown", [10, 18, 30])
def test_a_secret_is_masked_before_its_line_is_cut(
    home: Home, turn_changes: TurnChanges, shown: int
) -> None:
    token = "ghp_" + "a8Fk2LmQ9zXw4TbV7nRc1YpD6sHj3GuE0oKi"
    files = FileTools(home, turn_changes, masker := Masker(home.private / "secrets.json"))
    for longest, look in ((200, files.search_files), (2_000, files.read_file)):
        line = f"needle {'x' * (longest - 8 - shown)} {token} end\n"
        (home.workspace / "needle").write_text(line, "utf-8")
        assert "ghp_" not in look("needle")
    assert masker.reveal("{{secret:github-token-1}}") == token


@pytest.mark.parametrize("path", ["a" * 300, "b/" + "a" * 300, ":" * 3000, "a/" * 3000 + "b"])
def test_a_name_that_is_too_long_is_a_mistake_of_the_model(files: FileTools, path: str) -> None:
    box = Toolbox(files.tools(), Policy("edit"), files.turn_changes)
    for name in ("read_file", "write_file", "append_file"):
        given = {"path": path, "content": "x", "text": "x"}
        call = ToolCall("1", name, {key: given[key] for key in box.arguments[name] if key in given})
        assert box.effect(call)
        assert "too long" in box.run(call).text


# ---- write


def test_a_new_file_goes_to_the_workspace_and_into_what_the_turn_changed(
    files: FileTools, home: Home, turn_changes: TurnChanges
) -> None:
    assert files.write_file("list.md", "a\nb") == "Created workspace/list.md (2 lines)."
    assert (home.workspace / "list.md").read_bytes() == b"a\nb\n"
    assert turn_changes.before == {"workspace/list.md": None}
    assert files.write_file("list.md", "c").startswith("Replaced")
    assert turn_changes.before == {"workspace/list.md": None}


def test_an_unread_file_is_not_overwritten(
    files: FileTools, home: Home, turn_changes: TurnChanges
) -> None:
    assert "was not read" in problem(files.write_file, "workspace/config.ini", "x")
    assert "was not read" in problem(files.write_file, "MEMORY.md", "x")
    assert (home.workspace / "config.ini").read_bytes() == CONFIG.encode()
    assert turn_changes.before == {}
    files.read_file("config.ini")
    assert files.write_file("config.ini", "new\n") == "Replaced workspace/config.ini (1 line)."
    assert turn_changes.before == {"workspace/config.ini": CONFIG}


def test_a_file_changed_since_it_was_read_is_not_overwritten_but_can_be_edited(
    files: FileTools, home: Home
) -> None:
    files.read_file("config.ini")
    changed = CONFIG.replace("example", "the user's")
    (home.workspace / "config.ini").write_bytes(changed.encode())
    assert "changed meanwhile" in problem(files.write_file, "config.ini", "x")
    files.edit_file("config.ini", "port = 8080", "port = 8215")
    assert (home.workspace / "config.ini").read_text("utf-8") == changed.replace("8080", "8215")
    assert "changed meanwhile" in problem(files.write_file, "config.ini", "x")


def test_writing_the_same_again_is_no_change(files: FileTools, turn_changes: TurnChanges) -> None:
    files.read_file("config.ini")
    assert "already" in problem(files.write_file, "config.ini", CONFIG)
    assert turn_changes.before == {}


def test_a_name_is_found_in_the_form_that_macos_writes(files: FileTools, home: Home) -> None:
    (home.workspace / "cafe\u0301.md").write_text("- tea\n", "utf-8")
    (home.workspace / "notes" / "cafe\u0301.md").write_text("other\n", "utf-8")
    for path in ("caf\u00e9.md", "workspace/caf\u00e9.md"):
        assert "- tea" in files.read_file(path)
        files.append_file(path, "- milk")
    files.write_file("workspace/caf\u00e9.md", "- bread")
    assert (home.workspace / "cafe\u0301.md").read_text("utf-8") == "- bread\n"
    assert len(list(home.workspace.glob("caf*"))) == 1


# ---- edit


def test_an_edit_shows_what_changed(
    files: FileTools, home: Home, turn_changes: TurnChanges
) -> None:
    assert files.edit_file("config.ini", "port = 8080", "port = 8215") == (
        "Changed workspace/config.ini, line 3:\n- port = 8080\n+ port = 8215"
    )
    assert (home.workspace / "config.ini").read_text("utf-8") == CONFIG.replace("8080", "8215")
    assert turn_changes.before == {"workspace/config.ini": CONFIG}


@pytest.mark.parametrize(
    ("find", "replace", "words"),
    [
        ("port =", "x", ["fits 2 places, lines 3, 6", "3: port = 8080", "more of the text"]),
        ("port: 8080", "port: 1", ["not in the file. The nearest lines:", "3: port = 8080"]),
        ("port: 80", "port: 80 is used", ["not in the file. The nearest lines:", "3: port = 8080"]),
        ("submarine", "x", ["not in the file", "Read the file"]),
        ("port = 9090", "port = 8080", ["already stands in line 3"]),
        ("port = 8080", "port = 8080", ["nothing would change"]),
        ("charger", "charger", ["nothing would change", "append_file"]),
        ("hostname = y", "hostname = y", ["nothing would change", "append_file"]),
        ("charger", "charger and plug", ["not in the file", "append_file"]),
        ("port of Kiel", "port of Kiel\n", ["not in the file", "append_file"]),
        ("port  = 8080", "port = 8080", ["nothing would change"]),
        ("  ", "x", ["find is empty"]),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(
    files: FileTools, home: Home, find: str, replace: str, words: list[str]
) -> None:
    text = problem(files.edit_file, "config.ini", find, replace)
    assert all(word in text for word in words), text
    assert (home.workspace / "config.ini").read_bytes() == CONFIG.encode()


@pytest.mark.parametrize(
    ("request_", "find", "replace", "names"),
    [
        ("rename parse_dt to parse_day", "parse_dt", "parse_day", 3),
        ("rename parse_dt, please", "parse_dt", "parse_day", 0),
        ("call load read", "load", "read", 0),
        ("rename loadAll to readAll", "loadAll", "readAll", 2),
    ],
)
def test_a_name_of_a_program_is_renamed_everywhere(
    files: FileTools, home: Home, request_: str, find: str, replace: str, names: int
) -> None:
    text = "def parse_dt(t): ...\nparse_dt_now = parse_dt(1), parse_dt(2)\n"
    text += "loadAll = load; load()\nloadAll()\n"
    (home.workspace / "a.py").write_text(text, "utf-8")
    files.turn_changes.request = request_
    if not names:
        assert "fits" in problem(files.edit_file, "a.py", find, replace)
        return
    told = files.edit_file("a.py", find, replace)
    after = (home.workspace / "a.py").read_text("utf-8")
    assert after.count(replace) == names and f"{find}(" not in after
    assert after.count("parse_dt_now") == 1
    assert [line[0] for line in told.splitlines()[1:]] == ["-", "+"] * 2


def test_no_row_is_put_over_one_that_the_request_does_not_mention(
    files: FileTools, home: Home
) -> None:
    (home.workspace / "list.md").write_text("- bins: Julia\n- bath: Luke\n", "utf-8")
    files.turn_changes.request = "the windows are for Ann"
    assert problem(files.edit_file, "list.md", "- bins: Julia", "- windows: Ann") == (
        "- bins: Julia is another line. append_file adds one at the end."
    )


# ---- append


def test_append_begins_on_a_line_of_its_own(
    files: FileTools, home: Home, turn_changes: TurnChanges
) -> None:
    path = home.workspace / "log.txt"
    path.write_bytes(b"first")
    assert files.append_file("log.txt", "second") == "Appended to workspace/log.txt:\n+ second"
    assert path.read_bytes() == b"first\nsecond\n"
    assert turn_changes.before == {"workspace/log.txt": "first"}
    assert "workspace/log.txt" not in turn_changes.read


def test_a_line_with_as_many_parts_as_a_table_has_columns_becomes_its_row(
    files: FileTools, home: Home
) -> None:
    table = "# Orders\n\n| who | what | pieces |\n|---|---|---|\n| Ott | plates | 8 |\n"
    path = home.workspace / "orders.md"
    lines = (
        "Seitz, bread plates, 12\n",
        "Seitz | bread plates | 12",
        "| Seitz, bread plates, 12 |",
    )
    heading = "| who | what | pieces |\n|---|---|---|\n"
    for line in (*lines, f"{heading}| Seitz | bread plates | 12 |\n"):
        path.write_text(table, "utf-8")
        files.append_file("orders.md", line)
        assert path.read_text("utf-8") == f"{table}| Seitz | bread plates | 12 |\n"
    files.append_file("orders.md", "Paid: Ott, Seitz")
    assert path.read_text("utf-8").endswith("| 12 |\nPaid: Ott, Seitz\n")
    for text in ("Ott, Seitz, and Behn have paid.", "## Ott, Seitz, Behn", "- Ott, Seitz, Behn"):
        path.write_text(table, "utf-8")
        files.append_file("orders.md", text)
        assert path.read_text("utf-8") == f"{table}{text}\n"


def test_a_row_with_other_than_as_many_cells_as_its_table_has_columns_is_not_written(
    files: FileTools, home: Home
) -> None:
    table = "| who | what | pieces |\n|---|---|---|\n| Ott | plates | 8 |\n"
    (home.workspace / "orders.md").write_text(table, "utf-8")
    costs = "day,what,euros\n1 May,tea,3\n1 May,jam,2.50\n"
    (home.workspace / "costs.csv").write_text(costs, "utf-8")
    for told in (
        problem(files.append_file, "orders.md", "Seitz, plates"),
        problem(files.append_file, "orders.md", "| Seitz | plates |"),
        problem(files.edit_file, "orders.md", "| 8 |", "| 8 | paid |"),
        problem(files.append_file, "costs.csv", "2 May,bread,4,50"),
        problem(files.edit_file, "costs.csv", "tea,3", "tea,3,paid"),
    ):
        assert told.startswith("A row has 3 cells: | ")
    assert problem(files.append_file, "costs.csv", "2 May,tea,the next 3 euros") == (
        "euros is a column of numbers, and the next 3 euros is none."
    )
    files.read_file("costs.csv")
    assert problem(files.write_file, "costs.csv", ",2 May").startswith("No row would be left.")
    files.append_file("costs.csv", '2 May,bread,"4,50"')  # one cell
    files.append_file("costs.csv", "2 May,jam,not yet")
    columns = table.replace("| pieces |", "| pieces | paid |").replace("|---|", "|---|---|", 1)
    (home.workspace / "orders.md").write_text(columns, "utf-8")
    files.edit_file("orders.md", "| 8 |", "| 8 | yes |")  # a column grows row by row
    (home.workspace / "tree.md").write_text("---\n---\n|-- src\n|-- tests\n", "utf-8")  # a drawing
    files.edit_file("tree.md", "|-- tests", "|   |-- a.py\n|-- tests")
    files.append_file("tree.md", "src, tests")


def test_another_table_comes_behind_an_empty_line(files: FileTools, home: Home) -> None:
    table = "| who | what | pieces |\n|---|---|---|\n| Ott | plates | 8 |\n"
    (home.workspace / "orders.md").write_text(table, "utf-8")
    phones = "| who | phone |\n|---|---|\n| Ott | 12 |\n"
    files.append_file("orders.md", phones)
    assert (home.workspace / "orders.md").read_text("utf-8") == f"{table}\n{phones}"


def test_a_table_in_another_form_and_a_new_one_may_have_any_rows(
    files: FileTools, home: Home
) -> None:
    (home.workspace / "costs.csv").write_text("day,what\n1 May,tea\n2 May,jam\n", "utf-8")
    files.read_file("costs.csv")
    files.write_file("costs.csv", "day,what,who\n1 May,tea,Ott\n2 May,jam,Behn\n")
    files.write_file("costs.csv", '"day";"what"\n"1 May";"tea"\n"2 May";"jam"\n')
    files.write_file("sums.md", "| who | what | pieces |\n|---|---|---|\n| all | 8 |\n")
    files.edit_file("sums.md", "| who | what |", "| who | name | what |")


def test_rows_go_below_the_last_table_with_as_many_columns(files: FileTools, home: Home) -> None:
    table = "| day | miles |\n|---|---|\n| Monday | 4 |\n"
    plan = f"# Runs\n\n{table}\nShoes: 40 miles\n\n| who | what | when |\n|---|---|---|\n\nEnd\n"
    path = home.workspace / "runs.md"
    path.write_text(plan, "utf-8")
    files.append_file("runs.md", "| Tuesday | 5 |")
    files.append_file("runs.md", "| Ott | walk | June |\n")
    grown = plan.replace("| Monday | 4 |\n", "| Monday | 4 |\n| Tuesday | 5 |\n")
    grown = grown.replace("\n\nEnd", "\n| Ott | walk | June |\n\nEnd")
    assert path.read_text("utf-8") == grown
    for other in ("| a | b | c | d |\n", "| to | fro |\n|---|---|\n| 1 | 2 |\n", "Tuesday, 5\n"):
        files.append_file("runs.md", other)
        assert path.read_text("utf-8") == grown + other
        path.write_text(grown, "utf-8")


def test_no_row_goes_into_a_table_of_code_or_into_one_that_is_indented(
    files: FileTools, home: Home
) -> None:
    table = "| day | miles |\n|---|---|\n| Monday | 4 |\n"
    indented = "".join(f"  {line}\n" for line in table.splitlines())
    for text in (f"```\n{table}```\n", f"- so far\n\n{indented}", f"{indented}\nEnd\n"):
        (home.workspace / "runs.md").write_text(text, "utf-8")
        files.append_file("runs.md", "| Tuesday | 5 |")
        assert (home.workspace / "runs.md").read_text("utf-8") == f"{text}| Tuesday | 5 |\n"


@pytest.mark.parametrize(
    ("last", "given", "added"),
    [
        ("- forms", "a quiz about css", "- a quiz about css"),
        ("* forms", "maps\nmenus\n", "* maps\n* menus"),
        ("- [X] forms", "maps", "- [ ] maps"),
        ("- forms", "- maps", "- maps"),
        ("- forms", "## Later", "## Later"),
        ("- forms", "We talked about it.", "We talked about it."),
        ("- forms", "maps\n\nmenus", "maps\n\nmenus"),
        ("forms", "maps", "maps"),
    ],
)
def test_plain_lines_behind_a_list_become_its_items(
    files: FileTools, home: Home, last: str, given: str, added: str
) -> None:
    (home.workspace / "ideas.md").write_text(f"# Ideas\n\n{last}\n", "utf-8")
    files.append_file("ideas.md", given)
    assert (home.workspace / "ideas.md").read_text("utf-8") == f"# Ideas\n\n{last}\n{added}\n"
    (home.workspace / "ideas.yaml").write_text(f"ideas:\n{last}\n", "utf-8")
    files.append_file("ideas.yaml", given)
    assert (home.workspace / "ideas.yaml").read_text(
        "utf-8"
    ) == f"ideas:\n{last}\n{given.rstrip()}\n"


def test_append_keeps_crlf_and_makes_a_missing_file(files: FileTools, home: Home) -> None:
    path = home.workspace / "dos.txt"
    path.write_bytes(b"a\r\nb\r\n")
    files.append_file("dos.txt", "c\nd")
    assert path.read_bytes() == b"a\r\nb\r\nc\r\nd\r\n"
    assert files.append_file("new.md", "x").startswith("Created workspace/new.md")
    assert "nothing to append" in problem(files.append_file, "dos.txt", "")


def test_append_finds_the_file_by_its_name(files: FileTools, home: Home) -> None:
    files.append_file("trip.md", "Marta waters the plants")
    assert (home.workspace / "notes" / "trip.md").read_text("utf-8").endswith("plants\n")


@pytest.mark.parametrize("path", ["openclaw/types.py", "openclaw/new.py", "sessions/a.json"])
def test_neither_this_program_nor_a_conversation_is_written(path: str) -> None:
    """A clone of this program may be the home. The call is only judged and not made."""
    home = Home(Path(openclaw.__file__).parent.parent)
    for tool in FileTools(home, TurnChanges()).tools():
        if tool.name in ("write_file", "append_file") and tool.action:
            with pytest.raises(ToolProblem, match=r"is not changed|nothing is written"):
                tool.action({"path": path})


# ---- what the user is shown before


def previews(files: FileTools) -> dict[str, Preview]:
    return {tool.name: tool.preview for tool in files.tools() if tool.preview}


def test_a_preview_is_what_the_call_then_writes(files: FileTools, home: Home) -> None:
    for name, given in {
        "write_file": {"path": "workspace/new.md", "content": "one"},
        "edit_file": {"path": "config", "find": "8080", "replace": "9090"},
        "append_file": {"path": "MEMORY.md", "text": "- likes milk"},
    }.items():
        planned = previews(files)[name](given)
        assert planned
        file = home.root / planned.path
        assert (file.read_text("utf-8") if file.exists() else None) == planned.before
        getattr(files, name)(**given)
        assert file.read_text("utf-8") == planned.after


def test_a_preview_writes_nothing_and_shows_no_secret(
    home: Home, turn_changes: TurnChanges
) -> None:
    token = "ghp_" + "a8Fk2LmQ9zXw4TbV7nRc1YpD6sHj3GuE0oKi"
    target = home.workspace / "key.md"
    target.write_text(f"old {token}\n", "utf-8")
    masker = Masker(home.private / "secrets.json")
    shown = previews(FileTools(home, turn_changes, masker))["append_file"](
        {"path": "workspace/key.md", "text": "more"}
    )
    assert shown and shown.after and shown.after.endswith("more\n")
    assert token not in f"{shown.before}{shown.after}"
    assert target.read_text("utf-8") == f"old {token}\n" and masker.names() == ()


def test_nobody_is_asked_for_what_would_fail_and_a_very_long_text_has_no_preview(
    home: Home, turn_changes: TurnChanges
) -> None:
    ask = Person("")
    box = Toolbox(FileTools(home, turn_changes).tools(), Policy("ask", ask), turn_changes)
    for name, given in (
        ("edit_file", {"path": "workspace/config.ini", "find": "nowhere", "replace": "x"}),
        ("write_file", {"path": "workspace/config.ini", "content": "not read before"}),
        ("write_file", {"path": "workspace/long.md", "content": "x" * 300_000}),
        ("write_file", {"path": "workspace/short.md", "content": "x"}),
    ):
        box.run(ToolCall("1", name, given))
    assert [question.change is None for question in ask.asked] == [True, False]


def test_after_a_failed_edit_only_lines_that_are_about_as_near_are_shown(
    files: FileTools, home: Home
) -> None:
    text = "- [x] Comas, root traits\n- [ ] Lynch, steep and cheap\n- [ ] Lynch, steep and deep\n"
    (home.workspace / "reading.md").write_text(text, "utf-8")
    with pytest.raises(ToolProblem) as told:
        files.edit_file("reading.md", "[x] Lynch, steep and cheap", "[x] Lynch, done")
    assert "Lynch, steep and deep" in str(told.value) and "Comas" not in str(told.value)


def test_below_rows_of_a_table_stands_the_sum_of_all_of_them(files: FileTools, home: Home) -> None:
    (home.root / "workspace/costs.md").write_text(
        "| what | euros |\n|---|---|\n| rent | 840 |\n| food | 310 |\n| train | 49 |\n", "utf-8"
    )
    assert files.read_file("costs.md", 5).endswith(
        "| train | 49 |\n[added up: euros: 1199 (mean 399.7, least train 49, most rent 840)]"
    )


def test_what_was_added_below_lines_that_were_read_is_not_written(
    files: FileTools, home: Home
) -> None:
    files.write_file("costs.md", "| rent | 840 |\n[added up: euros: 840]\nPaid.\n")
    files.append_file("costs.md", 'Soon.\n[lines with "rent": 1]')
    file = home.workspace / "costs.md"
    assert file.read_text("utf-8") == "| rent | 840 |\nPaid.\nSoon.\n"
    file.write_text("Rent.\n[added up: euros: 840]\nPaid.\n", "utf-8")
    line = "[added up: euros: 840]"  # the user's own
    files.edit_file("costs.md", f"Rent.\n{line}", f"Rents.\n{line}")
    assert file.read_text("utf-8") == f"Rents.\n{line}\nPaid.\n"


@pytest.mark.parametrize(
    ("request_", "counted"),
    [
        ("how many errors are in app.log", '\n[lines with "error": 2]'),
        ("Wie viele errors hat app.log?", '\n[lines with "error": 2]'),
        ("how many cats are in app.log", ""),
        ("what errors are in app.log", ""),
    ],
)
def test_lines_with_a_word_are_counted_for_who_asks_how_many(
    files: FileTools, home: Home, request_: str, counted: str
) -> None:
    (home.workspace / "app.log").write_text("ERROR a\nfine\nerror b\n", "utf-8")
    files.turn_changes.request = request_
    assert files.read_file("app.log").endswith(f"error b{counted}")


def test_a_todo_is_not_added_or_removed_as_text(files: FileTools, home: Home) -> None:
    """A small model adds "Latte" below "- [ ] Bread", which is no to-do."""
    path = "memory/TODO.md"
    text = "# Groceries\n\n- [ ] Bread\n"
    (home.root / path).write_text(text, "utf-8")
    for said in (
        problem(files.edit_file, path, "- [ ] Bread", "- [ ] Bread\nLatte"),
        problem(files.edit_file, path, "- [ ] Bread\n", ""),
        problem(files.edit_file, path, "Bread", "Bread"),
        problem(files.write_file, path, "- [ ] Latte"),
    ):
        assert said == f"{path} is changed by the tool todo: add, done, remove."
    assert (home.root / path).read_text("utf-8") == text
    files.edit_file(path, "Bread", "Rye bread")
    assert "- [ ] Rye bread\n" in (home.root / path).read_text("utf-8")


def test_each_line_that_is_appended_to_the_todos_becomes_one(files: FileTools, home: Home) -> None:
    path = home.root / "memory/TODO.md"
    path.write_text("## Groceries\n\n- [ ] Bread\n", "utf-8")
    files.append_file("memory/TODO.md", "Latte\n\n- [ ] Eggs")
    assert [todo.text for todo in parse_todos(path.read_text("utf-8"))] == [
        "Bread",
        "Latte",
        "Eggs",
    ]
