"""What takes long to load: each worker reads all test files, and few run those tests."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Late:
    """A module, or something in it, that is loaded when a test first uses it."""

    def __init__(self, module: str, name: str = "") -> None:
        self._module, self._name = module, name

    def _load(self) -> Any:
        module = import_module(self._module)
        return getattr(module, self._name) if self._name else module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks for some in whatever stands in a module
            raise AttributeError(name)
        return getattr(self._load(), name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._load()(*given, **named)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any]:
        return (self._load(),)
