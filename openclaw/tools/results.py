"""What a tool gave back, made fit for the model: cut, marked as foreign, errors in few words."""

from __future__ import annotations

import errno

from openclaw.errors import OpenclawError
from openclaw.safety.fence import fence
from openclaw.safety.hidden import strip
from openclaw.shapes import Ledger, ToolProblem

_USERS_TO_MEND = {errno.ENOSPC, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE} | {
    getattr(errno, "EDQUOT", errno.ENOSPC)  # not on every system
}


def cut(text: str, most: int) -> tuple[str, str]:
    """The text up to the last line end within `most` characters, and a line that says so ("" when
    all of it is there)."""
    if len(text) <= most:
        return text, ""
    kept = text[:most]
    end = kept.rfind("\n")
    kept = kept[:end] if end > 0 else kept
    return kept, (
        f"\n[Cut: {len(kept):,} of {len(text):,} characters shown. "
        "Ask for a smaller part, for example a later line, one folder or a rarer word.]"
    )


def as_data(text: str, source: str, ledger: Ledger, most: int) -> str:
    """Text from outside: without hidden characters, fenced as data, its source in the ledger."""
    if source not in ledger.foreign:
        ledger.foreign.append(source)
    kept, note = cut(strip(text), most)
    return fence(kept, source, ledger.marker) + note


def told(error: OSError) -> ToolProblem | OpenclawError:
    """An error of the system for whom can mend it: the model, or the user (a full disk)."""
    what = f"{error.strerror or error}".lower()
    name = str(error.filename or "").replace("\\", "/").rpartition("/")[2]
    text = f"{name}: {what}" if name else what
    if error.errno in _USERS_TO_MEND:
        return OpenclawError(text, "free some space or make the home writable, then try again")
    return ToolProblem(f"That did not work. {text}.")
