"""Plant small faults in the program, one at a time, and count those that a test finds.

    python -m tests.mutants [--guards] [--count N] [--seed N] [--workers N] [--results FILE]

A fault changes one line: another comparison, `or` for `and`, a number one higher, a condition
turned round, None returned, a call left out. The packages take turns, so that each has its share;
the seed alone decides which faults are drawn. First the whole suite runs once and notes which test
runs which line, also in processes that a test starts; then each fault is tried by the tests that
run its line, or by those that run its module when the line runs at import. A fault that makes the
tests take much longer than before counts as found.

With `--guards` the faults take decisions out of what guards the user (`GUARDS`): a refusal that is
never made, a condition that is left out, an answer turned round, a name that a list lacks; and only
the attacks and the tests of those families (`ATTACKS`) may find them.

`--results` keeps a JSON line a fault; with the same file the program goes on where it was. It says
what a suite notices and is no aim to be reached: some faults change nothing that can be seen.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
OTHERS = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
    ast.And: "or", ast.Or: "and", ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*",
}  # fmt: skip
SPELLED = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
    ast.And: "and", ast.Or: "or", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//",
}  # fmt: skip
# Started by every Python below a test; notes what it runs under the name of that test.
SITE = """\
import os, sys
test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
if test and "OPENCLAW_LINES" in os.environ:
    import atexit, coverage
    cover = coverage.Coverage(
        data_file=os.environ["OPENCLAW_LINES"], data_suffix=True, context=test, config_file=False,
        source=[os.environ["OPENCLAW_SOURCE"]], messages=False,
    )
    cover._warn_no_data = cover._warn_unimported_source = False
    cover.start()
    atexit.register(lambda: (cover.stop(), cover.save()))
"""
TIMES = "OPENCLAW_TEST_TIMES"
GUARDS = (
    *("agent/provenance", "cli/approval", "cli/questions"),
    *("config/settings", "history/record", "nlp/statements"),
    *("security/credentials", "security/foreign_files", "security/network", "security/policy"),
    *("security/program_files", "security/program_trust", "security/trust"),
    *("security/untrusted", "security/masking", "storage/git_settings", "storage/home"),
    *("storage/safe_open", "tools/mcp/start", "tools/shell/change_set"),
    *("tools/shell/git_credentials", "tools/shell/named_files", "tools/shell/sandbox"),
    *("tools/shell/shell",),
)
ATTACKS = (
    *("agent/test_provenance", "cli/test_approval", "cli/test_questions"),
    *("end_to_end/test_attacked_homes", "end_to_end/test_attacks", "end_to_end/test_hostile_files"),
    *("history/test_record_foreign", "nlp/test_statements"),
    *("security/test_credentials", "security/test_credentials_hidden", "security/test_network"),
    *("security/test_policy", "security/test_program_files", "security/test_trust"),
    *("security/test_trust_hooks", "security/test_untrusted", "security/test_masking"),
    *("security/test_untrusted_fingerprints", "storage/test_git", "storage/test_own_writes"),
    *("storage/test_safe_open", "tools/mcp/test_start", "tools/shell/test_change_set"),
    *("tools/shell/test_sandbox", "tools/shell/test_trial"),
)
NO_VERDICT = (3, 5)  # exit codes of pytest: an error of its own, no test collected


@dataclass(frozen=True, slots=True)
class Mutant:
    """`old` at this place (`line` counted from 1, `column` in bytes) becomes `new`."""

    path: str
    line: int
    column: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        lines = source.splitlines(keepends=True)
        line, old = lines[self.line - 1], self.old.encode()
        assert line[self.column : self.column + len(old)] == old
        lines[self.line - 1] = (
            line[: self.column] + self.new.encode() + line[self.column + len(old) :]
        )
        return b"".join(lines)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old} -> {self.new}"


# -------- which faults there are


def _at(name: str, lines: Sequence[bytes], node: ast.expr | ast.stmt, new: str) -> Iterator[Mutant]:
    """The fault that puts `new`, in which {} is the old code, in the place of code on one line."""
    if node.lineno == node.end_lineno:
        old = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
        yield Mutant(name, node.lineno, node.col_offset, old, new.format(old))


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every fault that can be planted in a file of the program."""
    text = path.read_text("utf-8")
    lines = [line.encode() for line in text.splitlines()]
    name = path.relative_to(TOP).as_posix()
    at = partial(_at, name, lines)

    def between(left: ast.expr, right: ast.expr, kind: type[ast.AST]) -> Iterator[Mutant]:
        if kind in OTHERS and left.end_lineno == right.lineno:
            end = left.end_col_offset or 0
            place = lines[right.lineno - 1].find(SPELLED[kind].encode(), end, right.col_offset)
            if place >= 0:
                yield Mutant(name, right.lineno, place, SPELLED[kind], OTHERS[kind])

    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, ops=ops, comparators=rights):
                for op, first, second in zip(ops, [left, *rights], rights, strict=False):
                    yield from between(first, second, type(op))
            case ast.BoolOp(op=op, values=[first, second, *_]):
                yield from between(first, second, type(op))
            case ast.BinOp(left=left, op=op, right=right):
                yield from between(left, right, type(op))
            case ast.Constant(value=bool(value)):
                yield from at(node, str(not value))
            case ast.Constant(value=int(value)):
                yield from at(node, str(value + 1))
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                yield from at(test, "(not ({}))")
            case ast.Return(value=ast.expr() as value):
                yield from at(value, "None")
            case ast.Expr(value=ast.Call() as called):
                yield from at(called, "None")
            case ast.Continue():
                yield from at(node, "break")
            case ast.Break():
                yield from at(node, "continue")


