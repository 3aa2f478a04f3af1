"""An answer that is wrong in a way that code can tell is asked for once more."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from openclaw import events
from tests.fakes.talk import Talk, answer, call, done, notices, shown, talk


def test_an_answer_in_another_language_is_asked_for_again(it: Talk) -> None:
    happened = it.say(
        "Wann fährt morgen mein Zug nach Hamburg, und von welchem Gleis?",
        "Your train to Hamburg leaves at half past nine from platform five.",
        "Dein Zug nach Hamburg fährt um halb zehn von Gleis fünf.",
    )
    assert done(happened).answer.startswith("Dein Zug")
    assert "not in German" in notices(happened)
    assert "Say the same in German" in it.requests[1].messages[-1].content


def test_names_that_were_read_are_in_no_other_language(it: Talk) -> None:
    names = "Kieran Doyle, Sami Haddad, Finn O'Shea"  # of which German is the likeliest language
    (it.root / "squad.md").write_text(f"{names}\n", "utf-8")
    asked = "Which players are in the file squad.md that I wrote?"
    happened = it.say(asked, call("read_file", path="squad.md"), names)
    assert done(happened).answer == names


def test_a_text_that_is_to_be_translated_may_be_in_another_language(it: Talk) -> None:
    happened = it.say(
        "Übersetze bitte ins Englische: Wir sehen uns morgen früh am Bahnhof.",
        "See you tomorrow morning at the station, everybody.",
    )
    assert done(happened).answer.startswith("See you")


def test_a_date_that_only_the_clock_has_given_is_asked_away(it: Talk) -> None:
    (it.root / "trip.md").write_text("The train leaves at 8:42 from platform 11.\n", "utf-8")
    happened = it.say(
        "When does my train leave?",
        call("read_file", path="trip.md"),
        "Your train leaves on 21 November 2026 at 8:42 from platform 11.",
        "Your train leaves at 8:42 from platform 11.",
    )
    assert "2026" not in done(happened).answer
    assert "The date 21 November 2026 is today's" in it.requests[2].messages[-1].content


def test_todays_date_may_be_told_when_a_file_has_it_or_it_was_asked_for(it: Talk) -> None:
    (it.root / "trip.md").write_text("We leave on 21 November 2026.\n", "utf-8")
    told = "You leave on 21 November 2026."
    assert done(it.say("When do we go?", call("read_file", path="trip.md"), told)).answer == told
    told = "Today is Saturday, 21 November 2026."
    assert done(it.say("What is the date today?", told)).answer == told


def test_a_deed_that_may_be_about_a_to_do_is_asked_for_by_the_tools_name(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text("## Shopping\n\n- [ ] Bread ^1a2b3c4d\n", "utf-8")
    it.say(
        "Das Brot hab ich schon, kannst du es abhaken?",
        "Ich habe es abgehakt.",
        call("todo", action="done", item="Bread"),
        "Das Brot ist abgehakt.",
    )
    assert "Do it now with the tool `todo`" in it.requests[1].messages[-1].content
    assert "- [x] Bread" in (it.root / "memory" / "TODO.md").read_text("utf-8")


@pytest.mark.parametrize("before", ["", "I keep that. "])
def test_the_programs_own_hint_is_no_part_of_an_answer(tmp_path: Path, before: str) -> None:
    it = talk(tmp_path / "home", protocol="json")
    happened = it.say(
        "Remember that I like tea",
        call("remember", fact="I like tea", where="lasting", protocol="json"),
        answer(f"{before}Tell the user so in one plain sentence.", "json"),
    )
    told = before.strip() or "Remembered in memory/MEMORY.md, line 7."
    assert done(happened).answer == told
    assert "Tell the user" not in shown(happened)


def test_a_refusal_of_a_change_that_is_surely_meant_is_asked_away(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json", recall="auto")
    file, old = it.root / "workspace" / "opening.md", "1. Turn off the alarm, code 4471."
    file.write_text(f"{old}\n", "utf-8")
    new = old.replace("4471", "9035")
    edit = call("edit_file", path="workspace/opening.md", find=old, replace=new, protocol="json")
    refusal = "I'm sorry, but I can't assist with that."
    with closing(it.app):
        it.say("alarm code is 9035 now", answer(refusal, "json"), edit, answer("Changed.", "json"))
    assert file.read_text("utf-8") == f"{new}\n"


def test_what_surely_changes_a_row_is_not_only_repeated(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json", recall="auto")
    file, old = it.root / "workspace" / "guests.md", "| Mr Otto | 4 | no |"
    file.write_text(
        f"| Guest | Room | Paid |\n|---|---|---|\n{old}\n| Ms Kolb | 1 | yes |\n", "utf-8"
    )
    edit = {"path": "workspace/guests.md", "find": old, "replace": "| Mr Otto | 4 | yes |"}
    said = (answer("Mr Otto has paid.", "json"), call("edit_file", **edit, protocol="json"))
    with closing(it.app):
        it.say("mr otto has paid", *said, answer("Noted.", "json"))
    assert edit["replace"] in file.read_text("utf-8")


def test_todays_date_without_a_look_is_made_up(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json")
    (it.root / "workspace" / "trip.md").write_text("Train: 8:42, platform 11.\n", "utf-8")
    happened = it.say(
        "When does my train leave?",
        answer("It leaves on 21 November 2026.", "json"),
        call("search_files", text="train", protocol="json"),
        answer("At 8:42.", "json"),
    )
    assert done(happened).answer == "At 8:42."
    assert "You have not looked" in it.requests[1].messages[-1].content
    schema = it.requests[1].schema
    assert schema and {step["properties"]["kind"]["const"] for step in schema["anyOf"]} == {"look"}


def test_a_hint_alone_is_no_answer(it: Talk) -> None:
    told = "You have not looked."
    happened = it.say(
        "When does my train leave?", "It leaves on 21 November 2026.", told, "I do not know."
    )
    assert done(happened).answer == "I do not know."


def test_a_hint_alone_becomes_what_the_last_call_brought(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json")
    (it.root / "workspace" / "trip.md").write_text("We fly on Sunday.\n", "utf-8")
    looks = [call("read_file", path="trip.md", protocol="json")] * 2
    happened = it.say("When do we fly?", *looks, answer("Nothing new can be found.", "json"))
    assert "We fly on Sunday." in done(happened).answer
    assert "Already done" not in done(happened).answer


def test_the_programs_own_hint_is_no_part_of_a_file(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", protocol="json")
    (it.root / "workspace" / "trip.md").write_text("We fly on Sunday.\n", "utf-8")
    asked = "Read trip.md and write the day into day.txt."
    content = f"There is no file day.txt.\n\nNow the next step for: {asked} Sunday"
    it.say(
        asked,
        call("read_file", "json", "change", path="workspace/trip.md"),
        call("write_file", "json", "change", path="day.txt", content=content),
        answer("It is written.", "json"),
    )
    assert (it.root / "workspace" / "day.txt").read_text("utf-8").strip() == "Sunday"


def test_a_file_that_is_missing_is_not_passed_over_for_another(it: Talk) -> None:
    (it.root / "workspace" / "trip.md").write_text("We travel on Sunday.\n", "utf-8")
    happened = it.say(
        "What does budget-2031.md say about travel?",
        call("read_file", path="workspace/trip.md"),
        "We travel on Sunday.",
        "There is no file budget-2031.md.",
    )
    assert done(happened).answer == "There is no file budget-2031.md."


def test_who_has_no_such_to_do_asks_which_one_is_meant(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text("# To-dos\n\n- [ ] Bread\n- [ ] Soap\n", "utf-8")
    claimed = "I have ticked the gutters off."
    asked = "No to-do has these words. Which one do you mean?"
    happened = it.say("The gutters are cleaned, tick that off.", claimed, asked)
    assert done(happened).answer == asked
    assert "ask which one is meant" in it.requests[1].messages[-1].content


def test_the_request_in_its_own_words_is_no_answer(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text("- [ ] Pay the rent\n- [ ] Soap\n", "utf-8")
    ticked = call("todo", action="done", item="Pay the rent")
    happened = it.say("the rent is paid", "The rent is paid.", ticked, "Ticked.")
    assert "only repeated the request" in notices(happened)
    assert "- [x] Pay the rent" in (it.root / "memory" / "TODO.md").read_text("utf-8")


def test_what_the_user_only_tells_may_be_said_again(it: Talk) -> None:
    happened = it.say("tom's mother is coming on sunday", "Tom's mother is coming on Sunday.")
    assert done(happened).answer == "Tom's mother is coming on Sunday."


def test_a_new_value_for_a_file_is_not_only_said_again(it: Talk) -> None:
    recipe = it.root / "workspace" / "far.md"
    recipe.write_text("# Far breton\n\nLe far cuit 50 minutes.\n", "utf-8")
    old, new = "Le far cuit 50 minutes.", "Le far cuit 55 minutes."
    edit = call("edit_file", path="workspace/far.md", find=old, replace=new)
    told = "le far breton cuit 55 minutes en fait"
    happened = it.say(told, told.capitalize(), edit, "C'est chang\u00e9.")
    assert "only repeated the request" in notices(happened)
    assert "55 minutes" in recipe.read_text("utf-8")


def test_a_line_that_stands_beside_the_request_is_not_the_text_to_be_written(it: Talk) -> None:
    line = "Buy a cake for Paul due:2026-11-20"
    (it.root / "memory" / "TODO.md").write_text(f"# To-dos\n\n- [ ] {line}\n", "utf-8")
    happened = it.say("Write a short poem for Paul's birthday", line, "Paul, to you this cake.")
    assert done(happened).answer == "Paul, to you this cake."
    happened = it.say("Which cake is due for Paul?", line)
    assert done(happened).answer == line


def test_what_is_named_like_a_file_need_not_be_one(it: Talk) -> None:
    answered = "Node.js runs JavaScript on servers."
    search = call("search_files", text="Node.js")
    happened = it.say("What is Node.js good for?", search, answered, "There is no such file.")
    assert done(happened).answer == answered


def test_the_users_own_words_are_no_answer(it: Talk) -> None:
    said = "The batteries are bought already, you may tick them."
    assert done(it.say(said, said, "Which batteries?")).answer == "Which batteries?"


def test_a_wrong_answer_is_asked_for_once_only(it: Talk) -> None:
    wrong = "Your train to Hamburg leaves at half past nine from platform five."
    happened = it.say("Wann fährt morgen mein Zug nach Hamburg, und woher?", wrong, wrong)
    assert done(happened).answer == wrong


def test_an_act_that_is_only_announced_is_a_claim(it: Talk) -> None:
    happened = it.say(
        "Would you mind putting sugar on my shopping list?",
        "Sure, I'll add sugar to your shopping list.",
        call("todo", action="add", list="Shopping", items=["sugar"]),
        "Sugar is on the list.",
    )
    assert [todo.text for todo in it.app.todos.items()][-1:] == ["sugar"]
    assert not done(happened).unbacked


def test_small_talk_behind_it_hides_no_claim(it: Talk) -> None:
    it.say(
        "Could you put sugar on my shopping list?",
        "Sure, I'll add sugar to your shopping list. How are you today?",
        call("todo", action="add", list="Shopping", items=["sugar"]),
        "Sugar is on the list.",
    )
    assert [todo.text for todo in it.app.todos.items()][-1:] == ["sugar"]


def test_who_gives_up_without_a_look_is_told_to_look(it: Talk) -> None:
    (it.root / "workspace" / "people.md").write_text("- Jan: 555-0123\n", "utf-8")
    happened = it.say(
        "What's Jan's number again?",
        "I'm sorry, but I don't have any information about Jan's number.",
        call("read_file", path="workspace/people.md"),
        "It is 555-0123.",
    )
    assert done(happened).answer == "It is 555-0123."
    assert "without a look" in notices(happened)


def test_who_says_that_a_day_has_no_to_do_need_not_look(it: Talk) -> None:
    (it.root / "memory" / "TODO.md").write_text("- [ ] call Mia due:2026-12-20\n", "utf-8")
    happened = it.say("Do I have anything to do tomorrow?", "No, you have nothing to do tomorrow.")
    assert done(happened).answer == "No, you have nothing to do tomorrow."


def test_who_has_read_a_file_does_not_deny_what_is_in_it(it: Talk) -> None:
    (it.root / "workspace" / "goulash.md").write_text("Beef, onions, paprika.\n", "utf-8")
    happened = it.say(
        "See whether we have the goulash recipe and what is in it.",
        call("read_file", path="workspace/goulash.md"),
        "I don't have the goulash recipe. I don't know what is in it.",
        "Beef, onions and paprika.",
    )
    assert done(happened).answer == "Beef, onions and paprika."
    assert "denied what workspace/goulash.md holds" in notices(happened)


def test_a_file_that_was_ordered_is_not_given_as_an_answer(it: Talk) -> None:
    write = call("write_file", path="hello.txt", content="Hello world")
    asked = "Write a file hello.txt that contains just the words Hello world."
    happened = it.say(asked, "Hello world", write, "hello.txt is written.")
    assert "Nothing was done with hello.txt" in it.requests[1].messages[-1].content
    assert done(happened).answer == "hello.txt is written."
    refused = "I'm sorry, I don't have the ability to create files."
    happened = it.say(
        asked.replace("hello", "hi"), call("list_files"), refused, "hi.txt is not written."
    )
    assert "the reply left hi.txt out" in notices(happened)
    told = "There is no file old.txt."
    assert done(it.say("Delete old.txt.", told)).answer == told


COMMIT = """\
---
name: commit-message
description: Writes a commit message.
---

