"""Probes of a model: speeds, tool calls, JSON, thinking, memory.

Each probe sends a few requests and yields, after each, the results so far as values of a `Profile`;
so an interrupted probe keeps its results. The questions suit no particular model, and none asks for
knowledge.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPException
from statistics import median
from typing import Any, cast

from openclaw.agent.protocols.replies import read_step
from openclaw.config.settings import is_loopback
from openclaw.errors import ModelFailed
from openclaw.frozen import frozen
from openclaw.messages import Message, Waiting
from openclaw.models.base import (
    Chunk,
    Model,
    Reply,
    Request,
    Score,
    Text,
    text_matches_schema,
)
from openclaw.models.gguf import MemoryNeed, memory_need
from openclaw.models.http_client import ServerRefusal
from openclaw.models.machine import free_memory
from openclaw.models.ollama import OllamaClient, base_url, field
from openclaw.models.profile import full_name
from openclaw.stopping import stopped_after

Found = dict[str, Any]
RUNS = 3
WRITTEN = 32  # tokens of one run that measures the writing speed
THOUGHT = 256
SPOKEN = 60  # a reply with so many characters and no thought at its beginning will not have one
_FENCE = re.compile(r"\A```\w*\s*(.*?)\s*```\Z", re.DOTALL)
_TAGS = re.compile(r"<think(?:ing)?>(.*?)(?:</think(?:ing)?>|\Z)", re.DOTALL)


@frozen
class ProbeLimits:
    """Limits of a test in seconds.

    load: for the first reply, which may load the model; Ollama itself lets a load stand still so
        long (OLLAMA_LOAD_TIMEOUT)
    reply: for any other reply; that of a slower model is cut off
    probe: after this a probe with a result asks nothing more
    task: after this a task is stopped
    test: after this nothing further is begun
    """

    load: float = 300.0
    reply: float = 60.0
    probe: float = 25.0
    task: float = 40.0
    test: float = 150.0


USUAL_LIMITS = ProbeLimits()


@frozen
class ProbeReply:
    """A reply, perhaps cut off by us. `loaded`: the model was loaded for it."""

    reply: Reply
    loaded: bool
    is_whole: bool


class ProbedModel:
    """Asks a model and reads its replies, within bounds.

    endless: a reply went on after twice its tokens (pieces that are no whole tokens do not count)
    stopped: a reply came to its end
    """

    def __init__(self, model: Model, limits: ProbeLimits = USUAL_LIMITS) -> None:
        self.model, self._limits = model, limits
        self.endless = False
        self.stopped = False
        self._probe_began = time.monotonic()

    def begin(self) -> None:
        """Begin a probe; its time is counted from now."""
        self._probe_began = time.monotonic()

    @property
    def is_late(self) -> bool:
        """Return True when the probe's time is used up."""
        return time.monotonic() - self._probe_began > self._limits.probe

    def answered(self, said: ProbeReply) -> bool:
        """Return True when a reply counts: not when it was only too slow."""
        return said.is_whole or self.endless

    def ask(
        self,
        request: Request,
        *,
        patient: bool = False,
        enough: Callable[[str], bool] = lambda _: False,
    ) -> ProbeReply:
        """Return the reply, cut off once its text is `enough`. `patient` is for the first request,
        which may load the model: TooLate when no reply comes."""
        pieces, size, loaded, text, thought = 0, 0, False, "", ""
        seconds = self._limits.load if patient else self._limits.reply
        stream = cast("Generator[Chunk]", self.model.stream(request))
        try:
            with time_limit(seconds), closing(stream):
                for chunk in stream:
                    if isinstance(chunk, Reply):
                        self.stopped = True
                        return ProbeReply(chunk, loaded, True)
                    if isinstance(chunk, Waiting):
                        loaded = loaded or chunk.message.startswith("loading")
                        continue
                    pieces += 1
                    if isinstance(chunk, Text):
                        text += chunk.text
                    else:
                        thought += chunk.text
                    size += len(chunk.text)
                    endless = pieces > 2 * request.max_tokens + 8 and size > 4 * request.max_tokens
                    self.endless = self.endless or endless
                    if endless or enough(text):
                        break
        except TooLate:
            if patient:
                raise
        return ProbeReply(Reply(text, thinking=thought, stop_reason="length"), loaded, False)


