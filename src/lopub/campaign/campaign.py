"""Campaign: what is asked, how it is randomized, on which terms. Immutable; named by the SHA-256 of its bytes."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Self

from lopub.campaign.admission import SIGNATURE_BYTES
from lopub.campaign.budget import decimal_up, float_up, times_up
from lopub.campaign.canonical import (
    LONGEST_FILE,
    Json,
    Members,
    canonical_bytes,
    parse,
    within_limits,
)
from lopub.campaign.domain import Clique, Domain
from lopub.campaign.fields import domain_from_json
from lopub.campaign.mechanisms import Block, Channel, Mechanism, mechanism_from_json
from lopub.campaign.terms import Terms, check_translations, terms_from_json
from lopub.campaign.texts import html_table, one_line
from lopub.campaign.views import Losses, ViewRule, view_from_json
from lopub.errors import CampaignError, CampaignRefusal, CodesCollide, DomainError, StoreError
from lopub.files import kind_of, write_whole

FORMAT = 1
MOST_CODED_VIEWS = 4096
"""Views whose codes are derived where each view has codes of its own."""
MOST_TRIED = 2**14
"""Sets of attributes that are looked at to find them."""
LONGEST_REPORT = 2**16 - 1
"""Bytes: in a request or a file a report follows its length in 16 bits."""
HEADER_BYTES = 1 + 8 + 16 + 4
"""Version, campaign, report id, slot."""
MOST_KEPT_VIEWS, KEPT_SHARES = 16, 50
"""Views that devices may keep over all rounds: at most so many, each drawn by at least 1 / KEPT_SHARES of them. A view that few
share would be a name, by which a device's reports could be linked."""


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
        if self.domain.has_rules:
            self.domain.check_questionnaire()
            object.__setattr__(self, "view", self.view.with_lists(self.domain.lists))
        self.view.check(self.domain.sizes, self.jointly)
        self._check_kept_views()
        check_translations(self.terms.translations.values(), self.domain)
        self._check_cells()
        self.mechanism.check((1,) if self.jointly else self._view_sizes, self.domain, self.jointly)
        self._check_layers()
        self._check_codes()
        if self.longest_report > LONGEST_REPORT:
            most = f"at most {LONGEST_REPORT:,} are allowed"
            raise CampaignError(f"a report could have {self.longest_report:,} bytes; {most}")

    def _check_codes(self) -> None:
        """Refuse codes that are too many, before any is derived, or not different."""
        alone = [(position,) for position in range(len(self.domain))]
        coded = self._coded_views if self.jointly else alone
        self.mechanism.check_codes([self._block(view) for view in coded])
        if not all(channel.distinct for channel in self.coded_channels):
            raise CodesCollide(
                "two candidates of one block share a code; use another salt, or more bits"
            )

    def _check_kept_views(self) -> None:
        """A device with a permanent answer keeps its view, which must not single it out."""
        if self.terms.repeat is None or not self.terms.repeat.is_permanent:
            return
        weights = self.view.weights_kept or ()
        rare = any(weight * KEPT_SHARES < sum(weights) for weight in weights)
        if not 1 <= len(weights) <= MOST_KEPT_VIEWS or rare:
            raise refusal(
                CampaignRefusal.VIEW,
                f"view {self.view} cannot be kept over rounds in mode permanent; take all, or list at most {MOST_KEPT_VIEWS}"
                f" sets, each with at least {100 // KEPT_SHARES} % of the weight",
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
        """The channel of one attribute that is randomized separately, in a report of n_blocks. Codes are derived once."""
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

    @property
    def signature_bytes(self) -> int:
        """Bytes of a report's signature: none where everybody may take part."""
        return SIGNATURE_BYTES if self.terms.admission else 0

    @cached_property
    def longest_report(self) -> int:
        """Bytes of the longest report that a client may make, its length prefix not counted."""
        if self.jointly:
            width = self.mechanism.width_of(self.view.most_cells(self.domain.sizes))
        else:
            widths = sorted(map(self.mechanism.most_width, self.coded_channels))
            width = sum(widths[-max(self._view_sizes) :])
        return HEADER_BYTES + self.mask_bytes + (width + 7) // 8 + self.signature_bytes

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
        """The losses of all attributes, randomized separately, where n_blocks share the budget."""
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
        """The lifetime loss of one attribute: between two histories that differ only in it."""
        return self._in_all(lambda campaign: campaign.loss_of(name))

    def _in_all(self, loss: "Callable[[Campaign], Decimal]") -> Decimal:
        repeat = self.terms.repeat
        if repeat is None or not repeat.is_permanent:
            return times_up(loss(self), repeat.take_part) if repeat else loss(self)
        return loss(
            replace(
                self,
                mechanism=self.mechanism.permanent_layer(),
                terms=self.terms.once,
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
        """The canonical bytes of this campaign; refuses a campaign that is too large to be loaded again."""
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
            "format": FORMAT,
            "schema": self.domain.to_json(),
            "mechanism": self.mechanism.to_json(),
            "privacy": privacy,
        }
        return parts | self.terms.to_json()

    @classmethod
    def from_bytes(cls, data: bytes, *, expected_id: str | None = None) -> Self:
        """The campaign with these canonical bytes; hashes first, and refuses bytes that it would not write itself."""
        if expected_id is not None and hashlib.sha256(data).hexdigest() != expected_id.lower():
            raise refusal(
                CampaignRefusal.ID,
                f"this is not campaign {expected_id[:16]}…: its bytes were changed, or it is another campaign",
            )
        try:
            campaign = cls._from_json(parse(within_limits(data)))
            written = campaign.canonical_bytes
        except DomainError as error:
            raise CampaignError(str(error)) from None
        except UnicodeEncodeError:
            raise CampaignError("a text contains half a surrogate pair") from None
        if written != data:
            raise CampaignError(
                "the file is not spelt as a campaign is (spaces, order of members, escapes, or a default that is written out);"
                " `lopub campaign make` writes it anew"
            )
        return campaign

    @classmethod
    def _from_json(cls, value: Json) -> Self:
        members = Members(value, "")
        if (number := members.integer("format")) != FORMAT:
            raise refusal(
                CampaignRefusal.FORMAT,
                f"format must be {FORMAT}, got {number}; a newer LoPub may read it",
            )
        domain = domain_from_json(members.members("schema"))
        mechanism = mechanism_from_json(members.members("mechanism"))
        privacy = members.members("privacy")
        terms = terms_from_json(members)
        members.done()
        claim, randomize = privacy.text("epsilon"), privacy.text("randomize")
        lifetime_claim = privacy.text("lifetime_epsilon") if terms.repeat else None
        if randomize not in ("jointly", "separately"):
            raise CampaignError(f"{privacy.path('randomize')} must be jointly or separately")
        view = view_from_json(privacy.members("view"), domain)
        privacy.done()
        campaign = cls(
            domain=domain,
            mechanism=mechanism,
            view=view,
            jointly=randomize == "jointly",
            terms=terms,
        )
        _check_claim("privacy.epsilon", claim, campaign.loss)
        if lifetime_claim is not None:
            _check_claim("privacy.lifetime_epsilon", lifetime_claim, campaign.lifetime_loss)
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
            raise CampaignError(
                f"{path} is larger than {LONGEST_FILE:,} bytes; that is not a campaign"
            )
        try:
            return cls.from_bytes(data, expected_id=expected_id)
        except CampaignError as error:
            if (kind := kind_of(data)) != "JSON":
                raise refusal(error.reason, f"{path} is not a campaign, but {kind}") from None
            if b'"mechanism"' not in data and b'"schema"' in data:
                draft = f"{path} is a draft, not a campaign; `lopub campaign make` makes one of it"
                raise refusal(error.reason, draft) from None
            raise refusal(error.reason, f"{path}: {error}") from None

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the canonical bytes, whole or not at all; an existing file is refused unless forced."""
        write_whole(Path(path), self.canonical_bytes, force=force)


def _check_claim(where: str, claim: str, loss: Decimal) -> None:
    if claim != (derived := decimal_up(loss)):
        raise refusal(
            CampaignRefusal.CLAIM,
            f"{where} says {claim[:40]}, but the epsilon of this campaign is {derived}",
        )


def refusal(reason: CampaignRefusal, message: str) -> CampaignError:
    """The error of a campaign that is refused for this reason."""
    (error := CampaignError(message)).reason = reason
    return error
