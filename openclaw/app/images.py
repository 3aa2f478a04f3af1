"""The images of a conversation: which go along with a prompt, and which are shown again.

The session file names them by path and SHA-256; their bytes are read when they are sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from openclaw.errors import ServerAway, UsageError
from openclaw.files.beneath import read_bytes
from openclaw.files.kind import IMAGES, kind_of
from openclaw.models.base import ModelCard
from openclaw.safety.denied import denied
from openclaw.sessions.session import Session
from openclaw.shapes import MOST_IMAGE_BYTES, Image, Material


def images_of(material: Sequence[Material], card: ModelCard, host: str) -> tuple[Image, ...]:
    """The images that go along with a prompt. Raises UsageError for a model that cannot see; its
    hint names one that can, of the Ollama at `host` if it has one."""
    images = tuple(each.image for each in material if each.image)
    if images and not card.vision:
        raise UsageError(f"{card.name} cannot see images; nothing was sent", _who_can(host))
    return images


def _who_can(host: str) -> str:
    # Its HTTP client takes 11 ms to import, which no other prompt is to wait for.
    from openclaw.models.ollama_found import listed, may_chat

    there = []
    with suppress(ServerAway):
        chats = [model for model in listed(host) if may_chat(model)]
        there = [model for model in chats if "vision" in (model.get("capabilities") or ())]
    name = f"ollama/{there[0]['name'] if there else 'qwen2.5vl:3b'}"
    fetch = "" if there else f"openclaw models pull {name}, then "
    return f"ask a model that can: {fetch}--model {name} (or /model in a chat)"


def show_again(root: Path, session: Session, card: ModelCard) -> Iterator[str]:
    """Give the images of earlier messages their bytes, where the model can see and the files are as
    they were; a line for the user on each that is shown no longer."""
    for at, entry in enumerate(session.messages):
        if not entry.images:
            continue
        images = []
        for image in entry.images:
            images.append(_again(root, image) if card.vision else replace(image, data=b""))
            if image.data == b"" or images[-1].data:
                continue
            if card.vision:
                yield f"{image.path} is gone or has changed; the model does not see it again"
            else:
                yield f"{card.name} cannot see images; {image.path} is not sent"
        session.messages[at] = replace(entry, images=tuple(images))


def _again(root: Path, image: Image) -> Image:
    """The image with its bytes, with none when its file is not as it was."""
    if image.data:
        return image
    path = root / image.path
    try:
        is_open = path.is_file() and not denied(path) and path.stat().st_size <= MOST_IMAGE_BYTES
        data = read_bytes(path) if is_open else b""
    except (OSError, ValueError):  # the session's file may name anything
        data = b""
    same = kind_of(data) in IMAGES and hashlib.sha256(data).hexdigest() == image.sha256
    return replace(image, data=data if same else b"")
