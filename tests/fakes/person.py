"""A person who is asked for a yes."""

from __future__ import annotations

from dataclasses import dataclass, field

from openclaw.security.policy import PermissionQuestion


@dataclass
class Person:
    """Gives the same reply to each question; `asked` are the questions."""

    reply: str
    asked: list[PermissionQuestion] = field(default_factory=list)

    def __call__(self, question: PermissionQuestion) -> str:
        self.asked.append(question)
        return self.reply