def make_request(text: str, most: int, **more: Any) -> Request:
    return Request((Message("user", text),), max_tokens=most, **more)


def measure_loading(probed: ProbedModel) -> float | None:
    """Measure the loading time; None when the model was loaded before. This is the first request,
    so errors of the model rise."""
    said = probed.ask(make_request("Say yes.", 4), patient=True)
    seconds = said.reply.usage.first_token_seconds - said.reply.usage.read_seconds
    return round(seconds, 2) if said.loaded and seconds > 0 else None


def measure_speeds(probed: ProbedModel, runs: int = RUNS) -> Iterator[Found]:
    """Measure tokens a second, read and written: medians of several runs with different beginnings.
    Without a reading time from the server the time of the first token counts."""
    read: list[float] = []
    written: list[float] = []
    probed.begin()
    for run in range(runs):
        if probed.is_late and run:
            return
        said = probed.ask(make_request(f"{passage(run)}\n\n{STORY}", WRITTEN))
        usage = said.reply.usage
        count = usage.prompt_tokens - usage.cached_tokens
        if count > 0 and (seconds := usage.read_seconds or usage.first_token_seconds) > 0:
            read.append(count / seconds)
        writing = usage.total_seconds - usage.first_token_seconds
        if usage.generated_tokens > 1 and writing > 0:
            written.append((usage.generated_tokens - 1) / writing)
        rates = (round(median(found), 1) if found else None for found in (read, written))
        yield dict(zip(("read_rate", "write_rate"), rates, strict=True))


def probe_tool_calls(probed: ProbedModel) -> Iterator[Found]:
    """Test whether the model calls native tools, and in which shape."""
    names = {name: list(arguments) for name, (_, arguments) in _TOOLS.items()}
    native, of, shapes = 0, 0, list[str]()
    probed.begin()
    for question, wanted in TOOL_QUESTIONS:
        if probed.is_late:
            return
        said = probed.ask(make_request(question, 64, tools=TOOLS))
        if not probed.answered(said):
            continue
        reply, of = said.reply, of + 1
        # Numbers may be texts, as the program reads these too.
        native += any(
            call.name == wanted and {*names[wanted]} <= {*call.arguments}
            for call in reply.tool_calls
        )
        if not reply.tool_calls and any(
            c.name == wanted for c in read_step(reply.text, names).calls
        ):
            shapes.append(shape_of(reply.text))
        kind = "native" if native else "text" if shapes else "none"
        yield {
            "native": Score(native, of),
            "calls": kind,
            "call_shape": shapes[0] if shapes else "",
        }
    said = probed.ask(make_request(SMALL_TALK, 32, tools=TOOLS))
    reply = said.reply
    if probed.answered(said):
        yield {"needless": bool(reply.tool_calls or read_step(reply.text, names).calls)}


def probe_json_replies(probed: ProbedModel) -> Iterator[Found]:
    """Test whether replies fit a schema: with the schema as a constraint, and with words alone,
    where a fence around the reply is allowed."""
    forced, free, of, fenced = 0, 0, 0, False
    probed.begin()
    for question, schema in JSON_QUESTIONS:
        if probed.is_late:
            return
        told = f"{question}\nReply with one JSON object of this schema and nothing else:\n"
        text = told + json.dumps(schema)
        held = probed.ask(make_request(text, 96, schema=schema))
        left = probed.ask(make_request(text, 96))
        if not (probed.answered(held) and probed.answered(left)):
            continue
        of += 1
        forced += text_matches_schema(_TAGS.sub("", held.reply.text), schema)
        said = left.reply.text
        bare = _FENCE.sub(r"\1", _TAGS.sub("", said).strip())
        free += text_matches_schema(bare, schema)
        fenced = fenced or "```" in said
        scores = {"json_forced": Score(forced, of), "json_free": Score(free, of)}
        yield {**scores, "json_fenced": fenced}


