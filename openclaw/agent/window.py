"""Plans what fits the window: parts of a conversation, and the length of a result.

First the results of old calls are shortened to one line, then whole exchanges leave the front and
a summary replaces them (`openclaw.agent.compaction`). Each cut is large, so that the beginning of
the request then stays the same for many turns: a server reads anew all that follows the first
change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from openclaw.frozen import frozen
from openclaw.messages import Entry, Message, ToolUse
from openclaw.models.token_count import Meter
from openclaw.security.display import value_text
from openclaw.tools.results import PAGE_CHARS, ResultLimits

INPUT_SHARE = 0.75  # the part of the window that a request may fill; the rest is for the reply

MAX_SHARE = 0.9  # the part that head and newest exchange alone may fill; the reply is then short

TARGET = 0.6  # cuts leave at most this part of that limit filled, where they can

KEPT = 2  # exchanges before the newest that are compacted last

KEPT_SHARE = 0.2  # the part of the limit up to which further exchanges are kept

SUMMARY_SHARE = 0.13  # the part of the limit, less head and tools, that a summary may take

LARGEST_SUMMARY, LEAST_SUMMARY = 3_000, 60

LONGEST_ARGUMENT = 120  # characters of an argument that a shortened call still shows

ToMessages = Callable[[Entry], list[Message]]


@frozen
class Size:
    """The size of an entry in tokens.

    whole: as it was sent
    short: with its results in one line
    starts: the entry starts an exchange
    last: the entry is shortened when entries up to one behind this index are
    """

    whole: int
    short: int
    starts: bool
    last: int


@frozen
class CutPlan:
    """The cuts of a request.

    drop: number of first entries to compact before the request is sent
    short: results before this entry are shown in one line
    tokens: size of the request after the cuts, above the limit when nothing helps
    """

    drop: int
    short: int
    tokens: int


def plan_cuts(
    sizes: Sequence[Size], short: int, base: int, window: int, summary: int = 0
) -> CutPlan:
    """Plan the cuts that make entries of these sizes fit the window (tokens).

    short: the entry up to which results are shortened already
    base: tokens of the head, the tools and the present summary
    summary: tokens that a new summary may add

    The newest exchange is never dropped.
    """
    limit, most = int(window * INPUT_SHARE), int(window * MAX_SHARE)

    def used(drop: int, cut: int) -> int:
        return base + sum(row.short if row.last < cut else row.whole for row in sizes[drop:])

    now = used(0, short)
    if now <= limit:
        return CutPlan(0, short, now)
    starts = [at for at, size in enumerate(sizes) if size.starts] or [0]
    newest, keep = starts[-1], starts[max(0, len(starts) - 1 - KEPT)]
    lower = max(short, keep)
    if used(0, lower) <= limit * TARGET:
        return CutPlan(0, lower, used(0, lower))
    last = len(sizes) - 1
    drop = _drop(sizes, starts, keep, limit)
    before = starts[-2] if len(starts) > 1 else newest
    gentle = [(drop, drop), (keep, keep), (keep, before)]
    hard = [(keep, newest), (keep, last), (newest, newest), (newest, last), (newest, last + 1)]
    plans = [
        CutPlan(d, max(c, short), used(d, max(c, short)) + (summary if d else 0))
        for d, c in (*gentle, *hard)
    ]
    for made in plans[:4]:
        if made.tokens <= limit * TARGET:
            return made
    least = min(plans[:4], key=lambda made: made.tokens)
    fitting = (made for made in (least, *plans[4:]) if made.tokens <= limit)
    return next(fitting, None) or next((p for p in plans[-2:] if p.tokens <= most), plans[-1])


def _drop(sizes: Sequence[Size], starts: Sequence[int], keep: int, limit: int) -> int:
    """Return the first entry that stays: it starts the last `KEPT` exchanges before the newest, or
    some more while they are small."""
    for start in starts:
        if start >= keep or sum(s.whole for s in sizes[start:]) <= limit * KEPT_SHARE:
            return min(start, keep)
    return keep


def summary_room(left: int) -> int:
    """Return the tokens for a summary where head and tools leave `left` tokens."""
    return max(LEAST_SUMMARY, min(LARGEST_SUMMARY, int(left * SUMMARY_SHARE)))


# -------- the length of a result

USUAL_HEAD = 1_000  # tokens of the starter home's first request
MAX_RESULT, LEAST_RESULT = 0.3, 0.08  # shares of the window that one result may take
CHARS_A_TOKEN = 3.5


def page_chars(window: int) -> int:
    """Return the characters of a file that one result shows in a window of so many tokens."""
    return min(PAGE_CHARS, int(result_tokens(window) * CHARS_A_TOKEN))


def result_tokens(window: int) -> int:
    """Return the most tokens of one result: a third of a request without a usual head, so that the
    last two exchanges still fit too."""
    left = (int(window * INPUT_SHARE) - USUAL_HEAD) // 3
    return max(int(window * LEAST_RESULT), min(left, int(window * MAX_RESULT)))


def material_limits(limits: ResultLimits, window: int, parts: int) -> ResultLimits:
    """Return the limits of each of `parts` attachments: together half of what the head leaves.
    `limits` are those of a result."""
    left = (int(window * INPUT_SHARE) - USUAL_HEAD) // 2
    tokens = max(int(window * LEAST_RESULT), left) // max(1, parts)
    return replace(limits, chars=tokens * 4, tokens=tokens)


# -------- the messages of a request


def make_messages(
    entries: Sequence[Entry], short: int, earlier: str, to_messages: ToMessages
) -> list[Message]:
    """Return the messages of a conversation: results before entry `short` in one line, and
    `earlier`, the summary of the archived part, in front of the first message of the user."""
    entries = [*map(_cut_refused, entries)]
    lasts = _last_indices(entries)
    said = [
        shorten(entry) if last < short else entry
        for entry, last in zip(entries, lasts, strict=True)
    ]
    if earlier and said and said[0].role == "user":
        context = f"{earlier}\n\n{said[0].context}" if said[0].context else earlier
        said[0] = replace(said[0], context=context)
    elif earlier:
        said.insert(0, Entry("user", earlier))
    return [message for entry in said for message in to_messages(entry)]


def _cut_refused(entry: Entry) -> Entry:
    """Cut a message that was too long to be sent: else each later request would be too long."""
    if not entry.record_json.get("refused"):
        return entry
    note = f"[{len(entry.content):,} characters, too long: the rest was never sent]"
    return replace(entry, content=f"{entry.content[:LONGEST_ARGUMENT]}... {note}", context="")


def measure_entries(entries: Sequence[Entry], to_messages: ToMessages, meter: Meter) -> list[Size]:
    rows = []
    entries = [*map(_cut_refused, entries)]
    for entry, last in zip(entries, _last_indices(entries), strict=True):
        small = shorten(entry)
        whole = meter.cost(to_messages(entry))
        least = whole if small is entry else min(whole, meter.cost(to_messages(small)))
        rows.append(Size(whole, least, entry.role == "user", last))
    return rows


def _last_indices(entries: Sequence[Entry]) -> list[int]:
    """Return for each entry the index of the last entry that is shortened before it: for a result
    its own, for a user's message the end of its exchange, as the exchange is about the material in
    the message. The newest message is never shortened."""
    lasts, end = [0] * len(entries), len(entries) + 1
    for at in range(len(entries) - 1, -1, -1):
        if entries[at].role == "user":
            lasts[at], end = end, at - 1
        else:
            lasts[at] = at
    return lasts


def shorten(entry: Entry) -> Entry:
    """Shorten the results and long arguments of an entry's calls to one line; drop the material of
    a user's message. Return the same entry when that would not make it shorter."""
    if entry.role == "user":
        return _without_material(entry)
    uses = tuple(map(_short_use, entry.tool_calls))
    if uses == entry.tool_calls:
        return entry
    # Where its arguments were shortened, a call is written anew.
    whole = all(a.input is b.input for a, b in zip(uses, entry.tool_calls, strict=True))
    return replace(entry, tool_calls=uses, raw=entry.raw if whole else "")


