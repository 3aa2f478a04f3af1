"""Everyday requests in the words that people find by themselves, each with a check by code.

The first 25 follow the prompts of a session in which a 1.5B model did 9 right. The other 40 were
written without a look at what the program goes by: indirect, polite, mistyped, in seven languages,
without a verb that names the act, several at once, and as follow-ups.
`python -m tests.model.run_tasks --fresh` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.model.tasks import Result, Task

FILES = {
    "memory/TODO.md": (
        "# To-dos\n\n## Shopping\n\n- [ ] Bread\n- [ ] Batteries\n\n## Tasks\n\n"
        "- [ ] Pay the electricity bill\n- [ ] Call the dentist\n- [ ] Repot the fern\n"
        "- [ ] Book the summer tyres\n"
    ),
    "workspace/house.md": (
        "# House\n\n- Boiler: Vaillant, serviced in March 2025\n- Meter: in the cellar, left\n"
        "- Bin day: Wednesday\n- Paint in the hall: Chalk White, satin\n"
    ),
    "workspace/contacts.md": (
        "# Contacts\n\n- Anna: 555-0101\n- Bob: 555-0144\n- Dr Sand: 555-0160\n"
    ),
    "workspace/costs.md": (
        "# Costs\n\n- 4 June: bike repair, 85 euros\n- 9 June: books, 30 euros\n"
        "- 12 June: rent, 910 euros\n"
    ),
    "workspace/appointments.md": (
        "# Appointments\n\n- Monday 17:00: yoga\n- Tuesday 9:00: Dr Sand\n- Friday 15:30: haircut\n"
    ),
    "workspace/reise.md": "# Reise\n\nDer Zug fährt um 8:42 Uhr von Gleis 11 nach Ulm.\n",
    "workspace/gite.md": "# Gîte\n\nLe gîte coûte 420 euros la semaine. La clé est chez M. Roux.\n",
    "workspace/recipes/goulash.md": "# Goulash\n\nBeef, onions, paprika. Two hours on low heat.\n",
    "workspace/guests.md": "# Guests\n\n- Tim: vegan\n- Ute: eats everything\n",
    "workspace/menu.md": "# Menu\n\nOnly one dish: roast chicken with rice.\n",
    "workspace/invoice.md": "# Invoice\n\nRoof repair: 1,480 euros\n",
    "workspace/offer.md": "# Offer\n\nRoof repair: 1,250 euros\n",
    "workspace/letter.md": "Dear Paul,\n\nPay me the 60 euros that you owe me by Friday.\n\nKim\n",
    "workspace/packing.md": "# Packing\n\n- socks\n- passport\n",
}
TODO = "memory/TODO.md"

Check = Callable[[Result], bool]


def adds(*words: str) -> Check:
    """One more open to-do, which has all the words, and all the others as they were."""

    def check(result: Result) -> bool:
        before, after = FILES[TODO].splitlines(), result.file(TODO).splitlines()
        new = [line for line in after if line.startswith("- [ ]") and _bare(line) not in before]
        kept = all(line in map(_bare, after) for line in before if line.startswith("- ["))
        return kept and len(new) == 1 and all(word in new[0].lower() for word in words)

    return check


def ticks(text: str, *, others: int = 5) -> Check:
    """This to-do is done and so many others are open."""

    def check(result: Result) -> bool:
        lines = result.file(TODO).splitlines()
        is_done = any(line.startswith("- [x]") and text in line for line in lines)
        return is_done and sum(line.startswith("- [ ]") for line in lines) == others

    return check


def drops(path: str, word: str) -> Check:
    """The line with this word is gone from the file, and no other line."""

    def check(result: Result) -> bool:
        before = [line for line in FILES[path].splitlines() if word not in line.lower()]
        return [*filter(None, result.file(path).splitlines())] == [*filter(None, before)]

    return check


def says(*words: str, never: tuple[str, ...] = ()) -> Check:
    """The answer has all the words and none of `never`, and nothing was changed."""

    def check(result: Result) -> bool:
        return result.untouched and result.says(*words) and not any(map(result.says, never))

    return check


def writes(path: str, *words: str, kept: str = "") -> Check:
    """The file has all the words, and still what it must keep."""

    def check(result: Result) -> bool:
        text = result.file(path).lower()
        return all(word in text for word in words) and kept.lower() in text

    return check


def remembers(*words: str) -> Check:
    """Memory has a line with all the words."""

    def check(result: Result) -> bool:
        lines = result.memories().lower().splitlines()
        return any(all(word in line for word in words) for line in lines)

    return check


def _is_as_before(result: Result) -> bool:
    """No to-do was ticked, and none came."""
    return [*map(_bare, result.file(TODO).splitlines())] == FILES[TODO].splitlines()


def both(*checks: Check) -> Check:
    return lambda result: all(check(result) for check in checks)


def _bare(line: str) -> str:
    return re.sub(r" \^\w+$", "", line)


def _task(name: str, kind: str, check: Check, *prompts: str) -> Task:
    return Task(name, kind, prompts, check, FILES)


SEEN = (
    _task("i1", "indirect", says("march 2025"), "I wonder when somebody last serviced the boiler."),
    _task(
        "i2",
        "indirect",
        says("paprika"),
        "Bob says he never got the goulash recipe from me. See whether we have it and what is in.",
    ),
    _task(
        "i3", "indirect", says("85", never=("2026",)), "What did that bike thing cost me in June?"
    ),
    _task("t1", "typos", adds("candle"), "pls put candels on teh shoping list"),
    _task("t2", "typos", says("555-0144"), "whats bobs nubmer agian"),
    _task("t3", "typos", remembers("317"), "rember my locker nr is 317 at teh pool"),
    _task("p1", "polite", says("9:00"), "Could you kindly tell me when I'm seeing Dr Sand?"),
    _task(
        "p2",
        "polite",
        writes("workspace/packing.md", "charger", kept="passport"),
        "If you have a moment, would you be so kind as to put a charger into packing.md?",
    ),
    _task(
        "l1", "language", says("8:42", "11", never=("2026",)), "Wann fährt mein Zug, welches Gleis?"
    ),
    _task(
        "l2",
        "language",
        adds("butter"),
        "Wir brauchen noch Butter, setz das auf die Einkaufsliste.",
    ),
    _task("l3", "language", says("420"), "Combien coûte le gîte par semaine ?"),
    _task("l4", "language", remembers("lucía"), "Acuérdate de que mi hermana se llama Lucía."),
    _task("l5", "language", adds("牛奶"), "帮我把牛奶加到购物清单。"),
    _task("n1", "no verb", adds("tablet"), "We're out of dishwasher tablets."),
    _task("n2", "no verb", says("910"), "Rent in costs.md, how high, please."),
    _task("n3", "no verb", ticks("Pay the electricity bill"), "The electricity bill is paid."),
    _task(
        "n4",
        "no verb",
        drops("workspace/appointments.md", "yoga"),
        "The yoga line in appointments.md can go.",
    ),
    _task(
        "s1",
        "several",
        both(adds("call", "anna"), lambda r: r.says("555-0101")),
        "What's Anna's number? And put a reminder to call her on my tasks.",
    ),
    _task(
        "s2",
        "several",
        both(ticks("Repot the fern", others=6), lambda r: "water" in r.file(TODO).lower()),
        "I've repotted the fern, so tick that, add watering the plants, and tell me what is left.",
    ),
    _task(
        "f1",
        "follow-up",
        says("wednesday"),
        "When is bin day?",
        "Sorry, which day was that again?",
    ),
    _task(
        "f2",
        "follow-up",
        lambda r: "winter" in r.file(TODO).lower() and "summer" not in r.file(TODO).lower(),
        "What is on my list about tyres?",
        "Make that winter tyres.",
    ),
    _task(
        "f3",
        "follow-up",
        writes("workspace/contacts.md", "555-0199", kept="anna: 555-0101"),
        "A man called Emil left his number: 555-0199.",
        "Save it in contacts.md.",
    ),
    _task("d1", "two files", says("230"), "By how much is the roof invoice above the offer?"),
    _task("d2", "two files", says("tim"), "Look at guests.md and menu.md: who can't eat it?"),
    _task(
        "c1",
        "no tool",
        says("60", never=("i can send", "pay me the 60 euros that you owe me by friday.")),
        "Make this friendlier: Pay me the 60 euros that you owe me by Friday.",
    ),
)
FRESH = (
    _task("q1", "polite", adds("milk"), "Would you mind adding milk to the shopping list?"),
    _task("q2", "language", adds("leche"), "¿Podrías añadir leche a la lista de la compra?"),
    _task(
        "q3",
        "polite",
        drops("workspace/appointments.md", "haircut"),
        "Can we get rid of the haircut in appointments.md?",
    ),
    _task(
        "q4",
        "polite",
        ticks("Call the dentist"),
        "Any chance you could cross the dentist call off?",
    ),
    _task("q5", "language", ticks("Bread"), "Das Brot hab ich schon, kannst du es abhaken?"),
    _task(
        "q6",
        "language",
        adds("timbres"),
        "Tu pourrais mettre des timbres sur ma liste de courses ?",
    ),
    _task("q7", "language", adds("latte"), "Mi aggiungi il latte alla lista della spesa?"),
    _task("q8", "polite", says("wednesday"), "Would you happen to know which day the bins go out?"),
    _task("q9", "no verb", ticks("Batteries"), "Got the batteries."),
    _task("q10", "no verb", ticks("Call the dentist"), "Dentist is called, one thing less."),
    _task(
        "q11", "no verb", adds("flour"), "No flour left in the house, by the way - shopping list."
    ),
    _task("q12", "no verb", says("15:30"), "Friday - haircut - when?"),
    _task("q13", "no verb", says("chalk"), "the colour in the hall?"),
    _task("q14", "typos", says("cellar"), "were is the metre agian, house.md shoud say"),
    _task("q15", "typos", adds("stamps"), "ad stamps too the shopping lsit"),
    _task("q16", "typos", ticks("Repot the fern"), "fern is repoted, chekc it off pls"),
    _task("q17", "indirect", says("555-0160"), "I'd need the doctor's number from my contacts."),
    _task("q18", "indirect", adds("milk"), "It would be good if milk were on the shopping list."),
    _task("q19", "indirect", says("1,250"), "My wife asks what the roofer offered us in offer.md."),
    _task("q20", "indirect", remembers("nuts"), "You should know that Ute is allergic to nuts."),
    _task("q21", "language", says("ulm"), "Wohin geht eigentlich der Zug in reise.md?"),
    _task("q22", "language", says("roux"), "C'est qui qui a la clé du gîte ?"),
    _task("q23", "language", says("555-0144"), "¿Cuál es el número de Bob?"),
    _task("q24", "language", says("420"), "Wat kost de gîte per week?"),
    _task("q25", "language", ticks("Batteries"), "As pilhas já estão compradas, podes marcar."),
    _task(
        "q26",
        "several",
        both(lambda r: r.says("wednesday"), adds("bin bags")),
        "When is bin day, and put bin bags on the shopping list.",
    ),
    _task(
        "q27",
        "several",
        lambda r: all(w in r.file(TODO).lower() for w in ("eggs", "rice")),
        "Two things for the shopping: eggs. And rice as well.",
    ),
    _task(
        "q28",
        "several",
        both(ticks("Bread", others=6), lambda r: "butter" in r.file(TODO).lower()),
        "Bread is done but we need butter now.",
    ),
    _task(
        "q29",
        "follow-up",
        adds("oat milk"),
        "Does my shopping list have oat milk?",
        "Then add it.",
    ),
    _task(
        "q30",
        "follow-up",
        says("85"),
        "What did I spend on 4 June?",
        "How much was it?",
    ),
    _task(
        "q31",
        "follow-up",
        ticks("Pay the electricity bill"),
        "Is the electricity bill still open?",
        "It isn't any more, I paid it this morning.",
    ),
    _task(
        "q32",
        "follow-up",
        writes("workspace/packing.md", "towel", kept="socks"),
        "What's in packing.md?",
        "A towel is missing there.",
    ),
    _task(
        "q33",
        "question",
        both(_is_as_before, lambda r: r.says("yes")),
        "Do I still have to call the dentist?",
    ),
    _task("q34", "question", says("satin"), "Is the paint in the hall satin or matt?"),
    _task("q35", "question", says("bread"), "what do i need from the shop"),
    _task("q36", "no tool", says("4"), "how many legs has a dog, just the number"),
    _task(
        "q37",
        "no tool",
        says("tomorrow"),
        "shorten: I will come to see you tomorrow if I can make it",
    ),
    _task("q38", "no tool", lambda r: r.untouched and bool(r.answer), "thanks, you're great!"),
    _task(
        "q39",
        "edit",
        writes("workspace/house.md", "thursday", kept="boiler: vaillant"),
        "Bin day has moved to Thursday, house.md still has the old one.",
    ),
    _task(
        "q40",
        "edit",
        writes("workspace/contacts.md", "555-0777", kept="bob: 555-0144"),
        "Anna has a new number, 555-0777, the one in contacts.md is old.",
    ),
)
