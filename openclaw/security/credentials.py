"""Knows which files hold credentials. The agent may read them in no mode.

Most names count in every folder (`.ssh` of another user or of a backup), the files of other agents
only in the folder of a user. Names are compared as the most lenient file system would. The places
are those in the programs' docs; for browsers Chromium's user_data_dir.md and Mozilla's profiles.
"""

from __future__ import annotations

import os
import re
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from openclaw.frozen import frozen

# A line is: reason | paths below any folder, with * for characters other than a slash. More paths
# of a reason stand in the lines below it.
_ANYWHERE = """
SSH keys | .ssh
GnuPG keys | .gnupg
cloud credentials | .aws  .azure  .config/gcloud  .oci  .aliyun  .bluemix  .config/doctl
  .terraform.d/credentials.tfrc.json  .terraformrc  .vault-token  .pulumi/credentials.json
cluster credentials | .kube/config  .kube/cache  .docker/config.json  .dockercfg
  .config/containers/auth.json
passwords for hosts | .netrc  _netrc  .pgpass  pgpass.conf  .my.cnf  .mylogin.cnf  .s3cfg  .boto
  .htpasswd  .git-credentials  .config/git/credentials  .config/rclone/rclone.conf
  .smbcredentials
tokens of package registries | .npmrc  .pypirc  .yarnrc  .yarnrc.yml  .cargo/credentials
  .cargo/credentials.toml  .gem/credentials  .m2/settings.xml  .m2/settings-security.xml
  .nuget/nuget.config  .gradle/gradle.properties  .config/composer/auth.json  .composer/auth.json
tokens of code hosts | .config/gh/hosts.yml  github cli/hosts.yml  .config/hub  .config/glab-cli
tokens of model providers | .cache/huggingface/token  .cache/huggingface/stored_tokens
  .huggingface/token  io.datasette.llm/keys.json  .config/github-copilot  .kaggle/kaggle.json
a browser's profile | .mozilla  .config/mozilla  .librewolf  .waterfox  .thunderbird  .zen
  .config/google-chrome*  .config/chromium*  .config/microsoft-edge*  .config/bravesoftware
  .config/vivaldi*  .config/opera*  .config/yandex-browser*  snap/firefox  snap/chromium
  snap/brave  .var/app/org.mozilla.*  .var/app/org.chromium.*  .var/app/com.google.chrome*
  .var/app/com.brave.browser  .var/app/com.microsoft.edge*  .var/app/com.vivaldi.vivaldi
  application support/firefox  application support/google/chrome*  application support/chromium
  application support/microsoft edge*  application support/bravesoftware
  application support/vivaldi  application support/arc  application support/com.operasoftware.*
  application support/thunderbird  library/safari  library/cookies
  library/containers/com.apple.safari  library/webkit  appdata/roaming/mozilla
  appdata/roaming/thunderbird  appdata/roaming/opera software  appdata/local/google/chrome*
  appdata/local/chromium  appdata/local/microsoft/edge*  appdata/local/bravesoftware
  appdata/local/vivaldi  appdata/local/mozilla
a keychain | library/keychains  .local/share/keyrings  .local/share/kwalletd
  .kde/share/apps/kwallet  appdata/*/microsoft/credentials  appdata/*/microsoft/protect
  appdata/*/microsoft/vault
a password store | .password-store  .config/1password  .config/op  .1password
  application support/1password*  library/group containers/*.com.1password*
  appdata/local/1password  .config/bitwarden*  application support/bitwarden*
  appdata/roaming/bitwarden*  .config/keepassxc  .lastpass  .config/sops/age  .age
a wallet | .bitcoin  .litecoin  .dogecoin  .ethereum  .electrum  .monero  .bitmonero
  .config/solana  .exodus  .config/exodus  .sparrow  .wasabiwallet  .walletwasabi
  application support/bitcoin  application support/exodus  application support/ethereum
  application support/electrum  appdata/roaming/bitcoin  appdata/roaming/ethereum
  appdata/roaming/electrum  appdata/roaming/exodus
openclaw's own secrets | .openclaw/secrets*.json
a shell's history | fish_history  consolehost_history.txt
the system's secrets | etc/shadow*  etc/gshadow*  etc/sudoers  etc/sudoers.d  etc/krb5.keytab
  etc/master.passwd  etc/security/opasswd  etc/ssh/ssh_host_*_key  etc/wireguard
  etc/ppp/chap-secrets  etc/networkmanager/system-connections  run/secrets  etc/ssl/private
a process's memory or environment | proc/*/environ  proc/*/task/*/environ  proc/*/mem  proc/kcore
"""

# The same below the folder of a user: the files of other agents.
_AT_HOME = """
another agent's credentials | .claude*  .codex  .gemini  .qwen  .hermes  .nanobot  .aider*
  .cursor  .continue  .config/claude*  .config/gptme  .config/goose  .config/opencode
  .local/share/opencode  .config/aider*  .config/codex  .config/amp  .local/share/amp  .factory
  .grok  .kimi  .pi  .vibe  .copilot  .windsurf  .codeium  .zeroclaw  .picoclaw  .llm  .openai
  application support/claude*  appdata/roaming/claude*  application support/cursor
  appdata/roaming/cursor  .openclaw  .clawdbot  .moltbot
"""

