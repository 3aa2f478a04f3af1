"""Files that hold credentials: not readable for the agent, in no mode.

A name counts wherever it lies (`.ssh` of another user, of a backup), and what other agents keep
counts in the folder of a user. Names are compared as the most lenient file system would. Places are
those that the programs document; for browsers Chromium's user_data_dir.md and Mozilla's profiles.
"""

from __future__ import annotations

import os
import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

# A line is: reason | paths below any folder, with * for what is no slash.
_ANYWHERE = """
SSH keys | .ssh
GnuPG keys | .gnupg
cloud credentials | .aws  .azure  .config/gcloud  .oci  .aliyun  .bluemix  .config/doctl
cloud credentials | .terraform.d/credentials.tfrc.json  .terraformrc  .vault-token
cloud credentials | .pulumi/credentials.json
cluster credentials | .kube/config  .kube/cache  .docker/config.json  .dockercfg
cluster credentials | .config/containers/auth.json
passwords for hosts | .netrc  _netrc  .pgpass  pgpass.conf  .my.cnf  .mylogin.cnf  .s3cfg  .boto
passwords for hosts | .htpasswd
passwords for hosts | .git-credentials  .config/git/credentials  .config/rclone/rclone.conf
passwords for hosts | .smbcredentials
tokens of package registries | .npmrc  .pypirc  .yarnrc  .yarnrc.yml  .cargo/credentials
tokens of package registries | .cargo/credentials.toml
tokens of package registries | .gem/credentials  .m2/settings.xml  .m2/settings-security.xml
tokens of package registries | .nuget/nuget.config
tokens of package registries | .gradle/gradle.properties  .config/composer/auth.json
tokens of package registries | .composer/auth.json
tokens of code hosts | .config/gh/hosts.yml  github cli/hosts.yml  .config/hub  .config/glab-cli
tokens of model providers | .cache/huggingface/token  .cache/huggingface/stored_tokens
tokens of model providers | .huggingface/token
tokens of model providers | io.datasette.llm/keys.json  .config/github-copilot  .kaggle/kaggle.json
a browser's profile | .mozilla  .config/mozilla  .librewolf  .waterfox  .thunderbird  .zen
a browser's profile | .config/google-chrome*  .config/chromium*  .config/microsoft-edge*
a browser's profile | .config/bravesoftware
a browser's profile | .config/vivaldi*  .config/opera*  .config/yandex-browser*  snap/firefox
a browser's profile | snap/chromium
a browser's profile | snap/brave  .var/app/org.mozilla.*  .var/app/org.chromium.*
a browser's profile | .var/app/com.google.chrome*
a browser's profile | .var/app/com.brave.browser  .var/app/com.microsoft.edge*
a browser's profile | .var/app/com.vivaldi.vivaldi
a browser's profile | application support/firefox  application support/google/chrome*
a browser's profile | application support/chromium
a browser's profile | application support/microsoft edge*  application support/bravesoftware
a browser's profile | application support/vivaldi
a browser's profile | application support/arc  application support/com.operasoftware.*
a browser's profile | application support/thunderbird
a browser's profile | library/safari  library/cookies  library/containers/com.apple.safari
a browser's profile | library/webkit
a browser's profile | appdata/roaming/mozilla  appdata/roaming/thunderbird
a browser's profile | appdata/roaming/opera software
a browser's profile | appdata/local/google/chrome*  appdata/local/chromium
a browser's profile | appdata/local/microsoft/edge*
a browser's profile | appdata/local/bravesoftware  appdata/local/vivaldi  appdata/local/mozilla
a keychain | library/keychains  .local/share/keyrings  .local/share/kwalletd
a keychain | .kde/share/apps/kwallet
a keychain | appdata/*/microsoft/credentials  appdata/*/microsoft/protect  appdata/*/microsoft/vault
a password store | .password-store  .config/1password  .config/op  .1password
a password store | application support/1password*
a password store | library/group containers/*.com.1password*  appdata/local/1password
a password store | .config/bitwarden*
a password store | application support/bitwarden*  appdata/roaming/bitwarden*  .config/keepassxc
a password store | .lastpass
a password store | .config/sops/age  .age
a wallet | .bitcoin  .litecoin  .dogecoin  .ethereum  .electrum  .monero  .bitmonero
a wallet | .config/solana  .exodus
a wallet | .config/exodus  .sparrow  .wasabiwallet  .walletwasabi  application support/bitcoin
a wallet | application support/exodus
a wallet | application support/ethereum  application support/electrum  appdata/roaming/bitcoin
a wallet | appdata/roaming/ethereum  appdata/roaming/electrum  appdata/roaming/exodus
openclaw's own secrets | .openclaw/secrets*.json
a shell's history | fish_history  consolehost_history.txt
the system's secrets | etc/shadow*  etc/gshadow*  etc/sudoers  etc/sudoers.d  etc/krb5.keytab
the system's secrets | etc/master.passwd
the system's secrets | etc/security/opasswd  etc/ssh/ssh_host_*_key  etc/wireguard
the system's secrets | etc/ppp/chap-secrets
the system's secrets | etc/networkmanager/system-connections  run/secrets  etc/ssl/private
a process's memory or environment | proc/*/environ  proc/*/task/*/environ  proc/*/mem  proc/kcore
"""

