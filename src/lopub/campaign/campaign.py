"""Campaign: what is asked, how it is randomized, on which terms. Immutable; named by the SHA-256 of its bytes."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Self

from lopub.campaign.budget import decimal_up, float_up, times_up
from lopub.campaign.canonical import (
    LONGEST_FILE,
    SPELT_ANEW,
    Json,
    Members,
    canonical_bytes,
    check_spelling,
    parse_canonical,
    within_limits,
)
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.fields import domain_from_json
from lopub.campaign.mechanisms import Block, Channel, Mechanism, mechanism_from_json
from lopub.campaign.schedule import repeats
from lopub.campaign.terms import Terms, check_translations, terms_from_json
from lopub.campaign.texts import html_table, one_line
from lopub.campaign.views import Losses, ViewRule, view_from_json
from lopub.errors import (
    CampaignError,
    CampaignRefusal,
    CodesCollide,
    DomainError,
    StoreError,
    refusing,
)
from lopub.files import kind_of, write_whole

PLAIN_FORMAT, FORMAT = 1, 2
"""Of a campaign whose questions are all asked of everybody, once; and of one that says more about them, or asks again."""
MOST_CODED_VIEWS = 4096
"""Views whose codes are derived, where each view has codes of its own."""
MOST_TRIED = 2**14
"""Sets of attributes that are looked at to find them."""
LONGEST_REPORT = 2**16 - 1
"""Bytes: in a request or a file a report follows its length in 16 bits."""
HEADER_BYTES = 1 + 8 + 16 + 4
"""Version, campaign, report id, slot."""
FEWEST_ALIKE = 100
"""Devices that are expected to share a view for good, in every round that can be published: a view of one's own is a name."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """One collection. Two campaigns with the same bytes are the same campaign."""

    domain: Domain
    mechanism: Mechanism
    view: ViewRule
    jointly: bool
    """Whether a view is randomized as one block with the whole budget, or each attribute with its share."""
    terms: Terms

    def __post_init__(self) -> None:
        with refusing(CampaignRefusal.QUESTIONNAIRE):
            if self.domain.has_rules:
                self.domain.check_questionnaire()
                object.__setattr__(self, "view", self.view.with_lists(self.domain.lists))
        with refusing(CampaignRefusal.VIEW):
            self.view.check(self.domain.sizes, self.jointly)
            self._check_views_kept()
        with refusing(CampaignRefusal.TERMS):
            check_translations(self.terms.translations.values(), self.domain)
        with refusing(CampaignRefusal.LIMIT):
            self._check_cells()
        with refusing(CampaignRefusal.MECHANISM):
            self.mechanism.check(
                (1,) if self.jointly else self._view_sizes, self.domain, self.jointly
            )
            self._check_layers()
        with refusing(CampaignRefusal.LIMIT):
            coded = (
                self._coded_views
                if self.jointly
                else [(position,) for position in range(len(self.domain))]
            )
            self.mechanism.check_codes(
                [self._block(view) for view in coded]
            )  # before any is derived
        with refusing(CampaignRefusal.CODES):
            if not all(channel.distinct for channel in self.coded_channels):
                raise CodesCollide(
                    "two candidates of one block share a code; use another salt, or more bits"
                )
        with refusing(CampaignRefusal.LIMIT):
            if self.longest_report > LONGEST_REPORT:
                most = f"at most {LONGEST_REPORT:,} are allowed"
                raise CampaignError(f"a report could have {self.longest_report:,} bytes; {most}")

    def _check_views_kept(self) -> None:
        """A device with a permanent answer keeps its view, which must not single it out."""
        if self.terms.repeat is None or not self.terms.repeat.is_permanent:
            return
        weights = self.view.weights_kept
        if weights is None:
            raise CampaignError(
                f"view {self.view} cannot be kept over rounds in mode permanent; take all, or list a few"
            )
        if self.terms.min_reports * min(weights) < FEWEST_ALIKE * sum(weights):
            needed = -(-FEWEST_ALIKE * sum(weights) // min(weights))
            alike = f"so that {FEWEST_ALIKE} devices or more share every view, got {self.terms.min_reports:,}"
            raise CampaignError(
                f"min_reports must be at least {needed:,} in mode permanent, {alike}"
            )

    def _check_layers(self) -> None:
        """Two layers of noise where one of them is kept, and nowhere else."""
        repeat, mechanism = self.terms.repeat, self.mechanism
        if (wanted := repeat is not None and repeat.is_permanent) and mechanism.permanent is None:
            raise CampaignError(
                "mode permanent needs mechanism.permanent, the noise of the answer that is kept"
            )
        if mechanism.permanent is not None and not (wanted and mechanism.takes_permanent):
            raise CampaignError(
                "mechanism.permanent goes with mode permanent, and with bloom, symmetric unary or direct alone"
            )

    def _check_cells(self) -> None:
        sizes = self.domain.sizes
        most = self.view.most_cells(sizes) if self.jointly else max(sizes)
        if most > self.mechanism.largest_block:
            cells = f"{most:,}" if most < 10**30 else f"10^{math.floor(math.log10(most))}"
            raise CampaignError(
                f"a block of up to {cells} cells is too large for mechanism {self.mechanism.name!r},"
                f" which takes {self.mechanism.largest_block:,}; use smaller views"
            )

    def __repr__(self) -> str:
        how = f"{self.mechanism.name} {'jointly' if self.jointly else 'separately'}"
        return one_line(
            self,
            repr(self.terms.name),
            f"{len(self.domain)} attributes",
            how,
            f"epsilon {self.epsilon:.6g}",
        )

    def _repr_html_(self) -> str:
        return html_table((repr(self),), ()) + self.domain._repr_html_()

    # ---- blocks

    def channels(self, view: Clique) -> tuple[Channel, ...]:
        """The blocks of a report that covers this view, in the order in which they stand in its payload."""
        kept = self._channels_of
        if view not in kept:
            if len(kept) >= MOST_CODED_VIEWS:
                kept.clear()
            whole = (self.mechanism.channel(self._block(view), 1),) if self.jointly else ()
            kept[view] = whole or tuple(self.channel_at(position, len(view)) for position in view)
        return kept[view]

    @cached_property
    def _channels_of(self) -> dict[Clique, tuple[Channel, ...]]:
        if not self.jointly:
            return {}
        return {
            view: (channel,)
            for view, channel in zip(self._coded_views, self.coded_channels, strict=True)
        }

    def channel_at(self, position: int, n_blocks: int) -> Channel:
        """Of one attribute that is randomized by itself, in a report of so many blocks. Known codes are not derived again."""
        if n_blocks == self._view_sizes[0]:
            return self.coded_channels[position]
        return self.mechanism.channel(self._block((position,)), n_blocks)

    def _block(self, view: Clique) -> Block:
        return tuple(self.domain.attributes[position] for position in view)

    @cached_property
    def _view_sizes(self) -> tuple[int, ...]:
        return self.view.view_sizes(len(self.domain))

    @cached_property
    def coded_channels(self) -> tuple[Channel, ...]:
        """The channels whose codes decide epsilon. Separately: of every attribute, under the noise of the smallest number of
        blocks. Jointly: of every view where codes differ, else of any one view."""
        if not self.jointly:
            return tuple(
                self.mechanism.channel((attribute,), self._view_sizes[0])
                for attribute in self.domain.attributes
            )
        return tuple(self.mechanism.channel(self._block(view), 1) for view in self._coded_views)

    @cached_property
    def _coded_views(self) -> tuple[Clique, ...]:
        """Every view where each has codes of its own, else any one."""
        if not self.mechanism.codes_differ_by_block:
            return (next(self.view.views(self.domain.sizes)),)
        sizes = self.domain.sizes
        few = self.view.n_tried(sizes, MOST_TRIED) <= MOST_TRIED
        views = tuple(islice(self.view.views(sizes), MOST_CODED_VIEWS + 1)) if few else ()
        if not 0 < len(views) <= MOST_CODED_VIEWS:
            raise CampaignError(
                f"mechanism {self.mechanism.name!r} on jointly randomized views needs the codes of every view: at most"
                f" {MOST_CODED_VIEWS:,} views, found among {MOST_TRIED:,} sets of attributes; use smaller views, or list a few"
            )
        return views

    # ---- what a report looks like

    @property
    def mask_bytes(self) -> int:
        """Bytes of a report's view mask: none where every report covers everything."""
        return (len(self.domain) + 7) // 8 if self.view.masked else 0

    def payload_bytes(self, view: Clique) -> int:
        """Bytes of the payload of a report that covers this view."""
        return (sum(channel.width for channel in self.channels(view)) + 7) // 8

    @cached_property
    def longest_report(self) -> int:
        """Bytes of the longest report that a client may make, its length prefix not counted."""
        if self.jointly:
            width = self.mechanism.width_of(self.view.most_cells(self.domain.sizes))
        else:
            widths = sorted(map(self.mechanism.most_width, self.coded_channels))
            width = sum(widths[-max(self._view_sizes) :])
        return HEADER_BYTES + self.mask_bytes + (width + 7) // 8

    # ---- what it reveals

    @cached_property
    def loss(self) -> Decimal:
        """Epsilon of a whole report, never below the true value: the largest log-ratio between any two records."""
        if self.jointly:
            return max(channel.law().loss for channel in self.coded_channels)
        return self.worst(self._losses)

    def worst(self, losses: Losses) -> Decimal:
        """The largest sum of its attributes' losses that a view can have."""
        return self.view.worst(losses, len(self.domain))

    def _losses(self, n_blocks: int) -> list[Decimal]:
        """Of every attribute, randomized separately where so many share the budget."""
        if n_blocks not in self._losses_at:
            self._losses_at[n_blocks] = self.mechanism.losses(
                n_blocks, self._block((0,)), self.coded_channels
            )
        return self._losses_at[n_blocks]

    @cached_property
    def _losses_at(self) -> dict[int, list[Decimal]]:
        return {}

    @property
    def epsilon(self) -> float:
        """Epsilon of a whole report as a double, rounded up."""
        return float_up(self.loss)

    @cached_property
    def lifetime_loss(self) -> Decimal:
        """Epsilon of everything that a device ever sends to this campaign, for any two histories of answers, never below the true
        value. One report: its own. `sampled`: as many as it takes part in. `permanent`: that of the answer that is kept."""
        return self._in_all(lambda campaign: campaign.loss)

    @property
    def lifetime_epsilon(self) -> float:
        """Epsilon of everything that a device ever sends, as a double, rounded up."""
        return float_up(self.lifetime_loss)

    def lifetime_loss_of(self, name: str) -> Decimal:
        """The same of one attribute: between two histories that differ in it alone."""
        return self._in_all(lambda campaign: campaign.loss_of(name))

    def _in_all(self, loss: "Callable[[Campaign], Decimal]") -> Decimal:
        repeat = self.terms.repeat
        if repeat is None or not repeat.is_permanent:
            return times_up(loss(self), repeat.take_part) if repeat else loss(self)
        return loss(
            replace(
                self,
                mechanism=self.mechanism.permanent_layer(),
                terms=replace(self.terms, schedule=None),
            )
        )

    def loss_of(self, name: str) -> Decimal:
        """Epsilon of one attribute: the largest log-ratio of the whole report between two records that differ in it
        alone, or, where the questionnaire has rules, in it and what follows from it: the rest of its list, and questions that
        apply or not because of it. In a jointly randomized view that is the whole epsilon, not the smaller figure of a
        projection."""
        position = self.domain.position(name)
        following = self.domain.following(position)
        if len(following) == 1:
            return max(self._losses_of(position), default=Decimal(0))
        if not self.jointly:
            return self.view.worst(self._losses, len(self.domain), following)
        return max(
            (loss for each in following for loss in self._losses_around(each)), default=Decimal(0)
        )

    def _losses_around(self, position: int) -> list[Decimal]:
        """Of every view that covers the attribute, whichever of its attributes differ; randomized jointly."""
        if not self.mechanism.codes_differ_by_block:
            return [self.loss] if self.view.covers(position) else []
        pairs = zip(self._coded_views, self.coded_channels, strict=True)
        return [channel.law().loss for view, channel in pairs if position in view]

    def epsilon_of(self, name: str) -> float:
        """Epsilon of one attribute as a double, rounded up."""
        return float_up(self.loss_of(name))

    def _losses_of(self, position: int) -> list[Decimal]:
        if not self.jointly:
            return [
                self._losses(n)[position] for n in self._view_sizes if self.view.covers(position, n)
            ]
        if not self.mechanism.codes_differ_by_block:
            return [self.loss] if self.view.covers(position) else []
        pairs = zip(self._coded_views, self.coded_channels, strict=True)
        return [
            channel.loss_of(view.index(position)) for view, channel in pairs if position in view
        ]

    # ---- bytes

    @cached_property
    def canonical_bytes(self) -> bytes:
        """The only bytes that stand for this campaign; refuses a campaign that nobody could load again."""
        return within_limits(canonical_bytes(self.to_json()))

    @cached_property
    def id(self) -> str:
        """SHA-256 of the canonical bytes, in hexadecimal."""
        return hashlib.sha256(self.canonical_bytes).hexdigest()

    @cached_property
    def prefix(self) -> bytes:
        """The first 8 bytes of the id: what a report carries."""
        return bytes.fromhex(self.id)[:8]

    def to_json(self) -> dict[str, Json]:
        """Everything that is in a campaign file."""
        privacy: dict[str, Json] = {
            "epsilon": decimal_up(self.loss),
            "randomize": "jointly" if self.jointly else "separately",
            "view": self.view.to_json(),
        }
        if self.terms.repeat is not None:
            privacy["lifetime_epsilon"] = decimal_up(self.lifetime_loss)
        parts: dict[str, Json] = {
            "format": format_of(self.domain, self.terms.repeat is not None),
            "schema": self.domain.to_json(),
            "mechanism": self.mechanism.to_json(),
            "privacy": privacy,
        }
        return parts | self.terms.to_json()

    @classmethod
    def from_bytes(cls, data: bytes, *, expected_id: str | None = None) -> Self:
        """The campaign that these bytes stand for; hashes first, and refuses bytes that it would not write itself."""
        with refusing(CampaignRefusal.ID):
            if expected_id is not None and hashlib.sha256(data).hexdigest() != expected_id.lower():
                other = "its bytes were changed, or it is another campaign"
                raise CampaignError(f"this is not campaign {expected_id[:16]}…: {other}")
        try:
            with refusing(CampaignRefusal.SIZE):
                within_limits(data)
            campaign = cls._from_json(parse_canonical(data))
        except DomainError as error:
            raise _refused(str(error), error.reason) from None
        if campaign.canonical_bytes != data:  # its parts were compared before
            raise _refused(SPELT_ANEW.format("the campaign"), CampaignRefusal.CANONICAL)
        return campaign

    @classmethod
    def _from_json(cls, value: Any) -> Self:
        with refusing(CampaignRefusal.FORMAT):
            members = Members(value, "")
            if (number := members.integer("format")) not in (PLAIN_FORMAT, FORMAT):
                raise CampaignError(
                    f"format must be {PLAIN_FORMAT} or {FORMAT}, got {number}; a newer LoPub may read it"
                )
        with refusing(CampaignRefusal.SCHEMA):
            domain = domain_from_json(members.members("schema"))
            check_spelling(domain.to_json(), value["schema"], "schema")
        with refusing(CampaignRefusal.FORMAT):
            if number != (needed := format_of(domain, repeats(value))):
                raise CampaignError(f"format must be {needed} for these questions, got {number}")
        with refusing(CampaignRefusal.VIEW):
            privacy = members.members("privacy")
            claim, randomize = privacy.text("epsilon"), privacy.text("randomize")
            lifetime_claim = privacy.text("lifetime_epsilon") if repeats(value) else ""
            if randomize not in ("jointly", "separately"):
                raise CampaignError(f"{privacy.path('randomize')} must be jointly or separately")
            rule = view_from_json(privacy.members("view"), domain)
            privacy.done()
            check_spelling(rule.to_json(), value["privacy"]["view"], "privacy.view")
        with refusing(CampaignRefusal.MECHANISM):
            mechanism = mechanism_from_json(members.members("mechanism"))
            check_spelling(mechanism.to_json(), value["mechanism"], "mechanism")
        names = {field.name for field in fields(Terms)}
        with refusing(CampaignRefusal.MEMBER):
            members.only(names)
        with refusing(CampaignRefusal.TERMS):
            terms = terms_from_json(members)
            check_spelling(
                terms.to_json(), {key: value[key] for key in names & set(value)}, "the campaign"
            )
        campaign = cls(
            domain=domain,
            mechanism=mechanism,
            view=rule,
            jointly=randomize == "jointly",
            terms=terms,
        )
        with refusing(CampaignRefusal.CLAIM):
            if claim != (derived := decimal_up(campaign.loss)):
                raise CampaignError(
                    f"privacy.epsilon says {claim[:40]}, but this campaign's epsilon is {derived}"
                )
            if repeats(value) and lifetime_claim != (derived := decimal_up(campaign.lifetime_loss)):
                raise CampaignError(
                    f"privacy.lifetime_epsilon says {lifetime_claim[:40]}, but that of all rounds is {derived}"
                )
        return campaign

    @classmethod
    def load(cls, path: str | Path, *, expected_id: str | None = None) -> Self:
        """Read a campaign file."""
        try:
            with open(path, "rb") as file:
                data = file.read(LONGEST_FILE + 1)
        except OSError as error:
            raise StoreError(f"cannot read campaign {path}: {error.strerror}") from None
        if len(data) > LONGEST_FILE:
            raise _refused(
                f"{path} is larger than {LONGEST_FILE:,} bytes; that is not a campaign",
                CampaignRefusal.SIZE,
            )
        try:
            return cls.from_bytes(data, expected_id=expected_id)
        except CampaignError as error:
            if (kind := kind_of(data)) != "JSON":
                raise _refused(f"{path} is not a campaign, but {kind}", error.reason) from None
            if b'"mechanism"' not in data and b'"schema"' in data:
                draft = f"{path} is a draft, not a campaign; `lopub campaign make` makes one of it"
                raise _refused(draft, error.reason) from None
            raise _refused(f"{path}: {error}", error.reason) from None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the canonical bytes, whole or not at all; an existing file is refused unless forced."""
        write_whole(Path(path), self.canonical_bytes, force=force)


def _refused(message: str, reason: CampaignRefusal | None) -> CampaignError:
    (error := CampaignError(message)).reason = reason
    return error


def format_of(domain: Domain, repeats: bool) -> int:
    """The lowest format that can carry these questions, asked once or again and again."""
    return PLAIN_FORMAT if domain.is_plain and not repeats else FORMAT
