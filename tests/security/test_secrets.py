"""What is taken for a secret, and what is not.

Every secret is made up and put together when the tests run, so that no line here looks like one.
"""

from __future__ import annotations

import base64
import random
import string
import time

import pytest

from openclaw.security.secrets import Secret, bits, find_secrets

ALNUM = string.ascii_letters + string.digits
WEB = ALNUM + "-_"
B64 = ALNUM + "+/"
HEX = "0123456789abcdef"
PEM = "PRIVATE " + "KEY-----"
UPPER = string.ascii_uppercase + string.digits


def chance(size: int, letters: str = ALNUM, seed: int = 7) -> str:
    """The same made-up characters in each run, at both ends letters or digits."""
    rolled = random.Random(f"{seed} {size} {letters}")
    body = "".join(rolled.choice(letters) for _ in range(size - 2))
    plain = [c for c in letters if c.isalnum()]
    return rolled.choice(plain) + body + rolled.choice(plain)


def pem(kind: str = "", lines: int = 5) -> str:
    body = "\n".join(chance(64, B64, n) for n in range(lines))
    name = f"{kind} PRIVATE KEY".strip()
    return f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"


def jwt() -> str:
    head, body = '{"alg":"HS256","typ":"JWT"}', '{"sub":"12345","name":"Ada","iat":1516239022}'
    coded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in (head, body)]
    return ".".join([*coded, chance(43, WEB)])


