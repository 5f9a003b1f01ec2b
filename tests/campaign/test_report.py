"""Bytes in and out; every way to be malformed has its reason."""

import base64
import json

import pytest

from every import every
from lopub import (
    AllAttributes,
    Boolean,
    Campaign,
    Categorical,
    Domain,
    IntegerRange,
    Listed,
    Reason,
    Report,
    ReportRejected,
    Sample,
    Schedule,
    Terms,
)
from lopub.campaign.budget import UNIT
from lopub.campaign.mechanisms import Direct, Mechanism, Subset, Unary
from lopub.campaign.mechanisms.bloom import Bloom
from lopub.campaign.report import framed, mask_of, pack, unframed, unpack, view_of
from lopub.campaign.schedule import EPOCH
from lopub.campaign.views import ViewRule

DOMAIN = Domain(
    (
        Boolean(name="a"),
        Categorical(name="b", values=("x", "y", "z")),
        IntegerRange(name="c", minimum=0, maximum=299),
    )
)
ODDS = 3 * UNIT


def campaign(
    mechanism: Mechanism,
    view: ViewRule,
    *,
    jointly: bool = False,
    days: tuple[int, int] | None = None,
) -> Campaign:
    schedule = None
    if days:
        opens, closes = (EPOCH.fromordinal(EPOCH.toordinal() + day) for day in days)
        schedule = Schedule(opens=opens, closes=closes)
    terms = Terms(name="t", schedule=schedule)
    return Campaign(domain=DOMAIN, mechanism=mechanism, view=view, jointly=jointly, terms=terms)


