"""What the name of a model says: `provider/name`, a path, or `auto`."""

from __future__ import annotations

from openclaw.errors import UsageError

PROVIDERS = ("ollama", "openai", "embedded")


def split_name(name: str, where: str = "") -> tuple[str, str]:
    """(provider, name at that provider): ("auto", ""), ("embedded", "PATH.gguf"),
    ("ollama", "qwen3:4b"). Raises UsageError; `where` says there where the name stands."""
    if name == "auto":
        return "auto", ""
    provider, _, rest = name.partition("/")
    if provider in PROVIDERS and rest:
        return provider, rest
    if name.lower().endswith(".gguf"):
        return "embedded", name
    raise UsageError(
        f"not a model: {name!r}" + (f" ({where})" if where else ""),
        f"write `auto`, PROVIDER/NAME with {', '.join(PROVIDERS)} as provider, for example "
        f"ollama/{name or 'qwen3:4b'}, or a path to a .gguf file",
    )
