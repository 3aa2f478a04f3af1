"""Checks an answer before the turn ends: for claims that are not true, the language of the user,
words of this program, and a date that only the clock has given.

A small model gets one chance to correct what is wrong, with a hint that names it. Each check must
be sure, not complete: a good answer that is asked for again costs the user seconds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath

from openclaw.agent.protocols.base import ModelStep, RunningTurn
from openclaw.agent.protocols.json_steps import IN_FORM, NO_FILE, first_line
from openclaw.agent.protocols.step_schema import READING, only_shapes_answer
from openclaw.frozen import frozen
from openclaw.messages import ToolCall, ToolUse
from openclaw.nlp.claims import SHORTEST_CLAIM, find_claims
from openclaw.nlp.claims import count_releasable as count_releasable  # the loop takes it from here
from openclaw.nlp.classifier import LANGUAGES, language_of, read_answer, read_message
from openclaw.nlp.intent import NO_SUCH_TODO, QUESTION_MARK, may_order
from openclaw.nlp.sentences import sentences
from openclaw.nlp.skill_instructions import answer_form, left_blanks, line_form
from openclaw.nlp.words import content_words
from openclaw.tools.toolbox import Toolbox
from openclaw.types import CHANGING

UNBACKED = (
    'Nothing was changed in this turn, yet you wrote: "{claim}". '
    "Do it now with {tool}, or say plainly that it was not done."
)
UNTOUCHED = (
    "Nothing was done with {name}, which is no file yet. Do it with a tool, or say plainly why not."
)
UNDONE = "Nothing was changed. Write what the user tells into the file with a tool."
NOT_LOOKED = (
    "You have not looked. Find it with a tool, or answer from what stands above the request."
)
DENIED = "You have just read {path}: what stands there is known. Answer from it."
INVENTED = (
    "{value} stands in no file, and the user has not said it. Look it up with a tool, or say that"
    " you do not know it."
)
OTHER_LANGUAGE = "Say the same in {language}, the language of the user."
OWN_WORDS = "These are not words for the user. Tell the user in one plain sentence what was done."
ECHO = "These are the user's words. Do what they want with a tool, or answer them."
COPIED_LINE = "That is only what is known already. Write the text that the user asks for."
WHICH = "Tell the user that no to-do has these words, and ask which one is meant."
ONLY_TODAY = (
    "The date {day} is today's and stands in no file. Answer from the files, or without a date."
)
FEWEST_LETTERS = 25  # a shorter text may be a name or a figure, which has no language
FEWEST_SIGNS = 6  # the same in Chinese and Japanese
SHORTEST_SPEECH = 60  # characters; a short answer such as "All right." is enough
LEAST_TOLD = 0.2  # a sentence that is less likely than this to tell a deed or a fact tells none
LONGEST_REFUSAL = 300  # characters; a longer answer has told something
FEWEST_DIGITS, LEAST_UNDIVIDED = 7, 9
"""Digits of a telephone number with and without marks between them; shorter figures are computed
and rounded in many ways."""
SHORTEST_HINT = 12
LONGEST_RESULT = 600
_WORD = re.compile(r"\w+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_CLOCK = re.compile(r"^Now: [^\n]*?(\d{4}-\d\d-\d\d).*", re.MULTILINE)
"""The line of the tail that tells the time (`openclaw.agent.prompt.make_tail`)."""


@frozen
class Fault:
    """What is wrong with an answer.

    what: the end of "the reply ...", for the user
    hint: what the model is told
    claims: sentences that say something was done
    kind: the kind of step that may mend it, "" for another answer
    form: a regular expression for the next answer, "" for none
    warning: what the user is told when the next answer has the same fault
    """

    what: str
    hint: str
    claims: tuple[str, ...] = ()
    kind: str = ""
    form: str = ""
    warning: str = ""


def hint_sentences(turn: RunningTurn) -> frozenset[str]:
    """Return the sentences that stand in the hints to the model alone."""
    results = [use.output for use in turn.uses]
    known = " ".join("\n".join([turn.user.content, turn.skill, *results]).split())
    hints = (each for entry in turn.entries for each in sentences(entry.hint))
    return frozenset(h for h in hints if len(h) >= SHORTEST_HINT and h.rstrip(".") not in known)


def begin_of_answer(text: str, hints: Collection[str]) -> str:
    """Return what can be shown of an unfinished answer: no hint, nor the beginning of one."""
    text = _without(text, hints)
    begun = (n for hint in hints for n in range(1, len(hint)) if text.endswith(hint[:n]))
    return text[: len(text) - max(begun, default=0)]


def clean_step(step: ModelStep, turn: RunningTurn, toolbox: Toolbox) -> ModelStep:
    """Return a step without hints of this program, which a small model repeats in its answer and in
    what it writes; there it repeats the tail of the prompt too."""
    hints = hint_sentences(turn)
    if step.calls:
        clock = _CLOCK.search(turn.user.context)
        hints |= {*turn.cues.lines, clock[0] if clock else ""}
        return replace(step, calls=tuple(_clean_call(call, hints) for call in step.calls))
    return replace(step, answer=_clean_answer(step.answer, hints, turn, toolbox))


def _clean_call(call: ToolCall, hints: Collection[str]) -> ToolCall:
    texts = {name: text for name, text in call.arguments.items() if isinstance(text, str)}
    clean = {name: _without(text, hints).strip() for name, text in texts.items()}
    new = {name: text for name, text in clean.items() if text and text != texts[name].strip()}
    return replace(call, arguments={**call.arguments, **new}) if new else call


def _clean_answer(answer: str, hints: Collection[str], turn: RunningTurn, toolbox: Toolbox) -> str:
    """Return the answer without hints. When nothing is left: what was done, else what the last call
    brought."""
    said = _without(answer, hints).strip()
    if said or not answer:
        return said
    first: dict[str, ToolUse] = {}  # without what was told of a call that came again
    for use in turn.uses:
        first.setdefault(f"{use.tool} {use.input}", use)
    made = [use for use in first.values() if use.ok and toolbox.effect(use.call) in CHANGING]
    if made:
        return "\n".join(first_line(use.output) for use in made)
    return [*first.values()][-1].output[:LONGEST_RESULT] if first else ""


def _without(text: str, hints: Collection[str]) -> str:
    for hint in hints:
        text = text.replace(hint, "")
    return text


def find_fault(answer: str, turn: RunningTurn, toolbox: Toolbox, *, changed: bool) -> Fault | None:
    """Return the first thing that is wrong with an answer, None for a good one. `changed` tells
    that the turn has changed something."""
    claims = () if changed else find_claims(answer, turn.user.content)
    nameless = NO_SUCH_TODO in turn.cues.lines and not changed
    if nameless and not (QUESTION_MARK.search(answer) or any(_refusals(answer))):
        return Fault("did not ask which to-do is meant", WHICH, claims)
    if claims:
        tool = "the tool `todo`" if turn.cues.todos or turn.cues.unclear else "a tool"
        hint = UNBACKED.format(claim=claims[0], tool=tool)
        return Fault("claimed a change that did not happen", hint, claims, "change")
    if name := _untouched_file(answer, turn, toolbox):
        return Fault(f"left {name} out", UNTOUCHED.format(name=name), kind="change")
    if turn.rows.surely and not changed and any(_refusals(answer)):  # of a code that is told it
        return Fault("refused a change of a file", UNDONE, kind="change")
    if name := _unsaid_missing(answer, turn):
        return Fault(f"did not say that there is no {name}", NO_FILE.format(request=turn.request))
    said, asked = (_WORD.findall(each.casefold()) for each in (answer, turn.user.content))
    is_echo = said == asked and len(answer) >= SHORTEST_HINT and not changed
    tells_change = turn.rows.surely or _tells_value(turn)
    if is_echo and (_may_want(turn.request) or tells_change):
        only_asks = read_message(answer).lacks("orders") and not tells_change
        return Fault("only repeated the request", ECHO, kind="" if only_asks else "change")
    if turn.cues.orders and not changed and _only_copies_line(answer, turn):
        return Fault("only repeated what is known", COPIED_LINE)
    if changed and _tells_nothing(answer):
        return Fault("was no answer", OWN_WORDS)
    if not changed and _gives_up_unlooked(answer, turn):
        return Fault("gave up without a look", NOT_LOOKED, kind="look")
    if path := _denied_file(answer, turn):
        return Fault(f"denied what {path} holds", DENIED.format(path=path))
    if fault := _find_form_fault(answer, turn, toolbox):
        return fault
    if value := next(_invented_contacts(answer, turn, toolbox), ""):
        hint = INVENTED.format(value=value)
        warning = f"{value} in this answer was neither read nor said by you"
        what = "holds a number or address that nobody has said"
        return Fault(what, hint, kind="look", warning=warning)
    if language := _wanted_language(answer, turn):
        return Fault(f"was not in {language}", OTHER_LANGUAGE.format(language=language))
    if day := _only_todays_date(answer, turn):
        if not (turn.uses or turn.has_passages):  # then the rest is made up too
            return Fault("named today's date without a look", NOT_LOOKED, kind="look")
        return Fault("named today's date without need", ONLY_TODAY.format(day=day))
    return None


def _may_want(request: str) -> bool:
    """Return True for what may be a question or an order: "Hello." or what the user only tells may
    be said again."""
    read = read_message(request)
    return may_order(read) or not read.lacks("asks")


def _tells_value(turn: RunningTurn) -> bool:
    """Return True for a request with a number for which a file of the workspace was found."""
    found = turn.user.record.offered or ()
    in_file = any(str(each["path"]).startswith("workspace/") for each in found)
    return in_file and any(map(str.isdigit, turn.request))


def _untouched_file(answer: str, turn: RunningTurn, toolbox: Toolbox) -> str:
    """Return the new file that an order names when no call has tried more than to read, though a
    file may be written, and the answer does not name it; else ""."""
    tried = any(toolbox.effect(use.call) not in READING for use in turn.uses)
    if tried or not turn.cues.orders or not toolbox.shapes(frozenset({"write"})):
        return ""
    return next((name for name in turn.cues.missing if name not in answer), "")


def _unsaid_missing(answer: str, turn: RunningTurn) -> str:
    """Return the file that a question asks about when there is none of that or a similar name and
    the answer does not say so, after another file was read; else "". Node.js may be no file."""
    cues = turn.cues
    read = any(use.ok and use.tool == "read_file" for use in turn.uses)
    if not (read and cues.asks) or cues.named or cues.similar or any(_refusals(answer)):
        return ""
    return next(iter(cues.missing), "")


def _tells_nothing(answer: str) -> bool:
    """Return True for an answer of some length that only offers help or makes small talk."""
    if len(answer) < SHORTEST_SPEECH:
        return False
    read = [read_answer(each) for each in sentences(answer)]
    told = any(max(r.probabilities["did"], r.probabilities["answers"]) >= LEAST_TOLD for r in read)
    return not told and any(each.has("offers", "smalltalk") for each in read)


def _only_copies_line(answer: str, turn: RunningTurn) -> bool:
    """Return True when a text was to be written and the answer is what stood beside the request."""
    said, shown = (" ".join(text.split()) for text in (answer, turn.user.context))
    return len(said) >= SHORTEST_HINT and said in shown and read_message(turn.request).has("text")


def _gives_up_unlooked(answer: str, turn: RunningTurn) -> bool:
    """Return True for a short answer without any call that says it does not know or cannot, to a
    question about something that the user's files may hold."""
    known = turn.cues.chats or turn.cues.due
    if len(turn.entries) > 1 or len(answer) > LONGEST_REFUSAL or known:
        return False
    read = read_message(turn.user.content)
    general = read.lacks("recall") and not read.lacks("know", "text", "web", "chats")
    return not read.lacks("asks") and not general and any(_refusals(answer))


