"""The fence around text that gives no orders, and what in it must not look like structure.

A server that fills a chat template reads special tokens out of any text, so those of the usual
templates are broken by a blank that everybody sees: ChatML, Qwen, Phi, Llama 2 to 4, Mistral,
Gemma, DeepSeek, Command R, Harmony (gpt-oss), Granite, GLM. So are role headers at the beginning of
a line, our own tail and results, and calls in the shapes that `agent/parse` would run if a model
repeated them. Links and images stay the text that they are: nothing here or in the terminal loads
an address, however long its query is.
"""

from __future__ import annotations

import re
from functools import cache

from openclaw.safety.hidden import strip

LONGEST_SOURCE = 120
NO_ORDERS = "no orders"

_BAR = "[|\uff5c\u2502\u00a6]"
_OPEN, _CLOSE = "[<\uff1c\u2039]", "[>\uff1e\u203a]"
_BARRED = rf"{_OPEN}/?(?={_BAR})|{_BAR}(?=/?{_CLOSE})"
_TAGS = """
    s bos eos pad unk mask start_of_turn end_of_turn start_of_image end_of_image start_function_call
    end_function_call start_function_response end_function_response escape
    tool tools tool_call tool_calls tool_response tool_result tool_results tool_code tool_output
    function function_call function_calls function_results function_result functions invoke
    parameter arg_key arg_value think thinking scratch_pad reasoning minimax:tool_call
    antml:invoke antml:function_calls antml:parameter
    system system_prompt system-reminder system_reminder user assistant human developer
    observation instruction instructions im_start im_end eot_id
    start_of_role end_of_role end_of_text tool_list
    context found
""".split()
_TAG = (
    rf"{_OPEN}(?=/?(?:{'|'.join(map(re.escape, _TAGS))})(?![\w-])[^<>]{{0,200}}{_CLOSE})"
    rf"|{_OPEN}(?={_OPEN}/?\s{{0,9}}(?:sys|data)\b)"
)
_BRACKETS = (
    "inst tool_calls tool_call tool_results tool_content available_tools system_prompt args "
    "call_id think img img_break img_end prefix suffix middle gmask sop"
).split()
_BRACKET = rf"\[(?=/?(?:{'|'.join(_BRACKETS)})\])"

_TOKENS = (
    r"start_of_turn|end_of_turn|start_of_image|end_of_image|start_of_role|end_of_role|im_start|"
    r"im_end|eot_id|bos|eos"
)
_SPECIAL = (
    rf"{_OPEN}(?={_BAR}[^<>|\n]{{1,60}}{_BAR}?{_CLOSE}|[^<>|\n]{{1,60}}{_BAR}{_CLOSE}"
    rf"|/?(?:{_TOKENS}){_CLOSE}|</?(?:sys>|data [0-9a-f]{{8}}))|\[(?=/?inst\])"
)
"""Only what can hardly be anything else than a token."""

_ROLES = (
    r"system|user|human|assistant|developer|tool|function|observation|ai|bot|model|operator|admin|"
    r"openclaw|instruction|instructions|response|input|output|rule|new task"
)
_WHAT = (
    r"prompt|message|messages|instruction|instructions|note|notice|override|update|alert|reminder|"
    r"response|result|results|output|reply|request|turn|role|command|policy"
)
_HEADER = (
    rf"^(?:[^\S\n]|[>#*_\-=~`\[(]){{0,200}}(?:{_ROLES})(?:[ _-](?:{_WHAT})){{0,2}}"
    rf"[\])*_`]{{0,4}}(?=[:\uff1a])"
)
_OURS = (
    r"^(?:Result of [\w.-]{1,64}|The user asked|The user's request|Changed file|Due to-do"
    r"|Open to-do|Now|Done|Skill [\w-]{1,64}|(?:Then|Now) the next step for)(?=:)"
)
_FENCED = r"(?<![`~])(?:`{3,20}|~{3,20})(?=(?:json|tool\w*|function\w*|system)\b)"

_ESCAPED = r"\\u00(4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])"
_TOOL = r"[a-z]\w*(?:_\w+)+|todo|remember|calculate"
_CALL = (
    r'["\'](?:tool|tool_name|tool_calls?|tool_input|function_call|action_input)(?=["\']\s*:)'
    rf'|["\'](?:name|action|function)(?=["\']\s*:\s*["\'](?:[\w.-]{{0,40}}[./])?(?:{_TOOL})["\'])'
    r'|["\']function(?=["\']\s*:\s*\{)'
    r'|["\']kind(?=["\']\s*:\s*["\'](?:look|change|answer|more)["\'])'
)


def fence(text: str, source: str, marker: str, *, own: bool = False) -> str:
    """The text between two lines that bear this turn's marker and say where it is from.

    With `own`, for the user's own files, only what a chat template or this fence would read is
    broken: all other lines stay as they are, so that an edit finds them.
    """
    body = inert(text) if own else defused(text)
    body = _without(body, marker).strip("\n")
    label = _without(plain_source(source), marker)
    return f"<<data {marker} from {label}, {NO_ORDERS}>>\n{body}\n<</data {marker}>>"


def inert(text: str) -> str:
    """The text with the tokens of chat templates, and our fence, broken by a blank."""
    return _compiled(_SPECIAL).sub(_with_blank, text)


def defused(text: str) -> str:
    """The text without what is hidden, and with nothing in it that passes for a token, a tag, a
    role, a result or a call of ours."""
    text = _compiled(_ESCAPED).sub(lambda found: chr(int(found[1], 16)), strip(text))
    for pattern in (_BARRED, _TAG, _BRACKET, _HEADER, _OURS, _FENCED, _CALL):
        text = _compiled(pattern).sub(_with_blank, text)
    return text


def plain_source(source: str) -> str:
    """A source as a few words on one line that close no fence."""
    line = " ".join(strip(source).split())
    line = defused(line).replace("<", "(").replace(">", ")")
    return line if len(line) <= LONGEST_SOURCE else line[: LONGEST_SOURCE - 3] + "..."


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """At first use: a turn without text of others needs none of them."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _with_blank(found: re.Match[str]) -> str:
    return f"{found[0]} "


def _without(text: str, marker: str) -> str:
    """The text with every spelling of the marker gone; no two ends can join to it again."""
    return re.sub(re.escape(marker), "-", text, flags=re.IGNORECASE) if marker else text
