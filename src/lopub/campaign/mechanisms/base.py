"""What a mechanism is: a law, a channel that obeys it, and its place in the campaign file.

A *block* is what is randomized at once: one attribute, or a jointly randomized view, whose candidates are
the cells of the product domain (domain order, last attribute fastest). A mechanism turns a block into a
`Channel`; everything else in LoPub is written against `Channel` and `Law` alone, so that a new mechanism is
one new file with a subclass of `Mechanism` and of `Channel`.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

from lopub.campaign.budget import check_odds, float_up
from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Attribute, Domain
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError

MOST_BITS = 2**16
"""Bits of one block, and so cells of a jointly randomized one, with the mechanisms that send bits."""

_ODDS = re.compile(r"[0-9]{1,100}")

Block = tuple[Attribute, ...]
"""The attributes that are randomized at once, in domain order."""


def n_cells(block: Block) -> int:
    """How many combinations of candidates a block has."""
    return math.prod(attribute.size for attribute in block)


@dataclass(frozen=True, kw_only=True)
class Law:
    """The law of one block's noise: E[bits | a] = q + (p - q) C_a, and the likelihood of a report.

    rows: the code matrix C as the positions of its ones, every row of the same weight; None for the identity.
    slope: the log-likelihood of a report for candidate a is slope * <bits, C_a> + a term equal for all a.
    loss: epsilon, as a Decimal that is never below the true value.
    """

    n_candidates: int
    n_bits: int
    rows: tuple[tuple[int, ...], ...] | None
    p: Fraction
    q: Fraction
    slope: float
    loss: Decimal

    @property
    def weight(self) -> int:
        """How many ones a row of the code matrix has."""
        return 1 if self.rows is None else len(self.rows[0])


def identity_law(n_candidates: int, p: Fraction, q: Fraction, loss: Decimal) -> Law:
    """The law of a code in which each candidate has one bit of its own."""
    return Law(
        n_candidates=n_candidates,
        n_bits=n_candidates,
        rows=None,
        p=p,
        q=q,
        slope=float_up(loss),
        loss=loss,
    )


class Channel(ABC):
    """One block under one mechanism: candidate in, noisy output out.

    An output is an integer of `width` bits, bit i of the payload's part in bit i. `direct` and `hashed`
    write their numbers as whole bytes, most significant first.
    """

    n_candidates: int

    @property
    def width(self) -> int:
        """Bits of an output."""
        return self.n_candidates

    @abstractmethod
    def law(self) -> Law:
        """The law that `randomize` obeys."""

    @abstractmethod
    def randomize(self, candidate: int, randomness: Randomness) -> int:
        """A noisy output for the candidate; the same work whatever the candidate."""

    @property
    def n_ones(self) -> int | None:
        """How many ones every output has, where that is fixed."""
        return None

    @property
    def distinct(self) -> bool:
        """Whether no two candidates share a code."""
        return True

    def check(self, output: int) -> None:
        """Refuse an output that no candidate can give; every string of `width` bits is possible by default."""
        return

    def loss_of(self, position: int) -> Decimal:
        """Epsilon between two candidates that differ in the block's attribute at this position alone."""
        return self.law().loss

    def memorized(self, candidate: int, randomness: Randomness) -> int:
        """The permanent noisy answer of a candidate, as an output: drawn once, then kept. Where the mechanism has two layers."""
        raise CampaignError("this mechanism keeps no permanent answer")

    def refreshed(self, memorized: int, randomness: Randomness) -> int:
        """An output for one round: fresh noise over a permanent noisy answer."""
        raise CampaignError("this mechanism keeps no permanent answer")


