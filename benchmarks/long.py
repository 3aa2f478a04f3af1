"""A conversation of 300 turns with tools: what is sent, what is kept, what it costs.

    python -m benchmarks.long [--turns 300] [--windows 4096,8192,32768] [--native] [--recall auto]

Prints Markdown tables, one column a window. The same plan (`long_plan`) is said at each of them, in
one process, to a server on loopback (`long_server`) whose model is a script, gives poor summaries
on purpose and fails in every fifth compaction. Then 40 facts that were said in the first 40 turns
are looked for (`long_find`): in the next request when it is about something else, in the next one
when it asks for the fact, by the tool `search_sessions` and by `openclaw sessions search` with the
question's own words, in memory.

Tokens are the server's, 1.12 of cl100k_base. "Reused" is the share of a request that the next one,
also that of a compaction, begins with: what one slot of a server need not read again. Harness time
is a turn's wall time less that of the script; the wire is the same bodies sent by a bare loop of
HTTP requests in the same run. A turn writes some files durably, which takes as long as the disk
takes: TMPDIR in memory shows what remains. The search beside the turn (`recall`) is off by default:
its process is measured by benchmarks.recall.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from benchmarks.long_find import Found, count_in, look, memory_lines, misses, text_of
from benchmarks.long_measure import band, harness_ms, read_anew, reused, share_of
from benchmarks.long_plan import NOISE, Plan, Turn, make_plan, words_of
from benchmarks.long_server import Sent
from benchmarks.long_talk import (
    AGENTS_RULE,
    PERSONA,
    SOUL_RULE,
    Talked,
    measure_wire,
    opened,
    play,
    seconds_of_a_write,
)

WINDOWS = (4096, 8192, 32768)
SHARE = 0.75
BANDS = (10, 100, 300)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one window."""

    talked: Talked
    found: list[Found]
    waiting: int
    skipped: int
    forced: int


def main(words: Sequence[str] | None = None, say: Callable[[str], object] = print) -> list[Outcome]:
    """Run and print; the outcomes, one a window."""
    options = argparse.ArgumentParser(description="A long conversation, window by window.")
    options.add_argument("--turns", type=int, default=300)
    options.add_argument("--windows", default=",".join(map(str, WINDOWS)))
    options.add_argument("--native", action="store_true", help="native tools, not JSON steps")
    options.add_argument("--noise", type=float, default=NOISE, help="share of other identifiers")
    options.add_argument("--recall", choices=("auto", "tool", "off"), default="tool")
    given = options.parse_args(words)
    plan = make_plan(given.turns, given.noise)
    protocol = "native" if given.native else "json"
    outcomes = [
        run(plan, int(window), protocol, given.recall) for window in given.windows.split(",")
    ]
    report(plan, outcomes, protocol, say)
    return outcomes


def run(plan: Plan, window: int, protocol: str, recall: str) -> Outcome:
    with opened(plan, window, protocol, recall) as (app, server):
        talked, session = play(app, server, plan, window)
        talked.sent = list(server.sent)
        talked.write = seconds_of_a_write(app.home, session.id)
        measure_wire(server, talked)
        skipped, forced = len(server.skipped), len(server.forced)
        found = look(app, server, session, plan)
        return Outcome(talked, found, memory_lines(app.home.memory), skipped, forced)


def report(
    plan: Plan, outcomes: Sequence[Outcome], protocol: str, say: Callable[[str], object]
) -> None:
    windows = [f"{each.talked.window:,}" for each in outcomes]
    said, answered = words_of(plan.turns)
    tools = sum(bool(turn.calls) for turn in plan.turns)
    say(
        f"\nA conversation of {len(plan.turns)} turns, {protocol} protocol: {tools} turns with "
        f"tools, messages of {min(said)} to {max(said)} words (median {median(said):.0f}), answers "
        f"of {min(answered)} to {max(answered)}, {plan.noise} sentences with other identifiers\n"
    )
    say("| window | " + " | ".join(windows) + " |")
    say("|---|" + "---:|" * len(windows))
    for name, values in rows(plan, outcomes):
        say(f"| {name} | " + " | ".join(values) + " |")
    for each in outcomes:
        _tell(each, say)


def _tell(each: Outcome, say: Callable[[str], object]) -> None:
    """What went wrong at a window, and what the user was told."""
    if lines := misses(each.found):
        say(f"\nNot found at {each.talked.window:,}:\n")
        for line in lines:
            say(f"- {line}")
    for line in each.talked.errors[:10]:
        say(f"\nfailed at {each.talked.window:,}: {line}")
    if each.talked.notices:
        say(f"\nTold to the user at {each.talked.window:,}:\n")
        for text, times in sorted(each.talked.notices.items(), key=lambda item: -item[1]):
            say(f"- {times} times: {text}")


