"""Measures and checks the structure of the package: `python -m tests.structure`.

It prints the number of files, of small files, the largest file and the lines. It fails when a
folder holds too many modules, a module name is used twice without need, modules import each other
in a ring, a module is longer than the limit, or a function imports one of our own modules and is
not listed as a place where a heavy package is loaded late.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PACKAGE = "openclaw"
MAX_MODULES = 22  # modules in one folder
MAX_LINES = 600  # lines of one module
SMALL_LINES = 60
MAX_LATE_IMPORTS = 30
SHARED_NAMES = {"base", "config"}
"""Module names that more than one folder may use; a command may have the name of what it drives."""
COMMANDS = f"{PACKAGE}.cli.commands."
LATE_IMPORTS: dict[str, set[str]] = {
    "openclaw.__main__": {"openclaw.cli.command_line", "openclaw.cli.main"},
    "openclaw.agent.agent": {"openclaw.agent.undo"},
    "openclaw.agent.loop": {"openclaw.agent.answer_check"},
    "openclaw.agent.request": {"openclaw.agent.compaction"},
    "openclaw.agent.turn_tools": {"openclaw.memory.notes", "openclaw.security.program_trust"},
    "openclaw.agent.turn": {"openclaw.agent.after_answer"},
    "openclaw.cli.commands.ask": {"openclaw.cli.one_shot"},
    "openclaw.cli.commands.memory.search": {"openclaw.retrieval.search"},
    "openclaw.cli.commands.acp": {"openclaw.server.acp.editor_agent"},
    "openclaw.cli.commands.serve": {"openclaw.server.http_server"},
    "openclaw.cli.one_shot": {"openclaw.cli.open_agent"},
    "openclaw.cli.current_home": {
        "openclaw.cli.trust_questions",
        "openclaw.config",
        "openclaw.home.command_turns",
    },
    "openclaw.cli.dispatch": {"openclaw.cli.shell_completion"},
    "openclaw.cli.main": {"openclaw.cli.error_report"},
    "openclaw.home.search_client": {"openclaw.nlp.classifier", "openclaw.nlp.intent"},
    "openclaw.home.open_home": {
        "openclaw.hooks.hooks",
        "openclaw.models.registry",
        "openclaw.tools.mcp.tools",
    },
    "openclaw.models.registry": {"openclaw.models.catalog", "openclaw.models.embedded"},
    "openclaw.retrieval.embedder_choice": {"openclaw.retrieval.server_embedders"},
    "openclaw.retrieval.search": {
        "openclaw.retrieval.llamaindex",
        "openclaw.retrieval.shared_vectors",
    },
    "openclaw.tools.mcp.client": {"openclaw.tools.mcp.transport"},
    "openclaw.tools.mcp.tools": {"openclaw.tools.mcp.client"},
    "openclaw.tools.web.web_tools": {"openclaw.tools.web.http_get"},
    "openclaw.tools.web.page": {"openclaw.tools.web.html"},
}
"""Which modules a function of a module may import, because loading them is slow and rare."""


class Module:
    """One file: its lines, and what it imports of the package at the top and in functions."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        source = path.read_text(encoding="utf-8")
        self.lines = source.count("\n")
        self.tree = ast.parse(source)
        self.top: set[str] = set()
        self.late: list[tuple[int, str]] = []

    def read_imports(self, modules: dict[str, Module]) -> None:
        for node, inside in _imports(self.tree, False):
            for target in _targets(node, modules):
                if inside:
                    self.late.append((node.lineno, target))
                else:
                    self.top.add(target)


def read_modules(top: Path = TOP) -> dict[str, Module]:
    """All modules of the package by dotted name, empty `__init__` files left out."""
    found = {}
    for path in sorted((top / PACKAGE).rglob("*.py")):
        parts = path.relative_to(top).with_suffix("").parts
        if parts[-1] == "__init__":
            if not path.read_text(encoding="utf-8").strip():
                continue
            parts = parts[:-1]
        name = ".".join(parts)
        found[name] = Module(name, path)
    for module in found.values():
        module.read_imports(found)
    return found


def _imports(node: ast.AST, inside: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, inside
        in_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from _imports(child, inside or in_function)


def _targets(node: ast.Import | ast.ImportFrom, modules: dict[str, Module]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names if alias.name in modules}
    base = node.module or ""
    names = {f"{base}.{alias.name}" for alias in node.names} & set(modules)
    if base in modules and len(names) < len(node.names):
        names.add(base)
    return names


def rings(modules: dict[str, Module]) -> list[list[str]]:
    """The groups of modules that import each other, imports in functions included (Tarjan)."""
    edges = {m.name: m.top | {target for _, target in m.late} for m in modules.values()}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        stack.append(name)
        for target in sorted(edges[name] - {name}):
            if target not in number:
                visit(target)
                low[name] = min(low[name], low[target])
            elif target in stack:
                low[name] = min(low[name], number[target])
        if low[name] == number[name]:
            at = stack.index(name)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for name in edges:
        if name not in number:
            visit(name)
    return found


def faults(modules: dict[str, Module]) -> Iterator[str]:
    """What breaks a rule, one line each."""
    folders = Counter(name.rpartition(".")[0] for name in modules)
    for folder, count in folders.items():
        if count > MAX_MODULES:
            yield f"{folder} has {count} modules; at most {MAX_MODULES}"
    for module in modules.values():
        if module.lines > MAX_LINES:
            yield f"{module.name} has {module.lines} lines; at most {MAX_LINES}"
    by_name = defaultdict(list)
    for name in modules:
        if not name.startswith(COMMANDS):
            by_name[name.rpartition(".")[2]].append(name)
    for name, users in by_name.items():
        if len(users) > 1 and name not in SHARED_NAMES:
            yield f"the module name {name} is used by {', '.join(users)}"
    for ring in rings(modules):
        yield f"these import each other: {', '.join(ring)}"
    late = set()
    for module in modules.values():
        for line, target in module.late:
            late.add((module.name, line))
            if target not in LATE_IMPORTS.get(module.name, ()):
                yield f"{module.path.relative_to(TOP)}:{line} imports {target} in a function"
    if len(late) > MAX_LATE_IMPORTS:
        yield f"{len(late)} imports of our own modules in functions; at most {MAX_LATE_IMPORTS}"


def main() -> None:
    modules = read_modules()
    sizes = [module.lines for module in modules.values()]
    largest = max(modules.values(), key=lambda module: module.lines)
    print(
        f"{len(sizes)} files, {sum(size <= SMALL_LINES for size in sizes)} of {SMALL_LINES} lines"
        f" or less, largest {largest.name} ({largest.lines}), {sum(sizes)} lines"
    )
    found = list(faults(modules))
    print("\n".join(found), file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
