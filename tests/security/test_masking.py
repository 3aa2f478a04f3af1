"""The vault: names in the place of secrets, and the way back."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import OpenclawError
from openclaw.security.masking import Masker, mask_of, masked_names
from openclaw.types import ToolProblem
from tests.security.test_secrets import chance, pem

TOKEN = "gh" + "p_" + chance(36)
OTHER = "gh" + "p_" + chance(36, seed=8)
PASSWORD = "Blaue7" + "Katze!"
GITHUB = "{{secret:github-token-1}}"


@pytest.fixture
def masker(tmp_path: Path) -> Masker:
    return Masker(tmp_path / "home" / ".openclaw" / "secrets.json")


# -------- masks


def test_a_secret_becomes_a_name_and_comes_back(masker: Masker) -> None:
    masked = masker.mask(f"use {TOKEN} please")
    assert masked == f"use {GITHUB} please"
    assert masker.reveal(masked) == f"use {TOKEN} please"
    assert masker.names() == ("github-token-1",)


def test_the_same_secret_has_the_same_name_and_another_one_the_next_number(masker: Masker) -> None:
    assert masker.mask(f"{TOKEN} {OTHER} {TOKEN}") == (
        f"{GITHUB} {{{{secret:github-token-2}}}} {GITHUB}"
    )
    again = Masker(masker.path)
    assert again.mask(OTHER) == "{{secret:github-token-2}}"


def test_text_without_secrets_stays_and_makes_no_file(masker: Masker) -> None:
    text = "nothing here, commit 9fceb02d0ae598e95dc970b74767f19372d61af8\n"
    assert masker.mask(text) == text
    assert not masker.path.exists()


def test_masking_twice_is_masking_once(masker: Masker) -> None:
    once = masker.mask(f'password = "{PASSWORD}"\nAuthorization: Bearer {TOKEN}\n{pem("RSA")}\n')
    assert masker.mask(once) == once
    assert len(masked_names(once)) == 3


def test_a_known_secret_is_masked_where_nothing_tells_that_it_is_one(masker: Masker) -> None:
    masker.mask(f"password: {PASSWORD}")
    assert masker.mask(f"it printed {PASSWORD}.") == "it printed {{secret:password-1}}."
    assert masker.mask(f"x{PASSWORD}") == f"x{PASSWORD}", "part of a longer word"


def test_a_plain_word_that_was_a_password_stays_a_word_elsewhere(masker: Masker) -> None:
    assert (
        masker.mask("postgres://app:tiger@db/x") == "postgres://app:{{secret:url-password-1}}@db/x"
    )
    assert masker.mask("the tiger sleeps") == "the tiger sleeps"


@pytest.mark.parametrize(
    "disguise",
    [
        lambda s: base64.b64encode(s.encode()).decode(),
        lambda s: base64.b64encode(f"a{s}b".encode()).decode(),
        lambda s: base64.b64encode(f"ab{s}cd\n".encode()).decode(),
        lambda s: base64.urlsafe_b64encode(f"token={s}".encode()).decode(),
        lambda s: s.encode().hex(),
        lambda s: s.encode().hex().upper(),
        lambda s: s[::-1],
        lambda s: quote(f"{s}/?", safe=""),
    ],
)
def test_a_known_secret_is_recognised_in_disguise(masker: Masker, disguise: object) -> None:
    assert callable(disguise)
    secret = chance(24) + "+/" + chance(8)
    masker.mask(f"api_key = {secret}")
    hidden = disguise(secret)
    masked = masker.mask(f"out: {hidden} end")
    assert hidden not in masked
    assert "encoded-secret-1" in masked
    assert masker.reveal(masked) == f"out: {hidden} end"


def test_a_private_key_is_one_mask(masker: Masker) -> None:
    key = pem("OPENSSH", 12)
    assert masker.mask(f"a\n{key}\nb") == "a\n{{secret:private-key-1}}\nb"


@pytest.mark.parametrize(
    "text", ["{{secret:github-token-9}}", "{{secret:nobody}}", "{{ x }}", "{{"]
)
def test_an_unknown_name_stays_as_it_is(masker: Masker, text: str) -> None:
    masker.mask(TOKEN)
    assert masker.reveal(text) == text
    assert masker.reveal(text, plain=True) == text
    assert masker.mask(text) == text


@pytest.mark.parametrize(
    "wrote",
    ["{{secret:github-token-1}}", "{{ secret: github-token-1 }}", "{{secret:GitHub-Token-1}}"],
)
def test_a_mask_is_understood_as_models_write_it(masker: Masker, wrote: str) -> None:
    masker.mask(TOKEN)
    assert masker.reveal(wrote) == TOKEN


def test_only_plain_values_are_put_into_a_command(masker: Masker) -> None:
    evil = "x9;rm|Y8" + "&&Zq'"
    masker.mask(f"password = {evil[:-1]}\n{TOKEN}")
    assert masker.reveal(f"echo {GITHUB}", plain=True) == f"echo {TOKEN}"
    with pytest.raises(ToolProblem, match="password-1"):
        masker.reveal("echo '{{secret:password-1}}'", plain=True)


@given(
    st.lists(
        st.sampled_from(
            [TOKEN, OTHER, PASSWORD, pem(), "password: ", "\n", " ", "a", "{{", "}}", "="]
        )
    )
)
def test_what_was_masked_comes_back_byte_for_byte(tmp_path: Path, pieces: list[str]) -> None:
    masker = Masker(tmp_path / "v" / "secrets.json")
    text = "".join(pieces)
    masked = masker.mask(text)
    assert masker.reveal(masked) == text
    assert TOKEN not in masked
    assert masker.mask(masked) == masked


# -------- writing


def test_a_mask_is_written_back_where_its_secret_was(masker: Masker) -> None:
    before = f"user: ada\ntoken: {TOKEN}\n"
    after = masker.mask(before).replace("ada", "eve")
    assert masker.written(after, before, "a.yaml") == f"user: eve\ntoken: {TOKEN}\n"


def test_a_mask_cannot_be_written_anywhere_else(masker: Masker) -> None:
    masker.mask(TOKEN)
    for before in ("", "token: none\n", OTHER):
        with pytest.raises(ToolProblem, match="can only be written back where it was"):
            masker.written(f"token: {GITHUB}\n", before, "public/index.html")


def test_a_secret_may_be_taken_out_of_a_file(masker: Masker) -> None:
    before = f"token: {TOKEN}\n"
    masker.mask(before)
    assert masker.written("token: none\n", before, "a.yaml") == "token: none\n"


@pytest.mark.parametrize(
    "wrote",
    ["{{secret:github_token}}", "{secret:github-token-1}", "[REDACTED]", "********", "<secret>",
     "{{secret:github-token-7}}"],
)  # fmt: skip
def test_what_only_looks_like_a_mask_does_not_replace_a_secret(masker: Masker, wrote: str) -> None:
    before = f"token: {TOKEN}\n"
    masker.mask(before)
    with pytest.raises(ToolProblem, match="Copy the mask exactly"):
        masker.written(f"token: {wrote}\n", before, "a.yaml")


def test_stars_that_were_there_before_do_not_stand_in_the_way(masker: Masker) -> None:
    before = f"*****\ntoken: {TOKEN}\n"
    masker.mask(before)
    assert masker.written("*****\nno token\n", before, "a.md") == "*****\nno token\n"


def test_a_key_of_a_file_with_windows_newlines_is_written_back(masker: Masker) -> None:
    before = f"a\n{pem()}\n".replace("\n", "\r\n")
    shown = masker.mask(before.replace("\r\n", "\n"))
    assert masker.written(shown, before, "a.txt").replace("\n", "\r\n") == before


def test_a_memory_keeps_the_name_of_a_secret_and_never_the_secret(masker: Masker) -> None:
    assert masker.noted(f"- token {TOKEN}\n", "") == f"- token {GITHUB}\n"
    assert masker.noted(f"- token {GITHUB}\n", "") == f"- token {GITHUB}\n"
    assert masker.noted(f"- {GITHUB}, new\n", f"- {TOKEN}\n") == f"- {TOKEN}, new\n", (
        "by hand before"
    )


# -------- the file


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_the_file_is_for_its_user_only_from_the_first_byte(masker: Masker) -> None:
    old = os.umask(0)
    try:
        masker.mask(TOKEN)
    finally:
        os.umask(old)
    assert stat.S_IMODE(masker.path.stat().st_mode) == 0o600
    masker.path.chmod(0o644)
    masker.mask(OTHER)
    assert stat.S_IMODE(masker.path.stat().st_mode) == 0o600


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(
    masker: Masker, tmp_path: Path
) -> None:
    public = tmp_path / "public.json"
    masker.path.parent.mkdir(parents=True)
    try:
        masker.path.symlink_to(public)
    except OSError:
        pytest.skip("this system makes no links here")
    masker.mask(TOKEN)
    assert not public.exists()
    assert not masker.path.is_symlink()


def test_what_another_process_keeps_is_known_here_and_nothing_is_lost(masker: Masker) -> None:
    masker.mask(TOKEN)
    code = (
        "import sys; from pathlib import Path; from openclaw.security.masking import Masker;"
        "print(Masker(Path(sys.argv[1])).mask(sys.argv[2]), end='')"
    )
    words = [sys.executable, "-c", code, str(masker.path), OTHER]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "{{secret:github-token-2}}"
    assert masker.reveal(f"{GITHUB} {done.stdout}") == f"{TOKEN} {OTHER}"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 1}', '{"version": 1, "secrets": {"a-1": {"value": 3}}}', "\0"],
)
def test_a_damaged_file_is_kept_aside_and_said(masker: Masker, text: str) -> None:
    masker.path.parent.mkdir(parents=True)
    masker.path.write_text(text, "utf-8")
    assert masker.mask(TOKEN) == GITHUB
    (aside,) = masker.path.parent.glob("secrets.damaged-*.json")
    assert aside.read_text("utf-8") == text
    assert len(masker.notices) == 1
    assert aside.name in masker.notices[0]


def test_a_name_of_a_damaged_file_does_not_come_to_mean_another_secret(masker: Masker) -> None:
    masker.mask(TOKEN)
    masker.path.write_text(masker.path.read_text("utf-8") + "}}", "utf-8")
    fresh = Masker(masker.path)
    assert fresh.mask(OTHER) == "{{secret:github-token-2}}"
    assert fresh.reveal(GITHUB) == GITHUB


def test_a_secret_that_cannot_be_kept_is_an_error_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(OpenclawError):
        Masker(tmp_path / "home" / "secrets.json").mask(TOKEN)


def test_deleting_the_file_forgets_nothing_in_this_process(masker: Masker) -> None:
    masker.mask(TOKEN)
    masker.path.unlink()
    assert masker.reveal(GITHUB) == TOKEN
    assert masker.mask(f"{TOKEN} {OTHER}") == f"{GITHUB} {mask_of('github-token-2')}"
    assert set(json.loads(masker.path.read_text("utf-8"))["secrets"]) == {
        "github-token-1",
        "github-token-2",
    }


def test_a_look_hides_secrets_whole_or_not_and_keeps_none(masker: Masker) -> None:
    for text in (f"use {TOKEN} please", pem("RSA"), pem("RSA").rpartition("\n")[0]):
        seen = masker.mask_for_display(f"before\n{text}\nafter")
        assert not any(line in seen for line in text.splitlines() if len(line) > 40)
        assert "{{secret:new}}" in seen
    assert masker.names() == () and not masker.path.exists()
    masker.mask(TOKEN)
    assert masker.mask_for_display(f"use {TOKEN}") == f"use {GITHUB}"
