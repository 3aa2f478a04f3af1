"""Frozen dataclasses that are quick to define.

`@dataclass(frozen=True, slots=True)` compiles six methods, which takes 0.4 ms a class, and a prompt
loads more than a hundred classes. `@frozen` gives a class the same methods without compiling them:
0.03 ms a class, and 2 µs more for each object. Use it for values of which there are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
_put = object.__setattr__


@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass with slots; `fields`, `replace` and `asdict` work on it."""
    if not cls.__doc__:  # `dataclass` would write the signature there, which takes 0.06 ms
        cls.__doc__ = cls.__name__
    made = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    for name, method in vars(_Methods).items():
        if callable(method) and name not in vars(cls):
            setattr(made, name, method)
    return made


class _Methods:
    """Those that a class gets, unless it has its own."""

    def __init__(self: Any, /, *given: Any, **named: Any) -> None:
        cls: Any = type(self)
        names, rest = cls.__match_args__, len(given)
        if rest > len(names):
            raise TypeError(f"{cls.__name__} takes {len(names)} values, not {rest}")
        for name, each in zip(names, given, strict=False):
            _put(self, name, each)
        for name, default, factory in _defaults(cls)[rest:]:
            if name in named:
                _put(self, name, named.pop(name))
            elif default is not MISSING:
                _put(self, name, default)
            elif factory is not MISSING:
                _put(self, name, factory())
            else:
                raise TypeError(f"{cls.__name__} lacks {name}")
        if named:
            raise TypeError(f"{cls.__name__} has no {next(iter(named))}, or it was given twice")
        if post_init := getattr(self, "__post_init__", None):
            post_init()

    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self: Any, other: object) -> bool:
        return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(_compared(self))

    def __setattr__(self: Any, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self: Any, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self: Any) -> Sequence[Any]:
        return [getattr(self, each.name) for each in fields(self)]

    def __setstate__(self: Any, state: Sequence[Any]) -> None:
        for each, known in zip(fields(self), state, strict=True):
            _put(self, each.name, known)


@cache
def _defaults(cls: Any) -> Sequence[tuple[str, Any, Any]]:
    """The name, default and default factory of each field, in their order."""
    return [(each.name, each.default, each.default_factory) for each in fields(cls)]


@cache
def _compared_names(cls: Any) -> Sequence[str]:
    return [each.name for each in fields(cls) if each.compare]


def _compared(each: Any) -> tuple[Any, ...]:
    cls: Any = type(each)
    return tuple(getattr(each, name) for name in _compared_names(cls))
