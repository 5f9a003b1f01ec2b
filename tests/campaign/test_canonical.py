"""One spelling for every campaign, and a clear sentence for every other."""

import json

import pytest

from every import every
from lopub.campaign.canonical import (
    DEEPEST,
    LARGEST_INTEGER,
    Members,
    canonical_bytes,
    normalize,
    parse,
    parse_canonical,
    without_defaults,
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
    assert parse_canonical(canonical_bytes(value)) == value


# ---- other spellings


@every(
    [
        '{"a": 1}',
        '{"a":1}\n',
        ' {"a":1}',
        '{"b":1,"a":2}',
        '{"\\u0061":1}',
        '{"a":"\\/"}',
        '{"a":"\\u000A"}',
        '{"a":"\\u000a"}',
        '{"a":-0}',
        '{"a":"e\u0301"}',
        '{"e\u0301":1}',
        '{"\U0001d49c":1,"\uff5a":2}',  # the order of UTF-16 units
    ]
)
def test_another_spelling_of_the_same_value_is_refused(text):
    with pytest.raises(CampaignError, match="are JSON but not canonical"):
        parse_canonical(text.encode())


def test_pretty_printed_json_is_refused():
    with pytest.raises(
        CampaignError, match="spaces, order of keys, a member twice, escapes or letters in parts"
    ):
        parse_canonical(json.dumps({"a": 1}, indent=2).encode())


def test_any_spelling_may_be_parsed_where_it_need_not_be_canonical():
    assert parse(b' { "b" : [ 1 ], "\\u0061" : "\\/" } ') == {"a": "/", "b": [1]}


def test_texts_are_normalized():
    assert parse('{"e\u0301":"e\u0301"}'.encode()) == {"\u00e9": "\u00e9"}


def test_normalizing_composes_letters():
    assert normalize("Besanc\u0327on") == "Besançon"


# ---- what has no place


@every(
    [
        '{"a":1.5}',
        '{"a":1.0}',
        '{"a":1e3}',
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":-Infinity}',
        "1.5",
    ]
)
def test_a_decimal_is_refused(text):
    with pytest.raises(CampaignError):
        parse(text.encode())


def test_a_decimal_is_refused_with_a_hint_at_strings():
    with pytest.raises(CampaignError, match="decimals must be written as strings"):
        parse(b'{"a":1.5}')


def test_a_number_that_is_none_is_refused_with_a_hint_at_strings():
    with pytest.raises(CampaignError, match="decimals must be written as strings"):
        parse(b'{"a":NaN}')


def test_a_member_that_is_named_twice_is_refused():
    with pytest.raises(CampaignError, match="names the same member twice"):
        parse(b'{"a":1,"a":1}')


def test_members_that_are_the_same_only_when_composed_are_refused():
    with pytest.raises(CampaignError, match="names the same member twice"):
        parse('{"\u00e9":1,"e\u0301":2}'.encode())


def test_null_is_refused():
    with pytest.raises(
        CampaignError, match="null has no place in a campaign; leave the member out"
    ):
        parse(b'{"a":null}')


@every([2**53, -(2**53), 10**400])
def test_an_integer_above_53_bits_is_refused(number):
    with pytest.raises(CampaignError, match="integers must lie within 9007199254740991 of zero"):
        parse(b'{"a":%d}' % number)


def test_an_integer_of_thousands_of_digits_is_refused():
    with pytest.raises(CampaignError, match="integers must lie within 9007199254740991 of zero"):
        parse(b"9" * 5000)


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(CampaignError, match="must be UTF-8 text"):
        parse(b'{"a":"\xff"}')


def test_a_byte_order_mark_is_refused():
    with pytest.raises(CampaignError, match="no valid JSON at line 1, column 1"):
        parse(b"\xef\xbb\xbf{}")


@every([r'{"a":"\ud800"}', r'{"\udc00":1}'])
def test_half_a_surrogate_pair_is_refused(text):
    with pytest.raises(CampaignError, match="half a surrogate pair"):
        parse(text.encode())


def test_a_syntax_error_is_placed():
    with pytest.raises(CampaignError, match="no valid JSON at line 2, column 6: Expecting value"):
        parse(b'{\n "a":}')


@every([DEEPEST + 1, 500, 200_000])
def test_deep_nesting_is_refused(n_deep):
    with pytest.raises(CampaignError, match="nested at most 16 deep"):
        parse(b"[" * n_deep + b"]" * n_deep)


def test_nesting_within_the_limit_is_accepted():
    assert parse(b"[" * DEEPEST + b"]" * DEEPEST)


# ---- members


@pytest.fixture
def members() -> Members:
    return Members(
        {"text": "x", "number": 3, "truth": True, "list": ["a", 1], "object": {"inner": 1}}, "here"
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
    with pytest.raises(CampaignError, match=r"^here\.list is not known to format 1 or 2$"):
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


def test_a_member_equal_to_its_default_is_left_out():
    assert without_defaults({"a": "", "b": 0, "c": ""}, {"a": "", "b": 1}) == {"b": 0, "c": ""}
