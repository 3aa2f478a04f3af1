"""Take out of an HTML page what its readers do not see. Imports lxml: import only lazily.

A page can be written for two: one text for people, another one, hidden, for the model that reads
it. What is hidden by plain means (attributes, inline styles, simple rules of the page's own
<style>) is found here. Scripts and style sheets of other files are not fetched, so this is a help
and no wall: the text is fenced as data all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml.html import HtmlElement

_TAGS = (
    *("script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas"),
    *("audio", "video", "img", "picture", "map", "input", "select", "textarea", "button"),
    *("datalist", "option", "noframes", "noembed", "head", "title", "meta", "link", "rp"),
)
# One that is not closed goes to the end, as in a browser.
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ZERO = r"\s*:\s*[+-]?0*(?:\.0*)?(?:px|em|rem|ex|ch|pt|%|vw|vh)?\s*(?:;|!|\Z)"
_HIDING = re.compile(
    r"(?:^|[;\s{])(?:"
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    rf"|(?:font-size|opacity|max-height|max-width){_ZERO}"
    r"|font-size\s*:\s*(?:0?\.\d+|1)\s*px|font\s*:[^;]{0,200}\b0(?:px|em|pt)?\s*[/ ]"
    r"|(?:left|right|top|bottom|text-indent|margin-(?:left|top))\s*:\s*-\s*\d{3,}"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)"
    r"|transform\s*:\s*(?:scale[xy]?\(\s*0?\.?0*\s*[,)]|translate[xy]?\(\s*-\s*\d{4,})"
    r"|color\s*:\s*(?:transparent|rgba?\([^)]{0,200}[,/]\s*0?\.?0+%?\s*\)|#[0-9a-f]{6}00\b|#[0-9a-f]{3}0\b)"
    r")",
    re.IGNORECASE,
)
_BOX = re.compile(rf"(?:^|[;\s])(?:height|width){_ZERO}", re.IGNORECASE)
_CLIPPED = re.compile(r"overflow(?:-[xy])?\s*:\s*(?:hidden|clip)", re.IGNORECASE)
_COLOUR = re.compile(r"(?:^|[;\s])color\s*:\s*([^;!]+)", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?:^|[;\s])background(?:-color)?\s*:\s*([^;!]+)", re.IGNORECASE)
_RULE = re.compile(r"([^{}]{1,300})\{([^{}]{0,2000})\}")
_SIMPLE = re.compile(r"\s*[a-z]*([.#])([\w-]+)\s*\Z", re.IGNORECASE)
_WHITES = frozenset({"white", "#fff", "#ffffff", "rgb(255,255,255)", "snow", "ivory"})
_NAMES = {"white": "#ffffff", "black": "#000000", "rgb(255,255,255)": "#ffffff"}


def drop_unseen(root: HtmlElement) -> None:
    """Change the tree: elements that are not shown go, with all that is in them. The text behind
    them stays."""
    classes, ids = _hidden_by_rules(root)
    for element in [*root.iter(*_TAGS), *_hidden(root, classes, ids)]:
        if element.getparent() is not None:
            element.drop_tree()


def _hidden(root: HtmlElement, classes: set[str], ids: set[str]) -> Iterator[HtmlElement]:
    grounds: dict[HtmlElement, str] = {}
    for element in root.iter():
        if not isinstance(element.tag, str) or element.tag in ("html", "body"):
            continue
        named = element.get("id") in ids or not classes.isdisjoint(
            (element.get("class") or "").split()
        )
        if named or _by_attribute(element) or _by_style(element, grounds):
            yield element


def _by_attribute(element: HtmlElement) -> bool:
    return (
        "hidden" in element.attrib
        or element.get("aria-hidden", "").strip().lower() == "true"
        or (element.tag == "dialog" and "open" not in element.attrib)
    )


def _by_style(element: HtmlElement, grounds: dict[HtmlElement, str]) -> bool:
    style = _COMMENT.sub("", element.get("style") or "")
    if style and (_HIDING.search(style) or (_BOX.search(style) and _CLIPPED.search(style))):
        return True
    if element.tag == "font" and element.get("color"):
        style = f"color:{element.get('color')};{style}"
    found = _COLOUR.search(style)
    return found is not None and _like_its_ground(element, _plain(found[1]), grounds)


def _like_its_ground(element: HtmlElement, colour: str, grounds: dict[HtmlElement, str]) -> bool:
    """Whether a text colour is the one behind it. White without any background counts when no class
    or id could give it one. `grounds` are the backgrounds that are known."""
    for each in (element, *element.iterancestors()):
        if each not in grounds:
            found = _BACKGROUND.search(each.get("style") or "")
            grounds[each] = found[1] if found else each.get("bgcolor") or ""
        if ground := grounds[each]:
            return _plain(ground) == colour
        if each.get("class") or each.get("id"):
            return False
    return colour in _WHITES


def _plain(colour: str) -> str:
    """A colour in one spelling, as far as that is easily told."""
    text = re.sub(r"\s+", "", colour).lower()
    if re.fullmatch(r"#[0-9a-f]{3}", text):
        text = "#" + "".join(digit * 2 for digit in text[1:])
    return _NAMES.get(text, text)


def _hidden_by_rules(root: HtmlElement) -> tuple[set[str], set[str]]:
    """The classes and ids that the page's own style sheets hide, for every medium."""
    classes: set[str] = set()
    ids: set[str] = set()
    for sheet in root.iter("style"):
        if "print" in (sheet.get("media") or ""):
            continue
        for selectors, rules in _RULE.findall(_flat(sheet.text or "")):
            if not _HIDING.search(rules):
                continue
            for selector in selectors.split(","):
                if simple := _SIMPLE.fullmatch(selector):
                    (classes if simple[1] == "." else ids).add(simple[2])
    return classes, ids


def _flat(sheet: str) -> str:
    """A style sheet without comments and without what stands inside @media and the like."""
    text = _COMMENT.sub("", sheet[:200_000])
    kept: list[str] = []
    depth = nested = 0
    for piece in re.split(r"([{}])", text):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth = max(depth - 1, 0)
            if nested and depth < nested:
                nested = 0
                continue
        elif depth == 0 and "@" in piece:
            nested = 1
            continue
        if not nested:
            kept.append(piece)
    return "".join(kept)