def probe_schema_enforcement(probed: ProbedModel, think: bool | None = None) -> Iterator[Found]:
    """Test whether the server enforces a schema, by a short request with an unnatural reply."""
    said = probed.ask(make_request(GREETING, 24, schema=UNASKED, think=think))
    if probed.answered(said):
        yield {"schema_holds": text_matches_schema(said.reply.text, UNASKED)}


def probe_thinking(probed: ProbedModel) -> Iterator[Found]:
    """Test whether and where the model thinks, whether that can be switched off, and whether it
    leaves tokens for an answer. A second call within a request means that it did not."""
    # A text that is so long, without a thought at its beginning, will have none.
    said = probed.ask(
        make_request(COUNTING, THOUGHT),
        enough=lambda text: len(text) > SPOKEN and not text.lstrip().startswith("<think"),
    )
    reply = said.reply
    if not (reply.text or reply.thinking or said.is_whole):
        return
    kind = "field" if reply.thinking else "tags" if _TAGS.search(reply.text) else "none"
    if kind == "none":
        yield {"thinking": kind, "think_off": None, "only_thinks": False}
        return
    silent = not _TAGS.sub("", reply.text).strip() or reply.usage.calls > 1
    yield {"thinking": kind, "only_thinks": silent if said.is_whole else None}
    said = probed.ask(make_request(COUNTING, THOUGHT, think=False))
    left = said.reply.thinking or "".join(_TAGS.findall(said.reply.text))
    if left.strip() or probed.answered(said):
        yield {"think_off": not left.strip()}


def shape_of(text: str) -> str:
    """Return the shape of a call in a text: tags, fenced JSON, bare JSON, or words around JSON."""
    if re.search(r"<(?:tool_call|function|tools?)\b", text):
        return "tags"
    if "```" in text:
        return "fenced JSON"
    return "bare JSON" if text.lstrip().startswith(("{", "[")) else "JSON in words"


STORY = "Tell in a few plain sentences what might have happened there on the next day."
COUNTING = (
    "On a shelf stand 3 rows of 7 jars. 5 of the jars break, then 2 new ones are put up. How many "
    "stand there now? End with the number."
)
SMALL_TALK = "Good morning! I slept well."


def passage(number: int) -> str:
    """Return some 170 tokens to read; no two passages begin alike."""
    places = ("harbour", "mill", "orchard", "station", "quarry", "market")
    place = places[number % len(places)]
    lines = [f"{place.capitalize()}, report {number + 1} of the keeper."]
    for hour in range(6, 14):
        seen, moved = (number * 7 + hour * 3) % 19 + 2, (number + hour) % 5 + 1
        lines.append(
            f"At {hour}:00 I counted {seen} visitors near the {place} and {moved} carts with sacks."
        )
    return "\n".join(lines)


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TOOLS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "find_bus": ("Next bus of a line at a stop.", {"stop": "string", "line": "integer"}),
    "set_alarm": ("Set an alarm at a time (HH:MM).", {"time": "string", "label": "string"}),
    "convert_money": (
        "Convert money.",
        {"amount": "number", "source": "string", "target": "string"},
    ),
}
"""What each does, and its arguments with their types."""
TOOLS: tuple[Mapping[str, Any], ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": about,
            "parameters": _object(**{key: {"type": kind} for key, kind in arguments.items()}),
        },
    }
    for name, (about, arguments) in _TOOLS.items()
)
TOOL_QUESTIONS = (
    ("When does the next bus of line 14 leave from the stop Old Bridge?", "find_bus"),
    ("Set an alarm for 06:30 with the label ferry.", "set_alarm"),
    ("How much are 250 kroner in euros?", "convert_money"),
)


