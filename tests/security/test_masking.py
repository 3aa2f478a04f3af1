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

from openclaw.errors import Damaged, OpenclawError
from openclaw.security.masking import Vault, mask_of, masked_names
from openclaw.types import ToolProblem
from tests.security.test_secrets import chance, pem

TOKEN = "gh" + "p_" + chance(36)
OTHER = "gh" + "p_" + chance(36, seed=8)
PASSWORD = "Blaue7" + "Katze!"
GITHUB = "{{secret:github-token-1}}"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "home" / ".openclaw" / "secrets.json")


# -------- masks


def test_a_secret_becomes_a_name_and_comes_back(vault: Vault) -> None:
    masked = vault.mask(f"use {TOKEN} please")
    assert masked == f"use {GITHUB} please"
    assert vault.reveal(masked) == f"use {TOKEN} please"
    assert vault.names() == ("github-token-1",)


def test_the_same_secret_has_the_same_name_and_another_one_the_next_number(vault: Vault) -> None:
    assert vault.mask(f"{TOKEN} {OTHER} {TOKEN}") == (
        f"{GITHUB} {{{{secret:github-token-2}}}} {GITHUB}"
    )
    again = Vault(vault.path)
    assert again.mask(OTHER) == "{{secret:github-token-2}}"


def test_text_without_secrets_stays_and_makes_no_file(vault: Vault) -> None:
    text = "nothing here, commit 9fceb02d0ae598e95dc970b74767f19372d61af8\n"
    assert vault.mask(text) == text
    assert not vault.path.exists()


def test_masking_twice_is_masking_once(vault: Vault) -> None:
    once = vault.mask(f'password = "{PASSWORD}"\nAuthorization: Bearer {TOKEN}\n{pem("RSA")}\n')
    assert vault.mask(once) == once
    assert len(masked_names(once)) == 3


def test_a_known_secret_is_masked_where_nothing_tells_that_it_is_one(vault: Vault) -> None:
    vault.mask(f"password: {PASSWORD}")
    assert vault.mask(f"it printed {PASSWORD}.") == "it printed {{secret:password-1}}."
    assert vault.mask(f"x{PASSWORD}") == f"x{PASSWORD}", "part of a longer word"


def test_a_plain_word_that_was_a_password_stays_a_word_elsewhere(vault: Vault) -> None:
    assert (
        vault.mask("postgres://app:tiger@db/x") == "postgres://app:{{secret:url-password-1}}@db/x"
    )
    assert vault.mask("the tiger sleeps") == "the tiger sleeps"


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
def test_a_known_secret_is_recognised_in_disguise(vault: Vault, disguise: object) -> None:
    assert callable(disguise)
    secret = chance(24) + "+/" + chance(8)
    vault.mask(f"api_key = {secret}")
    hidden = disguise(secret)
    masked = vault.mask(f"out: {hidden} end")
    assert hidden not in masked
    assert "encoded-secret-1" in masked
    assert vault.reveal(masked) == f"out: {hidden} end"


def test_a_private_key_is_one_mask(vault: Vault) -> None:
    key = pem("OPENSSH", 12)
    assert vault.mask(f"a\n{key}\nb") == "a\n{{secret:private-key-1}}\nb"


@pytest.mark.parametrize(
    "text", ["{{secret:github-token-9}}", "{{secret:nobody}}", "{{ x }}", "{{"]
)
def test_an_unknown_name_stays_as_it_is(vault: Vault, text: str) -> None:
    vault.mask(TOKEN)
    assert vault.reveal(text) == text
    assert vault.reveal(text, plain=True) == text
    assert vault.mask(text) == text


@pytest.mark.parametrize(
    "wrote",
    ["{{secret:github-token-1}}", "{{ secret: github-token-1 }}", "{{secret:GitHub-Token-1}}"],
)
def test_a_mask_is_understood_as_models_write_it(vault: Vault, wrote: str) -> None:
    vault.mask(TOKEN)
    assert vault.reveal(wrote) == TOKEN


