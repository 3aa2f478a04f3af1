"""The seam between the agent and any model: one request in, a stream of chunks out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from openclaw.shapes import Message, ToolCall, Usage

if TYPE_CHECKING:
    from openclaw.models.profile import Profile

StopReason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a model can do. `window` is the number of tokens of one request and its reply that
    will really be used: the configured one, at most the model's own. `parameters` in billions,
    0.0 when unknown. `server` is the address of its server, "" when this process runs it. `profile`
    is what a test of this very model has found; when it has lowered the window, `wished` is what it
    would be else. `vision`: it can be shown images."""

    name: str
    window: int
    tools: bool
    thinking: bool = False
    family: str = ""
    parameters: float = 0.0
    digest: str = ""
    server: str = ""
    profile: Profile | None = None
    wished: int = 0
    vision: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `tools` are function specs in OpenAI's shape; `schema` constrains the whole reply
    to a JSON value; `think` None leaves it to the model. `session` names the conversation, under
    which a model may keep its state for later processes."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    think: bool | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's thinking, which is shown but not part of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model is not ready yet; `message` is for the user, for example "loading model".

    With `share`, from 0 to 1, it tells how far that has come: it is shown for the moment and may
    come again and again. An empty one, which only `Model.warm` gives, has nothing to say: it is a
    moment to stop in."""

    message: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole reply, always the last chunk of a stream that was not interrupted."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage = Usage()


Chunk = Text | Thinking | Waiting | Reply


class Model(Protocol):
    """A model that can be asked.

    `stream` raises ServerAway, ModelMissing, ModelFailed or PromptTooLarge (`openclaw.errors`).
    Closing the generator cancels the request and frees the server at once. `reading_rate` is the
    number of prompt tokens that it reads in a second, 0.0 while that is unknown; whoever knows it
    from an earlier process may set it.
    """

    reading_rate: float

    @property
    def card(self) -> ModelCard: ...

    def stream(self, request: Request) -> Iterator[Chunk]: ...

    def wire(self, request: Request) -> bytes:
        """What `stream` sends for this request, byte for byte: the body of the HTTP request, of an
        embedded model that of the one to its engine. Raises what `card` raises; nothing is sent."""
        ...

    def warm(self, request: Request) -> Iterator[Waiting]:
        """Get ready for requests that begin like this one, as far as that saves time later: load
        the model, read the head and the history (the newest messages of the user left out). Without
        messages only load it, where that goes on by itself. What goes wrong is left for `stream`
        to raise.

        May run in another thread than `stream`, never at the same time. Closing the generator ends
        it soon; what was loaded and read until then stays."""
        ...

    def close(self) -> None: ...
