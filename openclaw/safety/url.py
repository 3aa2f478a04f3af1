"""A URL taken apart once and strictly, so that everybody sees the same host in it.

Programs disagree about odd spellings (backslashes, user names, numbers as hosts), and a guard that
reads one differently from the one who connects is none. What is odd is refused and not repaired;
only what people really write is: blanks and brackets around it, a missing `https://`, letters of
other scripts in name and path.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote, urljoin

from openclaw.shapes import Effect, ToolProblem

PORTS = {"http": 80, "https": 443}
LONGEST = 2_000  # characters of a URL
# An address that the model has made up may carry what it knows: in a query, a long name or path.
LONGEST_SEGMENT = 40
LONGEST_PATH = 120
LONGEST_LABEL = 30
MOST_LABELS = 5

_PARTS = re.compile(r"(?P<scheme>https?)://(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?.*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d{1,5}(?:[/?#]|\Z))")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")
_IN_TEXT = re.compile(
    r"(?:https?://|(?<![\w@./-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?=[/:?]|\b))[^\s<>\"'`\]\[{}|\\^]*",
    re.IGNORECASE,
)
_SAFE = "/:@!$&'()*+,;=~-._%"


@dataclass(frozen=True, slots=True)
class Url:
    """`host` is lower case, in punycode, or an IP address without brackets; `path` and `query`
    (with its "?") are ASCII as they go over the wire; the fragment is gone: it is never sent."""

    scheme: str
    host: str
    port: int
    path: str = "/"
    query: str = ""

    @property
    def netloc(self) -> str:
        """What stands in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def target(self) -> str:
        return self.path + self.query

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"


def read_url(text: str) -> Url:
    """The URL that a text means. Raises ToolProblem, which says what is odd."""
    plain = text.strip().strip("<>\"'`").strip()
    if not plain:
        raise ToolProblem("url is empty: give an address such as https://example.org/page.")
    if len(plain) > LONGEST:
        raise ToolProblem(f"url is longer than {LONGEST:,} characters.")
    if not _SCHEME.match(plain):
        plain = "https:" + plain if plain.startswith("//") else f"https://{plain}"
    scheme, colon, rest = plain.partition(":")
    parts = _PARTS.fullmatch(f"{scheme.lower()}{colon}{rest}")
    if parts is None:
        raise ToolProblem(f"Not a web address: {plain[:80]!r}. Only http:// and https:// ones.")
    host, port = _authority(parts["host"], parts["scheme"])
    path, query = (_wire(part or "") for part in (parts["path"], parts["query"]))
    return Url(parts["scheme"], host, port, path or "/", query)


def join(base: Url, location: str) -> Url:
    """Where a redirect of `base` leads. Raises ToolProblem."""
    try:
        whole = urljoin(str(base), location.strip())
    except ValueError:
        whole = ""
    if not whole.lower().startswith(("http://", "https://")):
        raise ToolProblem(f"{base.host} redirects to what is no web address.")
    return read_url(whole)


def effect_of(url: str, known: Collection[str] = ()) -> Effect:
    """What fetching a URL does: "get", or "send" for one that may carry data out.

    A URL that the user typed, or that a page or search of this conversation contained word for
    word (`known`), was made by somebody who knows nothing of the home. Any other was made by the
    model: it sends when it has a query, or a part long enough to hold more than a name. (A
    fragment never leaves the machine.)
    """
    try:
        here = read_url(url)
    except ToolProblem:
        return "send"
    labels = here.host.split(".")
    carries = (
        bool(here.query)
        or len(here.path) > LONGEST_PATH
        or any(len(segment) > LONGEST_SEGMENT for segment in here.path.split("/"))
        or any(len(label) > LONGEST_LABEL for label in labels)
        or len(labels) > MOST_LABELS
    )
    return "send" if carries and not any(same(here, other) for other in known) else "get"


def same(url: Url, text: str) -> bool:
    """Whether a text is this URL, however it is spelled; http and https are one."""
    if text.isascii() and url.host not in text.lower():
        return False
    try:
        return _key(read_url(text)) == _key(url)
    except ToolProblem:
        return False


def urls_in(text: str) -> Iterator[str]:
    """The URLs that stand in a text, without the punctuation behind them."""
    for match in _IN_TEXT.finditer(text):
        found = match.group().rstrip(".,;:!?")
        while found.endswith(")") and found.count(")") > found.count("("):
            found = found[:-1].rstrip(".,;:!?")
        yield found


def allows(entries: Collection[str], url: Url) -> bool:
    """Whether the setting `web.allow_hosts` (`host` or `host:port`, exact) names where a URL leads.
    Without a port it means the one of the scheme."""
    for entry in entries:
        try:
            named = read_url(f"{url.scheme}://{entry}")
        except ToolProblem:
            continue  # what is no host allows none
        if (named.host, named.port) == (url.host, url.port):
            return True
    return False


def _key(url: Url) -> tuple[str, int, str]:
    port = 0 if url.port == PORTS[url.scheme] else url.port
    return url.host, port, url.target


def _authority(text: str, scheme: str) -> tuple[str, int]:
    if "@" in text:
        raise ToolProblem("A web address with a user name (name@host) is refused.")
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(\d*))?", text)
    if bracketed:
        host, digits = _ipv6(bracketed[1]), bracketed[2]
    else:
        name, colon, digits = text.partition(":")
        if colon and not re.fullmatch(r"[0-9]*", digits):
            raise ToolProblem(f"Not a host: {text[:80]!r}.")
        host = _host(name)
    port = int(digits) if digits and len(digits) <= 5 else PORTS[scheme]
    if digits and (len(digits) > 5 or not 0 < port < 65536):
        raise ToolProblem(f"There is no port {digits[:10]}.")
    return host, port


def _ipv6(text: str) -> str:
    try:
        ip = IPv6Address(text)
    except AddressValueError:
        raise ToolProblem(f"Not an IPv6 address: [{text[:60]}].") from None
    if ip.scope_id is not None:
        raise ToolProblem("An address with a zone (%) is refused.")
    return str(ip)


def _host(text: str) -> str:
    name = text.lower() if text.isascii() else _punycode(text)
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.match(label) for label in labels):
        raise ToolProblem(f"Not a host: {text[:80]!r}.")
    return _ipv4(name) if _NUMBER.match(labels[-1]) else name


def _ipv4(text: str) -> str:
    """Only four plain decimal numbers: programs do not agree on 0177.1 or 2130706433."""
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        raise ToolProblem(f"Refused: {text[:60]} is an odd spelling of an IP address.") from None


def _punycode(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise ToolProblem(f"Not a host: {text[:80]!r}.") from None


def _wire(text: str) -> str:
    """Path or query as ASCII. Control characters and backslashes are refused, also those that
    would only come to be by decoding in a proxy."""
    if re.search(r"[\x00-\x1f\x7f\\]", text):
        raise ToolProblem("A web address with control characters or backslashes is refused.")
    return quote(re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text), safe=_SAFE + "?")