# File names that count in every folder.
_NAMES = """
an environment file, which holds passwords | .env  .env.*  .env-*  .env_*  .env~*  *.env  .envrc
  .envrc.*
a private key | *.pem  *.key  *.p12  *.pfx  *.jks  *.keystore  *.ppk  *.p8  *.agekey  *.pkcs12
  id_rsa*  id_dsa*  id_ecdsa*  id_ed25519*  id_xmss*
a password store | *.kdbx  *.kdb  *.keychain  *.keychain-db  *.psafe3  *.agilekeychain  *.opvault
a wallet | wallet.dat  *.wallet
a shell's history | .*_history  .*_hist  .histfile  .lesshst  .viminfo
credentials | .*.kdb  kerberos.keytab  *.keytab  *.ovpn  credentials.json  client_secret*.json
  service-account*.json
"""

_SAMPLE = re.compile(
    r"(?:.*[._-])?(?:example|sample|template|tmpl|dist|defaults?|schema)(?:[._-].*)?"
)
_PUBLIC = re.compile(r".*\.pub|.*(?:public|cert|chain|cacert|ca-bundle)\.pem")
_OUR_OWN = re.compile(r".*/\.openclaw/(?:spill|workspace|skills)(?:/.*)?")
_USERS = r"/home/[^/]+|/var/home/[^/]+|/users/[^/]+|/[a-z]:?/users/[^/]+|/root"
_MARKS = re.compile(r"(?<![ .])[ .]++(?=/|$)")
_STREAM = re.compile(r"(?<=[^/]{2}):[^/]*")


def why_denied(path: Path) -> str:
    """Return why a file or folder, or the target of a link, is not readable; "" when it is."""
    named = os.path.abspath(path)  # noqa: PTH100  `resolve` would follow links already
    reason = why_name_denied(named)
    if reason:
        return reason
    try:
        real = os.path.realpath(named)
    except (OSError, ValueError):
        return "a name that cannot be looked up"
    return why_name_denied(real) if real != named else ""


def why_name_denied(path: str, user: str = "") -> str:
    """Do the same for a path as it is written, absolute or not; links are not followed. Whoever
    asks for thousands of paths hands the user's folder in (`user_folder`)."""
    return _why_denied(path, user or user_folder())


def user_folder() -> str:
    """Return the user's home folder; "~" when it is unknown."""
    return os.path.expanduser("~")  # noqa: PTH111  that of pathlib may raise


@lru_cache(maxsize=16_384)
def _why_denied(path: str, user: str) -> str:
    plain = _normalize(path)
    found = _by_name(plain.rpartition("/")[2])
    return found or _by_place(plain, user)


def _by_name(name: str) -> str:
    reason = _reason(_NAMES, _compile(_NAMES).fullmatch(name))
    stem = name.removeprefix(".envrc").removeprefix(".env").removesuffix(".env")
    sample = "environment" in reason and _SAMPLE.fullmatch(stem)
    public = "private key" in reason and _PUBLIC.fullmatch(name)
    return "" if sample or public else reason


def _by_place(plain: str, user: str) -> str:
    if reason := _reason(_ANYWHERE, _compile(_ANYWHERE, "/", "(?:/|$)").search(plain)):
        return reason
    users = rf"(?:{_USERS}|{re.escape(_normalize(user))})/(?:library/)?"
    if _OUR_OWN.fullmatch(plain):
        return ""
    return _reason(_AT_HOME, _compile(_AT_HOME, users, "(?:/|$)").match(plain))


def fold_name(text: str) -> str:
    """Return a name without case and hidden characters."""
    shown = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Cc"))
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold())


def _normalize(path: str) -> str:
    """Return a path as the most lenient file system compares it: without case, hidden characters,
    trailing blanks and dots, and without the name of a stream after a colon."""
    text = (path if path.isascii() else fold_name(path)).lower().replace("\\", "/")
    if ":" in text:
        text = _STREAM.sub("", text)
    text = _MARKS.sub("", text)
    return text if text.startswith("/") else f"/{text}"


# -------- the tables as patterns