Write exactly one line of this form:

    [CM] <verb> <what> (#0)
"""


def test_an_answer_that_is_not_in_the_form_of_its_skill_is_held_to_it(it: Talk) -> None:
    skill = it.root / "skills" / "commit-message" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text(COMMIT, "utf-8")
    asked = "Write a commit message for the dark mode."
    read = call("read_skill", name="commit-message")
    wrong = answer("Write a commit message (#0)")
    right = answer("[CM] Add dark mode (#0)")
    happened = it.say(asked, read, wrong, right)
    assert done(happened).answer == "[CM] Add dark mode (#0)"
    assert "not in the form of the skill" in notices(happened)
    assert "[CM] <verb> <what> (#0)" in it.requests[2].messages[-1].content
    assert "blank" in notices(it.say(asked, read, answer("[CM] Add <what> (#0)"), right))
    question = "Which change is it for?"
    assert done(it.say(asked, read, answer(question))).answer == question


def test_who_has_looked_may_say_that_nothing_is_there(it: Talk) -> None:
    told = "I don't have any information about Jan's number."
    happened = it.say("What's Jan's number again?", call("search_files", text="Jan"), told)
    assert done(happened).answer == told


def test_a_telephone_number_that_nobody_has_said_is_asked_away(it: Talk) -> None:
    happened = it.say(
        "What's Jan's number again?",
        "Jan's number is 123-456-7890.",
        call("search_files", text="Jan"),
        "Jan's number stands nowhere.",
    )
    assert done(happened).answer == "Jan's number stands nowhere."
    assert "123-456-7890 stands in no file" in it.requests[1].messages[-1].content


def test_the_user_is_told_of_a_number_that_the_second_answer_still_makes_up(it: Talk) -> None:
    made_up = "Jan's number is 123-456-7890."
    happened = it.say("What's Jan's number again?", made_up, made_up)
    told = [each.text for each in happened if isinstance(each, events.Trouble)]
    assert told == ["123-456-7890 in this answer was neither read nor said by you"]


def test_a_number_that_was_read_or_said_is_told(it: Talk) -> None:
    (it.root / "workspace" / "people.md").write_text("- Jan: 0171 555 01 23\n", "utf-8")
    told = "Jan's number is 0171-5550123."
    read = call("read_file", path="workspace/people.md")
    assert done(it.say("What's Jan's number again?", read, told)).answer == told


def test_a_short_question_in_chinese_is_answered_in_chinese(it: Talk) -> None:
    happened = it.say(
        "\u6211\u7684\u62a4\u7167\u653e\u5728\u54ea\u91cc\u4e86\uff1f",
        "Your passport lies in the upper drawer of the desk.",
        "\u5728\u4e66\u684c\u4e0a\u9762\u7684\u62bd\u5c49\u91cc\u3002",
    )
    assert done(happened).answer.startswith("\u5728")


def test_who_has_changed_something_tells_it(it: Talk) -> None:
    happened = it.say(
        "Put tea on my list.",
        call("todo", action="add", list="Tasks", items=["tea"]),
        "I'm Claw. I'm here to help you with your questions. Let me know if you need more.",
        "Tea is on your list.",
    )
    assert done(happened).answer == "Tea is on your list."
    assert "was no answer" in notices(happened)