def _short_use(use: ToolUse) -> ToolUse:
    output = use.output
    if "\n" in output.strip() or len(output) > LONGEST_ARGUMENT:
        first = "".join(output.strip().splitlines()[:1])
        first = first if len(first) <= LONGEST_ARGUMENT else first[:LONGEST_ARGUMENT] + "..."
        note = f"[{len(output):,} characters, no longer shown; call it again if they are needed]"
        short = note if first.startswith("<<data") else f"{first} {note}"
        output = short if len(short) < len(output) else output
    given = use.input
    if len(json.dumps(given, default=str)) > 2 * LONGEST_ARGUMENT:
        given = {name: _short_value(value) for name, value in given.items()}
    return replace(use, input=given, output=output)


def _short_value(value: Any) -> Any:
    text = value_text(value)
    if len(text) <= LONGEST_ARGUMENT:
        return value
    return f"{text[:LONGEST_ARGUMENT]} [{len(text):,} characters]"


def _without_material(entry: Entry) -> Entry:
    """Drop the images of a message, and shorten its material: the text behind its context block."""
    context, images = entry.context, entry.images
    block, end, material = context.partition("</context>")
    if len(material) > LONGEST_ARGUMENT:
        note = f"[{len(material):,} characters that came with this message are no longer shown]"
        context = f"{block}{end}\n\n{note}"
    if any(image.data for image in images):
        images = tuple(replace(image, data=None) for image in images)
    same = context == entry.context and images is entry.images
    return entry if same else replace(entry, context=context, images=images)
