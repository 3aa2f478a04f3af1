"""The keys and tokens that their issuers gave a form of their own.

The forms are facts that the issuers publish and that scanners collect: gitleaks
(config/gitleaks.toml), detect-secrets (detect_secrets/plugins) and GitHub's list of secret
scanning patterns. The patterns are written anew: each is tried only where its literal beginning
stands, and every repetition has a bound, so the time grows with the text and not with its form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from openclaw.safety.entropy import bits, is_mixed, is_wordy

Judge = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Form:
    """`rest` is matched behind `begin`, with `digits` from where the number in front of it begins;
    `judge` has the last word on the match."""

    kind: str
    begin: str
    rest: str
    judge: Judge
    back: str = ""

    @property
    def digits(self) -> bool:
        return self.back.endswith("}")


def _random(least: float) -> Judge:
    return lambda text: bits(text) >= least


def _key(text: str) -> bool:
    """For `sk-` and the like, which words begin with too."""
    body = text.partition("-")[2]
    varied = any(c.isdigit() for c in body) and any(c.isalpha() for c in body)
    return bits(body) >= 3 and not is_wordy(body) and (varied or is_mixed(body))


def _bot(text: str) -> bool:
    body = text.partition(":")[2]
    return bits(body) >= 3 and not is_wordy(body)


def _form(kind: str, begin: str, rest: str, judge: Judge | None = None, back: str = "") -> Form:
    return Form(kind, begin, rest, judge or _random(2.5), back)


@cache
def _pattern(form: Form) -> re.Pattern[str]:
    """Compiled when the beginning was found: few of them ever are."""
    return re.compile(form.back + re.escape(form.begin) + form.rest)


_W = r"[A-Za-z0-9_-]"
_AN = r"[A-Za-z0-9]"
_HEX = r"[0-9a-fA-F]"
_ALONE = r"(?<![\w-])"

FORMS = (
    *(_form("aws-key", p, r"[A-Z0-9]{16}") for p in ("AKIA", "ASIA", "ABIA", "ACCA")),
    *(_form("github-token", f"gh{c}_", _AN + r"{20,255}", _random(3)) for c in "pousr"),
    _form("github-token", "github_pat_", r"\w{22,255}", _random(3)),
    *(
        _form("gitlab-token", p, r"[\w.-]{15,200}[\w-]", _key)
        for p in ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "gloas-", "glsoat-", "glft-")
    ),
    _form("anthropic-key", "sk-ant-", _W + r"{20,250}", _key),
    _form("openrouter-key", "sk-or-", _W + r"{20,250}", _key),
    _form("openai-key", "sk-proj-", _W + r"{20,250}", _key),
    _form("openai-key", "sk-svcacct-", _W + r"{20,250}", _key),
    _form("openai-key", "sk-admin-", _W + r"{20,250}", _key),
    _form("openai-key", "sk-", r"(?!ant-|or-|proj-|svcacct-|admin-)" + _W + r"{20,250}", _key),
    _form("google-key", "AIza", _W + r"{30,45}", _random(3)),
    _form("google-secret", "GOCSPX-", _W + r"{28}"),
    _form("google-token", "ya29.", r"[\w.-]{30,2048}[\w-]"),
    *(_form("slack-token", f"xox{c}-", r"[A-Za-z0-9-]{10,250}", _key) for c in "abeoprs"),
    _form("slack-token", "xoxe.xox", r"[bp]-\d-[A-Za-z0-9]{20,250}"),
    _form("slack-token", "xapp-", r"\d-[A-Za-z0-9]{5,40}-\d{5,20}-[A-Za-z0-9]{20,100}"),
    _form("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/+]{20,100}"),
    _form("discord-webhook", "/api/webhooks/", r"\d{15,22}/[\w-]{50,100}"),
    *(_form("stripe-key", f"{a}k_{b}_", _AN + r"{10,250}") for a in "sr" for b in ("live", "test")),
    _form("stripe-key", "whsec_", r"[A-Za-z0-9+/=]{24,100}"),
    _form("npm-token", "npm_", _AN + r"{30,60}", _random(3)),
    _form("pypi-token", "pypi-", r"Ag[A-Za-z0-9_-]{30,1000}"),
    _form("huggingface-token", "hf_", _AN + r"{20,60}", is_mixed),
    _form("huggingface-token", "api_org_", _AN + r"{20,60}", is_mixed),
    _form("telegram-token", ":A", _W + r"{30,40}", _bot, back=r"(?<![\w:.-])\d{6,16}"),
    _form("twilio-key", "SK", r"[0-9a-f]{32}", back=_ALONE),
    _form("sendgrid-key", "SG.", r"[\w-]{16,32}\.[\w-]{16,64}"),
    *(_form("digitalocean-token", f"do{c}_v1_", _HEX + r"{64}") for c in "por"),
    _form("jwt", "eyJ", r"[\w-]{8,4000}\.[\w-]{8,8000}(?:\.[\w-]{4,4000}){1,3}"),
    _form("groq-key", "gsk_", _AN + r"{40,60}"),
    _form("xai-key", "xai-", _AN + r"{60,100}"),
    _form("perplexity-key", "pplx-", _AN + r"{40,60}"),
    _form("replicate-token", "r8_", _AN + r"{30,50}"),
    _form("notion-token", "ntn_", _AN + r"{40,60}"),
    _form("linear-key", "lin_api_", _AN + r"{32,50}"),
    *(_form("shopify-token", f"shp{c}_", _HEX + r"{32}") for c in ("at", "ca", "pa", "ss")),
    _form("vault-token", "hvs.", _W + r"{24,300}"),
    _form("vault-token", "hvb.", _W + r"{24,300}"),
    _form("databricks-token", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _form("postman-key", "PMAK-", _HEX + r"{24}-" + _HEX + r"{34}"),
    _form("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_]{40,500}"),
    _form("sentry-token", "sntryu_", r"[0-9a-f]{64}"),
    _form("rubygems-key", "rubygems_", r"[0-9a-f]{48}"),
    _form("pulumi-token", "pul-", r"[0-9a-f]{40}", back=_ALONE),
    _form("grafana-token", "glsa_", r"\w{32}_" + _HEX + r"{8}"),
    _form("grafana-token", "glc_", r"[A-Za-z0-9+/=]{32,400}"),
    _form("tailscale-key", "tskey-", r"[a-z]{3,10}-\w{6,40}-\w{16,64}"),
    _form("atlassian-token", "ATATT3", r"[\w=-]{50,250}"),
    _form("figma-token", "figd_", _W + r"{30,60}"),
    _form("doppler-token", "dp.pt.", _AN + r"{40,50}"),
    _form("planetscale-token", "pscale_", r"(?:tkn|oauth|pw)_[\w.=-]{31,64}[\w=-]"),
    _form("mailgun-key", "key-", r"[0-9a-f]{32}", back=_ALONE),
    _form("square-token", "sq0", r"(?:atp|csp)-[\w-]{22,60}"),
    _form("1password-token", "ops_eyJ", r"[A-Za-z0-9+/]{50,2000}={0,3}"),
    _form("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    _form("docker-token", "dckr_pat_", _W + r"{20,60}"),
    _form("flyio-token", "fm2_", r"[A-Za-z0-9+/]{100,1000}={0,3}"),
    _form("firecrawl-key", "fc-", r"[0-9a-f]{32}", back=_ALONE),
    _form("tavily-key", "tvly-", _W + r"{20,60}", _key),
)
_INSIDE = re.compile(r"[A-Za-z0-9_]")
_NUMBER = re.compile(r"\d{6,16}$")
_GOES_ON = re.compile(r"[A-Za-z0-9]")


def keys(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each token with a form of its own."""
    for form in FORMS:
        at = text.find(form.begin)
        while at >= 0:
            found = _at(form, text, at)
            if found:
                yield form.kind, *found
            at = text.find(form.begin, found[1] if found else at + 1)


def _at(form: Form, text: str, at: int) -> tuple[int, int] | None:
    start = at
    if form.digits:
        number = _NUMBER.search(text, max(at - 17, 0), at)
        start = number.start() if number else at
    if start and _INSIDE.match(text, start - 1):
        return None
    match = _pattern(form).match(text, start)
    if not match or _GOES_ON.match(text, match.end()) or not form.judge(match[0]):
        return None
    return match.span()
