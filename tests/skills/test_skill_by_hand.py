"""A skill that the user asks for by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.errors import UsageError
from tests.fakes.talk import Protocol, Talk, answer, call, talk

BODY = """\
---
name: incident
description: Logs an incident.
{flag}
---
Append one line with `append_file` to `workspace/log.md`:

    LOG <what> / <who>

It is about: $ARGUMENTS
"""


def home_with_skill(it: Talk, flag: str = "disable-model-invocation: true") -> Talk:
    folder = it.root / "skills" / "incident"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(BODY.format(flag=flag), "utf-8")
    return it


@pytest.mark.parametrize("protocol", ["json", "native"])
def test_its_instructions_stand_before_the_prompt_with_the_words_filled_in(
    tmp_path: Path, protocol: Protocol
) -> None:
    it = home_with_skill(talk(tmp_path / "home", protocol=protocol))
    done = call("append_file", protocol, path="workspace/log.md", text="LOG fire / Anna")
    it.say("Anna saw a fire", done, answer("Logged.", protocol), skill="incident")
    sent = it.requests[0].messages[-1].content
    assert sent.index("LOG <what> / <who>") < sent.rindex("Anna saw a fire")
    assert "It is about: Anna saw a fire" in sent
    assert "incident" not in it.requests[0].messages[0].content  # only the user may call it
    assert (it.root / "workspace" / "log.md").read_text("utf-8") == "LOG fire / Anna\n"


def test_the_first_step_is_one_that_the_skill_speaks_of(tmp_path: Path) -> None:
    it = home_with_skill(talk(tmp_path / "home", protocol="json"))
    done = call("append_file", path="workspace/log.md", text="LOG fire / Anna")
    it.say("Plan my day", done, answer("Logged."), skill="incident")
    schema = it.requests[0].schema
    assert schema is not None
    (step,) = schema["anyOf"]
    assert step["properties"]["tool"] == {"const": "append_file"}
    assert step["properties"]["text"]["pattern"].startswith("^LOG ")


@pytest.mark.parametrize("flag", ["user-invocable: false", "os: nowhere"])
def test_one_that_may_not_be_asked_for_says_so(tmp_path: Path, flag: str) -> None:
    it = home_with_skill(talk(tmp_path / "home"), flag)
    with pytest.raises(UsageError, match="there is no skill"):
        it.say("hello", skill="incident" if flag.startswith("user") else "none")


def test_the_tools_that_it_allows_are_all_that_is_left(tmp_path: Path) -> None:
    it = home_with_skill(talk(tmp_path / "home"), "allowed-tools: Read, Edit")
    write = call("write_file", path="workspace/other.md", text="x")
    done = call("append_file", path="workspace/log.md", text="LOG fire / Anna")
    it.say("Anna saw a fire", write, done, answer("Logged."), skill="incident")
    uses = [use for entry in it.session.messages for use in entry.tool_calls]
    assert [(use.tool, use.ok) for use in uses] == [("write_file", False), ("append_file", True)]
    assert uses[0].output == "The skill that you follow leaves only these tools: Read, Edit."
    assert not (it.root / "workspace" / "other.md").exists()
    it.say("Write it down", write, answer("Done."))  # the next turn has all tools again
    assert (it.root / "workspace" / "other.md").exists()


def test_a_skill_that_the_model_reads_narrows_the_tools_too(tmp_path: Path) -> None:
    it = home_with_skill(talk(tmp_path / "home"), "allowed-tools: Grep")
    read = call("read_skill", name="incident")
    write = call("write_file", path="workspace/other.md", text="x")
    it.say("Note the incident that Anna saw", read, write, answer("No."))
    assert not (it.root / "workspace" / "other.md").exists()