def weakened(path: Path) -> Iterator[Mutant]:
    """Every fault that takes a decision out of a file that guards: no refusal, no condition, the
    other answer, a name that is missing in a list."""
    text = path.read_text("utf-8")
    lines = [line.encode() for line in text.splitlines()]
    at = partial(_at, path.relative_to(TOP).as_posix(), lines)

    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test, body=[*_, ast.Return() | ast.Raise() | ast.Continue()]):
                yield from at(test, "(False and ({}))")
            case ast.IfExp(test=test):
                yield from at(test, "(not ({}))")
            case ast.FunctionDef(returns=ast.Name(id="bool")):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return) and inner.value:
                        yield from at(inner.value, "(not ({}))")
        for test in _conditions(node):
            for inner in ast.walk(test):
                if isinstance(inner, ast.BoolOp):
                    never = "True" if isinstance(inner.op, ast.And) else "False"
                    for value in inner.values:
                        yield from at(value, never)
    for made in tree.body:
        if isinstance(made, ast.Assign) and not isinstance(made.value, ast.Subscript):
            for node in ast.walk(made.value):
                if isinstance(node, ast.Tuple | ast.List | ast.Set):
                    for each in node.elts:
                        if isinstance(each, ast.Constant) and isinstance(each.value, str):
                            yield from at(each, "'left out'")


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.Return(value=ast.BoolOp() as test):
            yield test
        case ast.comprehension(ifs=tests):
            yield from tests


def drawn(count: int, seed: int, *, guards: bool = False) -> list[Mutant]:
    """`count` faults; the packages, or the files that guard, take turns in an order of chance."""
    chance = random.Random(seed)
    by_package: dict[str, list[Mutant]] = defaultdict(list)
    if guards:
        for guard in GUARDS:
            by_package[guard] += dict.fromkeys(weakened(TOP / "openclaw" / f"{guard}.py"))
    else:
        for path in sorted((TOP / "openclaw").rglob("*.py")):
            package = path.parent.relative_to(TOP).parts[:2][-1]
            by_package[package] += dict.fromkeys(mutants_of(path))
    for found in by_package.values():
        chance.shuffle(found)
    taken: list[Mutant] = []
    while len(taken) < count and any(by_package.values()):
        taken += [found.pop() for found in by_package.values() if found]
    return taken[:count]


# -------- which tests run a line


def pytest_runtest_logreport(report: Any) -> None:
    """As a plugin of pytest: a line for each test, how long it took and whether it passed."""
    if report.when == "call" or not report.passed:
        with Path(os.environ[TIMES]).open("a", encoding="utf-8") as out:
            out.write(json.dumps([report.nodeid, report.duration, report.outcome]) + "\n")


class Lines:
    """Which tests run which lines, and how long they take."""

    def __init__(self, folder: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(folder / "lines"))
        self._data.read()
        self.seconds: Counter[str] = Counter()
        failed = set()
        for line in (folder / "times").read_text("utf-8").splitlines():
            test, seconds, outcome = json.loads(line)
            self.seconds[test] += seconds
            failed |= {test} if outcome == "failed" else set()
        for test in failed:
            del self.seconds[test]
        self.failed = sorted(failed)
        self._files = {Path(f).relative_to(TOP).as_posix(): f for f in self._data.measured_files()}

    def tests_of(self, mutant: Mutant) -> list[str]:
        """The tests that run the line, or the module when the line runs at import; short ones
        first."""
        file = self._files.get(mutant.path)
        if file is None:
            return []
        by_line = self._data.contexts_by_lineno(file)
        tests = by_line.get(mutant.line) or by_line.get(_begins(mutant), [])
        if "" in tests:  # it runs outside of every test: at import
            tests = [test for tests in by_line.values() for test in tests]
        found = self._known(tests)
        return sorted(found, key=lambda test: self.seconds[test])

    def _known(self, contexts: Any) -> set[str]:
        return {name for one in contexts if (name := one.partition("|")[0]) in self.seconds}


def _begins(mutant: Mutant) -> int:
    """The first line of the statement, of whose others it may not be known what runs them."""
    tree = ast.parse((TOP / mutant.path).read_bytes())
    found = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return max(n.lineno for n in found if n.lineno <= mutant.line <= (n.end_lineno or 0))


