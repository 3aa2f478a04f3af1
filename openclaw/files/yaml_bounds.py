"""Tells what of a YAML text is too much to be read: a few lines of aliases can stand for billions
of values, and brackets within brackets end the process inside of libyaml."""

from __future__ import annotations

MOST_VALUES = 20_000
"""That a text with aliases may stand for, each alias followed."""
DEEPEST = 64


def yaml_trouble(text: str) -> tuple[int, str]:
    """The line that is too much, and why; (0, "") for none, and for what is no YAML at all."""
    import yaml

    count = 0
    open_at: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = event.start_mark.line + 1 if event.start_mark else 0
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, before = open_at.pop()
                if anchor:
                    sizes[anchor] = count - before
            if not isinstance(event, yaml.NodeEvent):
                continue
            count += 1
            if isinstance(event, yaml.AliasEvent):
                count += sizes.get(event.anchor or "", 0)
                if count > MOST_VALUES:
                    return line, f"its aliases stand for more than {MOST_VALUES:,} values"
            elif isinstance(event, yaml.CollectionStartEvent):
                open_at.append((event.anchor, count))
                if len(open_at) > DEEPEST:
                    return line, f"more than {DEEPEST} levels"
            elif event.anchor:
                sizes[event.anchor] = 1
    except (yaml.YAMLError, ValueError, OverflowError):
        pass
    return 0, ""
