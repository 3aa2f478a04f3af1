"""Markdown of models and files as HTML for the page: no HTML of theirs, no image from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

from openclaw.security.display import harmless


def to_html(text: str) -> str:
    """Return Markdown as HTML. Hidden characters are made visible, HTML in it is shown as text, an
    image is a link: loading one from elsewhere would tell that place what the answer holds."""
    return str(_RENDERER.render(harmless(text)))


def _render_image(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    image = tokens[at]
    target = escapeHtml(str(image.attrs.get("src", "")))
    return f'<a href="{target}" rel="noreferrer noopener">{escapeHtml(image.content or target)}</a>'


def _render_link(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noreferrer noopener")
    tokens[at].attrSet("target", "_blank")
    return str(self.renderToken(tokens, at, options, env))


def _render_cell(self: Any, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    """The page's content security policy lets no `style` through, so a cell has `align`."""
    cell = tokens[at]
    if style := cell.attrs.pop("style", ""):
        cell.attrSet("align", str(style).removeprefix("text-align:"))
    return str(self.renderToken(tokens, at, options, env))


_RENDERER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
_RENDERER.add_render_rule("image", _render_image)
_RENDERER.add_render_rule("link_open", _render_link)
_RENDERER.add_render_rule("th_open", _render_cell)
_RENDERER.add_render_rule("td_open", _render_cell)
