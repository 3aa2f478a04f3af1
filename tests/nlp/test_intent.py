"""The intent of requests, in tables of requests."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.nlp.intent import NO_SUCH_TODO, Cues, only_asks, read_cues
from openclaw.nlp.relevance import LONGEST_ABOUT, Blurb

FILES = (
    "workspace/SOUL.md",
    "notes/trip.md",
    "notes/old/trip.md",
    "data/Prices 2026.csv",
    "go.sum",
)
SKILLS = (
    Blurb(
        "plan-day",
        "Turns open to-dos and recent notes into a short plan for today. Use when the user asks to "
        "plan the day, what to do today, or where to begin.",
    ),
    Blurb("bread-baking", "Scales a sourdough recipe. Use for flour, dough and oven questions."),
    Blurb("invoice", "Writes an invoice file from hours and a rate."),
)
LOG = Blurb("log", "Records.", ("Boats came to the pier", "Two boats lie at the old pier"))
LISTS = ("Errands", "Garden work")
TODOS = ("Buy milk", "Call the dentist", "Water the tomato plants")
REQUESTS = Path(__file__).with_name("requests.txt")


def cues_of(request: str) -> Cues:
    return read_cues(request, FILES, SKILLS, LISTS, TODOS)


# -------- questions and orders


@pytest.mark.parametrize(
    "request_",
    [
        "What is on my list?",
        "whats the copier code",
        "is mia allergic to anything?",
        "Wat kost de g\u00eete per week?",
        "what is the port",
        "Who changed SOUL.md?",
        "Is the window open?",
        "Did you save it?",
        "When is the dentist?",
        "When does Lena's play begin?",
        "Where do I have to change trains?",
        "Why is the heating broken?",
        "In which room does Chiara sit?",
        "And how many eggs are left?",
        "Wer bin ich?",
        "Wie sp\u00e4t ist es",
        "Um wie viel Uhr f\u00e4hrt der Zug?",
        "Was steht auf der Liste?",
        "O\u00f9 est la cl\u00e9 ?",
        "\u00c0 quelle heure part le train ?",
        "Qual \u00e8 il mio nome?",
    ],
)
def test_a_question_only_asks(request_: str) -> None:
    assert only_asks(request_)
    assert cues_of(request_).asks and not cues_of(request_).orders and not cues_of(request_).done


@pytest.mark.parametrize(
    "request_",
    [
        "",
        "please",
        "Good morning!",
        "Add milk to the list, ok?",
        "What is the port? Then write it into notes.md.",
        "Would you mind adding oat milk to the list?",
        "Can you scratch the dentist from trip.md?",
        "How about adding milk?",
        "Why don't you cancel the yoga slot?",
        "How do you feel about clearing the list?",
        "Where it says Monday, could you make it Friday?",
        "What I need is milk on the list.",
        "What's on my list, and could you strike the yoga line?",
        "K\u00f6nntest du Milch auf die Liste setzen?",
        "Wie w\u00e4re es mit Milch auf der Liste?",
        "Pourrais-tu ajouter du beurre \u00e0 la liste ?",
        "\u00bfPodr\u00edas a\u00f1adir leche a la lista?",
        "Ti dispiace cancellare la riga dello yoga?",
        "Zou je melk op de lijst kunnen zetten?",
        "\u725b\u4e73\u3092\u30ea\u30b9\u30c8\u306b\u8ffd\u52a0\u3057\u3066\u304f\u308c\u307e\u3059\u304b\uff1f",
        "\u4f60\u53ef\u4ee5\u628a\u9762\u5305\u52a0\u5230\u6e05\u5355\u4e0a\u5417\uff1f",
        "Do you think you could tidy up trip.md?",
        "What do you say we add candles?",
        "How hard would it be to add a column?",
        "\u00bfQu\u00e9 tal si apuntas el n\u00famero de Ana?",
        "K\u00f6nntest du trip.md aufr\u00e4umen?",
        "Wie w\u00e4re es, wenn du trip.md k\u00fcrzt?",
    ],
)
def test_what_may_want_something_done_does_not_only_ask(request_: str) -> None:
    assert not only_asks(request_)
    assert not cues_of(request_).asks


def share_that_only_asks(kind: str) -> float:
    """Return the share of the requests of a kind that is told only to ask."""
    lines = REQUESTS.read_text(encoding="utf-8").splitlines()
    told = [only_asks(line.removeprefix(kind)) for line in lines if line.startswith(kind)]
    return sum(told) / len(told)


def test_most_questions_only_ask_and_few_requests_that_may_want_something_do() -> None:
    assert share_that_only_asks("asks | ") >= 0.8
    assert share_that_only_asks("wants | ") <= 0.2


@pytest.mark.parametrize(
    "request_",
    [
        "Do you know whether I put milk on my errands list?",
        "Have I called the dentist, done with that?",
        "Is it on my shopping list, added by me?",
    ],
)
def test_without_a_sure_cue_the_model_decides(request_: str) -> None:
    found = cues_of(request_)
    assert not (found.asks or found.orders or found.done or found.fact)


@pytest.mark.parametrize(
    ("request_", "begs"),
    [
        ("Would you mind crossing out the yoga line?", True),
        ("\u4f60\u53ef\u4ee5\u628a\u9762\u5305\u52a0\u5230\u6e05\u5355\u4e0a\u5417\uff1f", True),
        ("Can you add milk to my errands list?", True),
        ("Who waters the plants?", False),
        ("Good morning!", False),
    ],
)
def test_a_request_that_may_want_something_done_is_seen(request_: str, begs: bool) -> None:
    assert cues_of(request_).begs == begs


@pytest.mark.parametrize(
    ("request_", "orders", "parts", "tells"),
    [
        ("Add eggs.", True, False, False),
        ("Add eggs and mark the milk as done.", True, True, False),
        ("Read notes/trip.md and tell me the date.", False, False, True),
        ("Write the date down and tell me what it was.", True, True, True),
        ("What would you change?", False, False, True),
        ("Good morning!", False, False, False),
    ],
)
def test_orders_with_several_parts_and_with_a_question_are_found(
    request_: str, orders: bool, parts: bool, tells: bool
) -> None:
    found = cues_of(request_)
    assert (found.orders, found.parts, found.tells) == (orders, parts, tells)


# -------- files


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ("Read workspace/SOUL.md", ("workspace/SOUL.md",)),
        ("Who changed SOUL.md?", ("workspace/SOUL.md",)),
        ("Look into (SOUL.md), `SOUL.md` and SOUL.md.", ("workspace/SOUL.md",)),
        ("Read old/trip.md", ("notes/old/trip.md",)),
        ("Read trip.md", ("notes/trip.md", "notes/old/trip.md")),
        ("Compare SOUL.md with go.sum", ("workspace/SOUL.md", "go.sum")),
        ("Read the soul", ()),
    ],
)
def test_files_are_named_by_path_or_by_the_end_of_it(request_: str, named: tuple[str, ...]) -> None:
    found = cues_of(request_)
    assert (found.named, found.missing) == (named, ())
    for path in named:
        assert any(line.startswith("File: ") and path in line for line in found.lines)


@pytest.mark.parametrize(
    ("request_", "meant"),
    [
        ("which invoices are unpaid?", ("workspace/invoices.csv",)),
        ("im stollen sollen 250 g butter sein", ("workspace/rezept-stollen.md",)),
        ("what is open?", ()),
        ("which invoices are in sent.md?", ()),
        ("where is the hotel?", ()),
        ("what is left of my thesis?", ("workspace/thesis/outline.md",)),
        ("put the invoices into sums.md", ("workspace/invoices.csv",)),
        ("what is the first job?", ("workspace/jobs.md",)),
    ],
)
def test_a_file_is_meant_when_its_name_says_the_topic(
    request_: str, meant: tuple[str, ...]
) -> None:
    names = ("invoices.csv", "rezept-stollen.md", "hotel.md", "hotel-a.md", "hotel-b.md")
    files = [
        "memory/invoices.md",
        *(f"workspace/{name}" for name in (*names, "jobs.md", "thesis/outline.md")),
    ]
    seen = read_cues(request_, files)
    assert seen.meant == meant
    assert [line for line in seen.lines if "may fit" in line] == [
        f"File that may fit: {path}" for path in meant
    ]


def test_a_question_about_a_file_is_not_one_about_to_dos() -> None:
    request_ = "which loans are overdue?"
    assert read_cues(request_, []).todos
    assert not read_cues(request_, ["workspace/loans.csv"]).todos
    request_ = "the newsletter should say we close at 1 pm on 24 december, not noon"
    assert read_cues(request_, []).todos
    assert not read_cues(request_, ["workspace/newsletter.md"]).todos
    request_ = "take the New Year reading off the events"
    assert read_cues(request_, []).todos
    seen = read_cues(request_, ["workspace/events.md"])
    assert not (seen.todos or any("todo" in line for line in seen.lines))


def test_to_dos_are_named_whole_by_all_of_their_words() -> None:
    todos = ["Butter", "Kerzen", "Rosinen", "Call Tom", "Call Tom about the car"]
    for request_, whole in (
        ("butter und kerzen hab ich", ("Butter", "Kerzen")),
        ("butter hab ich, kerzen noch nicht", ()),
        ("tick butter, kerzen are for later", ()),
        ("Got the butter. Kerzen tomorrow.", ()),
        ("everything done except butter and kerzen", ()),
        ("alles erledigt au\u00dfer butter und kerzen", ()),
        ("bis auf butter ist alles erledigt", ()),
        ("tout est fait \u00e0 part butter et kerzen", ()),
        ("tutto fatto a parte butter e kerzen", ()),
        ("i called tom about the car", ("Call Tom about the car",)),
        ("the car is fine", ()),
    ):
        assert read_cues(request_, [], todos=todos).whole == whole


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        ("run app/sums.py and tell me what it prints", "python3 workspace/app/sums.py"),
        ("execute build.sh", "bash workspace/build.sh"),
        ("F\u00fchre app/sums.py aus", "python3 workspace/app/sums.py"),
        ("run ruff on sums.py", ""),
        ("git add sums.py and commit", ""),
        ("fix the bug in sums.py and run the tests", ""),
        ("what does sums.py do?", ""),
        ("How often did I run sums.py?", ""),
        ("run the checks in test_sums.py", ""),
        ("run trip.md", ""),
    ],
)
def test_a_program_of_the_home_is_run_by_its_name(request_: str, command: str) -> None:
    names = ("app/sums.py", "app/test_sums.py", "build.sh", "trip.md")
    seen = read_cues(request_, [f"workspace/{name}" for name in names])
    assert (seen.command, seen.arguments) == (command, False)


@pytest.mark.parametrize(
    "request_",
    [
        "start app/sums.py on port 9000",
        "run sums.py --year 2026",
        "run sums.py on trip.md for March, please",
    ],
)
def test_a_program_is_run_with_the_arguments_that_a_request_names(request_: str) -> None:
    seen = read_cues(request_, ["workspace/app/sums.py", "workspace/trip.md"])
    assert (seen.command, seen.arguments) == ("python3 workspace/app/sums.py", True)


def test_a_list_that_is_to_be_written_into_a_file_is_no_list_of_to_dos() -> None:
    seen = read_cues("write the price list for Bea in prices.md: large 19, small 11", [])
    assert seen.missing == ("prices.md",) and not (seen.todos or seen.lists)


def test_a_missing_file_is_named_with_the_most_similar_one() -> None:
    found = cues_of("Read SUOL.md and zebra.md")
    assert found.named == () and found.missing == ("SUOL.md", "zebra.md")
    assert found.lines == (
        "There is no file SUOL.md; there is workspace/SOUL.md.",
        "There is no file zebra.md.",
    )


@pytest.mark.parametrize(
    "request_",
    [
        "See www.example.com and heise.de",
        "Go to https://example.com/a/page.html now",
        "Look at http://localhost/page.html",
        "Mail bob@example.com",
        "It is version 1.2.3 and v2.0.1",
        "Use Python 3.14rc1 or 3.10b2",
        "Meet me at 10.30, or at 9.30am",
        "It has 2.5GB and 1.5B parameters",
        "Fruit, e.g. apples, i.e. pome fruit",
        "He said z.B. in every sentence",
        "It costs 3.50",
        "Wait...what",
        'Sum up @"my plan.txt"',
    ],
)
def test_domains_addresses_versions_times_and_attachments_are_no_files(request_: str) -> None:
    found = cues_of(request_)
    assert (found.named, found.missing, found.lines) == ((), (), ())


# -------- to-dos


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ("ajoute du sel à la liste de courses", "Courses"),
        ("añade sal a la lista de la compra", "Compra"),
        ("adiciona arroz à lista d'Ana", "Ana"),
    ],
)
def test_a_new_list_has_the_name_behind_the_word_for_one(request_: str, name: str) -> None:
    assert cues_of(request_).lists == (name,)


def test_a_list_that_is_a_file_is_no_to_do_list() -> None:
    asked = "add the Lynch paper to my reading list"
    seen = read_cues(asked, ["workspace/reading.md"])
    assert not (seen.lists or seen.todos) and seen.meant == ("workspace/reading.md",)
    assert read_cues(asked, ["workspace/reading.md"], lists=["Reading"]).lists == ("Reading",)


@pytest.mark.parametrize(
    ("request_", "lists", "todos"),
    [
        ("What is on my Errands list?", ("Errands",), True),
        ("Add milk to the errands list", ("Errands",), True),
        ("Show me the to-dos", (), True),
        ("Add eggs to my shopping list", ("Shopping",), True),
        ("Is it on my shopping list?", (), True),
        ("How did the errands go?", (), False),
        ("List the files", (), False),
        ("Put the errands list into notes/trip.md", (), False),
    ],
)
def test_a_request_about_lists_is_recognised(
    request_: str, lists: tuple[str, ...], todos: bool
) -> None:
    found = cues_of(request_)
    assert (found.lists, found.todos) == (lists, todos)
    assert [line for line in found.lines if line.endswith("is a to-do list.")] == [
        f"{name} is a to-do list." for name in lists if name in LISTS
    ]


@pytest.mark.parametrize(
    ("request_", "lists"),
    [
        ("remind me to buy more stamps", ("Tasks",)),
        ("add orbital to books", ("Books to buy",)),
        ("metti zucchero e biscotti nella spesa", ("Spesa",)),
    ],
)
def test_a_to_do_goes_to_the_list_whose_name_is_said(request_: str, lists: tuple[str, ...]) -> None:
    assert read_cues(request_, [], lists=("Books to buy", "Spesa")).known_lists == lists


def test_a_list_that_is_named_with_something_to_add_is_for_to_dos() -> None:
    seen = read_cues("metti zucchero e biscotti nella spesa", [], lists=("Spesa",))
    assert seen.todos and seen.lists == ("Spesa",)


def test_what_is_to_be_added_to_a_file_gets_no_line_for_to_dos() -> None:
    asked = "add a fifth step to the opening instructions: check the book drop"
    line = 'Tool that may fit: todo, action "add"'
    assert line in read_cues(asked, []).lines
    assert line not in read_cues(asked, ["workspace/opening.md"]).lines


def test_a_question_for_to_dos_that_hardly_orders_anything_changes_none() -> None:
    seen = read_cues("what do i need to get done before the barnet game", [])
    assert seen.todos and not seen.changes


def test_a_new_thing_is_for_the_file_that_begins_like_its_kind() -> None:
    files = ["workspace/buchungen.csv", "workspace/zimmer.md"]
    asked = "neue buchung: familie wulf, 8. bis 10. januar, zimmer 2, 3 personen"
    assert read_cues(asked, files).meant == ("workspace/buchungen.csv",)
    assert read_cues(asked.replace(":", ""), files).meant == ("workspace/zimmer.md",)


def test_what_may_be_for_a_file_makes_no_new_list() -> None:
    asked = "add a drill called gates: two cones, dribble through, 5 minutes"
    assert read_cues(asked, []).new_list
    assert not read_cues(asked, ["workspace/drills.md"]).new_list


def test_a_text_to_write_is_nothing_to_remember() -> None:
    seen = cues_of("write a short thank-you note to mrs bevan for the mince pies")
    assert not seen.remembers and not any("remember" in line for line in seen.lines)


def test_a_question_about_to_dos_may_name_a_list_by_its_beginning() -> None:
    found = read_cues("what do i need from the shop", (), lists=("Tasks", "Shopping"))
    assert found.lists == ("Shopping",)


def test_a_request_may_be_about_one_of_the_to_dos_that_has_other_words() -> None:
    asked = "Das Brot hab ich schon, kannst du es abhaken?"
    assert read_cues(asked, (), todos=("Bread",)).unclear
    assert not read_cues(asked, (), todos=("Brot",)).unclear
    assert not read_cues("Wann fährt mein Zug?", (), todos=("Bread",)).unclear


@pytest.mark.parametrize(
    ("request_", "meant"),
    [
        ("I bought the milk.", "Buy milk"),
        ("The call with the dentist is finished", "Call the dentist"),
        ("tomato plants: done", "Water the tomato plants"),
        ("I have watered the plants, tick that off", "Water the tomato plants"),
        ("Milch, also milk, gekauft", "Buy milk"),
    ],
)
def test_a_to_do_is_found_when_the_request_says_it_is_done(request_: str, meant: str) -> None:
    found = cues_of(request_)
    assert found.done and found.todos
    assert f"Still to do: {meant}" in found.lines


@pytest.mark.parametrize(
    "request_",
    ["Did I buy the milk?", "I bought a car.", "Milk is white.", "We are done.", "Mark my words."],
)
def test_a_question_or_another_to_do_marks_nothing_done(request_: str) -> None:
    assert not cues_of(request_).done


# -------- facts


@pytest.mark.parametrize(
    ("request_", "fact"),
    [
        ("Remember that my sister lives in Ghent", "My sister lives in Ghent"),
        ("please remember: the code is 4711", "The code is 4711"),
        ("Could you please remember that I like tea?", "I like tea"),
        ("Keep in mind that I am\n allergic to nuts.", "I am allergic to nuts."),
        ("Don't forget that the door is open", "The door is open"),
        ("remember \u00e9l\u00e9onore is my aunt", "\u00c9l\u00e9onore is my aunt"),
        ("Note for today: the plumber came", "The plumber came"),
        ("Write down that the meter shows 4211.", "The meter shows 4211."),
        ("merk dir mal bitte: Selin isst kein Fleisch", "Selin isst kein Fleisch"),
        ("remember this please: my locker is 114", "My locker is 114"),
        ("recuerda por favor que Ana vive en Vigo", "Ana vive en Vigo"),
        ("remember thatcher street is closed", "Thatcher street is closed"),
        ("jot down that theo's ankle is fine again", "Theo's ankle is fine again"),
    ],
)
def test_a_fact_to_remember_is_taken_in_its_own_words(request_: str, fact: str) -> None:
    assert cues_of(request_).fact == fact


@pytest.mark.parametrize(
    "request_", ["no dont keep that", "please not remember this", "remember me to get diesel"]
)
def test_what_is_not_to_be_kept_is_no_fact(request_: str) -> None:
    seen = cues_of(request_)
    assert not (seen.fact or seen.remembers)


def test_a_note_for_today_is_recognised_and_needs_no_planning_skill() -> None:
    noted = cues_of("Note for today: plan the day")
    assert (noted.fact, noted.today, noted.skill) == ("Plan the day", True, "")
    assert cues_of("Note for today: the plumber comes on Thursday at ten.").today


@pytest.mark.parametrize(
    "request_",
    [
        "remember to buy milk",
        "Don't forget to call",
        "Do you remember my name?",
        "Do you remember that I like tea?",
        "Can you remember my name?",
        "Remember when we met?",
        "Remember what I said about Ghent",
        "Remember me",
        "I remember that day",
        "Vergiss nicht zu atmen",
    ],
)
def test_a_duty_or_a_question_is_no_fact(request_: str) -> None:
    assert cues_of(request_).fact == ""


@pytest.mark.parametrize(
    "request_",
    [
        "kannst du dir merken dass Meike jetzt auf der 4c arbeitet",
        "tu peux noter que Paul est allergique aux noix",
        "would you keep in mind my sister's moved to Ghent",
        "My code is 4711, please remember that.",
    ],
)
def test_a_fact_to_remember_is_seen_in_other_words_too(request_: str) -> None:
    assert cues_of(request_).remembers


def test_a_memory_to_forget_is_no_to_do() -> None:
    seen = cues_of("forget my badge number, i handed it in")
    assert seen.forgets and not (seen.remembers or seen.todos)
    asked = "I'd need the doctor's number from my contacts."
    assert not read_cues(asked, ["workspace/contacts.md"]).forgets


@pytest.mark.parametrize(
    ("request_", "others", "earlier", "acts"),
    [
        ("The gutters are cleaned, tick that off.", [], "", ()),
        ("You can take the piano lesson off my to-dos.", [], "", ()),
        ("The gutters are cleaned, tick that off.", ["Clean the gutters"], "", ("done",)),
        ("That one is done, tick it off.", [], "The dentist is still to be called.", ("done",)),
        ("Rang the dentsit, tick that off.", [], "", ("done",)),
        ("Tick off the first one.", [], "", ("done",)),
        ("cancel the gym", ["Go by this date"], "", ()),
        ("remove the oldest one", [], "", ("remove", "remove_list")),
        ("Delete all to-dos", [], "", ("remove", "remove_list")),
        ("Die Garage ist aufger\u00e4umt, bitte abhaken.", [], "", ("done",)),
        ("invoice 103 got paid, tick it off", ["Pay invoice 104"], "", ()),
        ("invoice 103 got paid, tick it off", ["Pay invoice 103"], "", ("done",)),
    ],
)
def test_no_to_do_is_ticked_that_has_no_word_of_what_was_said(
    request_: str, others: list[str], earlier: str, acts: tuple[str, ...]
) -> None:
    todos = ["Buy bread", "Call the dentist"]
    seen = read_cues(request_, [], (), ["Shopping"], todos, others, earlier)
    assert seen.changes == acts and seen.todos
    assert (NO_SUCH_TODO in seen.lines) == (not acts)


def test_nor_is_one_ticked_by_words_that_are_too_few_to_tell_their_language() -> None:
    todos = ["Uhren bestellen", "Pokal gravieren lassen", "Den Zahnarzt anrufen"]
    seen = read_cues("miete bezahlt", [], todos=todos)
    assert NO_SUCH_TODO in seen.lines and not seen.changes


def test_a_to_do_with_two_words_of_a_request_is_near_it() -> None:
    todos = ["Order the medium", "Send the draft of the introduction to Mr Okoye", "Draft a card"]
    seen = read_cues("push the draft for okoye to the 15th", [], todos=todos)
    assert seen.near == (todos[1], todos[2]) and f"Still to do: {todos[1]}" in seen.lines
    assert not read_cues("push the medium to the 15th", [], todos=todos).near


def test_a_note_of_the_day_that_is_to_be_kept_is_remembered() -> None:
    seen = cues_of("log 3 hours for Brightleaf today")
    assert (seen.fact, seen.today) == ("Log 3 hours for Brightleaf today", True)
    assert cues_of("add to today's journal: demo went well").fact == "Demo went well"
    assert not read_cues("log 3 hours for Brightleaf today", ["workspace/hours.csv"]).fact
    seen = read_cues("jot down that today we had 55 loans", ["workspace/loans.csv"])
    assert (seen.fact, seen.today) == ("Today we had 55 loans", True)
    assert not cues_of("Second at the quiz tonight, beaten by one point.").fact


def test_a_note_in_a_file_is_no_fact_to_remember() -> None:
    seen = cues_of("make a note called party.md: 18 December, 7 pm, bring salad")
    assert seen.missing == ("party.md",) and not (seen.fact or seen.remembers)
    assert (
        cues_of("remember that the budget is in costs.xlsx").fact == "The budget is in costs.xlsx"
    )


# -------- sums


@pytest.mark.parametrize(
    ("request_", "expression"),
    [
        ("What is 487 times 36?", "487 * 36"),
        ("15 % of 80", "15 / 100 * 80"),
        ("How much is 7.5 percent of 200?", "7.5 / 100 * 200"),
        ("Was ist 15 Prozent von 80?", "15 / 100 * 80"),
        ("3 x 4", "3 * 4"),
        ("What is 3x4?", "3 * 4"),
        ("12.5 PLUS 7", "12.5 + 7"),
        ("10 - 3", "10 - 3"),
        ("What is 10-3?", "10 - 3"),
        ("Calculate 100/7", "100 / 7"),
        ("Wie viel ist 3 mal 4?", "3 * 4"),
        ("Quanto fa 3 per 4?", "3 * 4"),
        ("20 divided by 8 please", "20 / 8"),
    ],
)
def test_a_sum_is_worked_out(request_: str, expression: str) -> None:
    assert cues_of(request_).expression == expression


@pytest.mark.parametrize(
    "request_",
    [
        "What happened on 2026-11-21?",
        "The meeting is on 21/11",
        "21/11/2026",
        "Call 030-1234567 or 1-800-555-0199",
        "555-1234",
        "Open from 08:30 - 09:15, pages 3 - 7",
        "It lasts 10-12 days",
        "Version 3.11 - 3.14",
        "It won 3 over 4 years, 5 per 2 weeks",
        "What is 1,200 times 3?",  # half of a number would be worse than none
        "15 % of 1,200",
        "487 times 36 times 2",
        "What is (3 + 4) * 2?",
        "What is 2 * (3 + 4)?",
        "Add 3 apples and 4 pears",
        "whats 3 nights at 84.50 plus 12 breakfast each",
        "12 % of 300 and 8 % of 90",
    ],
)
def test_dates_ranges_phone_numbers_and_parts_of_sums_are_no_sums(request_: str) -> None:
    assert cues_of(request_).expression == ""


# -------- skills and languages


@pytest.mark.parametrize(
    ("request_", "skill"),
    [
        ("Plan my day", "plan-day"),
        ("Make an invoice for ten hours", "invoice"),
        ("Some bread for baking: bread-baking", "bread-baking"),
        ("Two boats came to the pier", "log"),
        ("We have two boats again, and they lie at the pier of the old harbour", "log"),
    ],
)
def test_a_skill_fits_when_its_name_or_an_example_is_said(request_: str, skill: str) -> None:
    found = read_cues(request_, FILES, [*SKILLS, LOG])
    assert (found.skill, found.offered) == (skill, "")
    assert f"The skill {skill} fits." in found.lines


@pytest.mark.parametrize(
    ("request_", "skill"),
    [
        ("Where should I begin today?", "plan-day"),
        ("How much flour goes into the dough?", "bread-baking"),
        ("A recipe for sourdough", "bread-baking"),
    ],
)
def test_a_skill_that_only_shares_words_is_offered(request_: str, skill: str) -> None:
    found = read_cues(request_, FILES, [*SKILLS, LOG])
    assert (found.skill, found.offered) == ("", skill)
    blurb = next(each for each in SKILLS if each.name == skill)
    assert f"Skill that may fit: {blurb.line(LONGEST_ABOUT)}" in found.lines


@pytest.mark.parametrize(
    ("request_", "lists"),
    [
        ("Wir brauchen noch Butter, setz das auf die Einkaufsliste.", ("Einkaufsliste",)),
        ("zet melk op de boodschappenlijst", ("Boodschappenlijst",)),
        ("Setz Milch auf die Aufgabenliste", ()),
        ("añade leche a la lista de tareas", ()),
        ("ajoute du lait à la liste des choses à faire", ()),
        ("adiciona leite à lista de tarefas", ()),
        ("Was steht auf der Einkaufsliste?", ()),
        ("Schick mir die Gästeliste", ()),
    ],
)
def test_a_word_that_ends_in_list_names_one_where_something_is_added(
    request_: str, lists: tuple[str, ...]
) -> None:
    assert cues_of(request_).lists == lists


def test_a_longer_word_that_begins_with_a_list_names_it_where_words_are_joined() -> None:
    for request_, lists in (
        ("schreib noch zwei gl\u00e4ser marmelade auf den einkaufszettel", ("Einkauf",)),
        ("schreib marmelade auf die aufgaben", ()),
        ("add fix the workshop door", ()),
    ):
        assert read_cues(request_, [], lists=["Einkauf", "Work"]).lists == lists


@pytest.mark.parametrize(
    ("request_", "tool"),
    [
        ("call dr mertens tomorrow about the crown, dont let me forget", 'todo, action "add"'),
        ("i have to phone the bank by tuesday", 'todo, action "add"'),
        ("run the tests", ""),
        ("Use Python to add up all whole numbers from 1 to 777, and tell me the sum.", ""),
        ("Would you mind translating this into Dutch?", ""),
    ],
)
def test_an_order_that_is_likely_about_to_dos_names_their_tool_and_runs_nothing(
    request_: str, tool: str
) -> None:
    found = cues_of(request_)
    lines = [line for line in found.lines if line.startswith("Tool that may fit: ")]
    # What it is surely about needs no such line.
    assert lines == ([f"Tool that may fit: {tool}"] if tool and not found.todos else [])
    assert found.runs == (not tool)


def test_a_pasted_log_costs_no_line_for_each_name_in_it() -> None:
    found = cues_of("What is wrong? " + " ".join(f"module_{n}.py" for n in range(300)))
    assert len(found.missing) == len(found.lines) == 20


def test_thousands_of_blanks_in_a_request_take_no_time() -> None:
    began = time.process_time()
    assert not cues_of("a b" + "  \n" * 3000 + "c").fact
    assert time.process_time() - began < 1


def test_two_words_of_an_example_in_a_longer_request_may_be_chance() -> None:
    found = read_cues("Boats stand at the pier of the museum", FILES, [LOG])
    assert (found.skill, found.offered) == ("", "log")


@pytest.mark.parametrize(
    "request_",
    [
        "Who wrote Hamlet?",
        "What does the user ask for, and when should I use it?",
        "Can you make some more of these files for me?",
        "Which of them are short?",
        "The oven is hot.",
        "",
    ],
)
def test_common_words_make_no_skill_fit(request_: str) -> None:
    assert cues_of(request_).skill == cues_of(request_).offered == ""


def test_a_named_file_or_list_goes_before_a_skill() -> None:
    assert cues_of("Plan my day from trip.md").skill == ""
    assert cues_of("Do plan-day from trip.md").skill == "plan-day"
    assert cues_of("Add 'plan the day' to my errands list").skill == ""


@pytest.mark.parametrize(
    ("request_", "language"),
    [
        ("Wer bin ich und wo wohne ich?", "German"),
        ("Quel est le nom de ma s\u0153ur ?", "French"),
        ("\u00bfQu\u00e9 es lo que hay en mi lista?", "Spanish"),
        ("Che cosa c'\u00e8 nella mia lista con il latte?", "Italian"),
        ("Hoe heet het bestand van mijn tuin?", "Dutch"),
        ("Em que gaveta est\u00e3o as chaves?", "Portuguese"),
        ("\u6211\u7684\u6e05\u5355\u4e0a\u6709\u4ec0\u4e48", "Chinese"),
        ("milch fehlt noch auf dem zettel", "German"),
    ],
)
def test_an_answer_is_asked_for_in_the_language_of_the_request(
    request_: str, language: str
) -> None:
    assert f"Answer in {language}." in cues_of(request_).lines


@pytest.mark.parametrize("request_", ["What is on my list?", "Die Hard?", "La la land", "Hi"])
def test_english_and_single_words_set_no_language(request_: str) -> None:
    assert not any(line.startswith("Answer in") for line in cues_of(request_).lines)


WORDS = "remember that add SOUL.md a.b/ 3 x % of - ? list milk plan day bitte . / who done errands"


@given(
    st.one_of(
        st.text(max_size=200), st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)
    )
)
def test_any_text_has_cues(request_: str) -> None:
    found = cues_of(request_)
    assert set(found.named) <= set(FILES)
    assert not (found.asks and (found.orders or found.done or found.fact))
    assert not (found.skill and found.todos)
    assert not (found.skill and found.named) or found.skill in request_.lower()
    assert cues_of(request_) == found


# -------- what may be done to to-dos


def test_what_is_surely_wanted_of_to_dos_excludes_what_is_not() -> None:
    assert cues_of("Take the milk off my list, please.").changes == ("remove", "remove_list")
    assert "remove" not in cues_of("Die Milch habe ich schon, kannst du sie abhaken?").changes
    # Without a sign of it nothing is removed; in languages that are not known all may be done.
    assert "remove" not in cues_of("Only two eggs in the house, by the way.").changes
    assert "remove" in cues_of("Usu\u0144 mleko z listy zakup\u00f3w").changes


def test_a_line_that_is_to_go_out_of_a_file_is_told() -> None:
    assert cues_of("The SOUL.md line about tea can go.").takes_out
    assert not cues_of("Add a line about tea to SOUL.md.").takes_out
