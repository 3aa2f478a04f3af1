"""The frontmatter: where it ends, what it says as written, and what is repaired."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from openclaw.skills.frontmatter import SkillError, parse_frontmatter, read_yaml, split_frontmatter


def fields(front: str) -> dict[str, Any]:
    """The fields of a frontmatter that needs no repair."""
    found, notes = parse_frontmatter(front)
    assert notes == []
    return found


def repaired(front: str) -> dict[str, Any]:
    found, notes = parse_frontmatter(front)
    assert [(level, code) for level, code, _ in notes] == [("warning", "yaml-repaired")]
    return found


def refused(front: str) -> str:
    with pytest.raises(SkillError) as caught:
        parse_frontmatter(front)
    return caught.value.code


# -------- the fences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: b\n---\nbody\n", ("a: b\n", "body\n")),
        ("\n \t\n---  \na: b\n--- \t\nbody", ("a: b\n", "body")),
        ("---\na: b\n---", ("a: b\n", "")),
        ("---\na: b\n---   ", ("a: b\n", "")),
        ("---\n---\nbody", ("", "body")),
        ("---\na: x --- y\nb: '---'\nc: |\n  ---\n---\none\n---\ntwo", None),
    ],
)
def test_the_block_ends_at_the_next_line_of_three_dashes(
    text: str, expected: tuple[str, str] | None
) -> None:
    assert split_frontmatter(text) == (
        expected or ("a: x --- y\nb: '---'\nc: |\n  ---\n", "one\n---\ntwo")
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "frontmatter-missing"),
        ("# Title\n---\na: b\n---\n", "frontmatter-missing"),
        ("----\na: b\n---\n", "frontmatter-missing"),
        ("--- a\n---\n", "frontmatter-missing"),
        ("---", "frontmatter-unclosed"),
        ("---\na: b\n", "frontmatter-unclosed"),
        ("---\na: b\n ---\n----\n", "frontmatter-unclosed"),
        ("---\na: " + "x" * 16_400 + "\n---\n", "frontmatter-too-large"),
        ("---\na: " + "\u00e9" * 8_200 + "\n---\n", "frontmatter-too-large"),
        ("---\n" + "[" * 30_000 + "]" * 30_000 + "\n---\n", "frontmatter-too-large"),
    ],
)
def test_no_fence_no_end_or_too_much_is_an_error(text: str, code: str) -> None:
    with pytest.raises(SkillError) as caught:
        split_frontmatter(text)
    assert caught.value.code == code


def test_sixteen_kib_are_not_too_much() -> None:
    front = "a: " + "x" * (16 * 1024 - 4) + "\n"
    assert split_frontmatter(f"---\n{front}---\n")[0] == front


# -------- as written


@pytest.mark.parametrize(
    "text",
    [
        "2048",
        "on",
        "yes",
        "null",
        "~",
        "1.10",
        "0x1F",
        "1e3",
        "2026-02-30",
        "12:30:45",
        "=",
        ".inf",
    ],
)
def test_scalars_are_read_as_they_are_written(text: str) -> None:
    assert fields(f"name: {text}\nlist: [{text}]\n") == {"name": text, "list": [text]}


def test_every_kind_of_scalar_gives_its_text() -> None:
    front = (
        "plain: a\n  b\n\n  c\n"
        "folded: >\n  a\n  b\n\n  c\n"
        "stripped: >-\n  a\n  b\n"
        "literal: |\n  a\n   b\n"
        "single: 'it''s: so'\n"
        'double: "a\\tb\\u00e9\\n\\U0001F50D"\n'
        "comment: a # not this\n"
        "hash: C#\n"
        "empty:\n"
        "link: http://example.org/a:b\n"
    )
    assert fields(front) == {
        "plain": "a b\nc",
        "folded": "a b\nc\n",
        "stripped": "a b",
        "literal": "a\n b\n",
        "single": "it's: so",
        "double": "a\tb\u00e9\n\U0001f50d",
        "comment": "a",
        "hash": "C#",
        "empty": "",
        "link": "http://example.org/a:b",
    }


def test_json_over_several_lines_with_trailing_commas_is_read() -> None:
    front = 'metadata:\n  {\n    "openclaw": {"always": true, "os": ["linux",],},\n  }\nname: s\n'
    assert fields(front) == {
        "metadata": {"openclaw": {"always": "true", "os": ["linux"]}},
        "name": "s",
    }
    assert fields('metadata: {\n\t"a": "b",\n}\n') == {"metadata": {"a": "b"}}


def test_emoji_in_the_manner_of_json_are_joined_and_lone_halves_replaced() -> None:
    assert fields('a: "\\ud83d\\udd0d x"\n') == {"a": "\U0001f50d x"}
    assert fields('a: "x \\udd0d y"\n') == {"a": "x \ufffd y"}
    assert fields("a: \\ud83d\\udd0d\n") == {"a": "\\ud83d\\udd0d"}  # no escape outside quotes


def test_comments_alone_are_no_fields() -> None:
    assert fields("") == fields("# nothing\n\n") == {}


def test_of_a_doubled_key_the_last_counts_with_a_warning() -> None:
    assert repaired("name: a\nname: b\n") == {"name": "b"}
    assert repaired("m: {a: b, a: c}\n") == {"m": {"a": "c"}}


# -------- what is refused


@pytest.mark.parametrize(
    "front",
    [
        "name: &a s\nb: *a\n",
        "name: &a s\n",
        "a: *b\n",
        "a: {<<: {b: c}}\n",
        "<<: {b: c}\n",
        "a: !!str b\n",
        "a: !b c\n",
        "a: ! b\n",
        "a: !!python/object/apply:os.system [x]\n",
        "a: [" * 65 + "]" * 65,
        "a: " + "[" * 5_000 + "]" * 5_000,
        "a: " + "[" * 8_000,
        "a: " + "{a: " * 2_000,
        "\n".join(" " * depth + "a:" for depth in range(100)),
        "- " * 5_000,
    ],
)
def test_anchors_aliases_merge_keys_tags_and_deep_nesting_are_unsafe(front: str) -> None:
    assert refused(front) == "yaml-unsafe"


def test_a_yaml_bomb_is_refused_at_once() -> None:
    bomb = "a0: &a0 {x: y}\n"
    for level in range(1, 200):
        merged = ", ".join([f"*a{level - 1}"] * 9)
        bomb += f"a{level}: &a{level} {{<<: [{merged}]}}\n"
    began = time.process_time()
    assert refused(bomb) == "yaml-unsafe"
    assert time.process_time() - began < 10


def test_a_merge_sign_in_quotes_is_a_key_like_others() -> None:
    assert fields("'<<': a\n") == {"<<": "a"}
    assert fields("a: <<\n") == {"a": "<<"}


@pytest.mark.parametrize("front", ["- a\n", "just text\n", "{", '"', "\t\n:", "%YAML\n", "\x01"])
def test_what_cannot_be_read_in_any_way_is_invalid(front: str) -> None:
    assert refused(front) == "yaml-invalid"


# -------- what is repaired


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Use it: now", "Use it: now"),
        ("Use it:", "Use it:"),
        ("Don't say: it's", "Don't say: it's"),
        ("@file is read", "@file is read"),
        ("`x` runs", "`x` runs"),
        ("%s is kept", "%s is kept"),
        ("*Bold* words", "*Bold* words"),
        ("*args and kwargs", "*args and kwargs"),
        ("[a] or [b]", "[a] or [b]"),
        ("{a} or {b}", "{a} or {b}"),
        ("{{ name }}", "{{ name }}"),
        ("> not folded", "> not folded"),
        ("| not literal", "| not literal"),
        ("- a list", "- a list"),
        ("Use it: now   ", "Use it: now"),
        ("C:\\new is: a path", "C:\\new is: a path"),
    ],
)
def test_a_plain_line_that_breaks_yaml_is_put_between_quotes(value: str, expected: str) -> None:
    front = f"name: s\ndescription: {value}\nmetadata:\n  a: [b]\nlist: [x, y]\n"
    assert repaired(front) == {
        "name": "s",
        "description": expected,
        "metadata": {"a": ["b"]},
        "list": ["x", "y"],
    }


def test_only_the_broken_lines_are_put_between_quotes() -> None:
    front = "name: s # note: this\ndescription: A: b\nb: [c]\n"
    assert repaired(front) == {"name": "s", "description": "A: b", "b": ["c"]}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("description: Use it: now\n  and then\n\n\tagain", "Use it: now and then again"),
        ('description: "Say "hi" to: all"', 'Say "hi" to: all'),
        ("description: 'It's'", "It's"),
        ('description: "unclosed', '"unclosed'),
        ('description: "a \\d b"', "a \\d b"),
        ("description:nothing between", "nothing between"),
        ("description : a blank before it: x\n b", "a blank before it: x b"),
        ("x: 'y\ndescription: >-\n  Folded\n  text", "Folded text"),
        ("x: 'y\ndescription: |\n  Literal\n  text", "Literal text"),
        ('x: \'y\n"description": quoted key', "quoted key"),
        ("description:\n  Use: it\n  so: 'x", "Use: it so: 'x"),
    ],
)
def test_else_lines_at_the_margin_are_read_with_their_followers(lines: str, expected: str) -> None:
    found = repaired(f"name: s\n{lines}\nlicense: MIT\n")
    assert (found["name"], found["description"], found["license"]) == ("s", expected, "MIT")


def test_the_flags_survive_and_the_metadata_does_not() -> None:
    front = (
        "name: s\ndescription: 'It's: so'\nmetadata: {openclaw: {os: [x]}}\n"
        "disable-model-invocation: true\nuser-invocable: false\n"
    )
    found = repaired(front)
    assert found["disable-model-invocation"] == "true"
    assert found["user-invocable"] == "false"
    assert "metadata" not in found


def test_a_stray_line_ends_a_value() -> None:
    assert repaired("description: It: is\nstray\n  more\n") == {"description": "It: is"}


def test_a_second_document_and_control_characters_are_repaired() -> None:
    assert repaired("description: x\n...\nname: y\n") == {"description": "x", "name": "y"}
    assert repaired("description: a\x08b\n") == {"description": "a\x08b"}


def test_a_repaired_frontmatter_is_as_safe_as_another() -> None:
    assert refused("description: Use it: now\nb:\n  c: &a d\n") == "yaml-unsafe"


def test_thousands_of_broken_lines_are_repaired_in_a_moment() -> None:
    began = time.process_time()
    repaired("a: b: c\n" * 2_000)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "front",
    ["a: x" + " " * 16_000 + "y: z", "a: " + ": " * 8_000, "'" * 16_000, "a:\n" * 5_000 + "b: 'x"],
)
def test_no_text_takes_more_than_a_moment(front: str) -> None:
    began = time.process_time()
    repaired(front) if ":" in front else refused(front)
    assert time.process_time() - began < 10


@given(st.text(max_size=60) | st.text(alphabet="ab:-'\"\\#&*!|>[]{},?@%`~\n\t ud83", max_size=60))
def test_any_text_is_fields_or_an_error(front: str) -> None:
    try:
        found, notes = parse_frontmatter(front)
    except SkillError as bad:
        assert bad.code in ("yaml-invalid", "yaml-unsafe")
    else:
        json.dumps(found, ensure_ascii=False).encode()
        assert {code for _, code, _ in notes} <= {"yaml-repaired"}


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1))
def test_a_description_written_by_a_program_comes_back(about: str) -> None:
    front = yaml.safe_dump({"name": "s", "description": about}, allow_unicode=True)
    assert parse_frontmatter(front) == ({"name": "s", "description": about}, [])
    assert parse_frontmatter(f"description: {json.dumps(about)}")[0] == {"description": about}


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    assert fields("a: 1.10\nb: [on]\n") == {"a": "1.10", "b": ["on"]}
    assert repaired("a: b: c\n") == {"a": "b: c"}
    assert refused("a: [" * 1_000) == "yaml-unsafe"
    assert repaired('a: "\\UFFFFFFFF \\ud800"\n') == {"a": "\\UFFFFFFFF \\ud800"}


@pytest.mark.parametrize("text", ["[1, 2,]", '{"a": {"b": true}}', "a: 'b'"])
def test_a_yaml_text_is_read_without_types(text: str) -> None:
    assert read_yaml(text)[0] in (["1", "2"], {"a": {"b": "true"}}, {"a": "b"})
