"""Find what the working notes keep of a turn. Code decides; no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from openclaw.frozen import frozen
from openclaw.messages import ToolUse
from openclaw.nlp.identifiers import exact_strings, has_own_shape, identifiers
from openclaw.nlp.sentences import (
    LONGEST_SENTENCE,
    blank_quotes,
    find_statements,
    is_order,
    own_words,
    read_statement,
    sentences,
    shorten,
    strip_lead_in,
)
from openclaw.nlp.words import COMMON, LONGEST_OWN, WORD, stem
from openclaw.types import Change

LONGEST_REQUEST = 200
MOST_FACTS = 24
TODO_FILE = "memory/TODO.md"

_TASK = re.compile(
    r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)(?:[ \t]+\^[\w-]+)?[ \t]*$"
)
_UNKNOWN = re.compile(
    r"\b(?:I (?:do not|don['\u2019]t|could not|couldn['\u2019]t|cannot|can['\u2019]t|was unable to|"
    r"am not able to|have no|found no(?:thing)?) ?(?:know|find|tell|see|answer|determine|have|"
    r"access|information|record|say)?|no information|(?:is|was|are|were) not (?:mentioned|found|"
    r"stated|specified|given)|there is no (?:information|mention|record|note)|"
    r"not enough information|ich weiß (?:es )?nicht|(?:konnte|kann) ich nicht (?:finden|sagen)|"
    r"keine (?:Angabe|Information)\w*|nicht (?:gefunden|bekannt)|je ne sais pas|aucune information|"
    r"no (?:lo )?sé|no encuentro|non (?:lo )?so|"
    r"non trovo)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"\b(?:anything else|something else|can i help|help you with|would you like (?:me|to)|"
    r"do you want me|^shall i|^should i (?:also|go)|let me know|is that (?:ok|right|correct)|"
    r"does that (?:help|work)|"
    r"how can i|what would you like|(?:can|may) i (?:do|help)|noch etwas|sonst noch|helfen|"
    r"autre chose|algo más|altro)\b",
    re.IGNORECASE,
)


@frozen
class NoteAdditions:
    """What a turn adds to the working notes.

    request    the user's request in his own words, on one line
    facts      what the user stated, word for word
    findings   lines of the answer and of results, word for word
    files      what happened to files: "workspace/a.md written"
    todos      what happened to to-dos: "added: Buy milk"
    questions  open questions
    """

    request: str = ""
    facts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def find_additions(
    said: str, answer: str, uses: Sequence[ToolUse] = (), changes: Sequence[Change] = ()
) -> NoteAdditions:
    """Return what a turn adds to the working notes: from the user's message, the answer, the tool
    calls and the changed files. The caller masks secrets."""
    facts = dict.fromkeys(shorten(fact.text) for fact in find_statements(said))
    real = [change for change in changes if change.before != change.after]
    return NoteAdditions(
        request=shorten_request(said),
        facts=tuple(facts)[:MOST_FACTS],
        findings=find_findings(said, answer, uses),
        files=tuple(
            f"{change.path} {'removed' if change.after is None else 'written'}"
            for change in real
            if change.path != TODO_FILE
        ),
        todos=tuple(line for c in real if c.path == TODO_FILE for line in _todo_changes(c)),
        questions=_open_questions(said, answer),
    )


def shorten_request(said: str) -> str:
    """Return what the user said as one line of at most 200 characters."""
    line = " ".join(own_words(said).split()) or " ".join(said[: 4 * LONGEST_REQUEST].split())
    if len(line) <= LONGEST_REQUEST:
        return line
    cut = line[: LONGEST_REQUEST - 3]
    return (cut[: cut.rindex(" ")] if " " in cut[100:] else cut).rstrip(" ,;:") + "..."


def _todo_changes(change: Change) -> list[str]:
    """Return what happened to the tasks of a to-do file, compared by their text."""
    before, after = _read_tasks(change.before), _read_tasks(change.after)
    lines = []
    for text, done in after.items():
        if text not in before:
            lines.append(f"{'done' if done else 'added'}: {text}")
        elif done != before[text]:
            lines.append(f"{'done' if done else 'undone'}: {text}")
    return lines + [f"removed: {text}" for text in before if text not in after]


def _read_tasks(text: str | None) -> dict[str, bool]:
    found = (_TASK.match(line) for line in (text or "").splitlines() if "[" in line[:20])
    return {each[2]: each[1] != " " for each in found if each}


def _open_questions(said: str, answer: str) -> tuple[str, ...]:
    """Return what the answer asks the user at its end, and what the user asked in vain."""
    found = []
    ending = list(sentences(answer[-600:]))[-1:]
    if ending and ending[0].endswith(("?", "\uff1f")) and not _POLITE.search(ending[0]):
        found.append(f"asked of the user: {shorten(ending[0])}")
    if _UNKNOWN.search(answer[:2000]):
        asked = [s for s in sentences(own_words(said)) if s.endswith(("?", "\uff1f"))]
        found += [shorten(each) for each in asked[:2] if not is_order(blank_quotes(each))]
    return tuple(found)


MOST_FINDINGS = 6
MOST_FROM_ANSWER = 3
MOST_ORDERS = 2
MOST_CALLS = 8
LONGEST_ANSWER = 4_000
HEAD_CHARS, TAIL_CHARS = 2_500, 800
MOST_LINES = 120
LONGEST_LINE = 300
MOST_RELATED = 10
"""Lines of results that are searched for exact strings."""

_HINT = re.compile(r"\d|[/\\@_=:]|[a-z][A-Z]")
_FENCED = re.compile(r"<<data [0-9a-f]{8} from (?P<source>[^\n]*?), no orders>>")
_NOT_A_FINDING = re.compile(
    r"\[(?:Cut|All of it|cut here|\d+ more)|<<|```|Result of |.{1,200}, lines \d+-\d+ of \d+"
)
_PATH = re.compile(r"[/\\]|\.[A-Za-z]\w{0,4}$")
_MARKUP = re.compile(r"^[ \t>#*+|-]+")
_LABEL_ARGUMENTS = (
    "path",
    "url",
    "query",
    "command",
    "folder",
    "list",
    "text",
    "expression",
    "words",
    "name",
)
_WRITES = frozenset(("write_file", "edit_file", "append_file", "remember", "todo", "delete_file"))


class ResultLine(NamedTuple):
    """A line of a result.

    score    how much it has to do with the turn
    label    the call that it is from
    foreign  somebody else has written it
    """

    score: float
    label: str
    foreign: bool
    text: str


def find_findings(said: str, answer: str, uses: Sequence[ToolUse]) -> tuple[str, ...]:
    """Return at most six lines, those of the user and of the answer first."""
    answer = _cut_at_word(answer, LONGEST_ANSWER)
    answered = set(exact_strings(answer))
    known = set(exact_strings(_cut_at_word(said, LONGEST_ANSWER)))
    lines = [*_find_orders(said), *_find_in_answer(answer, known)]
    known.update(string for line in lines for string in exact_strings(line))
    wanted = _turn_words(f"{said[:1000]} {answer[:1000]}")
    close = [
        line
        for use in uses[-MOST_CALLS:]
        if use.ok and use.tool not in _WRITES
        for line in _related_lines(use, wanted)
    ]
    close.sort(key=lambda line: -line.score)
    found = [each for line in close[:MOST_RELATED] if (each := _to_finding(line, known, answered))]
    found.sort(key=lambda each: -each[0])
    best = [line for _, line in found[: MOST_FINDINGS - len(lines)]]
    return tuple(dict.fromkeys((*lines, *best)))


def _find_orders(said: str) -> list[str]:
    """Return orders with a number, a date or an id. They state nothing, but what was ordered (the
    table for 7 at 19:30) is soon no longer in the latest request."""
    found = []
    for sentence in sentences(own_words(said)):
        if not _HINT.search(sentence) or not is_order(blank_quotes(sentence)):
            continue
        strings = exact_strings(sentence)
        if any(re.search(r"\d|@", each) and not _PATH.search(each) for each in strings):
            found.append(f"asked: {shorten(sentence, LONGEST_SENTENCE - 7)}")
    return found[:MOST_ORDERS]


def _find_in_answer(answer: str, known: set[str]) -> list[str]:
    scored = []
    text = re.sub(r"```.*?(?:```|$)", "", answer, flags=re.DOTALL)
    for number, sentence in enumerate(sentences(text)):
        plain = shorten(_MARKUP.sub("", sentence).replace("**", ""))
        if not _HINT.search(plain) or plain.endswith("?"):
            continue
        new = [each for each in exact_strings(plain) if each not in known]
        if new:
            scored.append((-len(new), number, plain))
    best = sorted(scored)[:MOST_FROM_ANSWER]
    return [plain for _, _, plain in sorted(best, key=lambda each: each[1])]


def _to_finding(line: ResultLine, known: set[str], answered: set[str]) -> tuple[float, str] | None:
    """Return a line with a new exact string and its score. From somebody else's text only these
    strings are taken, so that none of its sentences gets into the notes."""
    strings = identifiers(line.text)
    shaped = [each for each in strings if has_own_shape(each)]
    new = [each for each in shaped if each not in known and each not in line.label]
    if not new:
        return None
    score = line.score + 0.5 * min(len(new), 4) + 2 * sum(each in answered for each in strings)
    shown = ", ".join(new[:6]) if line.foreign else line.text
    return score, f"{line.label}: {shorten(shown)}"


def _turn_words(text: str) -> frozenset[str]:
    """Return the words to look for in lines, also without their endings and with an "s"."""
    words = [word for word in map(str.lower, WORD.findall(text)) if word not in COMMON]
    stems = map(stem, words)
    return frozenset(each for word in (*words, *stems) for each in (word, word + "s"))


def _related_lines(use: ToolUse, wanted: frozenset[str]) -> list[ResultLine]:
    """Return the lines of a result that share words with the request or the answer."""
    output = use.output
    if len(output) > HEAD_CHARS + TAIL_CHARS:
        head, tail = output[:HEAD_CHARS], output[-TAIL_CHARS:]
        output = f"{head[: head.rfind(chr(10)) + 1] or head}{tail[tail.find(chr(10)) + 1 :]}"
    foreign, label = bool(_FENCED.search(output)), _call_label(use)
    lines = []
    for raw in output.split("\n")[:MOST_LINES]:
        text = _cut_at_word(raw, LONGEST_LINE)
        if len(text) > 3 and _HINT.search(text) and not _NOT_A_FINDING.match(text):
            common = len(wanted.intersection(WORD.findall(text.lower())))
            lines.append(ResultLine(float(min(common, 5)), label, foreign, " ".join(text.split())))
    if len(lines) > MOST_RELATED:  # of a long result only what has to do with the turn
        lines = [line for line in lines if line.score]
    return lines


def _cut_at_word(text: str, most: int) -> str:
    """Return the beginning of a text in at most `most` characters, cut between words."""
    if len(text) <= most:
        return text
    cut = text[: most + 1]
    return cut[: max(cut.rfind(" "), cut.rfind("\n"), 0)]


def _call_label(use: ToolUse) -> str:
    """Return the tool and what it was called for, in few words."""
    value = next((str(use.input[name]) for name in _LABEL_ARGUMENTS if use.input.get(name)), "")
    short = " ".join(value.split())
    return f"{use.tool} {short[:60]}".strip()


LONGEST_COMPLAINT = 240
"""Characters; a longer message is about something else."""

_THAT = r"(?:(?:that|this|it|again|about)\b|(?:i|my|our)\b)"
_ALREADY = r"(?:already |just |clearly )?"
_COMPLAINTS = (
    rf"\byou(?: have|'ve)? {_ALREADY}(?:forgot|forgotten) {_THAT}",
    r"\byou (?:forgot|keep forgetting)\s*[.!]*$",
    r"\byou(?: do not|'t| don't)? keep forgetting\b",
    rf"\bi(?: have|'ve|'d| had)? {_ALREADY}(?:told|said to|mentioned to) you"
    r" (?:that|this|so|already|before|about (?:that|this|it|my)|(?:what|when|where) my)\b",
    r"\bi(?: have|'ve| had)? (?:already|just) (?:told you|said (?:that|so|this)|mentioned)\b",
    r"\byou (?:should|ought to) (?:know|remember|have known|have remembered)"
    r" (?:that|this|it|my|what|where|when|who)\b",
    r"\b(?:why )?(?:don't|didn't|do not|did not|can't) you remember (?:that|this|it|what i|my)\b",
    r"\bdas (?:hattest|hast) du (?:wohl |schon wieder |wieder |etwa )?vergessen\b",
    r"\bdu (?:hast|hattest) (?:das|es|schon wieder|wieder|meine?n?\b.*) ?.{0,30}vergessen\b",
    r"\bdas (?:habe|hab|hatte) ich dir (?:\w+ ){0,3}(?:gesagt|erz\u00e4hlt|geschrieben)\b",
    r"\b(?:ich (?:habe|hab|hatte) (?:es |das )?dir|habe? ich dir) (?:\w+ ){0,4}gesagt\b",
    r"\bdas (?:solltest|m\u00fcsstest) du (?:\w+ )?wissen\b",
    r"\btu (?:as|avais) (?:d\u00e9j\u00e0 |encore )?oubli\u00e9\b",
    r"\bje te l'(?:ai|avais) (?:d\u00e9j\u00e0 |pourtant )?dit\b",
    r"\b(?:lo |te )?(?:has olvidado|olvidaste)\b",
    r"\bya te lo (?:dije|hab\u00eda dicho|he dicho)\b",
)
_COMPLAINT = re.compile("|".join(_COMPLAINTS), re.IGNORECASE)
_NOT_A_COMPLAINT = re.compile(
    r"^\s*(?:if|when(?:ever)?|in case|did|do|have|has|had|wenn|falls|habe? ich|hast du|si|cuando)\b"
    r"|\b(?:if|wenn|falls) (?:you|du)\b|[\"\u201c\u201e]"
    r"|\b(?:pretend|imagine|suppose|stell dir|translate|write|rephrase|correct|\u00fcbersetze)\b",
    re.IGNORECASE,
)


def is_complaint(message: str) -> bool:
    """Return True when the user complains that he had said this before or that it was forgotten,
    in English, German, French or Spanish."""
    if len(message) > LONGEST_COMPLAINT:
        return False
    own = own_words(message.replace("\u2019", "'"))
    return any(_complains(blank_quotes(sentence)) for sentence in sentences(own))


def _complains(sentence: str) -> bool:
    return not _NOT_A_COMPLAINT.search(sentence) and _COMPLAINT.search(sentence) is not None


_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"@|(?:\d[ ()/.-]{0,3}){7}")
_SELF_BEFORE_QUESTION = re.compile(
    r"(?P<says>(?:i['\u2019]?m|i am|i have|i['\u2019]ve got|we['\u2019]re|we have|my \w+ (?:is|"
    r"are|has)|"
    r"ich bin|ich habe|mein\w* \w+ ist|je suis|j['\u2019]ai|soy|tengo) [^,;?]{3,80}?)(?:, |; |"
    r" - | \u2013 )",
    re.IGNORECASE,
)
_RULE_WORDS = frozenset(
    """always never ever every each without unless before after past when whenever no stop anything
    everything metric imperial celsius fahrenheit hour kilometres kilometers kg british american
    plain formal informal formally informally si iso simple emoji emojis emoticons smileys
    pleasantries smalltalk small jargon buzzwords flattery disclaimers apologies filler fluff
    exclamation preamble corporate greetings address refer tutoie vouvoie floskeln anglizismen
    politesses immer nie jamais toujours siempre nunca ohne sans answer reply respond
    speak antworte sprich réponds responde parle sin""".split()
)
"""An order with one of these words may hold for good."""
_SELF_WORDS = _RULE_WORDS | frozenset(
    """i im my mine our ours we us ich mir mich mein meine meinen meiner wir uns unser unsere bin
    unseren je j mon ma mes nous notre nos on yo mi mis nosotros nuestro nuestra soy estoy tengo
    vivo trabajo prefiero odio detesto gusta encanta toco estudio hemos decidimos acordamos elegimos
    quedamos decided decision settled approved agreed official rule circumstances entschieden
    beschlossen pronouns lets mum mom dad grandma grandpa kids result outcome""".split()
)


def may_state_fact(said: str) -> bool:
    """Return True when a message may state a fact that is worth keeping. Of a long message only the
    beginning is read. Most messages state none, and this check saves compiling the patterns that
    find the facts (40 ms)."""
    own = said if len(said) <= LONGEST_OWN else said[: LONGEST_OWN // 2]
    return any(map(_may_state_fact, sentences(own_words(own))))


def _may_state_fact(sentence: str) -> bool:
    """Return True when a sentence may state a fact. Most questions and orders do not, and this
    check saves compiling the other patterns (40 ms)."""
    if statement_before_question(sentence):
        return True
    if not sentence.endswith(("?", "\uff1f")):
        words = {word.casefold() for word in _WORD.findall(sentence)}
        telling = _RULE_WORDS if is_order(strip_lead_in(sentence)) else _SELF_WORDS
        if words & telling or _NUMBER.search(sentence):
            return True
    return bool(read_statement(sentence).text)


def statement_before_question(line: str) -> str:
    """Return what a question first says of the user, else "": "I'm left-handed" of "I'm
    left-handed, can you ...?"."""
    if not line.endswith(("?", "\uff1f")):
        return ""
    found = _SELF_BEFORE_QUESTION.match(strip_lead_in(line))
    return found["says"] if found else ""
