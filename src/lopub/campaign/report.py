"""Report: one person's noisy answer; bytes in and out. docs/format.md describes every byte."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from lopub.campaign.admission import SIGNATURE_BYTES
from lopub.campaign.campaign import HEADER_BYTES, LONGEST_REPORT, Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel
from lopub.campaign.texts import base64url, bytes_of, one_line
from lopub.errors import Reason, ReportRejected
from lopub.files import members_once

VERSION = 1
ID_BYTES = 16
PREFIX, ID, SLOT = slice(1, 9), slice(9, 25), slice(25, HEADER_BYTES)
"""Where the header's members lie after the version."""
FRAMED_TYPE = "application/vnd.lopub.reports.v1"
"""Of framed reports in a request."""
JSON_TYPE = "application/json"
"""Of JSON twins, of campaigns, and of answers."""
_MEMBERS = {"version", "campaign", "id", "slot", "payload"}


@dataclass(frozen=True, kw_only=True)
class Report:
    """A well-formed report. `from_bytes` and the client make them; both check them against their campaign."""

    campaign: bytes
    """The first 8 bytes of the campaign's id."""
    id: bytes
    """16 random bytes; a retry carries the same."""
    slot: int
    """Days since 1970-01-01."""
    mask: bytes
    """The view: attribute i in bit i & 7 of byte i >> 3; empty where every report covers everything."""
    payload: bytes
    """The noisy bits of all blocks, concatenated."""
    signature: bytes = b""
    """Shows that its sender was invited; empty where everybody may take part. Its length is checked, and nothing else."""

    def __repr__(self) -> str:
        return one_line(
            self,
            f"campaign {self.campaign.hex()}…",
            f"slot {self.slot}",
            f"{len(self.payload)} bytes of payload",
        )

    def to_bytes(self) -> bytes:
        """The bytes that are sent and kept."""
        return (
            bytes([VERSION])
            + self.campaign
            + self.id
            + self.slot.to_bytes(4)
            + self.mask
            + self.payload
            + self.signature
        )

    @classmethod
    def from_bytes(cls, data: bytes, campaign: Campaign) -> Self:
        """The report, or ReportRejected with the reason."""
        start, n_signed = HEADER_BYTES + campaign.mask_bytes, campaign.signature_bytes
        if len(data) < start + n_signed:
            needed = f"campaign {campaign.id[:8]}… needs at least {start + n_signed}"
            _refuse(Reason.LENGTH, f"report has {len(data)} bytes, {needed}")
        _check_header(data[0], data[PREFIX], campaign)
        report = cls(
            campaign=data[PREFIX],
            id=data[ID],
            slot=int.from_bytes(data[SLOT]),
            mask=data[HEADER_BYTES:start],
            payload=data[start : len(data) - n_signed],
            signature=data[len(data) - n_signed :],
        )
        report._check(campaign)
        return report

    def _check(self, campaign: Campaign) -> None:
        schedule = campaign.terms.schedule
        if schedule and self.slot not in schedule.slots:
            _refuse(
                Reason.SLOT,
                f"report has slot {self.slot}, the campaign's schedule has {schedule.slots[0]} to {schedule.slots[-1]}"
                + (f", every {schedule.slots.step} days" if schedule.repeat else ""),
            )
        view = self.view(campaign)
        needed = campaign.payload_bytes(view)
        if len(self.payload) != needed:
            message = f"payload has {len(self.payload)} bytes, this campaign and view need {needed}"
            _refuse(Reason.LENGTH, message)
        self.outputs(campaign)

    def view(self, campaign: Campaign) -> Clique:
        """The positions of the attributes that this report covers."""
        domain = campaign.domain
        if not campaign.view.masked:
            return tuple(range(len(domain)))
        view = view_of(self.mask)
        if not view or view[-1] >= len(domain) or not campaign.view.can_draw(view, domain.sizes):
            message = "the view mask names a set of attributes that this campaign cannot draw"
            _refuse(Reason.VIEW, message)
        return view

    def outputs(self, campaign: Campaign) -> tuple[int, ...]:
        """The blocks' outputs, in order, each one that its channel can give."""
        channels = campaign.channels(self.view(campaign))
        outputs = unpack(self.payload, channels)
        for channel, output in zip(channels, outputs, strict=True):
            channel.check(output)
        return outputs

    def to_json(self) -> str:
        """The JSON twin, for people with curl."""
        members: dict[str, str | int] = {
            "version": VERSION,
            "campaign": self.campaign.hex(),
            "id": base64url(self.id),
            "slot": self.slot,
            "payload": base64url(self.payload),
        }
        if self.mask:
            members["view"] = base64url(self.mask)
        if self.signature:
            members["signature"] = base64url(self.signature)
        return json.dumps(members)

    @classmethod
    def from_json(cls, text: str | bytes, campaign: Campaign) -> Self:
        """The report of a JSON twin, checked as strictly as its bytes."""
        try:
            decoded = text if isinstance(text, str) else text.decode()
            value = json.loads(decoded, object_pairs_hook=members_once)
        except (ValueError, RecursionError):
            _refuse(Reason.JSON, "the JSON twin is not valid JSON in UTF-8, each member named once")
        return cls.from_members(value, campaign)

    @classmethod
    def from_members(cls, value: Any, campaign: Campaign) -> Self:
        """The report of a JSON twin that was parsed already."""
        return cls.from_bytes(_wire_bytes(value, campaign), campaign)