def test_only_plain_values_are_put_into_a_command(vault: Vault) -> None:
    evil = "x9;rm|Y8" + "&&Zq'"
    vault.mask(f"password = {evil[:-1]}\n{TOKEN}")
    assert vault.reveal(f"echo {GITHUB}", plain=True) == f"echo {TOKEN}"
    with pytest.raises(ToolProblem, match="password-1"):
        vault.reveal("echo '{{secret:password-1}}'", plain=True)


PIECES = [TOKEN, OTHER, PASSWORD, pem(), "password: ", "\n", " ", "a", "{{", "}}", "="]


@given(
    st.lists(
        st.sampled_from(
            [TOKEN, OTHER, PASSWORD, pem(), "password: ", "\n", " ", "a", "{{", "}}", "="]
        )
    )
)
def test_what_was_masked_comes_back_byte_for_byte(tmp_path: Path, pieces: list[str]) -> None:
    vault = Vault(tmp_path / "v" / "secrets.json")
    text = "".join(pieces)
    masked = vault.mask(text)
    assert vault.reveal(masked) == text
    assert TOKEN not in masked
    assert vault.mask(masked) == masked


# -------- writing


def test_a_mask_is_written_back_where_its_secret_was(vault: Vault) -> None:
    before = f"user: ada\ntoken: {TOKEN}\n"
    after = vault.mask(before).replace("ada", "eve")
    assert vault.written(after, before, "a.yaml") == f"user: eve\ntoken: {TOKEN}\n"


def test_a_mask_cannot_be_written_anywhere_else(vault: Vault) -> None:
    vault.mask(TOKEN)
    for before in ("", "token: none\n", OTHER):
        with pytest.raises(ToolProblem, match="can only be written back where it was"):
            vault.written(f"token: {GITHUB}\n", before, "public/index.html")


def test_a_secret_may_be_taken_out_of_a_file(vault: Vault) -> None:
    before = f"token: {TOKEN}\n"
    vault.mask(before)
    assert vault.written("token: none\n", before, "a.yaml") == "token: none\n"


@pytest.mark.parametrize(
    "wrote",
    ["{{secret:github_token}}", "{secret:github-token-1}", "[REDACTED]", "********", "<secret>",
     "{{secret:github-token-7}}"],
)  # fmt: skip
def test_what_only_looks_like_a_mask_does_not_replace_a_secret(vault: Vault, wrote: str) -> None:
    before = f"token: {TOKEN}\n"
    vault.mask(before)
    with pytest.raises(ToolProblem, match="Copy the mask exactly"):
        vault.written(f"token: {wrote}\n", before, "a.yaml")


def test_stars_that_were_there_before_do_not_stand_in_the_way(vault: Vault) -> None:
    before = f"*****\ntoken: {TOKEN}\n"
    vault.mask(before)
    assert vault.written("*****\nno token\n", before, "a.md") == "*****\nno token\n"


def test_a_key_of_a_file_with_windows_newlines_is_written_back(vault: Vault) -> None:
    before = f"a\n{pem()}\n".replace("\n", "\r\n")
    shown = vault.mask(before.replace("\r\n", "\n"))
    assert vault.written(shown, before, "a.txt").replace("\n", "\r\n") == before


def test_a_memory_keeps_the_name_of_a_secret_and_never_the_secret(vault: Vault) -> None:
    assert vault.noted(f"- token {TOKEN}\n", "") == f"- token {GITHUB}\n"
    assert vault.noted(f"- token {GITHUB}\n", "") == f"- token {GITHUB}\n"
    assert vault.noted(f"- {GITHUB}, new\n", f"- {TOKEN}\n") == f"- {TOKEN}, new\n", (
        "by hand before"
    )


