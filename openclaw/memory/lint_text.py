"""Checks of single lines: secrets, masks, hidden characters, orders to the agent, length."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate

from openclaw.memory.lint import Document, Finding, Surroundings, quoted
from openclaw.memory.lint_orders import orders
from openclaw.memory.notes import MAX_CHARS
from openclaw.safety import hidden, secrets
from openclaw.safety.vault import MASK, mask_of, masked_names

_CODE = re.compile(r"(`{1,5})(?:(?!\1).){1,300}?\1")
_QUOTED = re.compile(r"\"[^\"]{1,300}\"|\u201c[^\u201d]{1,300}\u201d|\u201e[^\u201c]{1,300}\u201c")
_GONE = (
    r"(?:redacted|masked|removed|censored|withheld|omitted|anonymi[sz]ed|scrubbed|blacked out"
    r"|geschw\u00e4rzt|entfernt|supprim\u00e9)"
)
_LOST = re.compile(
    rf"(?i:\((?:[\w-]+ ){{0,3}}(?:redacted|withheld|masked|censored)\)"
    r"|(?<!\[)[\[<](?:value |text |name )?(?:hidden(?: by [\w ]{1,20})?|secret)[\]>](?!\()"
    rf"|(?<!\[)[\[<](?:[\w-]+[ _-]){{0,3}}{_GONE}(?:[_:-] ?[\w -]{{1,30}})?[\]>](?!\())"
    r"|(?<!\[)[\[<](?:PHONE|E?MAIL|IBAN|PERSON|CREDIT_CARD|SSN|PII|PASSWORD|ACCOUNT)"
    r"(?:_[A-Z]{1,12})?[\]>](?!\()|\bREDACTED\b"
    r"|(?:[:=]|\b(?:is|was|are|ist|war|est|es))[ \t]{1,3}[\"']?(?:\*{3,}|\u2022{3,}|[xX]{4,}|#{4,})"
    r"(?=[\s\"'.,;)]|$)"
    r"|(?<![\w*])(?:[Xx]{3,}-){1,8}[Xx]{2,}(?![\w*])|(?<![\w*-])\w{0,6}[-_]?\*{5,}\w{0,6}(?!\w|\*)"
    r"|(?<!\*)\*{2,4}[ -]\*{3,4}(?=[\s.,;)-]|$)|(?<!\w)(?:[Xx]{2,4} ){2,8}[Xx]{2,4}(?!\w)"
    r"|(?<!\w)\d{2,6}(?:[ -][Xx*]{3,6}){1,3}(?=[\s.,;)-]|$)|\u2022{5,}"
    r"|\u2022{2,4}[ -]\u2022{2,}|[\u2588\u2593\u25a0]{3,}"
)
_RATING = re.compile(
    r"\b(?:rat(?:ing|ed)|stars?|hotel|grade|score|review|sterne?|bewertung|\u00e9toiles)\b"
    r"|\*{3,5} (?:of|out of|von|sur) ",
    re.IGNORECASE,
)
_RULE = re.compile(r"[ \t]*(?:[*_-][ \t]*){3,}$")


def in_text(document: Document, around: Surroundings) -> Iterator[Finding]:
    """What single lines and entries of a document have wrong with them."""
    yield from _hidden(document)
    yield from _secrets(document)
    yield from _orders(document)
    yield from _masks(document, around)
    yield from _long(document)


def _hidden(document: Document) -> Iterator[Finding]:
    if document.text.isascii() and document.text.isprintable():
        return
    for at, line in enumerate(document.page.lines):
        bare = line.rstrip("\r\n")
        if found := hidden.hidden(bare.removeprefix("\ufeff") if at == 0 else bare):
            signs = ", ".join(dict.fromkeys(map(_code, found)))
            yield document.finding(
                "hidden",
                at,
                f"{len(found)} hidden character{'s' * (len(found) > 1)} ({signs}) in {_seen(bare)}",
                advice="take them out",
                edit=" ".join(hidden.strip(bare).split("\n")),
            )


def _seen(line: str) -> str:
    return quoted(hidden.strip(line).strip(" \t-*+"))


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


def _secrets(document: Document) -> Iterator[Finding]:
    spans = secrets.find(document.text)
    if not spans:
        return
    lines = document.page.lines
    starts = [0, *accumulate(map(len, lines))]
    for secret in spans:
        first, last = bisect(starts, secret.start) - 1, bisect(starts, secret.end - 1) - 1
        name = mask_of(f"{secret.kind}-1").replace("-1}", "-N}")
        message = f"a secret in plain text ({secret.kind})"
        if first == last:
            yield _masked(document, first, (secret.start, secret.end), starts[first], message, name)
        else:
            advice = (
                f"take lines {first + 1} to {last + 1} out, and have it replaced where it is used"
            )
            yield document.finding("secret", first, message, advice=advice, last=last + 1)


def _masked(
    document: Document, at: int, span: tuple[int, int], begin: int, message: str, name: str
) -> Finding:
    line = document.page.lines[at].rstrip("\r\n")
    masked = line[: span[0] - begin] + name + line[span[1] - begin :]
    advice = f"keep it apart as {name}, and have it replaced where it is used: git may know it"
    return document.finding("secret", at, message, advice=advice, edit=masked)


def _orders(document: Document) -> Iterator[Finding]:
    plain = hidden.strip(document.text) if not document.text.isascii() else document.text
    lines = plain.split("\n")
    for at in orders(plain):
        yield document.finding(
            "order",
            min(at, len(document.page.lines) - 1),
            f"words that give an agent orders: {quoted(lines[at].strip(' -*+'))}",
            advice="if you did not write this, take it out",
        )


def _masks(document: Document, around: Surroundings) -> Iterator[Finding]:
    for at, line in enumerate(document.page.lines):
        if document.page.opaque.get(at) is not None:
            continue
        if around.secrets is not None and "{{" in line:
            for name in masked_names(line):
                if name not in around.secrets:
                    message = f"{mask_of(name)} stands for a secret that is not kept here"
                    yield document.finding("mask", at, message, advice="write the value again")
        plain = _QUOTED.sub(" ", _CODE.sub(" ", MASK.sub(" ", line.rstrip("\r\n"))))
        found = None if _RULE.match(plain) else _LOST.search(plain)
        if found and not (found[0][-3:] == "***" and _RATING.search(plain)):
            yield document.finding(
                "mask",
                at,
                f"a mask in the place of a value: {quoted(line.strip(' -*+' + chr(10)))}",
                advice="write what was meant, or take the line out",
            )


def _long(document: Document) -> Iterator[Finding]:
    for entry in document.entries:
        if len(entry.text) > MAX_CHARS and not entry.superseded:
            yield document.finding(
                "too-long",
                entry.at,
                f"{len(entry.text)} characters; an entry has at most {MAX_CHARS}",
                advice="split it into facts of one line each",
                last=entry.end,
            )
