"""Finds words that give an agent orders: in text of others, and in what is to be remembered."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_LIFTS_A_GUARD = re.compile(
    r"\b(?:never|do not|don['\u2019]t|stop|no need to) (?:ever )?ask(?:ing)?\b"
    r"(?! (?:me )?(?:if|whether|about|how|what|why|follow|more|so many|two))"
    r"|\b(?:always|from now on|just)\b.{0,80}\bwithout (?:asking|(?:my |any |a )?(?:confirm\w*|"
    r"permission|approval|consent|ok\b|okay|yes\b|question))",
    re.IGNORECASE,
)


def find_orders(text: str) -> Iterator[int]:
    """Yield the index of each line that gives an agent orders."""
    for at, line in enumerate(text.split("\n")):
        if _HINT.search(line) and any(each.search(line) for each in _ORDERS):
            yield at


def has_orders(text: str) -> bool:
    return any(True for _ in find_orders(text))


def lifts_guard(text: str) -> bool:
    """Return True for a text that asks to skip a confirmation."""
    return _LIFTS_A_GUARD.search(text) is not None