# -------- the file


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_the_file_is_for_its_user_only_from_the_first_byte(vault: Vault) -> None:
    old = os.umask(0)
    try:
        vault.mask(TOKEN)
    finally:
        os.umask(old)
    assert stat.S_IMODE(vault.path.stat().st_mode) == 0o600
    vault.path.chmod(0o644)
    vault.mask(OTHER)
    assert stat.S_IMODE(vault.path.stat().st_mode) == 0o600


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(
    vault: Vault, tmp_path: Path
) -> None:
    public = tmp_path / "public.json"
    vault.path.parent.mkdir(parents=True)
    try:
        vault.path.symlink_to(public)
    except OSError:
        pytest.skip("this system makes no links here")
    vault.mask(TOKEN)
    assert not public.exists()
    assert not vault.path.is_symlink()


def test_what_another_process_keeps_is_known_here_and_nothing_is_lost(vault: Vault) -> None:
    vault.mask(TOKEN)
    code = (
        "import sys; from pathlib import Path; from openclaw.security.masking import Vault;"
        "print(Vault(Path(sys.argv[1])).mask(sys.argv[2]), end='')"
    )
    words = [sys.executable, "-c", code, str(vault.path), OTHER]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "{{secret:github-token-2}}"
    assert vault.reveal(f"{GITHUB} {done.stdout}") == f"{TOKEN} {OTHER}"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 1}', '{"version": 1, "secrets": {"a-1": {"value": 3}}}', "\0"],
)
def test_a_damaged_file_is_kept_aside_and_said(vault: Vault, text: str) -> None:
    vault.path.parent.mkdir(parents=True)
    vault.path.write_text(text, "utf-8")
    assert vault.mask(TOKEN) == GITHUB
    (aside,) = vault.path.parent.glob("secrets.damaged-*.json")
    assert aside.read_text("utf-8") == text
    assert len(vault.notices) == 1
    assert aside.name in vault.notices[0]


def test_a_name_of_a_damaged_file_does_not_come_to_mean_another_secret(vault: Vault) -> None:
    vault.mask(TOKEN)
    vault.path.write_text(vault.path.read_text("utf-8") + "}}", "utf-8")
    fresh = Vault(vault.path)
    assert fresh.mask(OTHER) == "{{secret:github-token-2}}"
    assert fresh.reveal(GITHUB) == GITHUB


def test_a_file_of_a_newer_program_is_left_alone(vault: Vault) -> None:
    vault.path.parent.mkdir(parents=True)
    text = json.dumps({"version": 2, "secrets": {}})
    vault.path.write_text(text, "utf-8")
    with pytest.raises(Damaged):
        vault.mask(TOKEN)
    assert vault.path.read_text("utf-8") == text


def test_a_secret_that_cannot_be_kept_is_an_error_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(OpenclawError):
        Vault(tmp_path / "home" / "secrets.json").mask(TOKEN)


def test_deleting_the_file_forgets_nothing_in_this_process(vault: Vault) -> None:
    vault.mask(TOKEN)
    vault.path.unlink()
    assert vault.reveal(GITHUB) == TOKEN
    assert vault.mask(f"{TOKEN} {OTHER}") == f"{GITHUB} {mask_of('github-token-2')}"
    assert set(json.loads(vault.path.read_text("utf-8"))["secrets"]) == {
        "github-token-1",
        "github-token-2",
    }


def test_a_look_hides_secrets_whole_or_not_and_keeps_none(vault: Vault) -> None:
    for text in (f"use {TOKEN} please", pem("RSA"), pem("RSA").rpartition("\n")[0]):
        seen = vault.mask_for_display(f"before\n{text}\nafter")
        assert not any(line in seen for line in text.splitlines() if len(line) > 40)
        assert "{{secret:new}}" in seen
    assert vault.names() == () and not vault.path.exists()
    vault.mask(TOKEN)
    assert vault.mask_for_display(f"use {TOKEN}") == f"use {GITHUB}"
