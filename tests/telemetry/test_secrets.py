"""Secrets in known forms never leave; ordinary sentences leave as they are."""

from __future__ import annotations

import json
import logging
import string
from time import process_time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.checks import Raises, harness

from aucert_otel import Evidence, Finding, Generation, Reason, Verdict
from aucert_otel.audit import open_sink
from aucert_otel.config import load
from aucert_otel.errors import AucertError
from aucert_otel.telemetry import Boundary
from aucert_otel.telemetry.secret_forms import REDACTED
from aucert_otel.telemetry.secrets import redact


S = "S3cr3tV4lu3abcdefghijk"
LOWER = "abcdefghijklmnopqrstuvwx"

FORMS = {
    "basic": "Authorization: Basic {}",
    "token scheme": "Authorization: Token {}",
    "raw header": "Authorization: {}",
    "scheme nobody knows": "Authorization: Acme {}",
    "bearer": "Authorization:   Bearer    {}",
    "bearer alone": "Bearer {}",
    "bearer with a colon": "bearer:{}",
    "bearer after a wide space": "Bearer\u00a0{}",
    "proxy": "Proxy-Authorization: Basic {}",
    "digest": 'Authorization: Digest username=a, response={}, opaque="b"',
    "sigv4": "Authorization: AWS4-HMAC-SHA256 Credential=AB/20240101, Signature={}",
    "curl": "curl -H 'Authorization: Bearer {}' https://h",
    "header in JSON": '{{"Authorization": "Bearer {}"}}',
    "header as a pair": "('authorization', '{}')",
    "header as bytes": "(b'Authorization', b'Bearer {}')",
    "x-api-key": "X-Api-Key: {}",
    "cookie": "Cookie: theme=dark; session={}; b=c",
    "set-cookie": "Set-Cookie: sid={}; HttpOnly",
    "before a colon": "password: {}: and more",
    "after a word": "password: the-{}",
    "url": "postgresql://user:{}@host/db",
    "url, no user": "redis://:{}@host/0",
    "url, slash": "postgresql://user:pa/{}@host/db",
    "url, at": "postgresql://user:pa@{}@host/db",
    "url, token": "https://{}@github.com/a",
    "query token": "https://h/?a=b&token={}&c=d",
    "query key": "https://h/?key={}",
    "query api_key": "https://h/?api_key={}",
    "query access_token": "https://h/#access_token={}",
    "query sig": "https://h/?sv=1&sig={}",
    "query signature": "https://h/?signature={}",
    "X-Amz-Signature": "https://h/?X-Amz-Signature={}",
    "X-Amz-Credential": "https://h/?X-Amz-Credential={}",
    "query client_secret": "/cb?client_secret={}",
    "query password": "/login?password={}",
    "json": '{{"apiKey": "{}"}}',
    "json without spaces": '{{"refresh_token":"{}"}}',
    "escaped json": '{{\\"client_secret\\": \\"{}\\"}}',
    "twice escaped json": '{{\\\\\\"client_secret\\\\\\": \\\\\\"{}\\\\\\"}}',
    "SecretAccessKey": '"SecretAccessKey": "{}"',
    "aws_secret_access_key": "aws_secret_access_key = {}",
    "yaml": "api_key: {}",
    "yaml, next line": "api_key:\n  {}",
    "yaml, block": "secret: |\n  {}",
    "env": "export OPENAI_API_KEY={}",
    "env with a digit": "DB_PASSWORD_2='{}'",
    "walrus": "api_key := {}",
    "arrow": "api_key => {}",
    "spaces": "api_key     =     {}",
    "in words": "api key: {}",
    "markdown": "**Password:** {}",
    "code": "`password`: `{}`",
    "refresh_token": "refresh_token={}",
    "id_token": "id_token={}",
    "secret": "secret={}",
    "secret_key": "secret_key={}",
    "private_key": "private_key: {}",
    "private_token": "private_token: {}",
    "pwd": "pwd={}",
    "pass": "DB_PASS={}",
    "passwd": "passwd: {}",
    "passphrase": "passphrase: {}",
    "connection string": "Server=h;Password={};Database=d",
    "azure": "AccountName=a;AccountKey={};EndpointSuffix=b",
    "quoted with spaces": 'password: "correct {} staple"',
    "xml": "<password>{}</password>",
    "xml with a namespace": '<wsse:Password Type="x">{}</wsse:Password>',
    "xml attribute": '<user password="{}"/>',
    "flag": "--password {}",
    "flag with =": "--api-key={}",
    "flag, quoted": '--client-secret "{}"',
    "SecretStr": "{{'api_key': SecretStr('{}')}}",
    "SecretStr alone": "SecretStr('{}')",
    "pair": "('password', '{}')",
    "prose": "the password is {}",
    "prose, quoted": 'the password is "{}"',
    "slack": "https://hooks.slack.com/services/T000/B000/{}",
    "discord": "https://discord.com/api/webhooks/1234/{}",
}
TOKENS = [
    "sk-" + LOWER,
    "sk-proj-" + LOWER,
    "keysk-proj-" + LOWER,
    "_sk-ant-api03-" + LOWER,
    "xsk-" + S,
    "sk_live_" + LOWER,
    "rk_live_" + LOWER,
    "hf_" + LOWER,
    "glpat-" + LOWER,
    "gsk_" + LOWER,
    "npm_" + LOWER,
    "pypi-AgEIcHlwaS5vcmc" + LOWER,
    "xoxb-123456789012-" + LOWER,
    "xoxe-1-" + LOWER,
    "xapp-1-A0123-456-" + LOWER,
    "AKIA" + LOWER[:16].upper(),
    "ASIA" + LOWER[:16].upper(),
    "AIzaSyA-1234567890" + LOWER,
    "ghp_" + LOWER,
    "github_pat_" + LOWER,
    "ya29.a0" + LOWER,
    "SG." + LOWER + "." + LOWER,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "sk-abcdefgh\nijklmnopqrstuvwxyz",
    "\uff53\uff4b-" + LOWER,
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
]

