"""What can go wrong with an MCP server. Apart, so that knowing of it imports nothing else."""

from __future__ import annotations


class AwayError(Exception):
    """A server that cannot be used now; the text says why, in the user's words. `foreign` when it
    may be in those of the server. It `rests` when it makes no sense to try again at once."""

    def __init__(self, why: str, *, foreign: bool = False, rests: bool = True) -> None:
        super().__init__(why)
        self.foreign = foreign
        self.rests = rests


class CallFailedError(Exception):
    """A call that the server refused; the text is the server's, and as untrusted as a result."""
