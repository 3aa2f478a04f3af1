"""How well the classifier reads messages and answers, by label and language.

    python -m benchmarks.language

Prints the figures of `training.train` on authors whom the model has not seen, and for messages that
ask or order the same of the rules of words (`openclaw.nlp.intent`) on the same lines: which part of
them is recognised (R), and which part of what is said to be one is one (P). Then the time to load
the model and to read a message.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP))  # for `python benchmarks/language.py`

from openclaw.nlp.classifier import read_message  # noqa: E402
from openclaw.nlp.intent import is_order, only_asks  # noqa: E402
from training import train  # noqa: E402

TIMED = 500
LOAD = "import time; t = time.perf_counter(); from openclaw.nlp.classifier import read_message;"
LOAD += "read_message('Say hello.'); print(time.perf_counter() - t)"


def rules_table(examples: Sequence[train.Example]) -> list[str]:
    """Rows of the rules of words: source, precision and recall of asking and of ordering."""
    rows = []
    rules: dict[str, Callable[[str], bool]] = {"asks": only_asks, "orders": is_order}
    sources = sorted({train.source_of(one) for one in examples})
    for source in sources:
        held = [one for one in examples if train.source_of(one) == source]
        cells = []
        for label, rule in rules.items():
            said = [one for one in held if rule(one.text)]
            right = sum(label in one.labels for one in said)
            true = sum(label in one.labels for one in held)
            cells.append(f"P {right / max(len(said), 1):.2f} R {right / max(true, 1):.2f}")
        rows.append(f"| {source} | {cells[0]} | {cells[1]} |")
    return rows


def main(report: Callable[[str], object] = print) -> None:
    """Print the tables."""
    examples = train.read_examples()
    for name in ("message", "sentence", "source", "answer"):
        train.print_figures(name, train.cross_validate(train.PLANS[name], examples[name]))
    messages = examples["message"]
    report("\nthe rules of words on the same lines\n\n| source | asks | orders |\n|---|---|---|")
    for row in rules_table(messages):
        report(row)
    texts = [one.text for one in messages[:TIMED]]
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
