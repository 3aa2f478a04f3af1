"""How well the classifier reads messages and answers, by label and language.

    python -m benchmarks.language

Prints the figures of `training.train` on authors whom the model has not seen; of the messages that
ask or order, the part that is told to do so, the rest being unknown, and the part of these that is
right; and how many of all others are taken for an order. The same of the file that is there on the
authors of benchmarks/language_data, on whom no model is trained. Then the time to load the model
and to read a message.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from openclaw.nlp.classifier import read_message
from training import train

DATA = Path(__file__).resolve().parent / "language_data"
TIMED = 500
LOAD = "import time; t = time.perf_counter(); from openclaw.nlp.classifier import read_message;"
LOAD += "read_message('Say hello.'); print(time.perf_counter() - t)"


def wanting_table(figures: Mapping[str, train.Figures]) -> Iterator[str]:
    """Yield a row for English, for the other languages and for each published set: how many of the
    messages that ask or order are told, how many of these are right, and how many of the others
    are taken for an order."""
    sets: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}
    labels = ("asks", "orders")
    for rows in zip(*(figures[label].pairs for label in labels), strict=True):
        told = frozenset(
            label
            for label, (p, *_) in zip(labels, rows, strict=True)
            if p >= figures[label].threshold
        )
        one = rows[0][2]
        source = train.source_of(one)
        known = source in ("en", "slurp", "clinc")
        sets.setdefault(source if known else "other", []).append((one.labels & {*labels}, told))
    for source, read in sets.items():
        wanting = [told <= true for true, told in read if true and told]
        others = [told for true, told in read if not true]
        yield (
            f"| {source} | {len(wanting) / sum(bool(true) for true, _ in read):.3f}"
            f" | {sum(wanting) / len(wanting):.3f}"
            f" | {sum('orders' in told for told in others)} of {len(others)} |"
        )


def read_kept_out() -> Mapping[str, train.Figures]:
    """Return what the file says of the messages on which no model is trained."""
    read = [(one, read_message(one.text)) for one in train.read_authors("*.txt", DATA)]
    return {
        label: train.Figures(
            threshold=read[0][1].thresholds[label],
            pairs=[(told.probabilities[label], label in one.labels, one) for one, told in read],
        )
        for label in train.MESSAGE
    }


def main(report: Callable[[str], object] = print) -> None:
    """Print the tables."""
    examples = train.read_examples()
    found = {"message, kept out of the training": read_kept_out()}
    for name in ("message", "sentence", "source", "answer"):
        found[name] = train.cross_validate(train.PLANS[name], examples[name])
    for name, figures in found.items():
        train.print_figures(name, figures)
        if name.startswith("message"):
            report("\n| source | told | right | others taken for an order |\n|---|---|---|---|")
            for row in wanting_table(figures):
                report(row)
    texts = [one.text for one in examples["message"][:TIMED]]
    began = time.perf_counter()
    for text in texts:
        read_message(text)
    each = (time.perf_counter() - began) / len(texts) * 1000
    loads = [
        float(subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=True).stdout)
        for _ in range(9)
    ]
    report(
        f"\nload {statistics.median(loads) * 1000:.1f} ms (aim 15), a message {each:.2f} ms (aim 2)"
    )


if __name__ == "__main__":
    main()
