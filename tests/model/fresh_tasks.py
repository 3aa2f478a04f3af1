"""Everyday requests in the words that people find by themselves, each with a check by code.

The first 25 follow the prompts of a session in which a 1.5B model did 9 right. The other 40 were
written without a look at what the program goes by: indirect, polite, mistyped, in seven languages,
without a verb that names the act, several at once, and as follow-ups.
`python -m tests.model.run_tasks --fresh` runs them.
"""

from __future__ import annotations

import re

from tests.model.tasks import Check, Result, of_kinds, says, task

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


_SEEN = {
    "indirect": [
        task("i1", says("march 2025"), "I wonder when somebody last serviced the boiler."),
        task(
            "i2",
            says("paprika"),
            "Bob says he never got the goulash recipe from me. "
            "See whether we have it and what is in.",
        ),
        task("i3", says("85", never=("2026",)), "What did that bike thing cost me in June?"),
    ],
    "typos": [
        task("t1", adds("candle"), "pls put candels on teh shoping list"),
        task("t2", says("555-0144"), "whats bobs nubmer agian"),
        task("t3", remembers("317"), "rember my locker nr is 317 at teh pool"),
    ],
    "polite": [
        task("p1", says("9:00"), "Could you kindly tell me when I'm seeing Dr Sand?"),
        task(
            "p2",
            writes("workspace/packing.md", "charger", kept="passport"),
            "If you have a moment, would you be so kind as to put a charger into packing.md?",
        ),
    ],
    "language": [
        task("l1", says("8:42", "11", never=("2026",)), "Wann fährt mein Zug, welches Gleis?"),
        task("l2", adds("butter"), "Wir brauchen noch Butter, setz das auf die Einkaufsliste."),
        task("l3", says("420"), "Combien coûte le gîte par semaine ?"),
        task("l4", remembers("lucía"), "Acuérdate de que mi hermana se llama Lucía."),
        task("l5", adds("牛奶"), "帮我把牛奶加到购物清单。"),
    ],
    "no verb": [
        task("n1", adds("tablet"), "We're out of dishwasher tablets."),
        task("n2", says("910"), "Rent in costs.md, how high, please."),
        task("n3", ticks("Pay the electricity bill"), "The electricity bill is paid."),
        task(
            "n4",
            drops("workspace/appointments.md", "yoga"),
            "The yoga line in appointments.md can go.",
        ),
    ],
    "several": [
        task(
            "s1",
            both(adds("call", "anna"), lambda r: r.says("555-0101")),
            "What's Anna's number? And put a reminder to call her on my tasks.",
        ),
        task(
            "s2",
            both(ticks("Repot the fern", others=6), lambda r: "water" in r.file(TODO).lower()),
            "I've repotted the fern, so tick that, add watering the plants, "
            "and tell me what is left.",
        ),
    ],
    "follow-up": [
        task("f1", says("wednesday"), "When is bin day?", "Sorry, which day was that again?"),
        task(
            "f2",
            lambda r: "winter" in r.file(TODO).lower() and "summer" not in r.file(TODO).lower(),
            "What is on my list about tyres?",
            "Make that winter tyres.",
        ),
        task(
            "f3",
            writes("workspace/contacts.md", "555-0199", kept="anna: 555-0101"),
            "A man called Emil left his number: 555-0199.",
            "Save it in contacts.md.",
        ),
    ],
    "two files": [
        task("d1", says("230"), "By how much is the roof invoice above the offer?"),
        task("d2", says("tim"), "Look at guests.md and menu.md: who can't eat it?"),
    ],
    "no tool": [
        task(
            "c1",
            says("60", never=("i can send", "pay me the 60 euros that you owe me by friday.")),
            "Make this friendlier: Pay me the 60 euros that you owe me by Friday.",
        ),
    ],
}
_FRESH = {
    "polite": [
        task("q1", adds("milk"), "Would you mind adding milk to the shopping list?"),
        task(
            "q3",
            drops("workspace/appointments.md", "haircut"),
            "Can we get rid of the haircut in appointments.md?",
        ),
        task("q4", ticks("Call the dentist"), "Any chance you could cross the dentist call off?"),
        task("q8", says("wednesday"), "Would you happen to know which day the bins go out?"),
    ],
    "language": [
        task("q2", adds("leche"), "¿Podrías añadir leche a la lista de la compra?"),
        task("q5", ticks("Bread"), "Das Brot hab ich schon, kannst du es abhaken?"),
        task("q6", adds("timbres"), "Tu pourrais mettre des timbres sur ma liste de courses ?"),
        task("q7", adds("latte"), "Mi aggiungi il latte alla lista della spesa?"),
        task("q21", says("ulm"), "Wohin geht eigentlich der Zug in reise.md?"),
        task("q22", says("roux"), "C'est qui qui a la clé du gîte ?"),
        task("q23", says("555-0144"), "¿Cuál es el número de Bob?"),
        task("q24", says("420"), "Wat kost de gîte per week?"),
        task("q25", ticks("Batteries"), "As pilhas já estão compradas, podes marcar."),
    ],
    "no verb": [
        task("q9", ticks("Batteries"), "Got the batteries."),
        task("q10", ticks("Call the dentist"), "Dentist is called, one thing less."),
        task("q11", adds("flour"), "No flour left in the house, by the way - shopping list."),
        task("q12", says("15:30"), "Friday - haircut - when?"),
        task("q13", says("chalk"), "the colour in the hall?"),
    ],
    "typos": [
        task("q14", says("cellar"), "were is the metre agian, house.md shoud say"),
        task("q15", adds("stamps"), "ad stamps too the shopping lsit"),
        task("q16", ticks("Repot the fern"), "fern is repoted, chekc it off pls"),
    ],
    "indirect": [
        task("q17", says("555-0160"), "I'd need the doctor's number from my contacts."),
        task("q18", adds("milk"), "It would be good if milk were on the shopping list."),
        task("q19", says("1,250"), "My wife asks what the roofer offered us in offer.md."),
        task("q20", remembers("nuts"), "You should know that Ute is allergic to nuts."),
    ],
    "several": [
        task(
            "q26",
            both(lambda r: r.says("wednesday"), adds("bin bags")),
            "When is bin day, and put bin bags on the shopping list.",
        ),
        task(
            "q27",
            lambda r: all(w in r.file(TODO).lower() for w in ("eggs", "rice")),
            "Two things for the shopping: eggs. And rice as well.",
        ),
        task(
            "q28",
            both(ticks("Bread", others=6), lambda r: "butter" in r.file(TODO).lower()),
            "Bread is done but we need butter now.",
        ),
    ],
    "follow-up": [
        task("q29", adds("oat milk"), "Does my shopping list have oat milk?", "Then add it."),
        task("q30", says("85"), "What did I spend on 4 June?", "How much was it?"),
        task(
            "q31",
            ticks("Pay the electricity bill"),
            "Is the electricity bill still open?",
            "It isn't any more, I paid it this morning.",
        ),
        task(
            "q32",
            writes("workspace/packing.md", "towel", kept="socks"),
            "What's in packing.md?",
            "A towel is missing there.",
        ),
    ],
    "question": [
        task(
            "q33",
            both(_is_as_before, lambda r: r.says("yes")),
            "Do I still have to call the dentist?",
        ),
        task("q34", says("satin"), "Is the paint in the hall satin or matt?"),
        task("q35", says("bread"), "what do i need from the shop"),
    ],
    "no tool": [
        task("q36", says("4"), "how many legs has a dog, just the number"),
        task("q37", says("tomorrow"), "shorten: I will come to see you tomorrow if I can make it"),
        task("q38", lambda r: r.untouched and bool(r.answer), "thanks, you're great!"),
    ],
    "edit": [
        task(
            "q39",
            writes("workspace/house.md", "thursday", kept="boiler: vaillant"),
            "Bin day has moved to Thursday, house.md still has the old one.",
        ),
        task(
            "q40",
            writes("workspace/contacts.md", "555-0777", kept="bob: 555-0144"),
            "Anna has a new number, 555-0777, the one in contacts.md is old.",
        ),
    ],
}

SEEN = of_kinds(_SEEN, files=FILES)
FRESH = of_kinds(_FRESH, files=FILES)
