"""Report: one person's noisy answer; bytes in and out. docs/format.md describes every byte."""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from lopub.campaign.campaign import HEADER_BYTES, LONGEST_REPORT, Campaign
from lopub.campaign.domain import Clique
from lopub.campaign.mechanisms import Channel
from lopub.campaign.texts import one_line
from lopub.errors import Reason, ReportRejected
from lopub.files import members_once

VERSION = 1
ID_BYTES = 16
PREFIX, ID, SLOT = slice(1, 9), slice(9, 25), slice(25, HEADER_BYTES)
"""Where the header's members lie, behind the version."""
FRAMED_TYPE = "application/vnd.lopub.reports.v1"
"""Of framed reports in a request."""
JSON_TYPE = "application/json"
"""Of JSON twins, of campaigns, and of answers."""
_BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
_MEMBERS = {"version", "campaign", "id", "slot", "view", "payload"}


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
    """The noisy bits of all blocks, one behind the other."""

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
        )

    @classmethod
    def from_bytes(cls, data: bytes, campaign: Campaign) -> Self:
        """The report, or ReportRejected with the reason."""
        start = HEADER_BYTES + campaign.mask_bytes
        if len(data) < start:
            _refuse(
                Reason.LENGTH,
                f"report has {len(data)} bytes, campaign {campaign.id[:8]}… needs at least {start}",
            )
        if data[0] != VERSION:
            _refuse(
                Reason.VERSION,
                f"report has version {data[0]}, this program knows version {VERSION}",
            )
        if data[PREFIX] != campaign.prefix:
            _refuse(
                Reason.CAMPAIGN,
                f"report was made for campaign {data[PREFIX].hex()}…, not for {campaign.id[:16]}…",
            )
        report = cls(
            campaign=data[PREFIX],
            id=data[ID],
            slot=int.from_bytes(data[SLOT]),
            mask=data[HEADER_BYTES:start],
            payload=data[start:],
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
            _refuse(
                Reason.LENGTH,
                f"payload has {len(self.payload)} bytes, this campaign and view need {needed}",
            )
        self.outputs(campaign)

    def view(self, campaign: Campaign) -> Clique:
        """The positions of the attributes that this report covers."""
        domain = campaign.domain
        if not campaign.view.masked:
            return tuple(range(len(domain)))
        view = view_of(self.mask)
        if not view or view[-1] >= len(domain) or not campaign.view.can_draw(view, domain.sizes):
            _refuse(
                Reason.VIEW,
                "the view mask names a set of attributes that this campaign cannot draw",
            )
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
        return json.dumps(members)

    @classmethod
    def from_json(cls, text: str | bytes, campaign: Campaign) -> Self:
        """The report that a JSON twin stands for, checked as strictly as the bytes."""
        try:
            decoded = text if isinstance(text, str) else text.decode()
            value = json.loads(decoded, object_pairs_hook=members_once)
        except (ValueError, RecursionError):
            _refuse(Reason.JSON, "the JSON twin is not valid JSON in UTF-8, each member named once")
        return cls.from_members(value, campaign)

    @classmethod
    def from_members(cls, value: Any, campaign: Campaign) -> Self:
        """The report that a JSON twin stands for, where that was parsed already."""
        return cls.from_bytes(_wire_bytes(value, campaign), campaign)


def _wire_bytes(value: Any, campaign: Campaign) -> bytes:
    """The bytes that the JSON twin's members stand for, in their order."""
    if not isinstance(value, dict) or set(value) | {"view"} != _MEMBERS:
        _refuse(
            Reason.JSON,
            f"the JSON twin must be an object with the members {', '.join(sorted(_MEMBERS))}",
        )
    version, slot = _integer(value, "version", 8), _integer(value, "slot", 32)
    prefix = value["campaign"]
    if not isinstance(prefix, str) or not re.fullmatch(r"[0-9a-f]{16}", prefix):
        _refuse(Reason.JSON, "member campaign of the JSON twin must be 16 hexadecimal digits")
    if version != VERSION:
        _refuse(
            Reason.VERSION, f"report has version {version}, this program knows version {VERSION}"
        )
    if prefix != campaign.prefix.hex():
        _refuse(
            Reason.CAMPAIGN, f"report was made for campaign {prefix}…, not for {campaign.id[:16]}…"
        )
    id_ = _binary(value, "id")
    if len(id_) != ID_BYTES:
        _refuse(
            Reason.JSON,
            f"member id of the JSON twin must stand for {ID_BYTES} bytes, got {len(id_)}",
        )
    mask = _binary(value, "view") if "view" in value else b""
    if len(mask) != campaign.mask_bytes:
        _refuse(
            Reason.VIEW,
            f"member view of the JSON twin must stand for {campaign.mask_bytes} bytes, got {len(mask)}",
        )
    return (
        version.to_bytes(1)
        + bytes.fromhex(prefix)
        + id_
        + slot.to_bytes(4)
        + mask
        + _binary(value, "payload")
    )


def _integer(value: dict[str, Any], key: str, n_bits: int) -> int:
    number = value[key]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << n_bits:
        _refuse(Reason.JSON, f"member {key} of the JSON twin must be an integer of {n_bits} bits")
    return number


def _binary(value: dict[str, Any], key: str) -> bytes:
    text = value[key]
    if isinstance(text, str) and _BASE64URL.fullmatch(text) and len(text) % 4 != 1:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if base64url(data) == text:  # one spelling only: unused low bits must be zero
            return data
    _refuse(Reason.JSON, f"member {key} of the JSON twin must be base64url without padding")


def _refuse(reason: Reason, message: str) -> NoReturn:
    raise ReportRejected(reason, message)


def base64url(data: bytes) -> str:
    """The text that stands for bytes in JSON, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def mask_of(view: Clique, n_bytes: int) -> bytes:
    """The view as a mask: attribute i in bit i & 7 of byte i >> 3."""
    return sum(1 << position for position in view).to_bytes(n_bytes, "little")


def view_of(mask: bytes) -> Clique:
    """The view that a mask stands for."""
    bits = int.from_bytes(mask, "little")
    return tuple(position for position in range(8 * len(mask)) if bits >> position & 1)


def pack(outputs: Sequence[int], channels: Sequence[Channel]) -> bytes:
    """The payload: the outputs one behind the other, bit i in byte i >> 3 at position i & 7, padding zero."""
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
    """Reports as they stand in a request or a file: each behind its length in two bytes, big-endian."""
    return b"".join(_length(report) + report for report in reports)


def _length(report: bytes) -> bytes:
    if len(report) > LONGEST_REPORT:
        _refuse(
            Reason.LENGTH, f"report has {len(report)} bytes, at most {LONGEST_REPORT} can be framed"
        )
    return len(report).to_bytes(2)


def unframed(data: bytes) -> Iterator[bytes]:
    """The reports of a request or a file, not yet looked into; the last one may turn out to be cut off."""
    at = 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2])
        if at + 2 > len(data):
            _refuse(Reason.LENGTH, "the last report is cut off in the middle of its length")
        if end > len(data):
            _refuse(
                Reason.LENGTH,
                f"the last report is cut off: {len(data) - at} bytes are left where {end - at} should be",
            )
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
