"""What counts as secret, and that free text is masked in time linear in its length."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queues.redaction import DEFAULT, MASK, MASKED_UP_TO, Rules, is_secret_key, mask_label, mask_text, masked
from queues.types import Mark, Text
from tests.policy import SOAK

SIZE = 256 * 1024
SECRET = st.text("QXZ", min_size=6, max_size=20)  # letters that stand nowhere else


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("password", "*password*"),
        ("userPassword", "*password*"),
        ("DB_PASSWD", "*passwd*"),
        ("pwd", "*pwd*"),
        ("client-secret", "*secret*"),
        ("accessToken", "*token*"),
        ("refresh_tokens", "*token*"),
        ("tokens_used", "*token*"),  # safety first
        ("Authorization", "*authorization*"),
        ("Set-Cookie", "*cookie*"),
        ("APIKey", "*apikey*"),
        ("x-api-key", "*apikey*"),
        ("api_keys", "*apikey*"),
        ("privateKeyPem", "*privatekey*"),
        ("awsCredentials", "*credential*"),
        ("card", "card"),
        ("cards", "card"),
        ("cardHolder", "card"),
        ("CVV2", "*cvv*"),
        ("smtp_pass", "pass"),
        ("auth", "auth"),
    ],
)
def test_a_key_is_secret_however_its_words_are_joined(key: str, rule: str) -> None:
    assert is_secret_key(key) == rule


@pytest.mark.parametrize(
    "key",
    ["name", "discarded", "cardboard", "idempotencyKey", "traceId", "author", "passenger", "shipping", "", "é", "1"],
)
def test_a_key_that_only_resembles_a_secret_is_not_one(key: str) -> None:
    assert is_secret_key(key) is None


def test_rules_are_an_argument_so_that_they_can_be_changed() -> None:
    rules = Rules(("*cpf*", "card pin"))
    assert is_secret_key("customerCPF", rules) == "*cpf*"
    assert is_secret_key("cardPins", rules) == "card pin"
    assert is_secret_key("password", rules) is None
    assert mask_text("cpf=123 password=abc", rules) == (f"cpf={MASK} password=abc", 1)
    assert is_secret_key("anything", Rules(())) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2 next", f"password={MASK} next"),
        ("login failed (password: hunter2, user: bob)", f"login failed (password: {MASK}, user: bob)"),
        ("redis://:pw@host:6379/0", f"redis://:{MASK}@host:6379/0"),
        ("redis://user:p/w@d@host", f"redis://user:{MASK}@host"),
        ("https://bob:pw@x.example/", f"https://bob:{MASK}@x.example/"),
        ("https://0123456789abcdef0123@x.example/1", f"https://{MASK}@x.example/1"),
        ("https://x.example/?token=abc&b=1", f"https://x.example/?token={MASK}&b=1"),
        ('{"token":"a\\"b\\\\","n":1}', f'{{"token":"{MASK}","n":1}}'),
        ('{\\"token\\":\\"a\\\\\\"b\\",\\"n\\":1}', f'{{\\"token\\":\\"{MASK}\\",\\"n\\":1}}'),
        ('{"token" :\n "abc"}', f'{{"token" :\n "{MASK}"}}'),
        ("{ card: { number: '}4', x: [1] },\n n: 1 }", f"{{ card: {MASK},\n n: 1 }}"),
        ("Authorization: Bearer abc.def\nHost: x", f"Authorization: {MASK}\nHost: x"),
        ('Proxy-Authorization: Digest a="b", r="c"\nHost: x', f"Proxy-Authorization: {MASK}\nHost: x"),
        ('Cookie: a="b c"; d=e\nHost: x', f"Cookie: {MASK}\nHost: x"),
        ("curl -H 'Authorization: Bearer abc' http://x", f"curl -H 'Authorization: {MASK}' http://x"),
        ("token: Bearer abc", f"token: {MASK}"),
        ("sent Bearer abcdef123456 to it", f"sent Bearer {MASK} to it"),
        ("mysql --password hunter2 -u x", f"mysql --password {MASK} -u x"),
        ("<password>a b</password>", f"<password>{MASK}</password>"),
        ("options['api_key'] => 'abc'", f"options['api_key'] => '{MASK}'"),
        ("the api key: abc", f"the api key: {MASK}"),
        ("first\\npassword=abc def", f"first\\npassword={MASK} def"),
        ("x \\u0022token\\u0022:\\u0022abc\\u0022", f'x "token":"{MASK}"'),
        ("declined card 4111 1111 1111 1111 again", f"declined card {MASK} again"),
        ("got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", f"got {MASK}!"),
        ("number 4111111111111111 alone", f"number {MASK} alone"),
        ("ref=5555 5555 5555 4444;", f"ref={MASK};"),
        ("paid 3782-822463-10005.", f"paid {MASK}."),
        ("6011111111111117", MASK),
        ("4111+1111+1111+1111&x=1", f"{MASK}&x=1"),
        ("4111111111111111|12|2027|123 bob", f"{MASK} bob"),
        ("4111 1111 1111 1111 123 bob", f"{MASK} bob"),
        ("line\\n4222222222222\\n", f"line\\n{MASK}\\n"),
        ("her CVV 123 was wrong", f"her CVV {MASK} was wrong"),
        ("cvc2 (1234)", f"cvc2 ({MASK})"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", None),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK-----", None),
        ("{ name: 'password', value: 'abc' }", f"{{ name: 'password', value: '{MASK}' }}"),
        ('["Set-Cookie", "abc", "Host", "x"]', f'["Set-Cookie", "{MASK}", "Host", "x"]'),
        ("token: 'abc and then it was cut", f"token: '{MASK}"),
        ("curl -u bob:abc http://x.example", f"curl -u bob:{MASK} http://x.example"),
        ("curl -sS -ubob:abc x.example", f"curl -sS -ubob:{MASK} x.example"),
        ("curl --user 'bob b:abc abc' x.example", f"curl --user 'bob b:{MASK}' x.example"),
        ("spawnargs: [ '-u', 'bob:abc' ]", f"spawnargs: [ '-u', 'bob:{MASK}' ]"),
        ("spawnargs: [ '--password', 'abc', 'x' ]", f"spawnargs: [ '--password', '{MASK}', 'x' ]"),
        ("redis-cli -h cache -a abc ping", f"redis-cli -h cache -a {MASK} ping"),
        ("mysql -u root -pabc shop", f"mysql -u root -p{MASK} shop"),
        ("npm run.--password abc", f"npm run.--password {MASK}"),
        ("body client_secret%3Dabc", f"body client_secret%3D{MASK}"),
        ("body a%3D1%26password%3Dabc%20abc%26c%3D1", f"body a%3D1%26password%3D{MASK}%26c%3D1"),
        ("user%5Bpassword%5D%3Dabc&b=1", f"user%5Bpassword%5D%3D{MASK}&b=1"),
        ("%7B%22pin%22%3A%22a%5C%22bc%22%7D", f"%7B%22pin%22%3A%22{MASK}%22%7D"),
        ("x?next=%252Fin%253Ftoken%253Dabc%2526a%253D1", f"x?next=%252Fin%253Ftoken%253D{MASK}%2526a%253D1"),
    ],
)
def test_secrets_in_free_text_are_masked(text: str, shown: str | None) -> None:
    masked, hidden = mask_text(text)
    assert hidden == 1
    if shown is not None:
        assert masked == shown
    assert "abc" not in masked


@pytest.mark.parametrize(
    "text",
    [
        "SyntaxError: Unexpected token < in JSON at position 0",
        "TokenExpiredError: jwt expired",
        "    at verify (/app/src/auth/token.js:12:3)",
        "https://x.example/path?mail=a@b.example",
        "token: null, password: undefined, secret: ''",
        "bearer token missing",
        "order 4111111111111112 of card holder",  # fails the check digit
        "number 4111111111111112 alone is an id",
        "1733011200000 1733011200000000 1733011200000000004",  # times: they begin with 1
        "0.4111111111111111 of 4111111111111111.5",
        "9111111111111111 and 4111 1111 11111111",  # of no issuer, in no grouping
        "9f4111111111111111a",
        "cvv is missing",
        "2026-11-30T13:57:04Z GET /a/b: 200",
        "\\u00e9 and \\u0041",
        "mysql -u root",
        "docker run -p 80:80 -u 1000 x",
        "tar -unit:test of https%3A%2F%2Fx.example%2Fa%3Db%3D1",
        "",
    ],
)
def test_text_without_a_secret_comes_back_unchanged(text: str) -> None:
    assert mask_text(text) == (text, 0)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "https://u:QXZ",
            "redis://:Q/X",
            "sent Bearer QX",
            "got eyJQX",
            "card 4111 1111 11",
            "token: 'QX",
            "x --pin QX",
        ),
        *("paid by 41111111", "4111 1111 111"),
    ],
)
def test_the_end_of_a_cut_text_is_masked_where_a_secret_may_begin(text: str) -> None:
    masked, hidden = mask_text(text, cut=True)
    assert hidden == 1
    assert not set("QXZ1") & set(masked)


def test_accents_of_a_key_and_of_a_pattern_do_not_matter() -> None:
    rules = Rules(("*cartao*", "senal"))
    assert is_secret_key("númeroDoCartão", rules) == "*cartao*"
    assert mask_text("cartão=9 señal: 8 card=7", rules) == (f"cartão={MASK} señal: {MASK} card=7", 2)


@pytest.mark.parametrize("digits", ["4111111111111111", "5105105105105100", "378282246310005", "30569309025904"])
def test_of_numbers_like_a_card_only_those_with_the_right_check_digit_are_hidden(digits: str) -> None:
    others = [digits[:-1] + str(digit) for digit in range(10)]
    assert [number for number in others if mask_text(f"a {number} b")[1]] == [digits]


@given(SECRET, st.integers(0, 3), st.sampled_from(["token", "userPassword", "set-cookie", "api_key"]))
@example("QXZQXZ", 2, "token")
@settings(deadline=None)
def test_a_secret_inside_json_inside_strings_is_masked_at_every_depth(secret: str, depth: int, key: str) -> None:
    text = json.dumps({"a": 1, key: secret + '"' + secret, "b": [{key: [secret, {"x": secret}]}]})
    for _ in range(depth):
        text = json.dumps({"body": text})
    assert not set("QXZ") & set(mask_text(text)[0])


@given(st.text())
@settings(deadline=None)
def test_masking_takes_any_text(text: str) -> None:
    masked, hidden = mask_text(text)
    assert hidden or masked == text


def test_a_text_loses_its_colours_and_its_secrets_and_keeps_its_size_and_marks() -> None:
    assert masked(Text("all is well", 11)) == Text("all is well", 11)
    told = masked(Text("\\x1b[31mpassword=QXZQXZ\\x1b[0m\nnext", 99, (Mark.CUT,)))
    assert told == Text(f"password={MASK}\nnext", 99, (Mark.CUT, Mark.MASKED))


def test_the_label_says_how_long_the_hidden_value_is() -> None:
    assert mask_label(36) == f"{MASK} 36 characters"
    assert mask_label(1) == f"{MASK} 1 character"
    assert mask_label(5, at_least=True) == f"{MASK} at least 5 characters"


HOSTILE = {
    "backslashes": "\\" * SIZE,
    "backslashes behind a key": "token:" + "\\" * SIZE,
    "backslashes in a header": "cookie: a" + "\\" * SIZE,
    "backslashes in a string": "token:'" + "\\" * SIZE,
    "backslashes in an object": "token:{" + "\\" * SIZE,
    "quotes": '"' * SIZE,
    "letters": "a" * SIZE,
    "capitals": "A" * SIZE,
    "words": "a " * (SIZE // 2),
    "spaces": "token" + " " * SIZE,
    "line breaks": "token:" + "\n" * SIZE,
    "dashes": "-" * SIZE,
    "colons": ":" * SIZE,
    "secret keys": "token:" * (SIZE // 6),
    "open strings": 'token="' * (SIZE // 7),
    "open objects": "token:{" * (SIZE // 7),
    "open tags": "<token>" * (SIZE // 7),
    "flags": "--token " * (SIZE // 8),
    "urls": "a://a:" * (SIZE // 6) + "@",
    "jwt starts": " eyJaaaaaaaaa" * (SIZE // 13),
    "bearers": "bearer " * (SIZE // 7),
    "private keys": "-----BEGIN PRIVATE KEY-----" * (SIZE // 27),
    "cards": "card 4" * (SIZE // 6),
    "card digits": "card " + "4 " * (SIZE // 2),
    "digits": "4" * SIZE,
    "card numbers": "4111 1111 1111 1111 " * (SIZE // 20),
    "groups": "4111 " * (SIZE // 5),
    "codes": "cvv " * (SIZE // 4),
    "escapes": "\\u0061" * (SIZE // 6),
    "names": "name:'a'," * (SIZE // 9),
    "headers": "cookie'," + " " * SIZE + "cookie'," * (SIZE // 8),
    "camel": "aB" * (SIZE // 2) + ":x",
}


UNITS = [
    *"a.-_$=:\"'`\\/@ ,;{}[]()<>%\n\t0A&?~+|é",
    *(
        "eyJ",
        "token=",
        "password:",
        "Bearer ",
        "://",
        "http://",
        "%22",
        "%25",
        "%3D",
        "\\u0022",
        "--",
        "-u ",
        "-p",
        "name",
    ),
    *("redis-cli ", "mysql", "cookie", "card ", "-----BEGIN PRIVATE KEY-----", "authorization: ", "4111 "),
]
PREFIXES = ("", "token=1, ", "eyJ", "-a:", "https://")
NORMAL = 24 * 1024  # characters that are masked in a few milliseconds


def combinations(rng: random.Random) -> Iterator[str]:
    """Each unit, pairs and triples: some, other ones each time, or in the long runs all pairs."""
    pairs = [first + second for first in UNITS for second in UNITS if first != second]
    yield from UNITS
    yield from pairs if SOAK else rng.sample(pairs, 250)
    for _ in range(3000 if SOAK else 100):
        yield "".join(rng.choices(UNITS, k=3))


def seconds(text: str) -> float:
    begun = time.process_time()
    mask_text(text, cut=True)
    return time.process_time() - begun


def test_no_repeated_piece_makes_masking_quadratic(rng: random.Random) -> None:
    suspects = []
    for number, piece in enumerate(combinations(rng)):
        prefix = PREFIXES[number % len(PREFIXES)]
        for start in {"token=1, ", prefix}:
            text = start + piece * (NORMAL // len(piece))
            if seconds(text) > 0.05:  # quadratic work of a second or more at this length, or noise
                suspects.append((start, piece))
    for start, piece in suspects:
        times = [
            min(seconds(start + piece * (length // len(piece))) for _ in range(2)) for length in (NORMAL, 4 * NORMAL)
        ]
        assert times[1] < max(9 * times[0], 0.3), (start, piece, times)


@pytest.mark.parametrize(
    "text",
    ["token=1, " + "a." * 65_000, "eyJ." * 75_000, "eyJaaaaaaaaaaaaaa." * 15_000, "token=1, a" + "%22" * 80_000],
    ids=["dots", "jwt dots", "jwts", "encoded quotes"],
)
def test_a_run_is_not_read_again_from_each_of_its_parts(text: str) -> None:
    assert seconds(text) < 10  # it once took a minute


def test_what_is_too_long_to_look_at_is_hidden() -> None:
    text, hidden = mask_text("a" * MASKED_UP_TO + " password=QXZ")
    assert (len(text), hidden) == (MASKED_UP_TO + len(MASK), 1)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_masking_stays_linear_on_hostile_text(text: str) -> None:
    begun = time.process_time()
    mask_text(text)
    assert time.process_time() - begun < 20  # a quadratic pattern takes minutes


def test_a_long_key_is_judged_in_linear_time() -> None:
    begun = time.process_time()
    assert is_secret_key("aB" * SIZE + "Token") == "*token*"
    assert is_secret_key("A" * SIZE, DEFAULT) is None
    assert time.process_time() - begun < 20
