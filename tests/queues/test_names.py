"""Names and ids as exact bytes: one to one into URLs and back, and visible in full before eyes."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queues.names import decode_part, encode_part, show_controls, visible
from queues.types import JobRef, QueueRef
from tests.hostile import JOB_IDS, QUEUE_NAMES

PLAIN = set(string.ascii_letters + string.digits + "._@-")


@given(st.binary(max_size=60), st.booleans())
def test_every_name_comes_back_from_its_slug_byte_by_byte(raw: bytes, colon: bool) -> None:
    slug = encode_part(raw, colon=colon)
    assert decode_part(slug, colon=colon) == raw
    assert slug not in ("", ".", "..")
    assert set(slug) <= PLAIN | {"~", "_"} | ({":"} if colon else set())


@given(st.text(max_size=40), st.booleans())
def test_a_text_that_no_name_has_as_its_slug_is_refused(text: str, colon: bool) -> None:
    try:
        raw = decode_part(text, colon=colon)
    except ValueError:
        return
    assert encode_part(raw, colon=colon) == text


@pytest.mark.parametrize("text", ["", "~YQ", "~YQ==", "~!", "a b", "a/b", "ü", "~é", "..", "~" + "A" * 5, "a:b"])
def test_slugs_that_are_not_canonical_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_part(text)


@given(st.binary(min_size=1, max_size=30), st.binary(min_size=1, max_size=30))
def test_a_queue_comes_back_from_its_slug(prefix: bytes, name: bytes) -> None:
    ref = QueueRef("main", prefix, name)
    assert QueueRef.from_slug("main", ref.slug) == ref


@pytest.mark.parametrize("slug", ["bull:shop", ":shop", "shop:", "a:b:c", "~YnVsbA:shop", "shop/x", ""])
def test_a_queue_has_one_slug_only(slug: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        QueueRef.from_slug("main", slug)


def test_hostile_names_are_one_segment_of_a_path_and_stay_apart() -> None:
    slugs = [QueueRef("main", b"bull", name).slug for name in QUEUE_NAMES]
    ids = [JobRef(QueueRef("main", b"bull", b"x"), job).slug for job in JOB_IDS]
    for slug in (*slugs, *ids):
        assert slug.isascii()
        assert not set(slug) & set("/?#% <>\"'\\")
    assert len(set(slugs)) == len(slugs)
    assert len(set(ids)) == len(ids)


@given(st.binary(max_size=200))
def test_what_is_visible_can_be_sent_and_holds_no_control_character(raw: bytes) -> None:
    shown = visible(raw)
    shown.encode("utf-8")
    assert not set(shown) & {chr(code) for code in (*range(32), *range(127, 160), *range(0x202A, 0x202F))}


def test_controls_bidi_marks_and_surrogates_are_written_out() -> None:
    assert visible(b"\x1b[31mred\n\t\xff") == "\\x1b[31mred\\n\\t\ufffd"
    assert visible("\u202egnp.exe".encode()) == "\\u202egnp.exe"
    assert show_controls("a\n\tb\r\x00") == "a\n\tb\\x0d\\x00"
    assert show_controls("x\ud800y") == "x\\ud800y"
    assert show_controls("\u200f\u2066\ufeff\u200b") == "\\u200f\\u2066\\ufeff\\u200b"
    assert show_controls("👩‍👩‍👧 漢字 é") == "👩‍👩‍👧 漢字 é"
