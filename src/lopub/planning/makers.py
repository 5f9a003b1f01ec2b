"""From a budget to the integers of a mechanism's noise: what only the maker of a campaign needs to know.

A device reads finished integers and derives what they reveal. Here they are searched, one class per mechanism.
"""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, cast

from lopub.campaign.budget import UNIT, bit_loss, float_up, times_up
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Attribute
from lopub.campaign.mechanisms import Bloom, Direct, Hashed, Law, Mechanism, Subset, Unary
from lopub.campaign.mechanisms.base import MOST_BITS, ByOdds
from lopub.campaign.mechanisms.bloom import Bits, BloomChannel
from lopub.errors import CampaignError, CodesCollide
from lopub.planning.budgets import (
    change_units_for,
    change_units_of,
    fresh_change_units,
    fresh_odds,
    odds_for,
)

if TYPE_CHECKING:
    from lopub.planning.request import CampaignRequest

PAPER_BITS, PAPER_HASHES = 128, 4
"""The paper's m and h for non-binary data, which are used where nobody says."""
MOST_SALTS = 1000
MOST_COLLISIONS = 30
"""Expected collisions of filters, above which MOST_SALTS tries succeed with a probability below 1e-10."""

Build = Callable[[Mechanism], Campaign]
"""The campaign with this mechanism."""


