"""What a mechanism is: a law, a channel that obeys it, and its place in the campaign file.

A *block* is what is randomized at once: one attribute, or a jointly randomized view, whose candidates are
the cells of the product domain (domain order, last attribute fastest). A mechanism turns a block into a
`Channel`; everything else in LoPub is written against `Channel` and `Law` alone, so that a new mechanism is
one new file with a subclass of `Mechanism` and of `Channel`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from lopub.campaign.budget import check_odds, odds_for
from lopub.campaign.canonical import Json, Members
from lopub.campaign.domain import Attribute, Domain
from lopub.campaign.randomness import Randomness
from lopub.errors import CampaignError

MOST_BITS = 2**16
"""Bits of one block, and so cells of a jointly randomized one, with the mechanisms that send bits."""

Block = tuple[Attribute, ...]
"""The attributes that are randomized at once, in domain order."""


class Asked(Protocol):
    """What the maker of a campaign asks for; `lopub.planning.request.CampaignRequest` is this."""

    @property
    def budget(self) -> Decimal:
        """Epsilon of a whole report, where that is what was given."""

    @property
    def flip_probability(self) -> float | str | Decimal | None:
        """The paper's f, where that is what was given."""

    @property
    def keeps_an_answer(self) -> bool:
        """Whether the noise is that of a permanent answer, or of reports over one."""

    @property
    def n_bits(self) -> int | None:
        """Bits of a filter, where they are given."""

    @property
    def n_hashes(self) -> int | None:
        """Hash functions of a filter, where they are given."""

    @property
    def false_positive_rate(self) -> float | None:
        """Of a filter, where that is given instead of bits and hashes."""


class Made(Protocol):
    """A campaign, as far as a mechanism looks at it while it is being made."""

    @property
    def domain(self) -> Domain:
        """The attributes."""

    @property
    def jointly(self) -> bool:
        """Whether a view is randomized as one block."""

    @property
    def coded_channels(self) -> "tuple[Channel, ...]":
        """The channels whose codes decide epsilon."""

    def worst(self, losses: Callable[[int], list[Decimal]]) -> Decimal:
        """The largest sum of losses that a view can have."""


MadeCampaign = TypeVar("MadeCampaign", bound=Made)


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


