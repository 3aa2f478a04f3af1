"""Whether a reply is what a JSON schema asks for, as far as a server's grammar sees to that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is one of the schema: unions, constants, types, items, and no properties but
    those it names. Lengths and patterns are not looked at."""
    for union in ("anyOf", "oneOf"):
        if union in schema and not any(fits(value, each) for each in schema[union]):
            return False
    if ("const" in schema and value != schema["const"]) or (
        "enum" in schema and value not in schema["enum"]
    ):
        return False
    kind = schema.get("type", ())
    kinds = [kind] if isinstance(kind, str) else kind
    if kinds and not any(_is(value, each) for each in kinds):
        return False
    if isinstance(value, dict) and (inner := schema.get("properties")) is not None:
        required = schema.get("required", ())
        return set(required) <= value.keys() <= inner.keys() and all(
            fits(value[key], inner[key]) for key in value
        )
    if isinstance(value, list) and "items" in schema:
        return all(fits(item, schema["items"]) for item in value)
    return True


def fits_text(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text is JSON of the schema, and nothing else."""
    try:
        return fits(json.loads(text), schema)
    except (ValueError, RecursionError):
        return False


def _is(value: Any, kind: str) -> bool:
    is_number_of_truth = isinstance(value, bool) and kind != "boolean"
    return isinstance(value, _TYPES.get(kind, object)) and not is_number_of_truth
