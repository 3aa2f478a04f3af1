"""Decides which network addresses a tool may reach, and reads URLs.

A name is resolved once, and all its addresses are checked. The connection then goes to one of these
addresses, so that a second answer of the name server (DNS rebinding) has no effect. Sources: the
IANA special-purpose address registries for IPv4 and IPv6 (2026), RFC 6890, 6052, 8215.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv6Address, IPv6Network
from urllib.parse import quote, urljoin

from openclaw.frozen import frozen
from openclaw.types import Effect, ToolProblem

Resolve = Callable[[str, int], Sequence[str]]
"""Resolves a name and a port to addresses as texts. Raises OSError when there are none."""

# Metadata services, which give secrets to cloud machines: AWS and most others, AWS containers, AWS
# over IPv6, Google over IPv6, Alibaba, Oracle, Azure. No setting allows them.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254 169.254.170.2 fd00:ec2::254 fd20:ce::254 100.100.100.200 192.0.0.192"
        " 168.63.129.16"
    ).split()
)
CLOUD = "a cloud's metadata service"

# The first network with an address in it gives the reason.
_REFUSED = tuple(
    (ipaddress.ip_network(network), reason)
    for reason, networks in {
        "this machine (loopback)": "127.0.0.0/8 ::1/128",
        "this machine (unspecified)": "0.0.0.0/8 ::/128",
        "a private network": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
        "link-local": "169.254.0.0/16 fe80::/10",
        "a provider's inner network (CGNAT)": "100.64.0.0/10",
        "reserved (documentation)": (
            "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"
        ),
        "reserved (6to4)": "192.88.99.0/24",
        "reserved (benchmarks)": "198.18.0.0/15",
        "multicast": "224.0.0.0/4 ff00::/8",
        "an IPv4 address in disguise (compatible)": "::/96",
        "an IPv4 address in disguise (translated)": "::ffff:0:0:0/96",
        "a private network (NAT64)": "64:ff9b:1::/48",
        "an IPv4 address in disguise (6to4)": "2002::/16",
        "an IPv4 address in disguise (Teredo)": "2001::/32",
        "a private network (site-local)": "fec0::/10",
        "reserved": "192.0.0.0/24 240.0.0.0/4 2001::/23",
    }.items()
    for network in networks.split()
)
_GLOBAL_V6 = IPv6Network("2000::/3")  # the range that is assigned for the internet
_NAT64 = IPv6Network("64:ff9b::/96")  # by which a network without IPv4 reaches IPv4


def why_refused(ip: IPv4Address | IPv6Address) -> str:
    """Return why an address must not be reached; "" for one of the internet."""
    if ip in METADATA:
        return CLOUD
    if isinstance(ip, IPv4Address):
        return _why_in_table(ip)
    inner = _inner_ipv4(ip)
    if inner is not None and (reason := why_refused(inner)):
        return reason
    if ip.scope_id:
        return "an address with a zone"
    if ip.ipv4_mapped is not None or ip in _NAT64:
        return ""
    return _why_in_table(ip) or ("" if ip in _GLOBAL_V6 else "reserved")


def _why_in_table(ip: IPv4Address | IPv6Address) -> str:
    return next((reason for network, reason in _REFUSED if ip in network), "")


def _inner_ipv4(ip: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address in a mapped, NAT64, 6to4 or ISATAP address."""
    number = int(ip)
    if ip.ipv4_mapped is not None or ip in _NAT64:
        return IPv4Address(number & 0xFFFFFFFF)
    if ip.sixtofour is not None:
        return ip.sixtofour
    isatap = (number >> 32) & 0xFDFFFFFF == 0x5EFE
    return IPv4Address(number & 0xFFFFFFFF) if isatap else None