# The same for the folder of a user: other agents and what they know.
_AT_HOME = """
another agent's credentials | .claude*  .codex  .gemini  .qwen  .hermes  .nanobot  .aider*
another agent's credentials | .cursor  .continue
another agent's credentials | .config/claude*  .config/gptme  .config/goose  .config/opencode
another agent's credentials | .local/share/opencode
another agent's credentials | .config/aider*  .config/codex  .config/amp  .local/share/amp
another agent's credentials | .factory  .grok  .kimi
another agent's credentials | .pi  .vibe  .copilot  .windsurf  .codeium  .zeroclaw  .picoclaw
another agent's credentials | .llm  .openai
another agent's credentials | application support/claude*  appdata/roaming/claude*
another agent's credentials | application support/cursor
another agent's credentials | appdata/roaming/cursor  .openclaw  .clawdbot  .moltbot
"""

# And names that count wherever they are.
_NAMES = """
an environment file, which holds passwords | .env  .env.*  .env-*  .env_*  .env~*  *.env  .envrc
an environment file, which holds passwords | .envrc.*
a private key | *.pem  *.key  *.p12  *.pfx  *.jks  *.keystore  *.ppk  *.p8  *.agekey  *.pkcs12
a private key | id_rsa*  id_dsa*  id_ecdsa*  id_ed25519*  id_xmss*
a password store | *.kdbx  *.kdb  *.keychain  *.keychain-db  *.psafe3  *.agilekeychain  *.opvault
a wallet | wallet.dat  *.wallet
a shell's history | .*_history  .*_hist  .histfile  .lesshst  .viminfo
credentials | .*.kdb  kerberos.keytab  *.keytab  *.ovpn  credentials.json  client_secret*.json
credentials | service-account*.json
"""

_SAMPLE = re.compile(
    r"(?:.*[._-])?(?:example|sample|template|tmpl|dist|defaults?|schema)(?:[._-].*)?"
)
_PUBLIC = re.compile(r".*\.pub|.*(?:public|cert|chain|cacert|ca-bundle)\.pem")
_OUR_OWN = re.compile(r".*/\.openclaw/(?:spill|workspace|skills)(?:/.*)?")
_USERS = r"/home/[^/]+|/var/home/[^/]+|/users/[^/]+|/[a-z]:?/users/[^/]+|/root"
_MARKS = re.compile(r"[ .]+(?=/|$)")
_STREAM = re.compile(r"(?<=[^/]{2}):[^/]*")


def denied(path: Path) -> str:
    """Why a file or folder is not readable, "" when it is; also when a link leads to it."""
    named = os.path.abspath(path)  # noqa: PTH100  `resolve` would follow links already
    reason = denied_name(named)
    if reason:
        return reason
    try:
        real = os.path.realpath(named)
    except (OSError, ValueError):
        return "a name that cannot be looked up"
    return denied_name(real) if real != named else ""


def denied_name(path: str) -> str:
    """The same for a path as it is written, absolute or not; links are not looked at."""
    return _denied(path, os.path.expanduser("~"))  # noqa: PTH111


@lru_cache(maxsize=16_384)
def _denied(path: str, user: str) -> str:
    plain = _plain(path)
    found = _by_name(plain.rpartition("/")[2])
    return found or _by_place(plain, _plain(user))


def _by_name(name: str) -> str:
    found = _names().fullmatch(name)
    reason = _reasons(_NAMES)[found.lastindex - 1] if found and found.lastindex else ""
    stem = name.removeprefix(".envrc").removeprefix(".env").removesuffix(".env")
    sample = "environment" in reason and _SAMPLE.fullmatch(stem)
    public = "private key" in reason and _PUBLIC.fullmatch(name)
    return "" if sample or public else reason


def _by_place(plain: str, user: str) -> str:
    found = _places().search(plain)
    if found and found.lastindex:
        return _reasons(_ANYWHERE)[found.lastindex - 1]
    found = _homes(user).match(plain)
    if found and not _OUR_OWN.fullmatch(plain):
        return _reasons(_AT_HOME)[0]
    return ""


def _plain(path: str) -> str:
    """A path as the most lenient file system compares it: without case, marks that are not shown,
    trailing blanks and dots, and what follows a colon (a stream of the same file)."""
    text = path
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc"))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = text.lower().replace("\\", "/")
    if ":" in text:
        text = _STREAM.sub("", text)
    text = _MARKS.sub("", text)
    return text if text.startswith("/") else f"/{text}"


# -------- the tables as patterns


@cache
def _names() -> re.Pattern[str]:
    return re.compile(_pattern(_NAMES))


@cache
def _places() -> re.Pattern[str]:
    return re.compile(rf"/(?:{_pattern(_ANYWHERE)})(?:/|$)")


@lru_cache(maxsize=4)
def _homes(user: str) -> re.Pattern[str]:
    places = _pattern(_AT_HOME)
    return re.compile(rf"(?:{_USERS}|{re.escape(user)})/(?:library/)?(?:{places})(?:/|$)")


def _pattern(table: str) -> str:
    """One group for each reason, in their order."""
    return "|".join(f"({'|'.join(map(_glob, names))})" for names in _rows(table).values())


def _glob(name: str) -> str:
    return re.escape(name).replace(r"\*", "[^/]*")


@cache
def _reasons(table: str) -> tuple[str, ...]:
    return tuple(_rows(table))


@cache
def _rows(table: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in table.strip().splitlines():
        reason, _, names = line.partition(" | ")
        rows.setdefault(reason, []).extend(re.split(r" {2,}", names.strip()))
    return rows
