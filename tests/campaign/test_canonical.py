"""One spelling for every campaign, and a clear sentence for every other."""

import pytest

from every import every
from lopub.campaign.canonical import (
    LARGEST_INTEGER,
    Members,
    canonical_bytes,
    parse,
    without_empty,
)
from lopub.errors import CampaignError

# ---- writing


def test_keys_are_sorted_by_code_points_and_not_by_utf16_units():
    assert (
        canonical_bytes({"\U0001d49c": 1, "\uff5a": 2, "a": 3})
        == '{"a":3,"\uff5a":2,"\U0001d49c":1}'.encode()
    )


def test_inner_objects_are_sorted_too():
    assert (
        canonical_bytes({"b": [{"d": 1, "c": 2}], "a": True}) == b'{"a":true,"b":[{"c":2,"d":1}]}'
    )


def test_only_quotes_backslashes_and_control_characters_are_escaped():
    text = '"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é'
    assert canonical_bytes(text) == '"\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\u2028é"'.encode()


@every(
    [{}, [], "", 0, -1, True, {"a": [1, "x", False, {"b": []}]}, LARGEST_INTEGER, -LARGEST_INTEGER]
)
def test_canonical_bytes_are_read_back_as_the_same_value(value):
    assert parse(canonical_bytes(value)) == value


# ---- reading


def test_any_spelling_is_read():
    assert parse(b' { "b" : [ 1 ], "\\u0061" : "\\/" } ') == {"a": "/", "b": [1]}


def test_texts_are_read_as_they_are():
    """Versions of Unicode differ in normal forms; two spellings of a text are two texts."""
    assert parse('{"e\u0301":1,"\u00e9":"\ufffe"}'.encode()) == {"e\u0301": 1, "\u00e9": "\ufffe"}


@every(["1.5", "1.0", "1e3"])
def test_a_decimal_is_read_as_a_text(text):
    assert parse(text.encode()) == text


def test_a_member_that_is_named_twice_is_refused():
    with pytest.raises(CampaignError, match="names the same member twice"):
        parse(b'{"a":1,"a":1}')


def test_an_integer_of_thousands_of_digits_is_refused():
    with pytest.raises(CampaignError, match="integers must lie within 9007199254740991 of zero"):
        parse(b"9" * 5000)


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(CampaignError, match="the file is not UTF-8 text"):
        parse(b'{"a":"\xff"}')


def test_a_byte_order_mark_is_refused():
    with pytest.raises(CampaignError, match="no valid JSON at line 1, column 1"):
        parse(b"\xef\xbb\xbf{}")


def test_half_a_surrogate_pair_cannot_be_written():
    with pytest.raises(CampaignError, match="half a surrogate pair"):
        canonical_bytes(parse(rb'{"a":"\ud800"}'))


def test_a_syntax_error_is_placed():
    with pytest.raises(CampaignError, match="no valid JSON at line 2, column 6: Expecting value"):
        parse(b'{\n "a":}')


def test_endless_nesting_is_refused():
    with pytest.raises(CampaignError, match="nested too deeply"):
        parse(b"[" * 200_000 + b"]" * 200_000)


# ---- members


@pytest.fixture
def members() -> Members:
    return Members(
        {
            "text": "x",
            "number": 3,
            "large": -(2**53),
            "truth": True,
            "list": ["a", 1],
            "object": {"inner": 1},
        },
        "here",
    )


@pytest.mark.parametrize(
    ("read", "key", "message"),
    [
        ("text", "number", "here.number must be a text"),
        ("integer", "text", "here.text must be an integer"),
        ("integer", "truth", "here.truth must be an integer"),
        ("boolean", "number", "here.number must be true or false"),
        ("items", "text", "here.text must be a list"),
        ("members", "list", "here.list must be an object"),
        ("integer", "large", "here.large must lie within 9007199254740991 of zero"),
        ("texts", "list", r"here.list\[1\] must be a text"),
        ("text", "other", "here.other is missing"),
        ("take", "other", "here.other is missing"),
    ],
)
def test_a_member_of_the_wrong_type_is_refused_with_its_place(members, read, key, message):
    with pytest.raises(CampaignError, match=f"^{message}$"):
        getattr(members, read)(key)


def test_a_member_that_nobody_took_is_refused_with_its_place(members):
    members.text("text")
    with pytest.raises(CampaignError, match=r"^here\.large is not known to format 1$"):
        members.done()


def test_an_inner_place_is_named_in_full(members):
    with pytest.raises(CampaignError, match=r"^here\.object\.inner must be a text$"):
        members.members("object").text("inner")


def test_a_default_serves_where_the_member_is_left_out(members):
    assert (members.text("a", "x"), members.integer("b", 7), members.boolean("c", False)) == (
        "x",
        7,
        False,
    )


def test_a_member_at_the_top_has_no_dot_before_it():
    with pytest.raises(CampaignError, match=r"^format is missing$"):
        Members({}, "").integer("format")


def test_a_whole_file_that_is_no_object_is_refused_with_a_subject():
    with pytest.raises(CampaignError, match=r"^\S.* must be an object"):
        Members([], "")


def test_an_empty_member_is_left_out():
    assert without_empty({"a": "", "b": 0, "c": {}, "d": False, "e": "x"}) == {"e": "x"}