INNOCENT = """\
The password is reset by the link in the mail.
Please accept this token of appreciation.
Take key 88 at the desk.
Forgot your password? Choose a new one: at least 12 characters.
Your password must be 12-16 characters long.
The password is 12 characters long.
The password is case-sensitive.
The password was changed on 2024-01-02.
The token is valid for 30 days.
The secret is out. The secret is discipline.
Password: required
Key points: first, second, third.
The key is: always ask first.
He is the bearer of bad news.
Bearer authentication is supported.
Risk-adjusted-returns-and-more are task-oriented-approach-like.
task-2024-q3-planning-v2 is done
See https://example.com/a?b=c&page=2 and https://medium.com/@user/post.
Write to ada@example.com or bob@example.org: thanks.
http://localhost:8080/path/@me
Authorization: required for all visits.
Cookie: chocolate, two each.
The cookie banner is at the bottom.
Set max_tokens: 100 and completion_tokens=2048.
{"max_tokens": 512, "token_count": 12, "key": "value"}
{"password": null, "token": true}
{"password":null,"token":true}
Article 118, refund within 30 days, call 12:30-14:00.
Your first pass: good. bypass: no.
primary_key: id, sort_key=name
def log_in(user: str, password: str) -> None:
In Asia the ASIA team met in ASIAN markets.
The secretary: Ms Token is here.
The keyboard: black. monkey: 12345678
internationalization-and-localization-of-things
Signature: please sign here.
-----BEGIN PUBLIC KEY----- MIIB
Your order 1234567890123456789 ships on 2024-01-02.
3f2504e0-4f89-11d3-9a0c-0305e82c3301
sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
Use --password to set it, or --token.
if token == expected: return
Passwords: see article 4. Credentials: ask the manager.
Our API key is documented in the developer portal.
credentials: username and password
Ihr Passwort: bitte ändern.
family 👨\u200d👩\u200d👧 and نص عربي
""".splitlines()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_in_a_known_form_never_leaves(form):
    cleaned = redact(form.format(S))
    assert S not in cleaned
    assert S[5:] not in cleaned
    assert REDACTED in cleaned


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", "key {} end", '{{"k": "{}"}}', "a={}&b=1", "x/{}", "({})"]
)
def test_a_token_is_known_by_its_shape(token, around):
    cleaned = redact(around.format(token))
    assert REDACTED in cleaned
    assert not any(
        token[i : i + 10] in cleaned for i in range(len(token) - 20, len(token) - 9)
    ) or (token.startswith("-----"))
    assert "MIIEvQ" not in cleaned


