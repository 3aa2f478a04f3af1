"""What an MCP tool gives back, as text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

LONGEST = 200_000
"""Characters that are handed on; far less of it is shown to the model."""


def text_of(result: Any) -> str:
    """The content of an `mcp_types.CallToolResult`: its texts, what else there is named with type
    and size; structured content only where there is no text, which would say the same."""
    parts = [_part(block) for block in result.content]
    if result.structured_content is not None and not any(map(_is_text, result.content)):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    return _joined(parts) or "It gave back nothing."


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)[:LONGEST]


def _is_text(block: Any) -> bool:
    return block.type == "text" and bool(block.text.strip())


def _part(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {_decoded(block.data):,} bytes]"
        case "resource_link":
            size = f", {block.size:,} bytes" if block.size else ""
            return f"[resource {block.uri}, {block.mime_type or 'of unknown type'}{size}]"
        case "resource":
            return _resource(block.resource)
    return f"[{block.type}]"


def _resource(resource: Any) -> str:
    kind = resource.mime_type or "of unknown type"
    text = getattr(resource, "text", None)
    if text is not None:
        return f"[resource {resource.uri}, {kind}, {len(text.encode()):,} bytes]\n{text}"
    return f"[resource {resource.uri}, {kind}, {_decoded(resource.blob):,} bytes]"


def _decoded(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4