def _denied_file(answer: str, turn: RunningTurn) -> str:
    """Return the file that was read last when a short answer says that what the file is named
    after is not there, else ""."""
    last = next(reversed(turn.uses), None)
    if not last or not last.ok or last.tool != "read_file" or len(answer) > LONGEST_REFUSAL:
        return ""
    name = PurePosixPath(str(last.input.get("path", "")))
    named = set(content_words(name.stem))
    denied = any(named.intersection(content_words(each)) for each in _refusals(answer))
    return str(name) if denied else ""


def _refusals(answer: str) -> Iterator[str]:
    """Yield the sentences that say that nothing was found, is known or can be done."""
    for each in sentences(answer):
        if len(each) >= SHORTEST_CLAIM and read_answer(each).has("refuses"):
            yield each


def _find_form_fault(answer: str, turn: RunningTurn, toolbox: Toolbox) -> Fault | None:
    """Return what is wrong when an answer leaves a blank of the skill open, or when no line of it
    is in the form of a skill that only shapes the answer."""
    read = [use.output for use in turn.uses if use.ok and use.tool == "read_skill"]
    skill = turn.skill or "".join(read[-1:])
    form, told = line_form(skill), answer_form(skill)
    hint = IN_FORM.format(form=f":\n{told}\n", request=turn.request)
    if left_blanks(answer, skill):
        return Fault("left a blank of the skill open", hint)
    if not (form and only_shapes_answer(skill, toolbox)) or answer.rstrip().endswith("?"):
        return None
    if any(re.fullmatch(form, line.strip(" `")) for line in answer.splitlines()):
        return None
    return Fault("was not in the form of the skill", hint, form=form)