class Channel(ABC):
    """One block under one mechanism: candidate in, noisy output out.

    An output is an integer of `width` bits, bit i of the payload's part in bit i. `direct` and `hashed`
    write their numbers as whole bytes, most significant first.
    """

    n_candidates: int
    width: int

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
    in_short: ClassVar[str] = ""
    """What a report says, for people who choose a mechanism."""
    takes_flips: ClassVar[bool] = False
    """Whether the paper's f can fix its noise."""
    takes_filters: ClassVar[bool] = False
    """Whether bits and hashes can be asked for."""
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
    """The same integers of the layer below, whose noise is drawn once and kept; None where every report has noise of its own."""

    @property
    def codes_differ_by_block(self) -> bool:
        """Whether a block's epsilon depends on which attributes it holds, so that every view must be looked at."""
        return False

    @property
    def takes_permanent(self) -> bool:
        """Whether it can have a layer of permanent noise below that of a report, with these parameters."""
        return self.keeps_answers

    def permanent_layer(self) -> Self:
        """The layer below alone: the mechanism that draws the permanent answer."""
        if self.permanent is None:
            raise CampaignError(f"mechanism {self.name!r} has no permanent layer")
        return self._with_noise(self.permanent, None)

    def layered(self, below: Self, smallest: int) -> Self:
        """Two layers, the lower one that of `below`, whose reports have at least the noise of this mechanism, and hardly more.
        smallest: the fewest candidates that a block has."""
        fresh = {
            n: self.fresh_noise(noise, below.noise[n], smallest) for n, noise in self.noise.items()
        }
        return self._with_noise(fresh, below.noise)

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        """The integer of the noise that, over that of `below`, makes up at least the whole, and hardly more."""
        raise CampaignError(
            f"mechanism {self.name!r} cannot keep a permanent answer; bloom, symmetric unary and direct can"
        )

    def _with_noise(self, noise: Mapping[int, int], permanent: Mapping[int, int] | None) -> Self:
        """The same mechanism with other integers; every mechanism is a dataclass."""
        changed: Self = replace(cast(Any, self), noise=noise, permanent=permanent)
        return changed

    @abstractmethod
    def channel(self, block: Block, n_blocks: int) -> Channel:
        """The block's channel, where a report holds so many blocks."""

    def check(self, block_counts: tuple[int, ...], domain: Domain, jointly: bool) -> None:
        """Refuse parameters that do not fit a campaign whose reports have so many blocks: none missing, none to spare."""
        for n_blocks in block_counts:
            self._noise_for(n_blocks)
        for n_blocks in sorted(set(self.noise) - set(block_counts)):
            raise CampaignError(
                f"mechanism {self.name!r} says a noise for reports of {n_blocks} blocks, which nobody makes"
            )
        if self.permanent is not None and set(self.permanent) != set(self.noise):
            raise CampaignError(
                f"mechanism {self.name!r} must say a permanent noise for the same numbers of blocks as its own"
            )

    @classmethod
    def made(
        cls,
        asked: Asked,
        n_blocks: tuple[int, ...],
        sizes: Mapping[str, int],
        build: Callable[[Self], MadeCampaign],
    ) -> MadeCampaign:
        """The campaign with this mechanism that was asked for. n_blocks: how many blocks a report may have. sizes: attribute ->
        its candidates; of jointly randomized views, which have no one name, the most that one has, under the name ""."""
        return build(cls.for_epsilon(asked.budget, n_blocks))

    @classmethod
    def for_epsilon(cls, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Self:
        """The mechanism whose reports, of so many blocks, have a total epsilon as near below this one as integers allow."""
        raise CampaignError(
            f"mechanism {cls.name!r} cannot be made from an epsilon alone; build its campaign by hand"
        )

    def sized_law(self, n_candidates: int, n_blocks: int) -> Law:
        """The law of any block of so many candidates, where a report holds so many blocks: what planning needs to know."""
        return self.channel((cast(Attribute, _Sized(n_candidates)),), n_blocks).law()

    def losses(self, n_blocks: int, block: Block, channels: Sequence[Channel]) -> list[Decimal]:
        """Epsilon of each of these blocks, where a report holds so many; channels: theirs, under any noise. Where codes do not
        differ, any one block stands for all."""
        return [self.channel(block, n_blocks).law().loss] * len(channels)

    def check_codes(self, blocks: Sequence[Block]) -> None:
        """Refuse blocks with more codes than can be derived in a moment; a code that is the identity is not derived at all."""
        return

    def width_of(self, n_candidates: int) -> int:
        """Bits that a block of so many candidates takes in a report."""
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

    def _noise_for(self, n_blocks: int) -> int:
        if n_blocks not in self.noise:
            raise CampaignError(
                f"mechanism {self.name!r} says no noise for a report of {n_blocks} blocks"
            )
        return self.noise[n_blocks]


@dataclass(frozen=True)
class _Sized:
    """Stands for an attribute of which only the number of candidates matters."""

    size: int


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

    @classmethod
    def for_epsilon(cls, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Self:
        return cls.with_odds({n: odds_for(epsilon, n) for n in n_blocks})

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "odds": odds_to_json(self.noise)}

    @classmethod
    def from_json(cls, members: Members) -> Self:
        return cls.with_odds(by_blocks(members.mapping("odds", odds_at), members.path("odds")))


def odds_to_json(noise: Mapping[int, int]) -> dict[str, Json]:
    """Odds are texts: they pass 53 bits, which no browser reads exactly as a number."""
    return {str(n_blocks): str(odds) for n_blocks, odds in noise.items()}


def units_to_json(noise: Mapping[int, int]) -> dict[str, Json]:
    """Noise by number of blocks; units fit into 53 bits, so they are numbers."""
    return {str(n_blocks): units for n_blocks, units in noise.items()}


def odds_at(value: Json, where: str) -> int:
    """Odds, which are written as a text."""
    if (
        not isinstance(value, str)
        or not (value.isascii() and value.isdecimal())
        or len(value) > 100
    ):
        raise CampaignError(f"{where} must be an integer written as a text")
    return int(value)


def permanent_from_json(
    members: Members, read: Callable[[Json, str], int]
) -> dict[int, int] | None:
    """The integers of the permanent layer, where a mechanism has one."""
    return (
        by_blocks(members.mapping("permanent", read), members.path("permanent"))
        if "permanent" in members
        else None
    )


def by_blocks(noise: Mapping[str, int], where: str) -> dict[int, int]:
    """Read the keys: how many blocks share the budget."""
    if not noise:
        raise CampaignError(f"{where} must name the noise of at least one number of blocks")
    if not all(key.isascii() and key.isdecimal() and len(key) < 6 for key in noise):
        raise CampaignError(f"{where} must be keyed by numbers of blocks")
    return {int(key): value for key, value in noise.items()}


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