def _check_header(version: int, prefix: bytes, campaign: Campaign) -> None:
    if version != VERSION:
        message = f"report has version {version}, this program knows version {VERSION}"
        _refuse(Reason.VERSION, message)
    if prefix != campaign.prefix:
        message = f"report was made for campaign {prefix.hex()}…, not for {campaign.id[:16]}…"
        _refuse(Reason.CAMPAIGN, message)


def _wire_bytes(value: Any, campaign: Campaign) -> bytes:
    """The wire bytes, assembled from the JSON twin's members."""
    members = _MEMBERS | ({"signature"} if campaign.signature_bytes else set())
    if not isinstance(value, dict) or set(value) - {"view"} != members:
        named = f"{', '.join(sorted(members))}, and view where there is one"
        _refuse(Reason.JSON, f"the JSON twin must be an object with the members {named}")
    version, slot = _integer(value, "version", 8), _integer(value, "slot", 32)
    prefix = value["campaign"]
    if not isinstance(prefix, str) or not re.fullmatch(r"[0-9a-f]{16}", prefix):
        _refuse(Reason.JSON, "member campaign of the JSON twin must be 16 hexadecimal digits")
    _check_header(version, bytes.fromhex(prefix), campaign)
    id_ = _binary(value, "id", ID_BYTES)
    signature = _binary(value, "signature", SIGNATURE_BYTES) if "signature" in members else b""
    mask = _binary(value, "view") if "view" in value else b""
    if len(mask) != campaign.mask_bytes:
        wanted = f"must stand for {campaign.mask_bytes} bytes, got {len(mask)}"
        _refuse(Reason.VIEW, f"member view of the JSON twin {wanted}")
    return (
        version.to_bytes(1)
        + bytes.fromhex(prefix)
        + id_
        + slot.to_bytes(4)
        + mask
        + _binary(value, "payload")
        + signature
    )


def _integer(value: dict[str, Any], key: str, n_bits: int) -> int:
    number = value[key]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << n_bits:
        _refuse(Reason.JSON, f"member {key} of the JSON twin must be an integer of {n_bits} bits")
    return number


def _binary(value: dict[str, Any], key: str, n_bytes: int | None = None) -> bytes:
    """The bytes of a member; n_bytes: how many they must be, where that is fixed."""
    data = bytes_of(value[key]) if isinstance(value[key], str) else None
    if data is None:
        _refuse(Reason.JSON, f"member {key} of the JSON twin must be base64url without padding")
    if n_bytes is not None and len(data) != n_bytes:
        wanted = f"must stand for {n_bytes} bytes, got {len(data)}"
        _refuse(Reason.JSON, f"member {key} of the JSON twin {wanted}")
    return data


def _refuse(reason: Reason, message: str) -> NoReturn:
    raise ReportRejected(reason, message)


def mask_of(view: Clique, n_bytes: int) -> bytes:
    """The view as a mask: attribute i in bit i & 7 of byte i >> 3."""
    return sum(1 << position for position in view).to_bytes(n_bytes, "little")


def view_of(mask: bytes) -> Clique:
    """The view of a mask."""
    bits = int.from_bytes(mask, "little")
    return tuple(position for position in range(8 * len(mask)) if bits >> position & 1)


def pack(outputs: Sequence[int], channels: Sequence[Channel]) -> bytes:
    """The payload: the outputs concatenated, bit i in byte i >> 3 at position i & 7, padding zero."""
    bits = at = 0
    for output, channel in zip(outputs, channels, strict=True):
        bits |= output << at
        at += channel.width
    return bits.to_bytes((at + 7) // 8, "little")


def unpack(payload: bytes, channels: Sequence[Channel]) -> tuple[int, ...]:
    """The outputs of a payload of the right length; refuses padding that is not zero."""
    bits = int.from_bytes(payload, "little")
    outputs = []
    for channel in channels:
        outputs.append(bits & ((1 << channel.width) - 1))
        bits >>= channel.width
    if bits:
        _refuse(Reason.PADDING, "a padding bit behind the last bit of the payload is not zero")
    return tuple(outputs)


def framed(reports: Iterable[bytes]) -> bytes:
    """Reports as in a request or a file: each preceded by its length in two bytes, big-endian."""
    return b"".join(_length(report) + report for report in reports)


def _length(report: bytes) -> bytes:
    if len(report) > LONGEST_REPORT:
        message = f"report has {len(report)} bytes, at most {LONGEST_REPORT} can be framed"
        _refuse(Reason.LENGTH, message)
    return len(report).to_bytes(2)


def unframed(data: bytes) -> Iterator[bytes]:
    """The reports of a request or a file, unchecked; the last one may turn out to be cut off."""
    at = 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2])
        if at + 2 > len(data):
            _refuse(Reason.LENGTH, "the last report is cut off in the middle of its length")
        if end > len(data):
            left = f"{len(data) - at} bytes are left where {end - at} should be"
            _refuse(Reason.LENGTH, f"the last report is cut off: {left}")
        yield data[at + 2 : end]
        at = end


__all__ = [
    "LONGEST_REPORT",
    "VERSION",
    "Report",
    "base64url",
    "framed",
    "mask_of",
    "pack",
    "unframed",
    "unpack",
    "view_of",
]