def pair(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


# kind, the secret, the text around it
TRUE = [
    ("aws-key", "AK" + "IA" + chance(16, UPPER), "{}"),
    ("aws-key", "AS" + "IA" + chance(16, UPPER), "export AWS_ACCESS_KEY_ID={}"),
    ("github-token", "gh" + "p_" + chance(36), "token {} works"),
    ("github-token", "gh" + "o_" + chance(36), "{}"),
    ("github-token", "gh" + "s_" + chance(36), "https://x-access-token:{}@github.com/a/b.git"),
    ("github-token", "github" + "_pat_" + chance(22) + "_" + chance(59), "GH_TOKEN={}\n"),
    ("gitlab-token", "gl" + "pat-" + chance(20, WEB), "{}"),
    ("gitlab-token", "gl" + "dt-" + chance(20, WEB), "deploy with {}."),
    ("openai-key", "s" + "k-" + chance(48), '"{}"'),
    ("openai-key", "s" + "k-proj-" + chance(120, WEB), "OPENAI_API_KEY={}"),
    ("openai-key", "s" + "k-svcacct-" + chance(80, WEB), "{}"),
    ("anthropic-key", "s" + "k-ant-api03-" + chance(93, WEB) + "AA", "key: {}"),
    ("openrouter-key", "s" + "k-or-v1-" + chance(64, HEX), "{}"),
    ("google-key", "AI" + "za" + chance(35, WEB), "https://maps.example.org/js?key={}&v=3"),
    ("google-secret", "GOC" + "SPX-" + chance(28, WEB), "{}"),
    ("google-token", "ya" + "29." + chance(120, WEB), "{}"),
    ("slack-token", "xo" + "xb-" + "123456789012-1234567890123-" + chance(24), "{}"),
    ("slack-token", "xo" + "xp-" + "1234567890-1234567890-1234567890-" + chance(32, HEX), "{}"),
    ("slack-token", "xa" + "pp-1-A0123ABCD-1234567890123-" + chance(64, HEX), "{}"),
    ("slack-webhook", "hooks.slack" + ".com/services/T01ABCDEF/B01ABCDEF/" + chance(24), "https://{}"),
    ("stripe-key", "s" + "k_live_" + chance(24), "{}"),
    ("stripe-key", "r" + "k_live_" + chance(24), "stripe: {}"),
    ("stripe-key", "s" + "k_test_" + chance(24), "{}"),
    ("npm-token", "np" + "m_" + chance(36), "//registry.example.org/:_authToken={}"),
    ("pypi-token", "py" + "pi-AgE" + chance(120, WEB), "password = {}"),
    ("huggingface-token", "h" + "f_" + chance(34, string.ascii_letters), "HF_TOKEN={}"),
    ("telegram-token", "1234567890" + ":AA" + chance(33, WEB), "{}"),
    ("telegram-token", "987654" + ":AB" + chance(33, WEB), "https://api.example.org/ bot {} ok"),
    ("twilio-key", "S" + "K" + chance(32, HEX), "{}"),
    ("sendgrid-key", "S" + "G." + chance(22, WEB) + "." + chance(43, WEB), "{}"),
    ("digitalocean-token", "do" + "p_v1_" + chance(64, HEX), "{}"),
    ("jwt", jwt(), "session {}"),
    ("jwt", jwt(), "Authorization: Bearer {}"),
    ("groq-key", "gs" + "k_" + chance(52), "{}"),
    ("notion-token", "nt" + "n_" + chance(46), "{}"),
    ("linear-key", "lin" + "_api_" + chance(40), "{}"),
    ("shopify-token", "shp" + "at_" + chance(32, HEX), "{}"),
    ("vault-token", "hv" + "s." + chance(95, WEB), "{}"),
    ("databricks-token", "da" + "pi" + chance(32, HEX), "{}"),
    ("grafana-token", "gl" + "sa_" + chance(32) + "_" + chance(8, HEX), "{}"),
    ("atlassian-token", "ATA" + "TT3" + chance(186, WEB), "{}"),
    ("age-key", "AGE-SECRET" + "-KEY-1" + chance(58, UPPER), "{}"),
    ("private-key", pem("RSA"), "here it is:\n{}\nthanks"),
    ("private-key", pem(), "{}"),
    ("private-key", pem("OPENSSH", 8), "cat id\n{}\n$ "),
    ("private-key", pem("EC").replace("\n", "\\n"), '{{"private_key": "{}", "id": 3}}'),
    ("private-key", pem("RSA").rpartition("\n")[0], "head of it:\n{}"),
    ("url-password", "s3" + "hrGeheim", "postgres://ada:{}@db.example.org:5432/app"),
    ("url-password", "k" + "!9aB", "mongodb+srv://root:{}@cluster0.example.net/?retryWrites=true"),
    ("url-password", "hun" + "ter2", "redis://:{}@localhost:6379/0"),
    ("url-password", chance(20), "amqp://guest:{}@mq:5672"),
    ("bearer-token", chance(40, WEB), "Authorization: Bearer {}"),
    ("bearer-token", chance(32, HEX), "curl -H 'authorization: bearer {}' https://api.example.org"),
    ("basic-auth", pair("ada", "love" + "lace9"), "Authorization: Basic {}"),
    ("password", "Som" + "mer2024!", "password = {}"),
    ("password", "Sonnen" + "schein77", "Passwort: {}"),
    ("password", "aB3" + "$xY9#kL", 'DB_PASSWORD="{}"'),
    ("password", "g7!k" + "Rp2_q", "{{'passwd': '{}', 'host': 'db'}}"),
    ("password", "Xy7#" + "kLm9Qr", "the password is {}, keep it"),
    ("password", "Blaue7" + "Katze!", "Mein WLAN-Passwort lautet {}."),
    ("password", "p4Ssw" + "0rd_zz9", "ada --password={} --verbose"),
    ("password", "Zeb" + "ra-77-Ufer!", "Server=db;User Id=sa;Password={};Encrypt=true"),
    ("password", "tr0u" + "b4dor&3", "curl -u ada:{} https://example.org"),
    ("password", "net" + "rc-geheim1", "machine example.org login ada password {}\n"),
    ("api-key", chance(32, HEX), "api_key: {}"),
    ("api-key", chance(40), 'apiKey = "{}"'),
    ("api-key", chance(32), "x-api-key: {}"),
    ("api-key", chance(86, B64) + "==", "AccountName=a;AccountKey={};Suffix=core.example.net"),
    ("api-key", chance(40, B64), "aws_secret_access_key = {}"),
    ("api-key", "3f2b8c1a-9d4e-4f60-8a7b-" + "1c2d3e4f5a6b", "HEROKU_API_KEY={}"),
    ("secret", chance(40, WEB), "client_secret: '{}'"),
    ("secret", chance(50), 'SECRET = "{}"'),
    ("token", chance(40), "access_token={}&expires_in=3600"),
    ("token", chance(30, WEB), '"token": "{}"'),
    ("token", chance(30), '{{\\"token\\": \\"{}\\"}}'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "secret", "around"), TRUE, ids=[row[0] for row in TRUE])
def test_a_secret_is_found_whole_and_nothing_beside_it(kind: str, secret: str, around: str) -> None:
    text = around.format(secret)
    found = [(each.kind, text[each.start : each.end]) for each in find_secrets(text)]
    assert found == [(kind, secret)]


def test_the_table_of_secrets_is_large_enough() -> None:
    assert len(TRUE) >= 60
    assert len(HARMLESS) >= 80
    assert len(set(HARMLESS)) == len(HARMLESS)


HARMLESS = [
    "",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "d41d8cd98f00b204e9800998ecf8427e  empty.txt",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877e",
    "integrity: sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBe",
    "550e8400-e29b-41d4-a716-446655440000",
    "id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
    "- [ ] buy milk ^1a2b3c4d",
    "- [x] pay the rent ^deadbeef due:2026-12-01",
    "![dot](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9Q",
    "src: data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7",
    "Donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichen",
    "Rindfleischetikettierungsueberwachungsaufgabenuebertragungsgesetz",
    "Kraftfahrzeughaftpflichtversicherung und Grundstuecksverkehrsgenehmigungszustaendigkeit",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "antidisestablishmentarianism is a long word",
    "Version 1.2.3-beta.4+build.20261121",
    "python-3.11.9-amd64.exe",
    '"jsonwebtoken": "^9.0.2",',
    '"passport-local": "1.0.0"',
    "tokenizers==0.20.3",
    "/usr/lib/python3/dist-packages/cryptography/hazmat/primitives/asymmetric/rsa.py",
    r"C:\Users\Ada\AppData\Local\Programs\Python\Python312\python.exe",
    "./skills/web-search/references/token-handling-v2.md",
    "https://example.org/a/b/9fceb02d0ae598e95dc970b74767f19372d61af8/file.txt",
    "https://example.org/login?next=/account/password/reset",
    "postgres://localhost:5432/app",
    "redis://cache.example.org:6379/0",
    "https://user@example.org/path",
    "ssh://git@example.org:22/a/b.git",
    "postgres://user:password@host/db",
    "postgres://USER:<password>@HOST/db",
    "mysql://root:${DB_PASS}@db/app",
    "https://ada:***@example.org/",
    "postgres://ada:{{secret:url-password-1}}@db/app",
    "password = {{secret:password-1}}",
    "api_key: {{secret:api-key-2}}",
    "Authorization: Bearer {{secret:bearer-token-1}}",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "Authorization: Bearer $TOKEN",
    "Authorization: Basic <credentials>",
    "Bearer authentication is better than basic authentication",
    "bearer token-based-authentication",
    "The basic principles-of-design are these.",
    "password:",
    'password = ""',
    "password = None",
    "password: string;",
    "password: required",
    "Passwort: siehe Passwortmanager",
    "Das Passwort ist zu lang fuer das Feld.",
    "The password is required and case-sensitive.",
    "the token is invalid_or_expired",
    "password = os.environ['DB_PASSWORD']",
    'password = getpass.getpass("Password: ")',
    "password: credentials?.password",
    "const token = process.env.GITHUB_TOKEN;",
    "api_key=settings.openai.api_key2",
    "token = tokens[index + 1]",
    "secret=self._secrets.get(name)",
    "api_key: YOUR_API_KEY_HERE",
    "api_key = your-api-key-123abc456",
    "API_KEY=changeme123456",
    "client_secret: <your client secret>",
    "SECRET_KEY=${SECRET_KEY}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: %DB_PASSWORD%",
    "secret: ********************",
    "password=xxxxxxxxxxxxxxxx",
    "max_tokens=4096",
    "max_tokens: 1000000000",
    "MAX_TOKENS = 128_000_000",
    "tokens: 12345678, cached: 87654321",
    "token_count = 1234567890",
    "tokenizer: cl100k_base",
    "token_type: urn:ietf:params:oauth:token-type:jwt",
    "secretName: my-app-secret-2024",
    "passwordHash: 5f4dcc3b5aa765d61d8327deb882cf99",
    "password_file: /run/secrets/db_password_v2",
    "password: /run/secrets/db_password_v2",
    "password: $2b$12$KIXQ5x1N9YzGqHq4hRk1uO8mJ8Qm3f7nQ0b1QkV3cQ2e9a5yQ7t6S",
    "secret: vault:kv/data/app#key",
    "token: 550e8400-e29b-41d4-a716-446655440000",
    "token: d41d8cd98f00b204e9800998ecf8427e",
    "secretary: Annemarie.Schwarzenbach2",
    "keyboard: QWERTZ-Layout-105-keys-v2",
    "primary_key=customer_2024_0001_de",
    "foreign key: orders_customer_id_fkey1",
    "monkey: Schimpanse7Bonobo8Gorilla9",
    "pass: 12 tests, fail: 0 tests",
    "PASS tests/security/test_secrets.py::test_a_secret_is_found_whole",
    "compass: N52.520008,E13.404954",
    "task-management-for-risk-averse-people-2024",
    "disk-usage-analyzer-2024-edition-for-linux",
    "sk-learn-contrib-extension-package-docs",
    "the sk-SK locale, sk-SK.UTF-8 and others",
    "model: gpt-4o-2024-08-06, qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    "hf_hub_download(repo_id='Qwen/Qwen2.5-1.5B-Instruct-GGUF')",
    "npm_config_registry and npm_lifecycle_event are set",
    "pypi-server and pypi-publish-action",
    "AKIARA is a name, ASIAN MARKETS too",
    "SKELETON SK8ERBOI SKU-0123456789",
    "SG.1234 is too short",
    "12345678:30:15 is no bot",
    "cache-key-d41d8cd98f00b204e9800998ecf8427e",
    "eyJust kidding.that is no.token",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqh\n-----END CERTIFICATE-----",
    f"A key begins with -----BEGIN {PEM} and ends with -----END {PEM}.",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada@laptop",
    "IBAN DE89 3704 0044 0532 0130 00, BIC COBADEFFXXX",
    "+49 30 12345678, 2026-11-21T12:00:00+01:00, 192.168.178.1",
    "ISBN 978-3-16-148410-0, DOI 10.1000/xyz123",
    "lorem ipsum dolor sit amet, consectetur adipiscing elit",
    "mac 00:1B:44:11:3A:B7, ipv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "chr1:1234567-2345678 rs1801133 ENSG00000139618",
    "def test_password_is_hashed(): assert hash_password('a') != 'a'",
    "openclaw todo add 'change the password of the router'",
    "docker.io/library/postgres@sha256:4ec37d2a07a0067f176fdcc9d4bb633a5724d2cc4f892c7a2046d054bb6939e5",
]  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert [text[each.start : each.end] for each in find_secrets(text)] == []


def test_several_secrets_of_one_text_are_found_in_order() -> None:
    first, second = "gh" + "p_" + chance(36), "np" + "m_" + chance(36)
    text = f"a {first} b {second} c {first}"
    assert [text[s.start : s.end] for s in find_secrets(text)] == [first, second, first]


def test_both_halves_of_an_aws_pair_are_found() -> None:
    key, secret = "AK" + "IA" + chance(16, UPPER), chance(40, B64)
    text = f"Access key ID,Secret access key\n{key},{secret}\n"
    assert [(s.kind, text[s.start : s.end]) for s in find_secrets(text)] == [
        ("aws-key", key),
        ("aws-secret", secret),
    ]


def test_findings_that_overlap_are_one_and_the_more_telling_kind_names_it() -> None:
    token = "gh" + "p_" + chance(36)
    text = f"password = {token}!and-more9"
    assert find_secrets(text) == [Secret("github-token", 11, len(text))]


def test_a_secret_in_a_key_that_ends_nowhere_is_masked_as_far_as_it_goes() -> None:
    cut = pem("RSA", 9)[:300]
    found = find_secrets(f"{cut}\n[Cut: 300 of 900 characters shown.]")
    assert len(found) == 1
    assert found[0].end >= 290


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "password=",
        "password: a1B!c2D? ",
        "token ",
        f"-----BEGIN {PEM}\n",
        "eyJ" + "aaaaaaaaaa.",
        "http://a:",
        "Bearer ",
        "1234567:A",
        'secret="',
        "s" + "k-",
        "AK" + "IA",
        " ",
        "\u0130",
    ],
)
def test_the_time_grows_with_the_text_and_not_with_its_form(piece: str) -> None:
    text = (piece * (200_000 // len(piece)))[:200_000]
    began = time.process_time()
    find_secrets(text)
    assert time.process_time() - began < 15  # measured: 0.02 to 0.3 s


def test_bits_are_those_of_shannon() -> None:
    assert bits("") == bits("aaaa") == 0
    assert bits("ab") == 1
    assert bits("0123456789abcdef") == 4