@cache
def _compile(table: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """Return a pattern with one group for each reason, in order."""
    rows = ("|".join(map(re.escape, names)) for names in _rows(table).values())
    groups = "|".join(f"({row})" for row in rows).replace(r"\*", "[^/]*")
    return re.compile(f"{before}(?:{groups}){after}")


def _reason(table: str, found: re.Match[str] | None) -> str:
    return [*_rows(table)][found.lastindex - 1] if found and found.lastindex else ""


@cache
def _rows(table: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    reason = ""
    for line in table.strip().splitlines():
        named, _, names = line.rpartition(" | ")
        reason = named or reason
        rows.setdefault(reason, []).extend(re.split(r" {2,}", names.strip()))
    return rows


MAX_ENTRIES = 100_000
"""Most files and folders that are looked at; the search of a larger home is incomplete."""
MAX_IN_FOLDER = 20
MAX_HIDDEN = 500  # each hidden path costs the sandbox three of its 9,000 arguments and 0.3 ms
MAIN_FOLDERS = frozenset({"", "workspace", "memory", "skills", "sessions", ".git"})
SETTLED_NS = 1_000_000_000
"""A folder that was changed less than this ago may change again with the same time stamp."""


@frozen
class _Folder:
    # Inode and times of the folder: with another stamp it is read again.
    stamp: tuple[int, int, int]
    denied: tuple[str, ...]  # names of files and folders that hold credentials
    links: tuple[str, ...]  # names of links that are named like credentials
    folders: tuple[str, ...]  # names of the other folders
    repository: bool  # True when git finds a repository in the folder
    count: int  # number of all entries


_scanned: dict[str, _Folder] = {}


@dataclass(slots=True)
class Credentials:
    """The files and folders of a home that hold credentials."""

    paths: list[Path] = field(default_factory=list)
    whole: bool = True  # False when the home has too many files to find all
    # Those with another name, to which a link with a name of credentials leads.
    linked: list[Path] = field(default_factory=list)
    # The folders in which git finds a repository.
    repositories: list[Path] = field(default_factory=list)

    def by_link(self, path: str) -> str:
        """Return why a file or folder, the target of a link with such a name, is not readable; ""
        when it is. The path is absolute, without links."""
        inner = any(path == str(each) or path.startswith(f"{each}{os.sep}") for each in self.linked)
        return "a link with the name of credentials leads to it" if inner else ""

    def why_not_hidden(self, root: Path) -> str:
        """Return why these files cannot be hidden from a command; "" when they can. The text names
        the folder that holds most of them."""
        if len(self.paths) <= MAX_HIDDEN:
            return ""
        folders = Counter(folder for path in self.paths for folder in path.parents)
        most = [folder for folder, count in folders.items() if count > len(self.paths) / 2]
        name = max(most, key=lambda folder: len(folder.parts)).relative_to(root).as_posix()
        return (
            f"{len(self.paths):,} files of the home hold credentials, most of them in {name}, and "
            f"only {MAX_HIDDEN} can be hidden from a command. Tell the user to move them"
        )


def find_credentials(root: Path) -> Credentials:
    """Find the credentials of the home at `root` (absolute, without links).

    A folder with more than 20 of them counts as a whole, except the main folders of a home. Links
    are not followed, but the target of a link with the name of credentials counts.
    """
    found, count, waiting = Credentials(), 0, [""]
    while waiting:
        name = waiting.pop()
        try:
            folder = _scan_folder(root, name)
        except PermissionError:  # a file in it can still be opened by its name
            found.paths.append(root / name)
            continue
        except OSError:
            continue
        if len(folder.denied) > MAX_IN_FOLDER and name not in MAIN_FOLDERS:
            found.paths.append(root / name)
        else:
            found.paths += (root / name / each for each in folder.denied)
            waiting += (f"{name}/{each}" if name else each for each in folder.folders)
        for link in folder.links:
            real = Path(os.path.realpath(root / name / link))
            kept = root not in real.parents or real.relative_to(root).as_posix() in MAIN_FOLDERS
            if not kept and real.exists():
                found.linked.append(real)
        if folder.repository:
            found.repositories.append(root / name)
        count += folder.count
        if count > MAX_ENTRIES:
            found.whole = False
            break
    found.paths += found.linked
    return found


def _scan_folder(root: Path, name: str) -> _Folder:
    """Return the entries of a folder. They are read again only when the folder has changed, as
    checking names takes the time. Raises OSError."""
    place = os.path.join(root, name) if name else str(root)  # noqa: PTH118  quicker
    status = os.lstat(place)
    stamp = status.st_ino, status.st_mtime_ns, status.st_ctime_ns
    known = _scanned.get(place)
    if known and known.stamp == stamp:
        return known
    with os.scandir(place) as entries:
        found = _sort_entries(list(entries), name, stamp)
    if len(_scanned) > MAX_ENTRIES:
        _scanned.clear()
    if time.time_ns() - max(stamp[1:]) > SETTLED_NS:
        _scanned[place] = found
    return found


def _sort_entries(
    entries: list[os.DirEntry[str]], name: str, stamp: tuple[int, int, int]
) -> _Folder:
    denied: list[str] = []
    links: list[str] = []
    folders: list[str] = []
    for entry in entries:
        inner = f"{name}/{entry.name}" if name else entry.name
        is_folder, is_link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
        is_file = entry.is_file(follow_symlinks=False)
        if inner == ".openclaw" or not (is_folder or is_link or is_file):
            continue
        if why_name_denied(inner):
            (links if is_link else denied).append(entry.name)
        elif is_folder:
            folders.append(entry.name)
    names = {entry.name for entry in entries if entry.is_dir() or entry.is_file()}
    # git takes a folder with these names in it for a repository.
    bare = names >= {"HEAD", "objects", "refs"} and name.rpartition("/")[2] != ".git"
    repository = ".git" in names or bare
    return _Folder(stamp, tuple(denied), tuple(links), tuple(folders), repository, len(entries))
