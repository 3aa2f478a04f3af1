"""Pages repeat what the memory says of a person; what the user writes on them stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.agent.sync_merge import merge_file
from openclaw.memory.pages import gather, refresh
from openclaw.security.foreign_files import ForeignFiles
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.files import write_file

DAY, NEXT = "memory/2026-03-04.md", "memory/2026-03-05.md"
LENA = "memory/people/lena.md"
POTTERY = "My sister Lena has taken up pottery"
NUTS = "Lena is allergic to nuts"
FOOD = "## Food, drink and allergies\n\n- Lena is allergic to nuts [[2026-03-05]]\n"
HOBBIES = f"## Hobbies, sport and free time\n\n- {POTTERY} [[2026-03-04]]\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    (made.root / "memory").mkdir(parents=True)
    trust_home(made)
    write(made, DAY, f"- {POTTERY} <!-- fact, 2026-03-04, typed -->\n- Lena: no answer\n")
    write(made, NEXT, f"Rain all day.\n\n{NUTS}\n")
    return made


def write(home: Home, name: str, text: str) -> None:
    write_file(home.root / name, text)


def page(home: Home, name: str = LENA) -> str:
    path = home.root / name
    return path.read_text("utf-8") if path.exists() else ""


def shown(home: Home, name: str = LENA) -> str:
    """A page without the comment at its end."""
    return page(home, name).partition("\n<!-- gathered")[0]


def test_what_is_noted_of_a_person_stands_on_a_page_by_topic_with_links(home: Home) -> None:
    assert gather(home) == [home.root / LENA]
    assert shown(home) == f"# Lena\n\n{FOOD}\n{HOBBIES}"
    assert gather(home) == []


def test_what_is_said_again_stands_once_with_the_last_day(home: Home) -> None:
    again = "memory/2026-03-09.md"
    gather(home)
    write(home, again, f"- {NUTS}\n")
    gather(home)
    assert shown(home) == f"# Lena\n\n{FOOD}\n{HOBBIES}".replace("-05]]", "-09]]")
    write(home, again, "")
    gather(home)
    assert shown(home) == f"# Lena\n\n{FOOD}\n{HOBBIES}"


def test_a_corrected_line_is_replaced_and_the_page_goes_with_the_last_one(home: Home) -> None:
    gather(home)
    write(home, DAY, f"- ~~{POTTERY}~~ (until 2026-03-06)\n- My sister Lena plays chess\n")
    write(home, NEXT, "")
    gather(home)
    assert "- My sister Lena plays chess [[2026-03-04]]" in page(home)
    assert "pottery" not in page(home) and "allerg" not in page(home).casefold()
    write(home, DAY, "")
    assert gather(home) == [home.root / LENA]
    assert not (home.root / LENA).exists()


def test_lines_of_the_user_stay_and_what_was_changed_by_hand_is_not_gathered_again(
    home: Home,
) -> None:
    write(home, LENA, "# Lena\n\nMy sister.\n")
    gather(home)
    assert shown(home) == f"# Lena\n\nMy sister.\n\n{FOOD}\n{HOBBIES}"
    own = page(home).replace("allergic to nuts", "allergic to all nuts").replace(POTTERY, "Clay")
    write(home, LENA, own.replace("- Clay [[2026-03-04]]\n", ""))
    write(home, NEXT, f"{NUTS}\n\nLena plays chess\n")
    gather(home)
    assert "- Lena is allergic to all nuts [[2026-03-05]]" in page(home)
    assert "- Lena plays chess [[2026-03-05]]" in page(home)
    assert f"- {NUTS} [[" not in page(home) and POTTERY not in page(home)
    write(home, DAY, "")
    write(home, NEXT, "")
    gather(home)
    assert "all nuts" in page(home) and "My sister.\n" in page(home) and "chess" not in page(home)


@pytest.mark.parametrize("own", ["# Rome\n", "", "Trastevere  \n\n\n", "no end"])
def test_a_page_of_the_user_on_which_nothing_was_gathered_is_left_alone(
    home: Home, own: str
) -> None:
    write(home, "memory/topics/rome.md", own)
    assert gather(home) == [home.root / LENA]
    assert (home.root / "memory/topics/rome.md").read_text("utf-8") == own


def test_a_line_that_holds_a_line_separator_goes_with_its_source(home: Home) -> None:
    write(home, NEXT, "Lena is allergic\u2028to nuts\n")
    gather(home)
    assert "- Lena is allergic\u2028to nuts [[2026-03-05]]\n" in page(home)
    write(home, NEXT, "")
    gather(home)
    assert shown(home) == f"# Lena\n\n{HOBBIES}"


def test_a_page_keeps_its_line_ends(home: Home) -> None:
    path = home.root / LENA
    path.parent.mkdir()
    path.write_bytes(b"# Lena\r\n\r\nMy sister.\r\n")
    gather(home)
    assert path.read_bytes().count(b"\r\n") == path.read_bytes().count(b"\n") > 3
    assert gather(home) == []


def test_without_its_comment_a_page_does_not_get_the_same_lines_again(home: Home) -> None:
    gather(home)
    before = page(home)
    write(home, LENA, shown(home))
    gather(home)
    assert page(home) == before


@pytest.mark.parametrize("both_new", [False, True])
def test_the_pages_of_two_devices_are_merged_and_stay_the_programs(
    home: Home, both_new: bool
) -> None:
    gather(home)
    versions = [None if both_new else page(home).encode()]
    for note in ("- My sister Lena plays chess\n", "- Lena must not eat wheat\n"):
        write(home, "memory/2026-03-06.md", note)
        gather(home)
        versions.append(page(home).encode())
    base, mine, theirs = versions
    merged = merge_file(LENA, base, mine, theirs)
    assert merged.data is not None and not merged.conflicts
    assert merged.data.count(b"<!-- gathered") == 1
    write(home, LENA, merged.data.decode())
    write(home, "memory/2026-03-06.md", "- My sister Lena plays chess\n- Lena must not eat wheat\n")
    gather(home)
    assert page(home).count("[[2026-03-06]]") == 2
    assert page(home).count(NUTS) == page(home).count(POTTERY) == 1
    for name in (DAY, NEXT, "memory/2026-03-06.md"):
        write(home, name, "")
    gather(home)
    assert page(home) == ""


def test_what_another_device_has_gathered_of_its_own_words_stays_while_they_stand(
    home: Home,
) -> None:
    gather(home)
    both = page(home)
    ForeignFiles(home).note_all([(NEXT, "git there", None), (LENA, "git there", NUTS)])
    write(home, "memory/2026-03-06.md", "- My sister Lena plays chess\n")
    gather(home)
    assert NUTS in page(home)
    write(home, "memory/2026-03-06.md", "")
    gather(home)
    assert page(home) == both
    write(home, NEXT, "Rain all day.\n")
    gather(home)
    assert NUTS not in page(home)


def test_words_of_others_are_not_gathered(home: Home) -> None:
    copied = "Lena is allergic to whatever this page of the web says about her"
    write(home, NEXT, f"- {copied}\n- {NUTS}\n")
    ForeignFiles(home).note("workspace/page.md", "example.org", copied)
    write(home, "memory/2026-03-06.md", "- Lena plays the violin\n")
    ForeignFiles(home).note("memory/2026-03-06.md", "a device that is not trusted")
    lines = "- Lena plays tennis <!-- fact, 2026-03-07, program notes -->\n"
    imported = "\n## Imported from Hermes (2026-03-07)\n\n- Lena plays golf\n"
    write(home, "memory/2026-03-07.md", lines + imported)
    gather(home)
    assert NUTS in page(home)
    for word in ("whatever", "violin", "tennis", "golf"):
        assert word not in page(home)


def test_todos_tables_and_long_lines_are_not_gathered(home: Home) -> None:
    long = "Lena plays chess and " + "talks and " * 40
    write(home, NEXT, f"- [ ] chess book for Lena\n\n| Lena | plays |\n\n- {long}\n")
    gather(home)
    assert shown(home) == f"# Lena\n\n{HOBBIES}"


def test_a_tag_of_three_lines_has_a_page(home: Home) -> None:
    write(home, NEXT, "- Beans are in #garden\n- Leeks too #garden\n- No rain #garden #weather\n")
    gather(home)
    assert shown(home, "memory/topics/garden.md") == (
        "# Garden\n\n- Beans are in #garden [[2026-03-05]]\n- Leeks too #garden [[2026-03-05]]\n"
        "- No rain #garden #weather [[2026-03-05]]\n"
    )
    assert not page(home, "memory/topics/weather.md")


def test_nothing_is_read_again_while_no_file_has_changed(home: Home) -> None:
    assert refresh(home) == []
    (home.root / LENA).unlink()
    refresh(home)
    assert not page(home)
    write(home, NEXT, f"- {NUTS}, and to fish\n")
    refresh(home)
    assert NUTS in page(home)


def test_the_setting_turns_it_off(home: Home) -> None:
    write(home, "openclaw.yaml", "memory:\n  pages: false\n")
    refresh(home)
    assert not page(home)


def test_a_folder_that_leads_elsewhere_is_left_alone(home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home.memory / "people").symlink_to(tmp_path / "elsewhere")
    notices = refresh(home)
    assert len(notices) == 1 and "left alone" in notices[0]
    assert not [*(tmp_path / "elsewhere").iterdir()]
