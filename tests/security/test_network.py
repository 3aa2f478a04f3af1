# ruff: noqa: RUF001 - letters that look alike are what is tested
"""Which addresses may be reached: no spelling of an inner one gets through."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.security.network import (
    Resolve,
    Url,
    check_peer,
    check_url_allowed,
    effect_of,
    is_allowed_host,
    join_redirect,
    read_url,
    resolve_allowed,
    urls_in,
    why_refused,
)
from openclaw.types import ToolProblem

REFUSED = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("0.0.0.0", "unspecified"),
    ("0.1.2.3", "unspecified"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.178.1", "private"),
    ("169.254.1.1", "link-local"),
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "metadata"),
    ("100.64.0.1", "CGNAT"),
    ("100.127.255.255", "CGNAT"),
    ("100.100.100.200", "metadata"),
    ("168.63.129.16", "metadata"),
    ("192.0.0.8", "reserved"),
    ("192.0.0.192", "metadata"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "6to4"),
    ("198.18.0.1", "benchmarks"),
    ("198.51.100.7", "documentation"),
    ("203.0.113.9", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::7f00:1", "compatible"),
    ("::808:808", "compatible"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:10.1.2.3", "private"),
    ("::ffff:169.254.169.254", "metadata"),
    ("::ffff:0:127.0.0.1", "translated"),
    ("64:ff9b::127.0.0.1", "loopback"),
    ("64:ff9b::a9fe:a9fe", "metadata"),
    ("64:ff9b:1::1", "NAT64"),
    ("2002:7f00:1::", "loopback"),
    ("2002:c0a8:101::1", "private"),
    ("2002:808:808::1", "6to4"),
    ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
    ("2001:2::1", "reserved"),
    ("2001:db8::1", "documentation"),
    ("3fff::1", "documentation"),
    ("2606:4700::5efe:10.0.0.1", "private"),
    ("fc00::1", "private"),
    ("fd12:3456::1", "private"),
    ("fd00:ec2::254", "metadata"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "zone"),
    ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
    ("100::1", "reserved"),
    ("4000::1", "reserved"),
    ("5f00::1", "reserved"),
]
PUBLIC = [
    *("8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.32.0.1", "172.15.0.1"),
    *("192.167.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.254", "169.253.0.1", "11.0.0.1"),
    *("2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888"),
    *("64:ff9b::8.8.8.8", "::ffff:8.8.8.8"),
]

# What a URL means: a host that may be looked up, or a word of why not.
SPELLINGS = [
    ("http://127.0.0.1", "loopback"),
    ("http://127.0.0.1:80/", "loopback"),
    ("http://127.0.0.1./", "loopback"),
    ("http://127.1", "odd spelling"),
    ("http://127.0.1", "odd spelling"),
    ("http://2130706433", "odd spelling"),
    ("http://2130706433./", "odd spelling"),
    ("http://017700000001", "odd spelling"),
    ("http://0x7f000001", "odd spelling"),
    ("http://0X7F000001", "odd spelling"),
    ("http://0x7f.1", "odd spelling"),
    ("http://0x7f.0x0.0x0.0x1", "odd spelling"),
    ("http://0177.0.0.1", "odd spelling"),
    ("http://0177.0.0.01", "odd spelling"),
    ("http://127.0.0.01", "odd spelling"),
    ("http://127.000.000.001", "odd spelling"),
    ("http://00000177.1", "odd spelling"),
    ("http://127.0.0.1.1", "odd spelling"),
    ("http://127.0.0.256", "odd spelling"),
    ("http://4294967297", "odd spelling"),
    ("http://999999999999", "odd spelling"),
    ("http://0", "odd spelling"),
    ("http://0x", "odd spelling"),
    ("http://1", "odd spelling"),
    ("http://x.1", "odd spelling"),
    ("http://localhost.0x7f", "odd spelling"),
    ("http://0.0.0.0", "unspecified"),
    ("http://127。0。0。1", "loopback"),
    ("http://127．0．0．1", "loopback"),
    ("http://127｡0｡0｡1", "loopback"),
    ("http://①②⑦.⓪.⓪.①", "loopback"),
    ("http://１２７.０.０.１", "loopback"),
    ("http://𝟏𝟐𝟕.𝟎.𝟎.𝟏", "loopback"),
    ("http://²¹³⁰⁷⁰⁶⁴³³", "odd spelling"),
    ("http://١٢٧.٠.٠.١", "Not a host"),
    ("http://127.0.0.1\u200b", "loopback"),
    ("http://12\u00ad7.0.0.1", "loopback"),
    ("http://[::1]", "loopback"),
    ("http://[::1]:8080", "loopback"),
    ("http://[0:0:0:0:0:0:0:1]", "loopback"),
    ("http://[0000::0001]", "loopback"),
    ("http://[::]", "unspecified"),
    ("http://[::ffff:127.0.0.1]", "loopback"),
    ("http://[::ffff:7f00:1]", "loopback"),
    ("http://[::FFFF:7F00:0001]", "loopback"),
    ("http://[::127.0.0.1]", "compatible"),
    ("http://[64:ff9b::7f00:1]", "loopback"),
    ("http://[2002:7f00:1::]", "loopback"),
    ("http://[fe80::1%25eth0]", "zone"),
    ("http://[fe80::1%eth0]", "zone"),
    ("http://[::1%251]", "zone"),
    ("http://[127.0.0.1]", "Not an IPv6"),
    ("http://[v1.127]", "Not an IPv6"),
    ("http://[::1", "Not a host"),
    ("http://::1/", "Not a host"),
    ("http://[::1]x", "Not a host"),
    ("http://localhost", "loopback"),
    ("http://LOCALHOST", "loopback"),
    ("http://localhost.", "loopback"),
    ("http://ｌｏｃａｌｈｏｓｔ", "loopback"),
    ("http://ⓛocalhost", "loopback"),
    ("http://foo.localhost", "loopback"),
    ("localhost:8080", "loopback"),
    ("127.0.0.1:8080/x", "loopback"),
    ("//127.0.0.1/x", "loopback"),
    (" <http://127.0.0.1> ", "loopback"),
    ("'http://127.0.0.1'", "loopback"),
    ("http://good.example@127.0.0.1", "user name"),
    ("http://good.example:80@127.0.0.1", "user name"),
    ("http://127.0.0.1@good.example", "user name"),
    ("http://good.example\\@127.0.0.1", "user name"),
    ("http://127.0.0.1\\.good.example", "Not a host"),
    ("http://good.example\\127.0.0.1", "Not a host"),
    ("http://good.example%00.127.0.0.1", "Not a host"),
    ("http://%31%32%37.0.0.1", "Not a host"),
    ("http://127.0.0.%31", "Not a host"),
    ("http://local%68ost", "Not a host"),
    ("http://good.example%2f@127.0.0.1", "user name"),
    ("http://127.0.0.1%2f.good.example", "Not a host"),
    ("http://127.0.0.1 .good.example", "Not a host"),
    ("http://127.0.0.1\t", "loopback"),
    ("http://127.0.\t0.1", "Not a host"),
    ("http://127.0.0.1\r\nHost: x/", "Not a"),
    ("http://good.example/\r\nX: y", "control characters"),
    ("http://good.example/\ud800", "control characters"),
    ("http://good.example/\\\\127.0.0.1", "backslashes"),
    ("http://127.0.0.1／x", "Not a host"),
    ("http://good.example／@x", "user name"),
    ("http:///127.0.0.1", "Not a host"),
    ("http:127.0.0.1", "Not a web address"),
    ("http:/127.0.0.1", "Not a web address"),
    ("https:\\\\127.0.0.1", "Not a web address"),
    ("http://", "Not a host"),
    ("http://.", "Not a host"),
    ("http://..", "Not a host"),
    ("http://a..example", "Not a host"),
    ("http://-a.example", "Not a host"),
    ("http://a_b-.example", "Not a host"),
    ("http://" + "a" * 64 + ".example", "Not a host"),
    ("http://" + "a." * 130 + "example", "Not a host"),
    ("http://a.example:0", "no port"),
    ("http://a.example:65536", "no port"),
    ("http://a.example:99999999", "no port"),
    ("http://a.example:80:90", "Not a host"),
    ("http://a.example:8 0", "Not a host"),
    ("http://a.example:-1", "Not a host"),
    ("http://a.example:٨٠", "Not a host"),
    ("http://a.example:22", "port 22"),
    ("http://a.example:25", "port 25"),
    ("http://a.example:1023", "port 1023"),
    ("file:///etc/passwd", "Not a web address"),
    ("FILE:///etc/passwd", "Not a web address"),
    ("ftp://a.example", "Not a web address"),
    ("gopher://127.0.0.1:70/_x", "Not a web address"),
    ("dict://127.0.0.1:11211/", "Not a web address"),
    ("data:text/html,hello", "Not a web address"),
    ("javascript:alert(1)", "Not a web address"),
    ("view-source:http://a.example", "Not a web address"),
    ("jar:http://a.example!/", "Not a web address"),
    ("", "empty"),
    ("https://a.example/" + "a" * 2000, "longer than"),
    ("http://10.0.0.1", "private"),
    ("http://192.168.1.1:8080", "private"),
    ("http://169.254.169.254/latest/meta-data/", "metadata"),
    ("http://[fd00:ec2::254]/latest/", "metadata"),
    ("http://100.100.100.200/", "metadata"),
    ("http://0xa9fea9fe/", "odd spelling"),
    ("http://2852039166/", "odd spelling"),
]
MEANT = [
    ("https://example.org", "https://example.org/"),
    ("example.org/x", "https://example.org/x"),
    ("HTTP://EXAMPLE.ORG:80/A", "http://example.org/A"),
    ("https://example.org:443", "https://example.org/"),
    ("https://example.org.", "https://example.org/"),
    ("http://example.org:8080/?a=b#c", "http://example.org:8080/?a=b"),
    ("https://münchen.example/straße", "https://xn--mnchen-3ya.example/stra%C3%9Fe"),
    ("https://例え.example/", "https://xn--r8jz45g.example/"),
    ("https://example.org/a b?c=d e", "https://example.org/a%20b?c=d%20e"),
    ("https://example.org/100%/x%41", "https://example.org/100%25/x%41"),
    ("https://x_y.example/", "https://x_y.example/"),
    ("http://8.8.8.8/", "http://8.8.8.8/"),
    ("http://[2606:4700::1111]:8080/", "http://[2606:4700::1111]:8080/"),
    ("https://example.org?x=1", "https://example.org/?x=1"),
]


def never(host: str, port: int) -> Sequence[str]:
    raise AssertionError(f"{host} was looked up")


def says(*ips: str) -> Resolve:
    return lambda host, port: ips


@pytest.mark.parametrize(("ip", "why"), REFUSED)
def test_an_inner_address_is_refused_with_its_reason(ip: str, why: str) -> None:
    assert why in why_refused(ip_address(ip))


@pytest.mark.parametrize("ip", PUBLIC)
def test_an_address_of_the_internet_is_not(ip: str) -> None:
    assert why_refused(ip_address(ip)) == ""


@given(st.ip_addresses(v=4))
def test_what_python_calls_inner_is_refused_in_all_its_ipv6_forms(ip: IPv4Address) -> None:
    inner = ip.is_private or ip.is_loopback or ip.is_multicast or ip.is_reserved
    if not inner:
        return
    number = int(ip)
    for high in (0xFFFF << 32, 0x0064FF9B << 96, 0xFFFF << 48, 0):
        assert why_refused(IPv6Address(high + number))
    assert why_refused(IPv6Address((0x2002 << 112) + (number << 80)))
    assert why_refused(ip)


@pytest.mark.parametrize(("text", "why"), SPELLINGS)
def test_an_odd_spelling_is_refused_before_any_name_is_looked_up(text: str, why: str) -> None:
    with pytest.raises(ToolProblem, match=why):
        check_url_allowed(read_url(text), resolve=never)


def test_the_table_of_spellings_is_long() -> None:
    assert len(SPELLINGS) + len(MEANT) >= 120


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_what_people_write_is_understood(text: str, meant: str) -> None:
    url = read_url(text)
    assert str(url) == meant
    assert read_url(str(url)) == url


def test_all_addresses_of_a_name_are_judged() -> None:
    mixed = says("93.184.216.34", "2606:4700::1", "127.0.0.1")
    with pytest.raises(ToolProblem, match=r"rebind.example \(127.0.0.1\) is this machine"):
        resolve_allowed("rebind.example", 80, mixed, local=False)
    twice = says("8.8.8.8", "8.8.8.8")
    assert resolve_allowed("rebind.example", 80, twice, local=False) == ["8.8.8.8"]


def test_what_is_no_address_is_refused() -> None:
    for answer in ("fe80::1%eth0", "not an address", "127.1"):
        with pytest.raises(ToolProblem, match="Refused"):
            resolve_allowed("a.example", 80, says(answer), local=False)


def test_a_local_host_may_be_anything_but_a_metadata_service() -> None:
    assert resolve_allowed("nas", 80, says("192.168.1.2", "fd00::2"), local=True)
    for ip in ("169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"):
        with pytest.raises(ToolProblem, match="metadata"):
            resolve_allowed("nas", 80, says(ip), local=True)


def test_a_connection_that_went_elsewhere_is_refused() -> None:
    own = ("203.0.113.5", 40000)
    check_peer(("8.8.8.8", 80), own, "8.8.8.8", local=False)
    check_peer(("2606:4700:0:0::1", 80, 0, 0), own, "2606:4700::1", local=False)
    with pytest.raises(ToolProblem, match=r"went to 127.0.0.1 and not to 8.8.8.8"):
        check_peer(("127.0.0.1", 80), own, "8.8.8.8", local=False)
    with pytest.raises(ToolProblem, match="is this machine"):
        check_peer(("8.8.8.8", 80), ("8.8.8.8", 40000), "8.8.8.8", local=False)
    check_peer(("127.0.0.1", 80), ("127.0.0.1", 40000), "127.0.0.1", local=True)


@pytest.mark.parametrize(
    ("url", "known", "effect"),
    [
        ("https://example.org/docs/page.html", (), "get"),
        ("https://example.org/docs/page.html#part", (), "get"),
        ("https://example.org/?q=secret", (), "send"),
        ("https://example.org/?q=tea", ("https://example.org/?q=tea",), "get"),
        ("https://example.org/?q=tea", ("example.org/?q=tea",), "get"),
        ("https://example.org/?q=tea", ("http://example.org/?q=tea#top",), "get"),
        ("https://example.org/?q=tea2", ("https://example.org/?q=tea",), "send"),
        ("https://example.org:8443/?q=tea", ("https://example.org/?q=tea",), "send"),
        ("https://example.org/" + "a" * 41, (), "send"),
        ("https://example.org/" + "a" * 41, ("https://example.org/" + "a" * 41,), "get"),
        ("https://example.org/" + "abc/" * 40, (), "send"),
        ("https://" + "a" * 31 + ".example.org/", (), "send"),
        ("https://a.b.c.d.example.org/", (), "send"),
        ("https://a:b@example.org/", (), "send"),
        ("no address at all", (), "send"),
    ],
)
def test_an_address_of_the_models_own_making_that_can_carry_data_sends(
    url: str, known: Sequence[str], effect: str
) -> None:
    assert effect_of(url, known) == effect


def test_addresses_are_found_in_text() -> None:
    text = "See https://a.org/x_(y), (http://b.org/z). Or example.org/p?q=1, not mail me@d.org."
    assert list(urls_in(text)) == ["https://a.org/x_(y)", "http://b.org/z", "example.org/p?q=1"]
    assert list(urls_in("[x](https://a.org/b) <https://c.org>")) == [
        "https://a.org/b",
        "https://c.org",
    ]


def test_an_allowed_host_is_exact_with_its_port() -> None:
    entries = ("localhost:8080", "[::1]:9000", "NAS.home", "not a host")
    assert is_allowed_host(entries, read_url("http://localhost:8080/x"))
    assert is_allowed_host(entries, read_url("http://[::1]:9000"))
    assert is_allowed_host(entries, read_url("https://nas.home"))
    for text in ("http://localhost", "http://localhost:8081", "http://127.0.0.1:8080",
                 "http://nas.home:8080", "http://x.nas.home"):  # fmt: skip
        assert not is_allowed_host(entries, read_url(text))


def test_a_redirect_is_read_like_any_address() -> None:
    base = Url("https", "a.example", 443, "/x/y")
    assert str(join_redirect(base, "../z?q=1")) == "https://a.example/z?q=1"
    assert str(join_redirect(base, "//b.example")) == "https://b.example/"
    for odd in ("http://[::1", "javascript:1", "http://x@127.0.0.1"):
        with pytest.raises(ToolProblem):
            join_redirect(base, odd)