@pytest.mark.parametrize("sentence", INNOCENT)
def test_an_ordinary_sentence_leaves_as_it_is(sentence):
    assert redact(sentence) == sentence


def test_masking_twice_changes_nothing_more():
    for form in FORMS.values():
        once = redact(form.format(S))
        assert redact(once) == once


_text = st.text(max_size=60)
_secret = st.builds(
    lambda body: "Zq7" + body,
    st.text(string.ascii_letters + string.digits, min_size=20, max_size=60),
)


@given(st.sampled_from(sorted(FORMS.values())), _secret, _text, _text)
@example("https://{}@github.com/a", "Zq7" + "a" * 20, "", "@")
def test_no_secret_survives_in_arbitrary_text(form, secret, before, after):
    assume(secret[3:] not in before + after)
    # The text around is other lines: what stands on the same line may change what the form is.
    cleaned = redact(f"{before}\n{form.format(secret)}\n{after}")
    assert secret not in cleaned
    assert secret[3:] not in cleaned


@given(
    st.sampled_from(
        ["sk-proj-", "hf_", "ghp_", "glpat-", "sk_live_", "npm_", "github_pat_", "eyJ"]
    ),
    _secret,
    _text,
    _text,
)
def test_no_token_survives_within_arbitrary_text(prefix, secret, before, after):
    cleaned = redact(f"{before}{prefix}{secret}{after}")
    assert secret not in cleaned


@given(
    st.sampled_from(
        ["sk-proj-{}", "password={}", "Bearer {}", "https://u:{}@h", '"api_key": "{}"']
    ),
    _secret,
    st.lists(
        st.tuples(
            st.integers(0, 60),
            st.sampled_from("\u200b\u2060\u00ad\u202e\ufe0f\x00\ud800\U000e0061"),
        ),
        max_size=12,
    ),
)
def test_no_secret_survives_that_is_split_by_invisible_characters(form, secret, splits):
    written = form.format(secret)
    for place, character in splits:
        written = written[:place] + character + written[place:]
    cleaned = redact(f"so {written} it")
    shown = "".join(c for c in cleaned if c.isascii() and c.isprintable())
    assert secret not in shown
    assert secret[:12] not in shown
    assert cleaned.startswith("so ")
    assert cleaned.endswith(" it")


@given(
    st.dictionaries(st.sampled_from(["password", "client_secret", "apiKey"]), st.text(min_size=12))
)
def test_no_password_survives_in_json_whatever_it_is_made_of(fields):
    assume(all(v.strip() and REDACTED not in v for v in fields.values()))
    for document in (json.dumps(fields), json.dumps(json.dumps(fields))):
        cleaned = redact(document)
        for value in fields.values():
            written = json.dumps(value)[1:-1]
            assert written not in cleaned


@pytest.mark.parametrize(("limit", "name"), [(256, "label"), (8192, "content")])
@pytest.mark.parametrize(
    ("secret", "mark"),
    [
        ("sk-" + "Z" * 60, "ZZZZ"),
        ("https://u:" + "Q" * 100 + "@h", "QQQQ"),
        ("password='" + "W" * 300 + "'", "WWWW"),
        ("eyJ" + "Y" * 30 + "." + "X" * 600 + "." + "V" * 60, "XXXX"),
        ("sk-" + "Z\u200b" * 60, "Z\u200bZ\u200b"),
    ],
)
def test_no_cut_leaves_a_part_of_a_secret(limit, name, secret, mark):
    leaves = getattr(Boundary(capture_content=True), name)
    for offset in range(-700, 8, 3):
        assert mark not in leaves(" " * (limit + offset) + secret + " " * 700)


