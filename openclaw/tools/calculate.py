"""Arithmetic, because models calculate wrongly in their head."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from openclaw.types import ToolProblem

MAX_CHARS = 500
MAX_DIGITS = 1_000

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "round": lambda value, digits=0: round(value, max(digits, -MAX_DIGITS)),
    "sum": lambda *values: sum(values),
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
}


def calculate(expression: str) -> str:
    """Compute numbers, e.g. (3 + 4.5) * 12."""
    if len(expression) > MAX_CHARS:  # of more, to find a percentage alone would take minutes
        raise ToolProblem(f"The expression is longer than {MAX_CHARS} characters.")
    text = _normalize(expression)
    try:
        value = _value(ast.parse(text, mode="eval").body)
        return f"{text} = {_format_number(value)}"
    except ZeroDivisionError:
        raise ToolProblem("Division by zero.") from None
    except (SyntaxError, ValueError, TypeError, OverflowError, RecursionError, MemoryError):
        names = ", ".join(_FUNCTIONS)
        raise ToolProblem(
            f"{text} cannot be computed. Use numbers, + - * / // % ** ( ) and {names}."
        ) from None


def _normalize(expression: str) -> str:
    text = expression.strip().rstrip("=?").strip().replace("\u00d7", "*").replace("\u00f7", "/")
    text = text.replace("\u2212", "-").replace("^", "**")
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text) if "(" not in text else text
    text = re.sub(r"(\d+(?:\.\d+)?)\s*%\s*of\s+", r"\1 / 100 * ", text)
    return re.sub(r"[$\u20ac\u00a3]", "", text)


def _value(node: ast.AST) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _check_bounds(_OPERATORS[type(op)](_value(left), _value(right)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(operand))
        case ast.Call(func=ast.Name(id=name), args=values, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*_flatten(values))
    raise ValueError("not arithmetic")


def _flatten(nodes: list[ast.expr]) -> list[Any]:
    """The arguments of a call; `sum([1, 2])` is the same as `sum(1, 2)`."""
    if len(nodes) == 1 and isinstance(nodes[0], ast.List | ast.Tuple):
        nodes = nodes[0].elts
    return [_value(node) for node in nodes]


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) * max(math.log10(abs(base) or 1), 1) > MAX_DIGITS:
        raise OverflowError
    return _check_bounds(base**exponent)


def _check_bounds(value: Any) -> Any:
    if isinstance(value, complex) or abs(value) > 10**MAX_DIGITS:
        raise OverflowError
    return value


def _format_number(value: Any) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OverflowError
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    return str(value)