def read_ip(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address as getaddrinfo writes it; None for anything else."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def system_resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def resolve_allowed(host: str, port: int, resolve: Resolve, *, local: bool) -> list[str]:
    """Return the addresses to which a connection to a host may go.

    One refused address refuses the host: a name with a public and a private address is an attack or
    a mistake. `local` is for a host that the user allows although it is private; metadata services
    stay refused. Raises ToolProblem.
    """
    literal = read_ip(host)
    texts = [host] if literal is not None else list(dict.fromkeys(resolve(host, port)))
    for text in texts:
        ip = read_ip(text)
        reason = "not an address" if ip is None else why_refused(ip)
        never = reason == CLOUD
        if reason and (never or ip is None or not local):
            where = host if literal is not None else f"{host} ({text})"
            hint = "" if never else " Only the user can allow it (web.allow_hosts)."
            raise ToolProblem(f"Refused: {where} is {reason}.{hint}")
    if not texts:
        raise ToolProblem(f"There is no host {host}.")
    return texts


def check_peer(peer: Sequence[object], own: Sequence[object], meant: str, *, local: bool) -> None:
    """Raise ToolProblem unless a socket's `getpeername()` is the address that was meant.

    Raise it also for this machine's own public address (`getsockname()` is the same): an outer
    firewall may hide the services on it from the internet.
    """
    ip, own_ip, wanted = (read_ip(str(text)) for text in (peer[0], own[0], meant))
    if ip is None or ip != wanted:
        raise ToolProblem(f"Refused: the connection went to {peer[0]} and not to {meant}.")
    if ip == own_ip and not local:
        raise ToolProblem(f"Refused: {meant} is this machine.")


PORTS = {"http": 80, "https": 443}
LONGEST = 2_000  # characters of a URL
# A URL that the model has made up may carry data out: in a query, a long name or a long path.
LONGEST_SEGMENT = 40
LONGEST_PATH = 120
LONGEST_LABEL = 30
MAX_LABELS = 5

_URL_PARTS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<query>\?[^#]*)?.*"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d{1,5}(?:[/?#]|\Z))")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_NUMBER = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)\Z")
_URL_IN_TEXT = re.compile(
    r"(?:https?://|(?<![\w@./-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?=[/:?]|\b))[^\s<>\"'`\]\[{}|\\^]*",
    re.IGNORECASE,
)
_SAFE = "/:@!$&'()*+,;=~-._%"


@frozen
class Url:
    """A URL without its fragment, which is never sent."""

    scheme: str
    host: str  # lower case in punycode, or an IP address without brackets
    port: int
    path: str = "/"  # ASCII, as it is sent
    query: str = ""  # ASCII, as it is sent, with its "?"

    @property
    def netloc(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def target(self) -> str:
        return self.path + self.query

    def __str__(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.target}"


def read_url(text: str) -> Url:
    """Read the URL that a text means. Raises ToolProblem, which says what is wrong."""
    plain = text.strip().strip("<>\"'`").strip()
    if not plain:
        raise ToolProblem("url is empty: give an address such as https://example.org/page.")
    if len(plain) > LONGEST:
        raise ToolProblem(f"url is longer than {LONGEST:,} characters.")
    if not _SCHEME.match(plain):
        plain = "https:" + plain if plain.startswith("//") else f"https://{plain}"
    scheme, colon, rest = plain.partition(":")
    parts = _URL_PARTS.fullmatch(f"{scheme.lower()}{colon}{rest}")
    if parts is None:
        raise ToolProblem(f"Not a web address: {plain[:80]!r}. Only http:// and https:// ones.")
    host, port = _read_authority(parts["host"], parts["scheme"])
    path, query = (_to_wire(part or "") for part in (parts["path"], parts["query"]))
    return Url(parts["scheme"], host, port, path or "/", query)


def join_redirect(base: Url, location: str) -> Url:
    """Return the target of a redirect of `base`. Raises ToolProblem."""
    try:
        whole = urljoin(str(base), location.strip())
    except ValueError:
        whole = ""
    if not whole.lower().startswith(("http://", "https://")):
        raise ToolProblem(f"{base.host} redirects to what is no web address.")
    return read_url(whole)


def effect_of(url: str, known: Collection[str] = ()) -> Effect:
    """Return the effect of fetching a URL: "get", or "send" when it may carry data out.

    A `known` URL was typed by the user, or a page or search of this conversation contained it word
    for word: its author knows nothing of the home. Any other URL was made by the model: it sends
    when it has a query, or a part that is long enough for more than a name.
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
        or len(labels) > MAX_LABELS
    )
    return "send" if carries and not any(is_same_url(here, other) for other in known) else "get"


def is_same_url(url: Url, text: str) -> bool:
    """Return True when a text is this URL in any spelling; http and https are equal."""
    if text.isascii() and url.host not in text.lower():
        return False
    try:
        return _url_key(read_url(text)) == _url_key(url)
    except ToolProblem:
        return False


def urls_in(text: str) -> Iterator[str]:
    """Yield the URLs in a text, without the punctuation after them."""
    for match in _URL_IN_TEXT.finditer(text):
        found = match.group().rstrip(".,;:!?")
        while found.endswith(")") and found.count(")") > found.count("("):
            found = found[:-1].rstrip(".,;:!?")
        yield found


def is_allowed_host(entries: Collection[str], url: Url) -> bool:
    """Return True when the setting `web.allow_hosts` names the host of a URL. An entry is `host` or
    `host:port`, exact; without a port it means the one of the scheme."""
    for entry in entries:
        try:
            named = read_url(f"{url.scheme}://{entry}")
        except ToolProblem:
            continue  # no host: it allows nothing
        if (named.host, named.port) == (url.host, url.port):
            return True
    return False


def _url_key(url: Url) -> tuple[str, int, str]:
    port = 0 if url.port == PORTS[url.scheme] else url.port
    return url.host, port, url.target


def _read_authority(text: str, scheme: str) -> tuple[str, int]:
    if "@" in text:
        raise ToolProblem("A web address with a user name (name@host) is refused.")
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::(\d*))?", text)
    if bracketed:
        host, digits = _read_ipv6(bracketed[1]), bracketed[2]
    else:
        name, colon, digits = text.partition(":")
        if colon and not re.fullmatch(r"[0-9]*", digits):
            raise ToolProblem(f"Not a host: {text[:80]!r}.")
        host = _read_host(name)
    port = int(digits) if digits and len(digits) <= 5 else PORTS[scheme]
    if digits and (len(digits) > 5 or not 0 < port < 65536):
        raise ToolProblem(f"There is no port {digits[:10]}.")
    return host, port


def _read_ipv6(text: str) -> str:
    try:
        ip = IPv6Address(text)
    except AddressValueError:
        raise ToolProblem(f"Not an IPv6 address: [{text[:60]}].") from None
    if ip.scope_id is not None:
        raise ToolProblem("An address with a zone (%) is refused.")
    return str(ip)


def _read_host(text: str) -> str:
    name = text.lower() if text.isascii() else _to_punycode(text)
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.match(label) for label in labels):
        raise ToolProblem(f"Not a host: {text[:80]!r}.")
    return _read_ipv4(name) if _NUMBER.match(labels[-1]) else name


def _read_ipv4(text: str) -> str:
    """Read four plain decimal numbers only: programs do not agree on 0177.1 or 2130706433."""
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        raise ToolProblem(f"Refused: {text[:60]} is an odd spelling of an IP address.") from None


def _to_punycode(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise ToolProblem(f"Not a host: {text[:80]!r}.") from None


def _to_wire(text: str) -> str:
    """Return a path or query as ASCII. Control characters and backslashes are refused, also those
    that a proxy would make by decoding."""
    if re.search(r"[\x00-\x1f\x7f\\\ud800-\udfff]", text):
        raise ToolProblem("A web address with control characters or backslashes is refused.")
    return quote(re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text), safe=_SAFE + "?")


def check_url_allowed(
    url: Url, allow: Collection[str] = (), resolve: Resolve = system_resolve
) -> None:
    """Raise ToolProblem for a URL that is refused before any name is looked up.

    allow: the setting `web.allow_hosts`

    Below 1024 only 80 and 443 are web servers; a request may be taken for an order by what else
    listens there (mail, printers). Above there are many honest ones.
    """
    local = is_allowed_host(allow, url)
    if not local and url.port < 1024 and url.port not in (80, 443):
        raise ToolProblem(f"Refused: port {url.port}. Only 80, 443 and those from 1024 on.")
    if url.host == "localhost" or url.host.endswith(".localhost"):
        resolve_allowed("127.0.0.1", url.port, resolve, local=local)
    elif ":" in url.host or url.host.replace(".", "").isdigit():
        resolve_allowed(url.host, url.port, resolve, local=local)