class Mechanism(ABC):
    """A mechanism with its parameters, as a campaign names it. Immutable, compared by its parameters."""

    name: ClassVar[str]
    in_words: ClassVar[str] = ""
    """How one block is randomized, for people who read a publication."""
    keeps_answers: ClassVar[bool] = False
    """Whether it can have a layer of permanent noise below that of a report, in one of its variants at least."""
    largest_block: ClassVar[int] = MOST_BITS
    """The most cells that a jointly randomized block may have."""
    known: ClassVar[dict[str, type["Mechanism"]]] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if cls.name:
            Mechanism.known[cls.name] = cls

    noise: Mapping[int, int]
    """Number of blocks that share the budget of one report -> the integer that fixes their noise."""

    permanent: Mapping[int, int] | None = None
    """The same integers for the layer below, whose noise is drawn once and kept; None where there is only fresh noise."""

    @property
    def codes_differ_by_block(self) -> bool:
        """Whether a block's epsilon depends on which attributes it holds, so that every view must be derived."""
        return False

    @property
    def takes_permanent(self) -> bool:
        """Whether it can have a layer of permanent noise below that of a report, with these parameters."""
        return self.keeps_answers

    def permanent_layer(self) -> Self:
        """The layer below alone: the mechanism that draws the permanent answer."""
        if self.permanent is None:
            raise CampaignError(f"mechanism {self.name!r} has no permanent layer")
        layer: Self = replace(cast(Any, self), noise=self.permanent, permanent=None)
        return layer

    @abstractmethod
    def channel(self, block: Block, n_blocks: int) -> Channel:
        """The block's channel in a report of n_blocks."""

    def check(self, block_counts: tuple[int, ...], domain: Domain, jointly: bool) -> None:
        """Refuse parameters for other numbers of blocks than the campaign's reports have."""
        for n_blocks in block_counts:
            self._noise_for(n_blocks)
        for n_blocks in sorted(set(self.noise) - set(block_counts)):
            raise CampaignError(
                f"mechanism {self.name!r} has noise for reports of {n_blocks} blocks, which do not occur"
            )
        if self.permanent is not None and set(self.permanent) != set(self.noise):
            raise CampaignError(
                f"mechanism {self.name!r} must have permanent noise for the same numbers of blocks"
            )

    def losses(self, n_blocks: int, block: Block, channels: Sequence[Channel]) -> list[Decimal]:
        """Epsilon of every block in a report of n_blocks. channels: those of the blocks, under any noise. Where codes do
        not differ, `block` represents all of them."""
        return [self.channel(block, n_blocks).law().loss] * len(channels)

    def check_codes(self, blocks: Sequence[Block]) -> None:
        """Refuse blocks with more codes than can be derived in a moment; a code that is the identity is not derived at all."""
        return

    def width_of(self, n_candidates: int) -> int:
        """Bits of a block with this many candidates in a report."""
        return n_candidates

    def most_width(self, channel: Channel) -> int:
        """Bits that the channel's block takes at most, whatever the number of blocks that share the budget."""
        return channel.width

    @abstractmethod
    def to_json(self) -> dict[str, Json]:
        """The campaign's `mechanism` object."""

    @classmethod
    @abstractmethod
    def from_json(cls, members: Members) -> Self:
        """The mechanism of a campaign's `mechanism` object, whose name has been taken already."""

    def _noise_to_json(self, key: str, written: Callable[[int], Json]) -> dict[str, Json]:
        """The integers by number of blocks, and below them those of the permanent layer."""
        layers = {key: self.noise} | ({"permanent": self.permanent} if self.permanent else {})
        return {
            name: {str(n): written(noise) for n, noise in layer.items()}
            for name, layer in layers.items()
        }

    def _permanent_for(self, n_blocks: int) -> int | None:
        return self.permanent[n_blocks] if self.permanent else None

    def _noise_for(self, n_blocks: int) -> int:
        if n_blocks not in self.noise:
            raise CampaignError(
                f"mechanism {self.name!r} has no noise for a report of {n_blocks} blocks"
            )
        return self.noise[n_blocks]


class ByOdds(Mechanism):
    """A mechanism whose noise is fixed by one integer, the odds A with e^eps = A / UNIT."""

    name: ClassVar[str] = ""
    noise: Mapping[int, int]

    def __post_init__(self) -> None:
        for odds in self.noise.values():
            check_odds(odds)

    @classmethod
    def with_odds(cls, odds: Mapping[int, int]) -> Self:
        """The mechanism with these odds, by number of blocks."""
        return cls(odds)  # type: ignore[call-arg]

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, **self._noise_to_json("odds", str)}

    @classmethod
    def from_json(cls, members: Members) -> Self:
        return cls.with_odds(noise_from_json(members, "odds", odds_at))


def odds_at(value: Json, where: str) -> int:
    """Odds, which are written as a text: they pass 53 bits, which no browser reads exactly as a number."""
    if isinstance(value, str) and _ODDS.fullmatch(value):
        return int(value)
    raise CampaignError(f"{where} must be an integer written as a text")


def noise_from_json(members: Members, key: str, read: Callable[[Json, str], int]) -> dict[int, int]:
    """The integers of one layer, by the number of blocks that share the budget."""
    noise, where = members.mapping(key, read), members.path(key)
    if not noise:
        raise CampaignError(f"{where} must name the noise of at least one number of blocks")
    if not all(key.isascii() and key.isdecimal() and len(key) < 6 for key in noise):
        raise CampaignError(f"{where} must be keyed by numbers of blocks")
    return {int(key): value for key, value in noise.items()}


def permanent_from_json(
    members: Members, read: Callable[[Json, str], int]
) -> dict[int, int] | None:
    """The integers of the permanent layer, where there is one."""
    return noise_from_json(members, "permanent", read) if "permanent" in members else None


def mechanism_from_json(members: Members) -> Mechanism:
    """The mechanism that a campaign names."""
    name = members.text("name")
    if name not in Mechanism.known:
        raise CampaignError(
            f"{members.path('name')} must be one of {', '.join(sorted(Mechanism.known))}"
        )
    mechanism = Mechanism.known[name].from_json(members)
    members.done()
    return mechanism
