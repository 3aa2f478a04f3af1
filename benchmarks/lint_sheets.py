"""Sheets of persons for `benchmarks.lint_data`: a heading or a file for each, and below it what is
only to be understood with the name. Their lines are alike, and none is a fault."""

from __future__ import annotations

from collections.abc import Iterator

Sheet = tuple[str, str, tuple[str, ...]]
"""Path, heading ("" when the file is one person's) and lines."""

TUNED = (
    (
        *("Lives in Oslo.", "The dog is called Rex.", "He takes two sugars.", "Likes Sushi."),
        *("Birthday: 14 March 1980", "Favourite colour is Blue.", "Her dentist is Dr. Weber."),
        *("Is married to Peter.", "The wedding was on 3 May.", "The car is a blue Volvo."),
        *("Works at Equinor since 2015.", "Favourite band: Kings of Convenience, from Bergen."),
        "Allergic to penicillin since the age of five.",
    ),
    (
        *("Lives in Bergen.", "The dog is called Fido.", "He takes two sugars."),
        *("Does not like Sushi.", "Birthday: 15 April 1980", "Favourite colour is Green."),
        *("Her dentist is Dr. Olsen.", "Is married to Hilde.", "The wedding was on 5 June."),
        *("The car is a red Audi.", "Works at Equinor since 2015."),
        "Favourite band: Motorpsycho, from Trondheim.",
        "Allergic to penicillin since the age of five.",
    ),
)
HELD = (
    (
        *("Moved to Graz in 2019.", "The cat is named Minka.", "They prefer tea over coffee."),
        *("Shoe size: 39", "Her boss is Frau Lang.", "Sleeps in the blue room when she visits."),
        *("The summer house is in Piran.", "Speaks German and Slovene.", "Her e-mail: m@x.example"),
        *("Best reached after eight in the evening.", "Never eats Fish.", "Owes me 40 euros."),
        "The eldest daughter studies law in Vienna.",
    ),
    (
        *("Moved to Linz in 2021.", "The cat is named Felix.", "They prefer coffee over tea."),
        *("Shoe size: 43", "Her boss is Herr Kofler.", "Sleeps in the blue room when she visits."),
        *("The summer house is in Izola.", "Speaks German and Slovene.", "Her e-mail: k@x.example"),
        *("Best reached after nine in the evening.", "Eats Fish.", "Owes me 40 euros."),
        "The eldest daughter studies law in Vienna.",
    ),
)
NAMES = ("Sven Moen", "Ingrid Solberg"), ("Matej Kranjc", "Katja Zupan")


def sheets(*, tuned: bool) -> Iterator[Sheet]:
    """Two persons with a heading each in people.md, and two with a file each."""
    sets, names = (TUNED, NAMES[0]) if tuned else (HELD, NAMES[1])
    for name, lines in zip(names, sets, strict=True):
        yield "memory/people.md", name, lines
        yield f"memory/{name.partition(' ')[0].lower()}.md", "", lines
