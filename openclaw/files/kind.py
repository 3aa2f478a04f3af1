"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

BEGINNING = 16
"""Bytes that tell it."""
_MARKS = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
)
IMAGES = frozenset(("png", "jpeg", "gif", "webp"))


def kind_of(data: bytes) -> str:
    """pdf, png, jpeg, gif or webp; "" for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for mark, kind in _MARKS if data.startswith(mark)), "")
