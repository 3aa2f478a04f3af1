"""What can go wrong with an MCP server. Apart, so that knowing of it imports nothing else."""

from __future__ import annotations


class AwayError(Exception):
    """A server that cannot be used now; the text says why, in the user's words."""


class CallFailedError(Exception):
    """A call that the server refused; the text is the server's, and as untrusted as a result."""