OPENINGS = [
    "password", "password:", "password: ", "password='", 'password="a\\', "password is ", "api key ",
    "token=", "secret\\\\", "('password', ", "SecretStr('", "<password", "<password>", "--password ",
    "Authorization: ", "Authorization: Basic ", "Authorization: a ", "bearer ", "Cookie: ", "cookie: a=",
    "://", "://a:", "://@", "://a:b@", "?key=", "&sig=", "hooks.slack.com/services/", "key: |\n",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "sk-", "sk-a-", "sk-aaaa\n", "eyJ", "eyJaaaaaaaa.",
    "SG.", "SG.aaaaaaaaaaaaaaaa", "ghp_", "AKIA", "xoxb-", "\u200b", "s\u200bk\u200b-", "\x1b[", "\uff53",
    "password:" + " " * 60, "pwd=" + "&" * 40, "pwd=a" + ";b" * 20, "x-api-key: SecretStr(", "a_key:",
]  # fmt: skip


@pytest.mark.parametrize("opening", OPENINGS, ids=ascii)
def test_a_megabyte_of_an_opening_takes_linear_time(opening):
    text = "@ is = ( < " + opening * (1_000_000 // len(opening))
    started = process_time()
    redact(text)
    # A quadratic pattern takes hours on a megabyte.
    assert process_time() - started < 20.0


@pytest.mark.parametrize("kind", [BaseException, GeneratorExit, MemoryError])
def test_a_mask_that_raises_whatever_withholds_the_text(kind):
    def mask(text):
        raise kind(text)

    assert Boundary(capture_content=True, mask=mask).content("text") == REDACTED


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_the_wish_to_end_the_process_passes_a_mask(kind):
    def mask(text):
        raise kind

    with pytest.raises(kind):
        Boundary(mask=mask).label("text")


def test_text_whose_class_rewrites_its_methods_is_read_as_it_is():
    class Sly(str):
        __slots__ = ()

        def lower(self):
            return ""

        def isascii(self):
            raise AssertionError

        def __getitem__(self, index):
            return self

    assert Boundary(capture_content=True).content(Sly(f"password={S}")) == "password=[redacted]"


def test_no_secret_leaves_by_a_finding_an_error_the_log_or_the_audit(
    recorder, caplog, production, tmp_path
):
    caplog.set_level(logging.DEBUG)
    secret = f"password={S}"

    def fails(generation):
        return Finding(
            f"criterion {secret}",
            Verdict.FAIL,
            score=0.0,
            why=f"why {secret}",
            claim=f"claim {secret}",
            evidence=(Evidence(f"fact {secret}", passage_id=secret),),
            source=secret,
            reason=Reason.CONTRADICTED,
        )

    telemetry = recorder.telemetry(Boundary(capture_content=True))
    log = tmp_path / "audit.jsonl"
    for check in (fails, Raises(ValueError(secret)), Raises(BaseException(secret))):
        h = harness(check, telemetry=telemetry, audit=open_sink(f"jsonl:///{log}"))
        h.verify(Generation(f"answer {secret}", question=secret, tenant=secret, test_id=secret))
        assert h.flush(20.0)
        h.close()
    written = log.read_text()
    assert written.count("\n") == 3
    assert "why password=[redacted]" in written
    assert S not in written
    assert S not in recorder.everything()
    assert S not in caplog.text


def test_no_secret_leaves_by_an_error_in_the_settings(tmp_path):
    file = tmp_path / "aucert.yaml"
    file.write_text(f"cascades: password={S}\naudit: 'postgresql://u:{S}@'\n")
    with pytest.raises(AucertError) as raised:
        load(file)
    assert S not in str(raised.value)
