"""The errors of the program, each with an exit code and a hint for the user.

OpenclawError                 1  failed
├── UsageError                2  wrong words on the command line, wrong setting
├── ServerAway                4  the model server does not answer
├── ModelMissing              5  the server or the model folder has no such model
├── Damaged                   6  a home or session that cannot be used as it is
├── Refused                   7  the policy does not allow it
└── ModelFailed               1  the model answered, but not usably
    └── PromptTooLarge        1  the request does not fit the window, or the server cut it

Exit code 3 is no error: the reply claims something that did not happen.

The model's own mistakes (unknown tool, wrong argument, missing file) are not in this family: they
become short text that the model reads, see `openclaw.types.ToolProblem`.
"""

from __future__ import annotations


class OpenclawError(Exception):
    """An error for the user: `str(error)` says what happened, `hint` what the user can do."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(OpenclawError):
    exit_code = 2


class ServerAway(OpenclawError):
    exit_code = 4


class ModelMissing(OpenclawError):
    exit_code = 5


class Damaged(OpenclawError):
    exit_code = 6


class Refused(OpenclawError):
    exit_code = 7


class ModelFailed(OpenclawError):
    pass


class PromptTooLarge(ModelFailed):
    """`counted`: tokens that the server counted, 0 where it did not say."""

    def __init__(self, message: str, hint: str = "", counted: int = 0) -> None:
        super().__init__(message, hint)
        self.counted = counted


class AwayError(Exception):
    """A server that cannot be used now; the text tells the user why.

    foreign: the text may be the server's own
    rests: it makes no sense to try again at once
    """

    def __init__(self, why: str, *, foreign: bool = False, rests: bool = True) -> None:
        super().__init__(why)
        self.foreign = foreign
        self.rests = rests


class CallFailedError(Exception):
    """The server refused a call; the text is the server's and as untrusted as a result."""


def describe_unexpected(error: Exception) -> tuple[str, str | None, int]:
    """Return message, hint and exit code of an error of no family of ours; the hint is None where
    only the trace may help."""
    if isinstance(error, OSError) and error.filename:
        said = f"{error.filename}: {error.strerror}"
        return said, "look at what is there and who may use it; --debug shows the trace", 1
    if isinstance(error, UnicodeEncodeError):  # whose text may hold a key
        what = f"a text holds what {error.encoding} cannot say, and can be neither sent nor kept"
        return what, "look at the words of the command and at OPENAI_API_KEY and OLLAMA_API_KEY", 2
    return f"{type(error).__name__}: {error}", None, 1
