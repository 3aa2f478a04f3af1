"""Which addresses of the network a tool may reach, and the guard that asks at connect time.

A name is resolved once and all its addresses are judged; the connection then goes to one of these
very addresses, so a second answer of the name server (DNS rebinding) has no effect. Sources: the
IANA special-purpose address registries for IPv4 and IPv6 (2026), RFC 6890, 6052, 8215.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from openclaw.shapes import ToolProblem

Resolve = Callable[[str, int], Sequence[str]]
"""A name and a port to its addresses as text. Raises OSError when there are none."""

# Where clouds tell their machines secrets: AWS and most others, AWS containers, AWS over IPv6,
# Google over IPv6, Alibaba, Oracle, Azure. No setting allows them.
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
    )
)

_V4 = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("127.0.0.0/8", "this machine (loopback)"),
        ("0.0.0.0/8", "this machine (unspecified)"),
        ("10.0.0.0/8", "a private network"),
        ("172.16.0.0/12", "a private network"),
        ("192.168.0.0/16", "a private network"),
        ("169.254.0.0/16", "link-local"),
        ("100.64.0.0/10", "a provider's inner network (CGNAT)"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved (documentation)"),
        ("192.88.99.0/24", "reserved (6to4)"),
        ("198.18.0.0/15", "reserved (benchmarks)"),
        ("198.51.100.0/24", "reserved (documentation)"),
        ("203.0.113.0/24", "reserved (documentation)"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_V6 = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("::1/128", "this machine (loopback)"),
        ("::/128", "this machine (unspecified)"),
        ("::/96", "an IPv4 address in disguise (compatible)"),
        ("::ffff:0:0:0/96", "an IPv4 address in disguise (translated)"),
        ("64:ff9b:1::/48", "a private network (NAT64)"),
        ("2002::/16", "an IPv4 address in disguise (6to4)"),
        ("2001::/32", "an IPv4 address in disguise (Teredo)"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved (documentation)"),
        ("3fff::/20", "reserved (documentation)"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "a private network (site-local)"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")  # all that is given out for the internet
_NAT64 = IPv6Network("64:ff9b::/96")  # how a network without IPv4 reaches all of it


def refuse(ip: IPv4Address | IPv6Address) -> str:
    """Why an address must not be reached, "" when it is one of the internet."""
    if ip in METADATA:
        return "a cloud's metadata service"
    if isinstance(ip, IPv4Address):
        return next((reason for network, reason in _V4 if ip in network), "")
    if ip.scope_id:
        return "an address with a zone"
    inner = _inner(ip)
    if inner is not None and (reason := refuse(inner)):
        return reason
    if ip.ipv4_mapped is not None or ip in _NAT64:
        return ""
    known = next((reason for network, reason in _V6 if ip in network), "")
    return known or ("" if ip in _GLOBAL_V6 else "reserved")


def _inner(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a mapped, NAT64, 6to4 or ISATAP address leads to."""
    number = int(ip)
    if ip.ipv4_mapped is not None or ip in _NAT64:
        return IPv4Address(number & 0xFFFFFFFF)
    if ip.sixtofour is not None:
        return ip.sixtofour
    isatap = (number >> 32) & 0xFDFFFFFF == 0x5EFE
    return IPv4Address(number & 0xFFFFFFFF) if isatap else None


def read_ip(text: str) -> IPv4Address | IPv6Address | None:
    """An address as getaddrinfo writes it, None for anything else."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def system_resolve(host: str, port: int) -> list[str]:
    """Ask the system."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def addresses(host: str, port: int, resolve: Resolve, *, local: bool) -> list[str]:
    """The addresses that a connection to a host may use, each judged.

    One that is refused refuses them all: a name that answers with a public and a private address
    is an attack or a mistake. `local` is for a host that the user allows although it is inside;
    metadata services stay refused. Raises ToolProblem.
    """
    literal = read_ip(host)
    texts = [host] if literal is not None else list(dict.fromkeys(resolve(host, port)))
    for text in texts:
        ip = read_ip(text)
        reason = "not an address" if ip is None else refuse(ip)
        if not reason or (local and ip is not None and not _is_metadata(ip)):
            continue
        where = host if literal is not None else f"{host} ({text})"
        never = ip is not None and _is_metadata(ip)
        hint = "" if never else " Only the user can allow it (web.allow_hosts)."
        raise ToolProblem(f"Refused: {where} is {reason}.{hint}")
    if not texts:
        raise ToolProblem(f"There is no host {host}.")
    return texts


def _is_metadata(ip: IPv4Address | IPv6Address) -> bool:
    inner = _inner(ip) if isinstance(ip, IPv6Address) else None
    return ip in METADATA or inner in METADATA


def check_peer(peer: Sequence[object], own: Sequence[object], meant: str, *, local: bool) -> None:
    """ToolProblem unless a connected socket's `getpeername()` is the address that was meant.

    Also when it is this machine's own public address (`getsockname()` has the same): what listens
    there may be shut to the world by a firewall that stands further out.
    """
    ip, own_ip, wanted = (read_ip(str(text)) for text in (peer[0], own[0], meant))
    if ip is None or ip != wanted:
        raise ToolProblem(f"Refused: the connection went to {peer[0]} and not to {meant}.")
    if ip == own_ip and not local:
        raise ToolProblem(f"Refused: {meant} is this machine.")