UNASKED = _object(code={"type": "string", "enum": ["k7-q2"]})
"""No model replies this to GREETING unless a schema forces it."""
GREETING = "Say hello in one short sentence."

_TEXT, _WHOLE = {"type": "string"}, {"type": "integer"}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

JSON_QUESTIONS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (
        "A parcel with 3 books and 2 maps goes to Tovik on Friday. Put this into JSON.",
        _object(town=_TEXT, books=_WHOLE, maps=_WHOLE, day={"type": "string", "enum": list(_DAYS)}),
    ),
    (
        "Mrs Adeyemi, aged 52, is a member; her boats are Heron and Curlew. Put this into JSON.",
        _object(
            person=_object(name=_TEXT, age=_WHOLE),
            member={"type": "boolean"},
            boats={"type": "array", "items": _TEXT},
        ),
    ),
    (
        "The user says: write down that the lamp in the hall is broken. Choose what is to be done, "
        "and put it into JSON.",
        _object(action={"type": "string", "enum": ["note", "search", "answer"]}, text=_TEXT),
    ),
)


class TooLate(ModelFailed):
    """The model did not answer in time."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLate when a model is waited for in here after so many seconds."""
    with stopped_after(seconds) as over:
        try:
            yield
        except KeyboardInterrupt:
            if not over.is_set():
                raise
            told = f"the model did not answer within {seconds:.0f} s"
            raise TooLate(told, "look at the server's log") from None


PATIENCE_SECONDS = 10.0  # for an answer from memory, as /api/ps and /api/show are


@frozen
class RunningModel:
    """A running model: its bytes, those in GPU memory, and its window (tokens, 0 when an old server
    does not say). `is_here`: the server is on this machine."""

    size: int
    on_gpu: int
    window: int
    need: MemoryNeed | None
    is_here: bool


def find_running_model(name: str, host: str) -> RunningModel | None:
    """Ask the server at `host` about a running model; None when it does not run it, is away, or its
    reply is unreadable. That is no error."""
    url = base_url(host)
    asked = OllamaClient(url, PATIENCE_SECONDS, PATIENCE_SECONDS)
    tagged = full_name(f"ollama/{name}").removeprefix("ollama/")
    try:
        running = [m for m in asked.running() if tagged in (m.get("model"), m.get("name"))]
        values = field(asked.ask("POST", "/api/show", {"model": name}), "model_info", dict, {})
        if not running:
            return None
        size, on_gpu, window = (
            field(running[0], key, int, 0) for key in ("size", "size_vram", "context_length")
        )
    except (ServerRefusal, HTTPException, OSError, ValueError):
        return None
    finally:
        asked.close()
    # The reported size includes the window's part already.
    known = memory_need(values, 0)
    need = known and MemoryNeed(max(0, size - known.token * window), known.token, known.window)
    return RunningModel(size, on_gpu, window, need, is_loopback(url))


def window_of(known: RunningModel, asked: int) -> tuple[int, str]:
    """Return the largest window that stays in memory, and how that is known, for a model that runs
    with a window of `asked` tokens.

    A model wholly on the GPU fits at least as it is. For a model partly on the GPU, that part is
    the size of the GPU's memory. Without a GPU, or with one too small for the model alone, the
    memory of this machine counts, when it is the server's.
    """
    window, need = known.window or asked, known.need
    if need is None or known.on_gpu >= known.size > 0:
        return window, "at least"
    if known.on_gpu:
        most = (known.on_gpu - need.model) // need.token // 1024 * 1024
        if most > 0:
            return most, "computed"
    free = free_memory() if known.is_here else None
    if free is None:
        return window, "at least"
    most = window + max(0, int(free * 0.9)) // need.token // 1024 * 1024
    return (min(most, need.window) if need.window else most), "computed"