PAIRS = campaign(Direct({2: ODDS}), Sample(2))
BITS = campaign(Unary({3: UNIT // 4}, symmetric=True), AllAttributes())
SUBSET = campaign(Subset({1: ODDS, 2: ODDS}), Listed.of(DOMAIN, [(("a", "b"), 1), (("c",), 1)]))
SCHEDULED = campaign(Bloom({3: UNIT // 4}, 64, 4), AllAttributes(), days=(20_000, 20_010))


def wire(
    to: Campaign, payload: bytes, *, mask: bytes = b"", version: int = 1, slot: int = 20_000
) -> bytes:
    return bytes([version]) + to.prefix + bytes(range(16)) + slot.to_bytes(4) + mask + payload


def reason(data: bytes, to: Campaign) -> tuple[Reason, str]:
    with pytest.raises(ReportRejected) as refusal:
        Report.from_bytes(data, to)
    return refusal.value.reason, str(refusal.value)


# ---- layout


def test_a_report_is_laid_out_as_the_format_says():
    data = wire(PAIRS, b"\x02\x01\x2b", mask=b"\x06")
    report = Report.from_bytes(data, PAIRS)
    assert (report.campaign, report.id, report.slot) == (PAIRS.prefix, bytes(range(16)), 20_000)
    assert (report.mask, report.payload) == (b"\x06", b"\x02\x01\x2b")
    assert report.to_bytes() == data


def test_a_report_tells_which_attributes_it_covers():
    assert Report.from_bytes(wire(PAIRS, b"\x02\x01\x2b", mask=b"\x06"), PAIRS).view(PAIRS) == (
        1,
        2,
    )


def test_a_report_without_mask_covers_everything():
    assert Report.from_bytes(wire(BITS, bytes(39)), BITS).view(BITS) == (0, 1, 2)


def test_the_outputs_of_direct_are_big_endian_numbers():
    report = Report.from_bytes(wire(PAIRS, b"\x02\x01\x2b", mask=b"\x06"), PAIRS)
    cells = [
        channel.cell(output)
        for channel, output in zip(PAIRS.channels((1, 2)), report.outputs(PAIRS), strict=True)
    ]
    assert cells == [2, 299]


def test_the_outputs_of_bits_follow_each_other_without_gaps():
    report = Report.from_bytes(wire(BITS, b"\x31" + bytes(37) + b"\x01"), BITS)
    assert report.outputs(BITS) == (0b01, 0b100, 1 | 1 << 299)


@every([((0,), b"\x01\x00"), ((7, 8), b"\x80\x01"), ((0, 9, 15), b"\x01\x82")])
def test_a_mask_has_attribute_i_in_bit_i(view, mask):
    assert mask_of(view, 2) == mask
    assert view_of(mask) == view


def test_packing_is_undone_by_unpacking():
    channels = BITS.channels((0, 1, 2))
    assert unpack(pack((1, 5, 77), channels), channels) == (1, 5, 77)


# ---- reasons


@every([0, 1, 28])
def test_a_report_shorter_than_its_header_is_refused_for_its_length(n_bytes):
    told = reason(wire(BITS, bytes(39))[:n_bytes], BITS)
    assert told == (
        Reason.LENGTH,
        f"report has {n_bytes} bytes, campaign {BITS.id[:8]}… needs at least 29",
    )


def test_a_report_without_its_mask_is_refused_for_its_length():
    told = reason(wire(PAIRS, b""), PAIRS)
    assert told == (
        Reason.LENGTH,
        f"report has 29 bytes, campaign {PAIRS.id[:8]}… needs at least 30",
    )


@every([0, 38, 40])
def test_a_payload_of_another_length_is_refused(n_bytes):
    told = reason(wire(BITS, bytes(n_bytes)), BITS)
    assert told == (Reason.LENGTH, f"payload has {n_bytes} bytes, this campaign and view need 39")


def test_the_length_that_is_needed_depends_on_the_view():
    assert reason(wire(PAIRS, b"\0\0\0", mask=b"\x03"), PAIRS)[0] is Reason.LENGTH
    assert Report.from_bytes(wire(PAIRS, b"\0\0", mask=b"\x03"), PAIRS)


@every([0, 2, 255])
def test_another_version_is_refused(version):
    told = reason(wire(BITS, bytes(39), version=version), BITS)
    assert told == (Reason.VERSION, f"report has version {version}, this program knows version 1")


def test_a_report_for_another_campaign_is_refused():
    kind, message = reason(wire(PAIRS, bytes(39)), BITS)
    assert kind is Reason.CAMPAIGN
    assert message == f"report was made for campaign {PAIRS.id[:16]}…, not for {BITS.id[:16]}…"


@every([0, 19_999, 20_011, 2**32 - 1])
def test_a_day_outside_the_schedule_is_refused(slot):
    told = reason(wire(SCHEDULED, bytes(24), slot=slot), SCHEDULED)
    assert told == (
        Reason.SLOT,
        f"report has slot {slot}, the campaign's schedule has 20000 to 20010",
    )


@every([20_000, 20_010])
def test_the_first_and_the_last_day_of_the_schedule_are_accepted(slot):
    assert Report.from_bytes(wire(SCHEDULED, bytes(24), slot=slot), SCHEDULED).slot == slot


@every([0, 2**32 - 1])
def test_any_day_is_accepted_without_a_schedule(slot):
    assert Report.from_bytes(wire(BITS, bytes(39), slot=slot), BITS).slot == slot


@every([b"\x00", b"\x01", b"\x07", b"\x09", b"\x86"])
def test_a_view_that_cannot_be_drawn_is_refused(mask):
    told = reason(wire(PAIRS, bytes(3), mask=mask), PAIRS)
    assert told == (
        Reason.VIEW,
        "the view mask names a set of attributes that this campaign cannot draw",
    )


def test_a_view_that_is_not_on_the_list_is_refused():
    assert reason(wire(SUBSET, bytes(2), mask=b"\x05"), SUBSET)[0] is Reason.VIEW


@every([0x02, 0x80, 0xFF])
def test_a_padding_bit_that_is_one_is_refused(last):
    told = reason(wire(BITS, bytes(38) + bytes([last])), BITS)
    assert told == (Reason.PADDING, "a padding bit behind the last bit of the payload is not zero")


@every([b"\x03\x00\x00", b"\x00\x01\x2c", b"\x00\xff\xff"])
def test_a_number_above_its_block_is_refused(payload):
    kind, message = reason(wire(PAIRS, payload, mask=b"\x06"), PAIRS)
    assert kind is Reason.RANGE
    assert message in (
        "a number is not below the 3 cells of its block",
        "a number is not below the 300 cells of its block",
    )


@every([(b"\x04", 0), (b"\x07", 2), (b"\x01", 0), (b"\x1d", 3)])
def test_a_subset_with_the_wrong_number_of_ones_is_refused(payload, n_ones):
    told = reason(wire(SUBSET, payload, mask=b"\x03"), SUBSET)
    assert told == (Reason.WEIGHT, f"a block has {n_ones} ones, this campaign's blocks have 1")


def test_a_refused_report_is_counted_under_a_word_that_never_changes():
    assert [str(reason) for reason in Reason] == [
        "length",
        "version",
        "campaign",
        "slot",
        "view",
        "padding",
        "range",
        "weight",
        "json",
        "conflict",
        "withdrawn",
    ]


# ---- the JSON twin


def twin(**changes: object) -> dict[str, object]:
    report = Report.from_bytes(wire(PAIRS, b"\x02\x01\x2b", mask=b"\x06"), PAIRS)
    return json.loads(report.to_json()) | changes


def test_the_twin_stands_for_the_same_bytes():
    report = Report.from_json(json.dumps(twin()), PAIRS)
    assert report.to_bytes() == wire(PAIRS, b"\x02\x01\x2b", mask=b"\x06")


def test_the_twin_is_read_from_bytes_as_well():
    assert Report.from_json(json.dumps(twin(), indent=2).encode(), PAIRS) == Report.from_json(
        json.dumps(twin()), PAIRS
    )


def test_the_twin_of_a_report_of_everything_has_no_view():
    assert "view" not in json.loads(Report.from_bytes(wire(BITS, bytes(39)), BITS).to_json())


def test_the_twin_is_base64url_without_padding():
    members = json.loads(
        Report.from_bytes(wire(PAIRS, b"\x02\x01\x2b", mask=b"\x06"), PAIRS).to_json()
    )
    assert members["id"] == base64.urlsafe_b64encode(bytes(range(16))).decode().rstrip("=")
    assert (members["view"], members["payload"], members["campaign"]) == (
        "Bg",
        "AgEr",
        PAIRS.id[:16],
    )


@every(
    [
        ({"version": 256}, "member version of the JSON twin must be an integer of 8 bits"),
        ({"version": "1"}, "member version of the JSON twin must be an integer of 8 bits"),
        ({"version": True}, "member version of the JSON twin must be an integer of 8 bits"),
        ({"slot": -1}, "member slot of the JSON twin must be an integer of 32 bits"),
        ({"slot": 1.0}, "member slot of the JSON twin must be an integer of 32 bits"),
        ({"slot": 2**32}, "member slot of the JSON twin must be an integer of 32 bits"),
        ({"slot": None}, "member slot of the JSON twin must be an integer of 32 bits"),
        ({"campaign": PAIRS.id}, "member campaign of the JSON twin must be 16 hexadecimal digits"),
        ({"campaign": "G" * 16}, "member campaign of the JSON twin must be 16 hexadecimal digits"),
        ({"campaign": "A" * 16}, "member campaign of the JSON twin must be 16 hexadecimal digits"),
        ({"campaign": 4}, "member campaign of the JSON twin must be 16 hexadecimal digits"),
        ({"id": "AAAA"}, "member id of the JSON twin must stand for 16 bytes, got 3"),
        ({"id": "A" * 22 + "=="}, "member id of the JSON twin must be base64url without padding"),
        ({"id": "A" * 21 + "B"}, "member id of the JSON twin must be base64url without padding"),
        ({"id": "A" * 21 + "\n"}, "member id of the JSON twin must be base64url without padding"),
        ({"id": ["A" * 22]}, "member id of the JSON twin must be base64url without padding"),
        ({"view": "B"}, "member view of the JSON twin must be base64url without padding"),
        ({"view": 6}, "member view of the JSON twin must be base64url without padding"),
        ({"payload": "AgE+"}, "member payload of the JSON twin must be base64url without padding"),
        ({"payload": "Äg"}, "member payload of the JSON twin must be base64url without padding"),
        (
            {"more": 1},
            "the JSON twin must be an object with the members campaign, id, payload, slot, version, and view where there is one",
        ),
    ]
)
def test_a_twin_with_a_wrong_member_is_refused(changes, message):
    with pytest.raises(ReportRejected, match=f"^{message}$") as refusal:
        Report.from_json(json.dumps(twin(**changes)), PAIRS)
    assert refusal.value.reason is Reason.JSON


@every(["version", "campaign", "id", "slot", "payload"])
def test_a_twin_without_a_member_is_refused(left_out):
    members = {key: value for key, value in twin().items() if key != left_out}
    with pytest.raises(ReportRejected, match="must be an object with the members") as refusal:
        Report.from_json(json.dumps(members), PAIRS)
    assert refusal.value.reason is Reason.JSON


@every(["", "{", b"\xff", "[" * 100_000, "9" * 5000, "\ufeff{}"])
def test_a_twin_that_is_no_json_is_refused(text):
    with pytest.raises(ReportRejected, match="the JSON twin is not valid JSON") as refusal:
        Report.from_json(text, PAIRS)
    assert refusal.value.reason is Reason.JSON


@every(["[]", "1", "null", '"x"', "true"])
def test_a_twin_that_is_no_object_is_refused(text):
    with pytest.raises(ReportRejected, match="the JSON twin must be an object with the members"):
        Report.from_json(text, PAIRS)


@every(
    [
        ({"version": 2}, Reason.VERSION),
        ({"campaign": BITS.id[:16]}, Reason.CAMPAIGN),
        ({"view": "Bw"}, Reason.VIEW),
        ({"payload": "AgEsAA"}, Reason.LENGTH),
        ({"payload": "AgEs"}, Reason.RANGE),
    ]
)
def test_a_twin_is_checked_as_strictly_as_the_bytes(changes, expected):
    with pytest.raises(ReportRejected) as refusal:
        Report.from_json(json.dumps(twin(**changes)), PAIRS)
    assert refusal.value.reason is expected


@every([{"view": "BgIBKw", "payload": ""}, {"view": "", "payload": "BgIBKw"}])
def test_a_twin_whose_view_is_part_of_its_payload_is_refused(changes):
    with pytest.raises(ReportRejected):
        Report.from_json(json.dumps(twin(**changes)), PAIRS)


def test_a_twin_that_names_a_member_twice_is_refused():
    text = json.dumps(twin())[:-1] + ', "slot": 20001}'
    with pytest.raises(ReportRejected):
        Report.from_json(text, PAIRS)


def test_a_twin_that_is_not_utf8_is_refused():
    with pytest.raises(ReportRejected):
        Report.from_json(json.dumps(twin()).encode("utf-16"), PAIRS)


# ---- framing


def test_framed_reports_are_found_again():
    reports = [b"", b"a", b"bc" * 1000, bytes(65_535), b""]
    assert list(unframed(framed(reports))) == reports


def test_a_frame_is_a_length_of_two_bytes_and_the_report():
    assert framed([b"abc", b""]) == b"\x00\x03abc\x00\x00"


def test_nothing_framed_is_no_reports():
    assert list(unframed(b"")) == []


def test_reports_before_a_cut_are_still_handed_out():
    reports = unframed(b"\x00\x01a\x00\x05bc")
    assert next(reports) == b"a"
    with pytest.raises(
        ReportRejected, match="the last report is cut off: 4 bytes are left where 7 should be"
    ) as refusal:
        next(reports)
    assert refusal.value.reason is Reason.LENGTH


def test_half_a_length_is_refused():
    with pytest.raises(ReportRejected, match="the last report is cut off") as refusal:
        list(unframed(b"\x01"))
    assert refusal.value.reason is Reason.LENGTH
