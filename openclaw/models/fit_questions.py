"""What a model is asked to find out what it can do. Made up; nothing that it could know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STORY = "Tell in a few plain sentences what might have happened there on the next day."
COUNTING = (
    "On a shelf stand 3 rows of 7 jars. 5 of the jars break, then 2 new ones are put up. How many "
    "stand there now? End with the number."
)
SMALL_TALK = "Good morning! I slept well."


def passage(number: int) -> str:
    """Some 170 tokens to read; two passages have no beginning in common."""
    places = ("harbour", "mill", "orchard", "station", "quarry", "market")
    place = places[number % len(places)]
    lines = [f"{place.capitalize()}, report {number + 1} of the keeper."]
    for hour in range(6, 14):
        seen, moved = (number * 7 + hour * 3) % 19 + 2, (number + hour) % 5 + 1
        lines.append(
            f"At {hour}:00 I counted {seen} visitors near the {place} and {moved} carts with sacks."
        )
    return "\n".join(lines)


def _tool(name: str, about: str, **arguments: str) -> dict[str, Any]:
    properties = {key: {"type": kind} for key, kind in arguments.items()}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": about, "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS: tuple[Mapping[str, Any], ...] = (
    _tool("find_bus", "Next bus of a line at a stop.", stop="string", line="integer"),
    _tool("set_alarm", "Set an alarm at a time (HH:MM).", time="string", label="string"),
    _tool("convert_money", "Convert money.", amount="number", source="string", target="string"),
)
TOOL_QUESTIONS = (
    ("When does the next bus of line 14 leave from the stop Old Bridge?", "find_bus"),
    ("Set an alarm for 06:30 with the label ferry.", "set_alarm"),
    ("How much are 250 kroner in euros?", "convert_money"),
)


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


UNASKED = _object(code={"type": "string", "enum": ["k7-q2"]})
"""What no model replies to GREETING unless it is held to it."""
GREETING = "Say hello in one short sentence."

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

JSON_QUESTIONS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (
        "A parcel with 3 books and 2 maps goes to Tovik on Friday. Put this into JSON.",
        _object(town=_TEXT, books=_WHOLE, maps=_WHOLE, day={"type": "string", "enum": list(_DAYS)}),
    ),
    (
        "Mrs Adeyemi, aged 52, is a member; her boats are Heron and Curlew. Put this into JSON.",
        _object(
            person=_object(name=_TEXT, age=_WHOLE),
            member={"type": "boolean"},
            boats={"type": "array", "items": _TEXT},
        ),
    ),
    (
        "The user says: write down that the lamp in the hall is broken. Choose what is to be done, "
        "and put it into JSON.",
        _object(action={"type": "string", "enum": ["note", "search", "answer"]}, text=_TEXT),
    ),
)