def rows(plan: Plan, outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[str]]]:
    """The table, row by row."""
    talks = [each.talked for each in outcomes]
    steps = [[sent for sent in talk.sent if sent.kind == "step"] for talk in talks]
    yield (
        "model calls (of them in compactions)",
        [
            f"{len(talk.sent):,} ({len(talk.sent) - len(some)})"
            for talk, some in zip(talks, steps, strict=True)
        ],
    )
    yield "turns that failed (aim 0)", [str(len(talk.errors)) for talk in talks]
    yield (
        "calls not allowed / demanded by the schema",
        [f"{each.skipped} / {each.forced}" for each in outcomes],
    )
    yield (
        "tool results, characters: median, largest",
        [f"{median(talk.results or [0]):,.0f}, {max(talk.results or [0]):,}" for talk in talks],
    )
    yield from _sizes_of_requests(talks)
    for name, text in (("rule of SOUL.md", SOUL_RULE), ("rule of AGENTS.md", AGENTS_RULE)):
        yield f"{name} in every request (aim 100 %)", [_held(some, text) for some in steps]
    yield "persona in every request (aim 100 %)", [_held(some, PERSONA) for some in steps]
    yield (
        "newest message whole in every request (aim 100 %)",
        [_newest(some, plan.turns) for some in steps],
    )
    yield from _reuse_rows(talks)
    yield "compactions", [str(len(talk.compactions)) for talk in talks]
    yield "their tokens before and after, medians", [_shrunk(talk) for talk in talks]
    yield from _time_rows(talks)
    yield from _file_rows(talks)
    yield from _needle_rows(outcomes)


def _sizes_of_requests(talks: Sequence[Talked]) -> Iterator[tuple[str, list[str]]]:
    def over(talk: Talked, share: float, kind: str = "") -> int:
        some = [sent for sent in talk.sent if kind in ("", sent.kind)]
        return sum(sent.tokens > share * talk.window for sent in some)

    yield "requests over the window (aim 0)", [str(over(talk, 1.0)) for talk in talks]
    yield (
        "over 75 % of it: steps of turns (aim 0), questions of compactions",
        [f"{over(talk, SHARE, 'step')}, {over(talk, SHARE, 'aside')}" for talk in talks],
    )
    yield (
        "largest request, tokens",
        [f"{max(sent.tokens for sent in talk.sent):,}" for talk in talks],
    )


def _held(steps: Sequence[Sent], text: str) -> str:
    return share_of([text in text_of(sent) for sent in steps])


def _newest(steps: Sequence[Sent], turns: Sequence[Turn]) -> str:
    """The share of requests in which a user's message ends with the words of its turn."""
    words = {turn.number: turn.words for turn in turns}
    return share_of(
        [
            any(m["role"] == "user" and str(m["content"]).endswith(words[sent.turn])
                for m in sent.body["messages"])
            for sent in steps
        ]
    )  # fmt: skip


def _reuse_rows(talks: Sequence[Talked]) -> Iterator[tuple[str, list[str]]]:
    shares = [reused(talk.sent) for talk in talks]
    yield (
        "reused of the request before: median (aim 98 %)",
        [f"{median(some):.1%}".replace("%", " %") for some in shares],
    )
    yield "the same, mean (aim 90 %)", [f"{mean(some):.1%}".replace("%", " %") for some in shares]
    yield (
        "requests that lost anything",
        [f"{sum(share < 1 for share in some)} of {len(some)}" for some in shares],
    )
    yield (
        "tokens read anew in all, if nothing is cached 100 %",
        [f"{read_anew(talk.sent):.1%}".replace("%", " %") for talk in talks],
    )


def _shrunk(talk: Talked) -> str:
    if not talk.compactions:
        return "-"
    before = median(event[1] for event in talk.compactions)
    return f"{before:,.0f} to {median(event[2] for event in talk.compactions):,.0f}"


def _time_rows(talks: Sequence[Talked]) -> Iterator[tuple[str, list[str]]]:
    harness = [harness_ms(talk) for talk in talks]
    wires = [{n: 1000 * s for n, s in talk.wire.items()} for talk in talks]
    for turn in (each for each in BANDS if each <= max(harness[0])):
        yield (
            f"harness at turn {turn}, ms (of it the wire)",
            [
                f"{band(some, turn):.1f} ({band(wire, turn):.1f})"
                for some, wire in zip(harness, wires, strict=True)
            ],
        )
    yield (
        "harness, median of all turns, ms (aim 15; of it the wire)",
        [
            f"{median(some.values()):.1f} ({median(wire.values()):.1f})"
            for some, wire in zip(harness, wires, strict=True)
        ],
    )
    yield "the slowest turn, ms", [f"{max(some.values()):,.0f}" for some in harness]
    yield (
        "reference: one durable write of the session's file, ms",
        [f"{1000 * talk.write:.1f}" for talk in talks],
    )


def _file_rows(talks: Sequence[Talked]) -> Iterator[tuple[str, list[str]]]:
    for turn in sorted(talks[0].files):
        yield (
            f"at turn {turn}, KB: session, notes, archive",
            [", ".join(f"{size / 1000:.1f}" for size in talk.files[turn]) for talk in talks],
        )


def _needle_rows(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[str]]]:
    aims = {
        "request": "in the next request, when it is about something else",
        "asked": "in the next request, when it asks for them (aim 36 at 8,192)",
        "search_sessions": "found by search_sessions (aim all)",
        "sessions search": "found by openclaw sessions search (aim all)",
        "memory": "in memory or its inbox",
    }
    for place, name in aims.items():
        yield (
            f"facts {name}",
            [f"{count_in(each.found, place)} of {len(each.found)}" for each in outcomes],
        )
    yield (
        "facts anywhere of these",
        [
            f"{sum(bool(found.places) for found in each.found)} of {len(each.found)}"
            for each in outcomes
        ],
    )
    yield "lines that wait in the inbox", [str(each.waiting) for each in outcomes]


if __name__ == "__main__":
    main()