class Maker:
    """Finds the noise of one mechanism; each is registered under its mechanism's name."""

    mechanism: ClassVar[str] = ""
    in_short: ClassVar[str] = ""
    """What a report says, for people who choose a mechanism."""
    takes_flips: ClassVar[bool] = False
    """Whether the paper's f can fix its noise."""
    takes_filters: ClassVar[bool] = False
    """Whether bits and hashes can be asked for."""
    known: ClassVar[dict[str, "Maker"]] = {}

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if cls.mechanism:
            Maker.known[cls.mechanism] = cls()

    def for_epsilon(self, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Mechanism:
        """The mechanism whose reports, of so many blocks, have a total epsilon as near below this one as integers allow."""
        raise CampaignError(f"mechanism {self.mechanism!r} cannot be made from an epsilon alone")

    def made(
        self,
        request: "CampaignRequest",
        n_blocks: tuple[int, ...],
        sizes: Mapping[str, int],
        build: Build,
    ) -> Campaign:
        """The campaign that was requested. n_blocks: how many blocks a report may have. sizes: attribute -> its candidates; of
        jointly randomized views, the most that one has, under the name ""."""
        return build(self.for_epsilon(request.budget, n_blocks))

    def layered(self, whole: Mechanism, below: Mechanism, smallest: int) -> Mechanism:
        """Two layers, the lower one that of `below`, whose reports have at least the noise of `whole`, and hardly more.
        smallest: the fewest candidates that a block has."""
        fresh = {
            n: self.fresh_noise(noise, below.noise[n], smallest) for n, noise in whole.noise.items()
        }
        changed: Mechanism = replace(cast(Any, whole), noise=fresh, permanent=below.noise)
        return changed

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        """The integer of the noise that, over that of `below`, makes up at least the whole, and hardly more."""
        raise CampaignError(
            f"mechanism {self.mechanism!r} cannot keep a permanent answer; bloom, symmetric unary and direct can"
        )

    def sized_law(self, mechanism: Mechanism, n_candidates: int, n_blocks: int) -> Law:
        """The law of any block of so many candidates, where a report holds so many blocks."""
        return mechanism.channel((cast(Attribute, _Sized(n_candidates)),), n_blocks).law()


@dataclass(frozen=True)
class _Sized:
    """Stands for an attribute of which only the number of candidates matters."""

    size: int


def maker_of(mechanism: Mechanism | type[Mechanism]) -> Maker:
    """The maker of a mechanism; one that only derives laws where nobody has defined another."""
    return Maker.known.get(mechanism.name) or Maker()


class OddsMaker(Maker):
    """Of a mechanism whose noise is its odds alone."""

    kind: ClassVar[type[ByOdds]]

    def for_epsilon(self, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Mechanism:
        return self.kind.with_odds({n: odds_for(epsilon, n) for n in n_blocks})


class SubsetMaker(OddsMaker):
    """Of `subset`."""

    mechanism: ClassVar[str] = Subset.name
    in_short: ClassVar[str] = "a report lists several answers, the true one more likely among them"
    kind = Subset


class HashedMaker(OddsMaker):
    """Of `hashed`."""

    mechanism: ClassVar[str] = Hashed.name
    in_short: ClassVar[str] = (
        "a report names a random group of answers that the true one is more likely to be in"
    )
    kind = Hashed


class DirectMaker(OddsMaker):
    """Of `direct`, which can keep a permanent answer."""

    mechanism: ClassVar[str] = Direct.name
    in_short: ClassVar[str] = "a report gives one answer, the true one or any other by chance"
    kind = Direct

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        return fresh_odds(whole, below, smallest)


class UnaryMaker(Maker):
    """Symmetric from the paper's f, and below a permanent layer; else optimized."""

    mechanism: ClassVar[str] = Unary.name
    in_short: ClassVar[str] = "a report says yes or no to every answer, often wrongly"
    takes_flips: ClassVar[bool] = True

    def for_epsilon(self, epsilon: Decimal, n_blocks: tuple[int, ...]) -> Mechanism:
        return Unary({n: odds_for(epsilon, n) for n in n_blocks})

    def made(
        self,
        request: "CampaignRequest",
        n_blocks: tuple[int, ...],
        sizes: Mapping[str, int],
        build: Build,
    ) -> Campaign:
        if request.keeps_an_answer:
            units = {n: change_units_for(request.budget, 2 * n) for n in n_blocks}
        elif request.flip_probability is not None:
            units = dict.fromkeys(n_blocks, change_units_of(request.flip_probability))
        else:
            return super().made(request, n_blocks, sizes, build)
        return build(Unary(units, symmetric=True))

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        return fresh_change_units(whole, below)


class BloomMaker(Maker):
    """Tries salts until no two candidates share a filter, then sets the noise for the filters that came out."""

    mechanism: ClassVar[str] = Bloom.name
    in_short: ClassVar[str] = (
        "a report marks some of many bits, several for each answer, often wrongly"
    )
    takes_flips: ClassVar[bool] = True
    takes_filters: ClassVar[bool] = True

    def made(
        self,
        request: "CampaignRequest",
        n_blocks: tuple[int, ...],
        sizes: Mapping[str, int],
        build: Build,
    ) -> Campaign:
        bits, n_hashes = _filters(request, sizes)
        for salt in map(str, range(MOST_SALTS)):
            with contextlib.suppress(CodesCollide):
                return _salted(request, n_blocks, build, (bits, n_hashes, salt))
        raise CampaignError(
            f"in {MOST_SALTS:,} tries no salt gave every candidate a filter of its own; raise bits"
        )

    def fresh_noise(self, whole: int, below: int, smallest: int) -> int:
        return fresh_change_units(whole, below)

    def sized_law(self, mechanism: Mechanism, n_candidates: int, n_blocks: int) -> Law:
        """One row stands for all: no candidate's filter is known."""
        bloom = cast(Bloom, mechanism)
        change = bloom.change_at(n_blocks)
        loss = times_up(bit_loss(change), 2 * bloom.n_hashes)
        return Law(
            n_candidates=n_candidates,
            n_bits=bloom.width_of(n_candidates),
            rows=(tuple(range(bloom.n_hashes)),),
            p=1 - change,
            q=change,
            slope=float_up(loss),
            loss=loss,
        )


def _salted(
    request: "CampaignRequest",
    n_blocks: tuple[int, ...],
    build: Build,
    codes: tuple[Bits, int, str],
) -> Campaign:
    if request.flip_probability is not None:
        units = change_units_of(request.flip_probability)
        return build(Bloom(dict.fromkeys(n_blocks, units), *codes))
    quiet = build(Bloom(dict.fromkeys(n_blocks, UNIT // 4), *codes))  # only its filters matter
    distances = {n: _distance(quiet, n) for n in n_blocks}
    noise = {n: change_units_for(request.budget, distance) for n, distance in distances.items()}
    return build(Bloom(noise, *codes))


def _distance(campaign: Campaign, n_blocks: int) -> int:
    """In how many bits the codes of two whole reports of so many blocks differ at most."""
    channels = cast(Sequence[BloomChannel], campaign.coded_channels)
    distances = [Decimal(channel.distance) for channel in channels]
    if campaign.jointly:
        return int(max(distances))
    d = len(campaign.domain)
    return int(campaign.worst(lambda n: distances[:d] if n == n_blocks else [Decimal(0)] * d))


def _filters(request: "CampaignRequest", sizes: Mapping[str, int]) -> tuple[Bits, int]:
    """m and h: as given, by the paper's equations from a false-positive rate, or the paper's usual ones."""
    rate = request.false_positive_rate
    bits: Bits
    if rate is None:
        bits = PAPER_BITS if request.n_bits is None else request.n_bits
        n_hashes = PAPER_HASHES if request.n_hashes is None else request.n_hashes
    else:
        if max(sizes.values()) > MOST_BITS:  # before equations that no float could hold
            raise CampaignError(
                f"false_positive_rate fits filters to at most {MOST_BITS:,} cells; use smaller views"
            )
        n_hashes = hashes_for(rate)
        each = {name: bits_for(rate, cells) for name, cells in sizes.items()}
        bits = each.get("", each)
    Bloom({1: UNIT // 4}, bits, n_hashes)  # refuses what cannot be before codes are counted
    _check_room(bits, n_hashes, sizes)
    return bits, n_hashes


def _check_room(bits: Bits, n_hashes: int, sizes: Mapping[str, int]) -> None:
    """Refuse filters so crowded that two candidates share one whatever the salt: by the birthday paradox, a salt parts all of
    them with a probability of e^-(expected collisions)."""
    expected = 0.0
    for name, cells in sizes.items():
        if cells > MOST_BITS:  # of which the campaign itself says that they are too many
            continue
        n_bits = bits if isinstance(bits, int) else bits[name]
        n_filters = math.comb(n_bits, n_hashes)
        collisions = cells * (cells - 1) / 2 / n_filters
        if n_filters < cells or collisions > MOST_COLLISIONS:
            raise CampaignError(
                f"{n_bits} bits with {n_hashes} hashes give {n_filters:,} filters, too few for {cells:,} candidates; raise bits"
            )
        expected += collisions
    if expected > MOST_COLLISIONS:
        raise CampaignError(
            f"no salt would give all candidates of {len(sizes):,} attributes filters of their own; raise bits"
        )


def bits_for(false_positive_rate: float, n_candidates: int) -> int:
    """m = ln(1/p) / (ln 2)^2 * |domain|, the paper's equation for the filter's length, rounded up.

    >>> bits_for(0.022, 16)
    128
    """
    return math.ceil(-math.log(_rate(false_positive_rate)) / math.log(2) ** 2 * n_candidates)


def hashes_for(false_positive_rate: float) -> int:
    """h = ln(1/p) / ln 2, the paper's equation for the number of hash functions, rounded to the nearest.

    >>> hashes_for(0.022)
    6
    """
    return max(1, round(-math.log(_rate(false_positive_rate)) / math.log(2)))


def _rate(false_positive_rate: float) -> float:
    if not 0 < false_positive_rate < 1:
        raise CampaignError(
            f"false_positive_rate must lie between 0 and 1, both excluded, got {false_positive_rate}"
        )
    return false_positive_rate