def _invented_contacts(answer: str, turn: RunningTurn, toolbox: Toolbox) -> Iterator[str]:
    """Yield the telephone numbers and addresses of an answer that stand nowhere, unless it is
    general knowledge or a text that the user wants written."""
    if not read_message(turn.user.content).lacks("know", "text", "web", "program", "sum"):
        return
    for value in toolbox.invented_values(answer):
        whole = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", answer)  # no part of a checksum
        least = LEAST_UNDIVIDED if value.isdigit() else FEWEST_DIGITS
        if "@" in value or (whole and sum(map(str.isdigit, value)) >= least):
            yield value


def _wanted_language(answer: str, turn: RunningTurn) -> str:
    """Return the name of the request's language when the answer is surely in another, else "".
    A text that is to be written or translated may have any language, and so may an answer of which
    most was read: names have none."""
    request, words = turn.user.content, _WORD.findall(answer)
    read = {*_WORD.findall("\n".join(_read_texts(turn)))}
    own = [word for word in words if word not in read]
    if len(answer) < FEWEST_LETTERS or "```" in answer or 2 * len(own) < len(words):
        return ""
    if len(request) < FEWEST_LETTERS and len(_CJK.findall(request)) < FEWEST_SIGNS:
        return ""
    if not read_message(request).lacks("text"):
        return ""
    asked, told = language_of(request), language_of(answer)
    return LANGUAGES[asked] if asked and told and asked != told else ""


def _only_todays_date(answer: str, turn: RunningTurn) -> str:
    """Return today's date as the answer writes it, when the model has it from the clock alone and
    nobody asked for it, else ""."""
    clock = _CLOCK.search(turn.user.context)
    if not clock:
        return ""
    today = date.fromisoformat(clock[1])
    pattern = re.compile(
        rf"(?<!\d){today.day}(?!\d)[^\d\n]{{1,20}}{today.year}"
        rf"|[^\W\d_]+ {today.day}(?:st|nd|rd|th)?,? {today.year}"
        rf"|{today.year}\D{{1,3}}{today.month:02}\D{{1,3}}{today.day:02}(?!\d)"
    )
    found = pattern.search(answer)
    if not found or read_message(turn.user.content).has("clock"):
        return ""
    return "" if any(pattern.search(text) for text in _read_texts(turn)) else found[0]


def _read_texts(turn: RunningTurn) -> Iterator[str]:
    """Yield what the model has read in this turn, without the line that tells the time."""
    yield turn.user.content
    yield turn.user.context.partition("Now: ")[2].partition("\n")[2]
    yield from (use.output for use in turn.uses)
