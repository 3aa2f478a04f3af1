"""Which files the agent may not read, however they are named."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from openclaw.errors import UsageError
from openclaw.home.attachments import attach
from openclaw.retrieval.scan import IndexOptions, Scan
from openclaw.security.credentials import why_denied, why_name_denied
from openclaw.storage.home import Home
from tests.fakes.files import write_file, write_files

# Below the user's folder.
SECRET = """
.ssh/id_ed25519  .ssh/config  .ssh  .gnupg/private-keys-v1.d/a.key  .aws/credentials  .aws/config
.azure/accessTokens.json  .config/gcloud/application_default_credentials.json  .kube/config
.docker/config.json  .netrc  _netrc  .npmrc  .pypirc  .git-credentials  .config/git/credentials
.pgpass  .my.cnf  .cargo/credentials.toml  .gem/credentials  .m2/settings.xml  .vault-token
.mozilla/firefox/a1b2.default/logins.json  .config/mozilla/firefox/p/key4.db
.config/google-chrome/Default/Cookies  .config/google-chrome-beta/Default/Login Data
.config/chromium/Default/Cookies  .config/microsoft-edge/Default/Cookies
.config/BraveSoftware/Brave-Browser/Default/Cookies  snap/firefox/common/.mozilla/cookies.sqlite
Library/Application Support/Google/Chrome/Default/Cookies
Library/Application Support/Firefox/Profiles/x/logins.json
Library/Application Support/BraveSoftware/Brave-Browser/Default/Cookies
Library/Application Support/Microsoft Edge/Default/Cookies  Library/Safari/History.db
Library/Containers/com.apple.Safari/Data/Cookies.binarycookies  Library/Keychains/login.keychain-db
AppData/Local/Google/Chrome/User Data/Default/Login Data  AppData/Roaming/Mozilla/Firefox/p/key4.db
AppData/Local/Microsoft/Edge/User Data/Default/Cookies  AppData/Local/Chromium/User Data/x
AppData/Roaming/Microsoft/Credentials/A1  AppData/Local/Microsoft/Vault/x
.local/share/keyrings/login.keyring  .password-store/mail.gpg  .config/1Password/1password.sqlite
.config/op/config  .config/Bitwarden CLI/data.json  Documents/all.kdbx
.bitcoin/wallet.dat  .electrum/wallets/default_wallet  .ethereum/keystore/UTC--1  wallet.dat
Library/Application Support/Exodus/seed.seco  AppData/Roaming/Bitcoin/wallet.dat
.claude/.credentials.json  .claude.json  .codex/auth.json  .gemini/oauth_creds.json
.openclaw/openclaw.json  .openclaw/credentials/whatsapp/creds.json  .hermes/.env  .hermes/auth.json
.nanobot/config.json  .config/gptme/config.toml  .config/io.datasette.llm/keys.json
Library/Application Support/io.datasette.llm/keys.json  .aider.conf.yml  .config/gh/hosts.yml
AppData/Roaming/GitHub CLI/hosts.yml  .cache/huggingface/token  .huggingface/token
Library/Application Support/Claude/config.json  .local/share/opencode/auth.json
.bash_history  .zsh_history  .python_history  .psql_history  .local/share/fish/fish_history
.node_repl_history  .lesshst  .viminfo
AppData/Roaming/Microsoft/Windows/PowerShell/PSReadLine/ConsoleHost_history.txt
.env  project/.env  project/.env.local  project/.env.production  project/.envrc  prod.env
project/server.pem  tls/private.key  id_rsa  backup/id_ed25519  id_ecdsa_sk  id_rsa.bak  cert.p12
cert.pfx  store.jks  key.ppk  client_secret_12.json  vpn.ovpn
"""

SYSTEM = """
/etc/shadow  /etc/shadow-  /etc/gshadow  /etc/ssh/ssh_host_rsa_key  /etc/sudoers  /proc/1/environ
/proc/self/environ  /proc/4242/task/4243/environ  /proc/self/mem  /run/secrets/db_password
/mnt/backup/home/ada/.ssh/id_rsa  /home/someone/.codex/auth.json  /Users/ada/.claude.json
/home/ada/.gemini/oauth_creds.json  C:\\Users\\Ada\\.codex\\auth.json  C:/Users/Ada/.ssh/id_rsa
D:\\backup\\Users\\Ada\\.aws\\credentials  /srv/openclaw/.openclaw/secrets.json
/srv/openclaw/.openclaw/secrets.damaged-20261121-120000.json
"""

TRICKS = """
/x/.ENV  /x/.Env.Local  /x/.SSH/ID_RSA  /x/.env.  /x/.env::$DATA  /x/.npmrc:stream  /x/.ssh./config
/X/.AWS/CREDENTIALS  /x/\uff0eenv  /x/.\uff45nv  /x/.e\u200bnv  /x/.ss\u00adh/config  /x/\u2024env
/x/.\u1d49nv  /x/.ssh\\id_rsa  /etc/\uff53hadow  /x/a/../.env  /x//.env  /x/./.env
"""

FINE = """
.env.example  .env.sample  .env.template  .env.local.example  example.env  .env.dist  env.md
environment.md  workspace/notes.md  memory/MEMORY.md  workspace/.gitignore  workspace/keys.md
workspace/keyboard.md  workspace/monkey.txt  workspace/id_card.md  workspace/identity.md
workspace/id_rsa.pub  workspace/id_ed25519.pub  workspace/public.pem  workspace/ssh-howto.md
workspace/aws.md  workspace/password-rules.md  workspace/secrets-of-cooking.md
workspace/wallet-comparison.md  workspace/history.md  workspace/chrome.md  .bashrc  .profile
.config/openclaw/settings.yaml  openclaw/openclaw.yaml  openclaw/.openclaw/spill/20261121-1-ab.txt
.gitconfig  .docker/README.md  .kube/README.md  .cache/huggingface/hub/models--x/config.json
project/.claude/skills/a/SKILL.md  project/.codex/notes.md  projects/claude/notes.md
Library/Application Support/Notes/n.md  AppData/Roaming/Notes/n.md  /etc/passwd  /etc/hosts
/proc/cpuinfo  /proc/1/status  /usr/share/doc/openssh/README  shadow.md
"""


def words(table: str) -> list[str]:
    return [word for line in table.strip().splitlines() for word in line.strip().split("  ")]


@pytest.mark.parametrize("name", words(SECRET))
def test_what_holds_credentials_is_denied_with_a_reason(name: str) -> None:
    assert why_denied(Path.home() / name)
    assert why_denied(Path.home() / name.upper())


@pytest.mark.parametrize("path", words(SYSTEM))
def test_what_belongs_to_the_system_or_to_others_is_denied(path: str) -> None:
    assert why_name_denied(path)


@pytest.mark.parametrize("path", words(TRICKS), ids=ascii)
def test_no_spelling_of_a_name_gets_around_the_list(path: str) -> None:
    assert why_denied(Path(path))


@pytest.mark.parametrize("path", words(FINE))
def test_all_else_may_be_read(path: str) -> None:
    assert why_denied(Path.home() / path) == ""


def test_a_link_to_a_denied_file_is_denied(tmp_path: Path) -> None:
    secret = tmp_path / "user" / ".ssh" / "config"
    secret.parent.mkdir()
    secret.write_text("Host *\n")
    link = tmp_path / "notes.md"
    folder = tmp_path / "folder"
    try:
        link.symlink_to(secret)
        folder.symlink_to(secret.parent)
    except OSError:
        pytest.skip("this system makes no links here")
    assert why_denied(link) == why_denied(folder / "config") == "SSH keys"
    assert why_denied(tmp_path / "other.md") == ""


def test_a_link_by_way_of_proc_is_followed() -> None:
    if not Path("/proc/self/root").is_dir():
        pytest.skip("no /proc here")
    assert why_denied(Path("/proc/self/root", "etc", "shadow"))


def test_links_that_form_a_loop_do_not_end_in_an_error(tmp_path: Path) -> None:
    loop = tmp_path / "loop.md"
    try:
        loop.symlink_to(loop)
    except OSError:
        pytest.skip("this system makes no links here")
    assert isinstance(why_denied(loop), str)


def test_the_reason_names_what_it_is() -> None:
    assert why_denied(Path.home() / ".aws" / "credentials") == "cloud credentials"
    assert "environment" in why_denied(Path("/srv/app/.env"))
    assert "another agent" in why_denied(Path.home() / ".codex" / "auth.json")


def test_the_tables_are_large_enough() -> None:
    assert len(words(SECRET)) >= 80
    assert len(words(FINE)) >= 40


# -------- who obeys the list


@pytest.mark.parametrize("name", ["~/.ssh/id_rsa", ".env", "~/.aws/credentials"])
def test_a_closed_file_cannot_be_attached(name: str, tmp_path: Path) -> None:
    write_file((tmp_path / Path(name).expanduser()).absolute(), "A=1\n")
    with pytest.raises(UsageError, match="is not attached") as caught:
        attach(f"read @{name} please", "", tmp_path, tmp_path)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_closed_files_are_not_indexed(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    names = ["workspace/prod.env", "workspace/wallet.dat", "workspace/a.pem", "memory/b.key"]
    others = ["workspace/plain.md", "workspace/keys/id_rsa"]
    write_files(home.root, dict.fromkeys([*names, *others], "text\n"))
    link = home.root / "workspace" / "harmless.md"
    with contextlib.suppress(OSError):
        link.symlink_to(home.root / "workspace" / "keys" / "id_rsa")
    secret = tmp_path / "user" / ".aws"
    secret.mkdir()
    (secret / "config").write_text("text\n")
    scan = Scan(home, IndexOptions(paths=(str(secret),)))
    assert [found.path for found in scan.files()] == ["workspace/plain.md"]
    assert "cloud credentials" in str(scan.problems)


def test_a_name_of_many_dots_takes_no_time() -> None:
    began = time.process_time()
    assert why_name_denied("." * 20_000 + "x") == "" and why_name_denied(".ssh" + ". " * 9_000)
    assert time.process_time() - began < 1