def watch_all(folder: Path, workers: int, tests: Sequence[str] = ()) -> None:
    """Run the whole suite or these tests and note in `folder` which test runs which lines."""
    site = folder / "site"
    site.mkdir(parents=True)
    (site / "sitecustomize.py").write_text(SITE, "utf-8")
    config = folder / "coveragerc"
    config.write_text(f"[run]\nsource = {TOP / 'openclaw'}\ndata_file = {folder / 'lines'}\n")
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "OPENCLAW_LINES": str(folder / "process"),
        "OPENCLAW_SOURCE": str(TOP / "openclaw"),
        TIMES: str(folder / "times"),
    }
    cover = ["--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report="]
    options = ["-q", "-p", "tests.mutants", "-n", str(workers), *cover, *tests]
    subprocess.run([sys.executable, "-m", "pytest", *options], cwd=TOP, env=environ, check=False)
    _add_processes(folder)


def _add_processes(folder: Path) -> None:
    from coverage import CoverageData
    from coverage.exceptions import CoverageException

    lines = CoverageData(str(folder / "lines"))
    lines.read()
    for path in folder.glob("process.*"):
        part = CoverageData(str(path))
        with contextlib.suppress(CoverageException):  # of a process that was killed
            part.read()
            lines.update(part)


# -------- trying them


def tried(mutant: Mutant, tests: Sequence[str], seconds: float, copy: Path) -> str:
    """How the fault was found by these tests in this copy of the project: the first one that
    failed, "too long", or "" when it was not."""
    target = copy / mutant.path
    source = target.read_bytes()
    target.write_bytes(mutant.applied(source))
    (copy / "chosen").write_text("\n".join(tests), "utf-8")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "", "--tb=no", "-rfE"]
    environ = {name: v for name, v in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "pytest", *options, "@chosen"]
    try:
        done = subprocess.run(
            command, cwd=copy, env=environ, capture_output=True, encoding="utf-8",
            errors="replace", timeout=60 + 4 * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "too long"
    finally:
        target.write_bytes(source)
    if done.returncode == 0:
        return ""
    if done.returncode in NO_VERDICT:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
    told = [x for x in done.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]
    return told[0].split(" - ")[0] if told else f"pytest ends with {done.returncode}"


def try_all(mutants: Sequence[Mutant], lines: Lines, results: Path, workers: int) -> None:
    """Try what has no line in `results` yet, each worker in a copy of the project of its own."""
    known = {str(Mutant(**row["mutant"])) for row in rows_of(results)}
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        if str(mutant) not in known:
            waiting.put(mutant)
    lock = threading.Lock()

    def work(copy: Path) -> None:
        while True:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            tests = lines.tests_of(mutant)
            expected = sum(lines.seconds[test] for test in tests)
            found = tried(mutant, tests, expected, copy) if tests else ""
            with lock, results.open("a", encoding="utf-8") as out:
                row = {"mutant": asdict(mutant), "found": found, "tests": len(tests)}
                out.write(json.dumps(row) + "\n")

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        left_out = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "dist")
        copies = [Path(folder, str(number)) for number in range(workers)]
        for copy in copies:
            shutil.copytree(TOP, copy, ignore=left_out, symlinks=True)
        threads = [threading.Thread(target=work, args=(copy,)) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def rows_of(results: Path) -> list[dict[str, Any]]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text("utf-8").splitlines()]


def report(mutants: Sequence[Mutant], results: Path) -> None:
    found = {str(Mutant(**row["mutant"])): row for row in rows_of(results)}
    by_package: dict[str, Counter[bool]] = defaultdict(Counter)
    for mutant in mutants:
        by_package[Path(mutant.path).parent.parts[:2][-1]][bool(found[str(mutant)]["found"])] += 1
    for name, told in sorted(by_package.items()):
        print(f"{name:<16} {told[True]:>4} of {told.total():>4}")
    all_found = sum(told[True] for told in by_package.values())
    print(f"{'found':<16} {all_found:>4} of {len(mutants):>4}  {all_found / len(mutants):.1%}")
    for mutant in mutants:
        row = found[str(mutant)]
        if not row["found"]:
            print(f"not found, {row['tests']} tests run it: {mutant}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--guards", action="store_true", help="only in what guards the user")
    parser.add_argument("--results", type=Path, help="its folder keeps the map of lines too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
        results: Path = (given.results or Path(temporary, "results")).resolve()
        folder = results.with_name(f"{results.name}.lines")
        if not (folder / "lines").exists():
            attacks = [f"tests/{name}.py" for name in ATTACKS]
            watch_all(folder, given.workers, attacks if given.guards else ())
        lines = Lines(folder)
        if lines.failed:
            print("left out, as they fail without a fault:", *lines.failed, sep="\n  ")
        mutants = drawn(given.count, given.seed, guards=given.guards)
        try_all(mutants, lines, results, given.workers)
        report(mutants, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
