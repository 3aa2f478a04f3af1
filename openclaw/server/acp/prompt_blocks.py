"""The content of a prompt as an editor sends it: words, files, selections and images."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from acp.helpers import ContentBlock
from acp.schema import (
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from openclaw.errors import UsageError
from openclaw.home.attachments import Mention, attach, attach_data, attach_mention
from openclaw.messages import Material

_LINES = re.compile(r"L(\d+)(?:(?:-L?|:)(\d+))?")
"""Behind the # of an address: L10, L10-20, L10-L20, L10:20."""


ONLY_MATERIAL = "Look at this."  # the words of a prompt that is only an image


def read_prompt(
    blocks: Sequence[ContentBlock], cwd: Path, home: Path
) -> tuple[str, tuple[Material, ...]]:
    """Return the words of a prompt, and what goes along with them: what its words name as @path, as
    on the command line, and what the editor adds. Of links only files are read. Raises UsageError
    for what cannot be read."""
    words: list[str] = []
    material: list[Material] = []
    for block in blocks:
        match block:
            case TextContentBlock():
                words.append(block.text)
                material += attach(block.text, "", cwd, home)
            case ImageContentBlock():
                path = _path_of(block.uri or "")
                name = path.name if path else "pasted image"
                material.append(attach_data(name, _decode(block.data), path, home))
            case ResourceContentBlock():
                path = _path_of(block.uri)
                words.append(block.name if path else f"{block.name} ({block.uri})")
                if path:
                    lines = _lines_of(block.uri)
                    material.append(attach_mention(Mention(path, block.name, *lines), home))
            case EmbeddedResourceContentBlock():
                name, given = _attach_embedded(block, home)
                words.append(name)
                material.append(given)
            case _:
                raise UsageError("sound is not understood here", "say it in words")
    said = "".join(words).strip()
    return said or (ONLY_MATERIAL if material else ""), tuple(dict.fromkeys(material))


def _attach_embedded(block: EmbeddedResourceContentBlock, home: Path) -> tuple[str, Material]:
    """Return the name and the material of a resource that came with its content."""
    held = block.resource
    path = _path_of(held.uri)
    first, last = _lines_of(held.uri)
    name = path.name if path else held.uri
    named = f"{name}, lines {first}-{last}" if first else name
    is_text = isinstance(held, TextResourceContents)
    data = held.text.encode() if is_text else _decode(held.blob)
    return name, attach_data(named, data, path, home, first or 1)


def _path_of(uri: str) -> Path | None:
    """Return the path of a file's address, None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = url2pathname(parts.path) if os.name == "nt" else unquote(parts.path)
    return Path(path)


def _lines_of(uri: str) -> tuple[int, int]:
    """Return the first and the last line that an address names, 0 for all."""
    found = _LINES.fullmatch(urlsplit(uri).fragment)
    return (int(found[1]), int(found[2] or found[1])) if found else (0, 0)


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError as error:
        raise UsageError("what the editor attached is no base64") from error
