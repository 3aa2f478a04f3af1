"""Runs all checks of the memory, and applies the edits of their findings.

Pure functions on texts. This file checks single lines; `lint_checks` and `lint_contradictions`
compare entries. `openclaw.maintenance.memory_lint` adds the checks that need the index, the
conversations or git.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from openclaw.memory.findings import (
    LEVELS,
    Document,
    Edit,
    LintContext,
    LintFinding,
    quote,
    without_secrets,
)
from openclaw.memory.lint_checks import LinkChecker, find_duplicates
from openclaw.memory.lint_contradictions import find_contradictions, find_relative_dates
from openclaw.memory.markdown import read_page
from openclaw.memory.notes import MAX_CHARS
from openclaw.memory.pages import gathered_lines
from openclaw.security import secrets, untrusted
from openclaw.security.display import count_of
from openclaw.security.masking import mask_of


def lint(documents: Iterable[Document], around: LintContext) -> list[LintFinding]:
    """Return the findings in all texts of a memory, sorted by file and line.

    The texts are compared with each other, so give all of them. Lines that the program gathered on
    pages are left out: what is wrong with one is wrong with its source.
    """
    known = [*documents]
    links = LinkChecker(known, around)
    found = list(find_duplicates(known))
    gone = {(edit.path, edit.start) for each in found for edit in each.edits if not edit.text}
    found += find_contradictions(known, gone)
    gathered = set[tuple[str, int]]()
    for document in known:
        for check in _CHECKS if document.kind != "todo" else ():
            found += check(document)
        found += find_relative_dates(document)
        found += links.find_dead(document)
        gathered |= {(document.path, at + 1) for at in gathered_lines(document.text)}
    kept = [each for each in found if (each.path, each.line) not in gathered]
    return sorted(kept, key=lambda f: (f.path, f.line, [*LEVELS].index(f.check)))


def is_fault(finding: LintFinding) -> bool:
    return finding.level != "advice"


def _check_hidden(document: Document) -> Iterator[LintFinding]:
    if document.text.isascii() and document.text.isprintable():
        return
    for at, line in enumerate(document.page.lines):
        bare = line.rstrip("\r\n")
        if found := untrusted.find_hidden(bare.removeprefix("\ufeff") if at == 0 else bare):
            signs = ", ".join(dict.fromkeys(f"U+{ord(char):04X}" for char in found))
            shown = untrusted.strip_hidden(bare)
            said = quote(shown.strip(" \t-*+"))
            message = f"{count_of(len(found), 'hidden character')} ({signs}) in {said}"
            edit = " ".join(shown.split("\n"))
            yield document.finding("hidden", at, message, "take them out", edit=edit)


def _check_secrets(document: Document) -> Iterator[LintFinding]:
    spans = secrets.find_secrets(document.text)
    if not spans:
        return
    lines = document.page.lines
    starts = [0, *accumulate(map(len, lines))]
    for secret in spans:
        first, last = bisect(starts, secret.start) - 1, bisect(starts, secret.end - 1) - 1
        name = mask_of(f"{secret.kind}-1").replace("-1}", "-N}")
        masked = None
        advice = f"take lines {first + 1} to {last + 1} out, and have it replaced where it is used"
        if first == last:
            line, begin = lines[first].rstrip("\r\n"), starts[first]
            masked = line[: secret.start - begin] + name + line[secret.end - begin :]
            advice = (
                f"keep it apart as {name}, and have it replaced where it is used: git may know it"
            )
        message = f"a secret in plain text ({secret.kind})"
        yield document.finding("secret", first, message, advice, last=last + 1, edit=masked)


def _check_orders(document: Document) -> Iterator[LintFinding]:
    plain = untrusted.strip_hidden(document.text)
    lines = plain.split("\n")
    for at in find_orders(plain):
        message = f"words that give an agent orders: {quote(lines[at].strip(' -*+'))}"
        advice = "if you did not write this, take it out"
        last = len(document.page.lines) - 1
        yield document.finding("order", min(at, last), message, advice)


def _check_length(document: Document) -> Iterator[LintFinding]:
    for entry in document.entries:
        if len(entry.text) > MAX_CHARS and not entry.superseded:
            message = f"{len(entry.text)} characters; an entry has at most {MAX_CHARS}"
            advice = "split it into facts of one line each"
            yield document.finding("too-long", entry.at, message, advice, last=entry.end)


_CHECKS = (_check_hidden, _check_secrets, _check_orders, _check_length)
"""Those of single lines and entries."""
_ADDRESS = (
    r"(?:https?://|www\.|[\w.+-]+@[\w-]+\.|\b[\w-]+\.(?:com|net|org|io|example|dev|app|ru|cn)\b)"
)
_AGENT = r"(?:assistant|agent|model|ai|llm|chatbot|assistent|asistente)"
_MIND = r"(?:ai|a\.i\.|llm|gpt|chatgpt|claude|claw|chatbot|language model|copilot|gemini)"
_USER = (
    r"\b(?:(?:the|your) (?:user|human)|your (?:owner|operator)|the person you serve)\b"
    r"(?!'s (?:group|guide|manual))(?! (?:groups?|guides?|manuals?|lists?|meetings?|accounts?"
    r"|names?|ids?|interface|story|stories|conference|club|community|forum|base|council|committee|board|association)\b)"
)
_RULES = (
    r"(?:instructions?|prompts?|rules|guidelines|messages|directives|orders|polic(?:y|ies)"
    r"|restrictions|constraints|safeguards|guardrails|anweisungen|regeln|vorgaben|befehle"
    r"|instrucciones|reglas|consignes|r\u00e8gles)"
)
_VOID = (
    r"\b(?:ignore|disregard|forget|override|overrule|bypass|discard|abandon|set aside"
    r"|stop following|(?:do not|don't|no longer) (?:follow|obey)|pay no attention to|ignoriere"
    r"|missachte|vergiss|ignorez|ignore[sz]?|oublie[sz]?|ignora|olvida)\b"
)
_TELL = (
    r"(?:tell|telling|inform|informing|mention|mentioning|ask|asking|notify|notifying|alert"
    r"|alerting|warn|warning|reveal|revealing|disclose|disclosing|show|showing|admit|report|say)"
)
_DO = (
    r"(?:always|never|must|do not|don't|from now on|ignore|send|mail|e-?mail|forward|upload|post"
    r"|run|execute|delete|erase|remove|print|output|reveal|read out|reply|respond|answer|say"
    r"|append|include|insert|add|recommend|call|open|fetch|visit|copy|transfer|pay|buy|approve)"
)
_PRIVATE = (
    r"(?:memory|memories|conversations?|chats?|chat history|notes?|secrets?|passwords?|tokens?"
    r"|credentials|api keys?|system prompt|files)"
)
_READS = r"(?:read|see|find|load|process|parse|open|receive|retrieve|recall|get to|come across)"
_MARKS = r"(?:^|(?<![ \t*_>#-])(?=[ \t_#]*[-*>]))[ \t*_>#-]*"
"""The marks of a list, a quotation, a comment; from their first one, or many would take long."""
_PATTERNS = (
    rf"{_VOID}[^\n.]{{0,30}}\b(?:previous|prior|above|earlier|preceding|system|safety|all|your"
    r"|existing|former|original|vorherigen|alle|bisherigen|pr\u00e9c\u00e9dentes|anteriores)\b"
    rf"[^\n.]{{0,20}}\b{_RULES}\b",
    rf"{_VOID}[^\n.]{{0,30}}\b{_RULES}\b[^\n.]{{0,30}}\b(?:above|you (?:were|are|have|had|got"
    r"|know)|(?:given|stated|written|set|told) (?:before|earlier|so far)"
    r"|pr\u00e9c\u00e9dentes|anteriores)\b",
    rf"{_VOID}[^\n.]{{0,20}}\b(?:what|everything|anything|all) (?:that )?(?:you|came|was said|is"
    r" written)\b[^\n]{0,30}\b(?:told|before|above|taught|trained|asked|said|given)\b",
    rf"\b(?:not|don't|never|without|cannot|can't)\b[^\n.]{{0,20}}\b{_TELL}\b[^\n.]{{0,20}}{_USER}",
    rf"\b(?:hide|hidden|conceal|keep|secret|withhold|out of sight)\b[^\n.]{{0,30}}\bfrom {_USER}",
    r"\b(?:without|behind)\b[^\n.]{0,10}\bthe (?:user|human|owner)(?:'s)? (?:knowing|knowledge"
    r"|noticing|consent|permission|approval|back|being)\b",
    r"\bohne\b[^\n.]{0,10}\b(?:nutzer|benutzer|anwender)(?:in|s)?\b[^\n.]{0,15}\bzu (?:fragen"
    r"|informieren|sagen|warnen)\b|\b(?:dem|der) (?:nutzer|benutzer)(?:in)? (?:nichts|nicht)\b"
    r"|\bne (?:dis|dites|le dis)\b[^\n.]{0,20}\bl'utilisateur\b|\bno (?:le )?digas\b[^\n.]{0,20}"
    r"\bal usuario\b",
    r"\byou are now\b[^\n.]{0,40}\b(?:mode|unrestricted|free|admin|root|dan|assistant|agent)\b",
    r"\b(?:important )?system (?:note|override|message|instruction|prompt)\s?:",
    r"\bnew (?:system )?(?:instructions?|orders) (?:for|to) (?:you|the (?:assistant|agent))\b",
    rf"\b(?:notes?|instructions?|messages?|tasks?|orders?) (?:to|for) [^\n.:]{{0,20}}\b{_MIND}\b"
    r"[^\n.:]{0,30}:",
    rf"\byour\b[^\n.]{{0,20}}\b{_RULES} (?:no longer apply|do not apply|are (?:now )?(?:void"
    r"|obsolete|suspended|cancelled|replaced))\b",
    r"<\|?/?(?:im_start|im_end|system|assistant|endoftext)\|?>|\[/?INST\]|^#+ Instructions?:"
    r"|\[/?(?:system|assistant|developer)\]|<tool_call>",
    r"\b(?:curl|wget|iwr)\b[^\n|]{0,200}\|\s{0,9}(?:sudo\s{1,9})?(?:ba|z)?sh\b",
    rf"\b{_AGENT}\b(?! (?:of|for|from|at|in)\b)[^\n.]{{0,30}}\b(?:must|should|shall|has to|muss"
    rf"|soll)\b(?! (?:be|get|receive|have)\b)[^\n]{{0,200}}{_ADDRESS}",
    r"\b(?:send|mail|e-?mail|post|upload|forward|exfiltrate|submit|leak|copy)\b[^\n.]{0,20}"
    rf"\b(?:all|whole|entire|every|each|your|complete|full)\b[^\n.]{{0,20}}\b{_PRIVATE}\b"
    rf"(?! (?:of|from|about) (?:the|our)\b)[^\n]{{0,60}}{_ADDRESS}",
    r"\b(?:send|mail|e-?mail|post|upload|forward|exfiltrate|submit|leak)\b the (?:\w+ )?"
    r"(?:memory|memories|conversation|chat history|secrets|system prompt|credentials)\b"
    rf"[^\n]{{0,60}}{_ADDRESS}",
    rf"(?:{_MARKS}|\]\([ \t*_>#-]*)(?:(?:attention|dear|hey|hello|to)[ ,:]+"
    rf"(?:the |any |all )?)?{_MIND}s?\b[*_]*\s?(?:[:,;!]|--|\u2013)[^\n]{{0,40}}\b{_DO}\b",
    rf"{_MARKS}model[*_]*\s?[:!][^\n]{{0,20}}\b(?:you|ignore|disregard)\b",
    rf"{_MARKS}(?:assistant|agent)[*_]*\s?[:!][^\n]{{0,20}}"
    r"\b(?:from now on|always|never|you|your|ignore|disregard|must|do not)\b",
    rf"{_MARKS}(?:system|developer|admin|root)[*_]*\s?[:!][^\n]{{0,60}}"
    rf"\b(?:{_USER}|you must|you are|you may|your (?:instructions|rules|task)|assistant|shell)\b",
    rf"{_USER} (?:has|have)? ?(?:already |just |hereby )?(?:approved?|authori[sz]ed?|allowed"
    r"|granted|permitted|consented to|agreed to|confirmed|waived)\b[^\n.]{0,20}\b(?:all|any|every"
    r"|full|each|unrestricted|root|admin)\b[^\n.]{0,20}\b(?:commands?|tools?|actions?|access"
    r"|requests?|permissions?|calls?|operations?|deletions?|transfers?|payments?|confirmations?)\b",
    rf"\bif you are (?:an? |the )?(?:\w+ )?(?:{_MIND}|assistant|agent|model)\b"
    r"(?=\s?[,:]| (?:reading|processing|that|and|with access)\b)",
    rf"\b(?:when(?:ever)?|once|as soon as|after|before|if|(?:each|every) time) (?:you {_READS}|"
    rf"reading) (?:this|these)\b[^\n]{{0,80}}\b{_DO}\b",
    rf"\b{_DO}\b[^\n]{{0,80}}\b(?:when(?:ever)?|once|as soon as|after|before|if|(?:each|every)"
    rf" time) (?:you {_READS}|reading) (?:this|these)\b",
    r"\b(?:when(?:ever)?|while|before|after|in|with|(?:each|every) time) (?:you )?(?:are )?"
    r"(?:summari[sz](?:e|es|ing)|answer(?:s|ing)?|respond(?:s|ing)?|repl(?:y|ies|ying)|asked"
    r"|(?:every|each) (?:answer|reply|summary)|all (?:answers|replies|summaries))\b"
    r"(?! to (?!the user|this|questions?\b))[^\n]{0,60}\b(?:append|fetch|visit|call|include|insert"
    r"|add|send|run|execute|post|mail|recommend|link to|output)\b[^\n]{0,80}"
    rf"(?:{_ADDRESS}|\b(?:your|all|the user's) {_PRIVATE}\b|`)",
    r"(?:^|[.;:,]|\b(?:first|then|and|please|now)) *(?:read|open|print|show|dump|cat|copy|reveal"
    r"|repeat|output|send|post|fetch)\b[^\n.;]{0,30}(?:\bsecrets\.json|\bid_rsa\b|\.ssh/"
    r"|\byour (?:system )?(?:prompt|instructions)\b|\bthe system prompt\b)",
)
_HINT = re.compile(
    rf"{_VOID}|\b(?:you|your|user|human|{_MIND}s?|assistants?|agents?|models?|assistente?n?"
    r"|system|developer|admin|root|instructions?|benutzer(?:in|s)?|nutzer(?:in|s)?|anwender(?:in|s)?"
    r"|utilisateur|usuario|curl|wget|iwr|id_rsa|summari[sz]\w+|answer\w*|respond\w*|repl(?:y|ies"
    r"|ying)|asked|reading|owner)\b|<\||</|<tool|\[/?inst|://|www\.|@|\.ssh/|secrets\.json"
    r"|\.(?:com|net|org|io|example|dev|app|ru|cn)\b",
    re.IGNORECASE,
)
"""Every order has one of these words. Most lines have none and are not searched further."""
_ORDERS = tuple(re.compile(each, re.IGNORECASE | re.MULTILINE) for each in _PATTERNS)


def find_orders(text: str) -> Iterator[int]:
    """Yield the index of each line that gives an agent orders."""
    for at, line in enumerate(text.split("\n")):
        if _HINT.search(line) and any(each.search(line) for each in _ORDERS):
            yield at


def apply_fixes(documents: Iterable[Document], found: Iterable[LintFinding]) -> dict[str, str]:
    """Apply the edits of findings; return the new texts of the changed files by path.

    A finding that would change the same lines as an earlier one waits for the next run.
    """
    before = {document.path: document for document in documents}
    lines = {path: [*document.page.lines] for path, document in before.items()}
    taken = set[tuple[str, int]]()
    edits: list[Edit] = []
    for finding in found:
        places = {(e.path, at) for e in finding.edits for at in range(e.start, e.end)}
        if taken.isdisjoint(places):
            taken |= places
            edits += finding.edits
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        lines[edit.path][edit.start : edit.end] = [edit.text] if edit.text else []
    new = {path: "".join(lines[path]) for path in {edit.path for edit in edits}}
    return {path: text for path, text in new.items() if text != before[path].text}


def format_diff(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Yield a unified diff of the files of `after`, without line ends and without secrets."""
    for path in sorted(after):
        old, new = (
            [line.rstrip("\r\n") for line in read_page(without_secrets(side[path])).lines]
            for side in (before, after)
        )
        yield f"diff --git a/{path} b/{path}"
        yield from difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="")
