"""From a wish to a campaign: by f, m and h as in the paper, by false-positive rate, or by total epsilon."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from lopub.campaign import LONGEST_FILE, Campaign
from lopub.canonical import Json, Members, parse
from lopub.choice import FEWEST_CELLS, fill_cells, ranked, usual_choices
from lopub.domain import Attribute, Domain
from lopub.errors import CampaignError, CodesCollide, DomainError, StoreError, all_of
from lopub.exact import UNIT, change_units_for, change_units_of, epsilon_decimal, odds_for
from lopub.files import kind_of
from lopub.mechanism import Bloom, Direct, Mechanism, Subset, Unary, bits_for, hashes_for
from lopub.mechanism.bloom import BloomChannel
from lopub.schema import attribute_from_json
from lopub.terms import Terms, terms_from_json
from lopub.view import AllAttributes, Fill, Sample, ViewRule

PAPER_BITS = 128
PAPER_HASHES = 4
"""The paper's m and h for non-binary data: what `bloom` uses unless told."""
MOST_SALTS = 1000
MOST_COLLISIONS = 30
"""Expected collisions of filters, above which MOST_SALTS tries succeed with a probability below 1e-10."""

_TOGETHER = {"name", "type", "constraints", "categories", "categoriesOrdered", "bins"}
"""The members of a field that only make sense with one another."""
BY_ODDS: dict[str, Callable[[dict[int, int]], Mechanism]] = {"direct": Direct, "subset": Subset, "unary": Unary}
"""Mechanisms whose noise is the odds e^eps."""
Bits = int | Mapping[str, int]
Build = Callable[[Mechanism], Campaign]


class FinishedCampaign(CampaignError):
    """A campaign where a draft of one is expected."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the maker of a campaign asks for. Exactly one of epsilon and flip_probability."""

    epsilon: float | str | Decimal | None = None
    """Of a whole report. Alone: the best known mechanism and view for it."""
    flip_probability: float | str | Decimal | None = None
    """The paper's f: each bit is redrawn with it. Alone: the paper's choice, `bloom`, all attributes, separately."""
    mechanism: str | None = None
    view: ViewRule | None = None
    jointly: bool | None = None
    n_bits: int | None = None
    n_hashes: int | None = None
    false_positive_rate: float | None = None
    """Instead of bits and hashes: the paper's equations."""

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.flip_probability is None):
            raise CampaignError(
                "give either epsilon or flip_probability (on the command line --epsilon E or --flip-probability F), and not both"
            )
        if self.mechanism is not None and self.mechanism not in Mechanism.known:
            raise CampaignError(f"mechanism must be one of {', '.join(sorted(Mechanism.known))}, got {self.mechanism!r}")
        filters = (self.n_bits, self.n_hashes, self.false_positive_rate)
        if any(value is not None for value in filters) and self.mechanism not in (None, "bloom"):
            raise CampaignError(f"bits, hashes and false_positive_rate belong to mechanism 'bloom', not to {self.mechanism!r}")
        if self.false_positive_rate is not None and (self.n_bits is not None or self.n_hashes is not None):
            raise CampaignError("give either false_positive_rate, or bits and hashes")
        if self.flip_probability is not None and self.mechanism not in (None, "bloom", "unary"):
            raise CampaignError(f"flip_probability belongs to 'bloom' and 'unary'; give epsilon for {self.mechanism!r}")

    @property
    def wants_filters(self) -> bool:
        return (self.n_bits, self.n_hashes, self.false_positive_rate) != (None, None, None)


def draft_from_file(path: str | Path) -> tuple[Domain, Terms]:
    """The fields and terms of a draft: a campaign without mechanism and privacy, in any spelling of JSON.

    Whatever is wrong with it is told at once, field by field.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read draft {path}: {error.strerror}") from None
    try:
        return _draft(parse(data))
    except FinishedCampaign as error:
        raise FinishedCampaign(f"{path}: {error}") from None
    except (CampaignError, DomainError) as error:
        if (kind := kind_of(data)) != "JSON":
            raise CampaignError(f"{path} is not a draft, but {kind}") from None
        raise CampaignError(f"{path}: {error}") from None


def _draft(value: Json) -> tuple[Domain, Terms]:
    members = Members(value, "")
    if "format" in members and "mechanism" in members:
        raise FinishedCampaign(
            "this is a finished campaign, not a draft; for another campaign with the same questions, take format, mechanism and"
            " privacy out of it"
        )
    mistakes: list[str] = []
    attributes = _attributes(members, mistakes)
    terms = _terms(members, mistakes)
    if not mistakes or attributes:
        _noting(mistakes, lambda: Domain(tuple(attributes)))
    if mistakes or terms is None:
        raise CampaignError(all_of(mistakes, "the draft"))
    return Domain(tuple(attributes)), terms


Result = TypeVar("Result")


def _noting(mistakes: list[str], read: Callable[[], Result], prefix: str = "") -> Result | None:
    """What comes of reading; a mistake is noted, and nothing comes of it."""
    try:
        return read()
    except (CampaignError, DomainError) as error:
        mistakes.append(str(error) if str(error).startswith("attribute ") else f"{prefix}{error}")
        return None


def _attributes(members: Members, mistakes: list[str]) -> list[Attribute]:
    """The fields that can be; what is wrong with the others goes to the mistakes, by name."""
    schema = _noting(mistakes, lambda: members.members("schema"))
    fields = _noting(mistakes, lambda: schema.items("fields")) if schema is not None else None
    if schema is not None:
        _noting(mistakes, schema.done)
    found = [_attribute(item, f"schema.fields[{i}]", mistakes) for i, item in enumerate(fields or [])]
    return [attribute for attribute in found if attribute is not None]


def _attribute(item: Json, where: str, mistakes: list[str]) -> Attribute | None:
    """A field. Members that hang together are read together, every other one alone."""
    if not isinstance(item, dict) or not isinstance(name := item.get("name"), str):
        return _noting(mistakes, lambda: attribute_from_json(item, where))
    before, prefix = len(mistakes), f"field {name!r}: "
    together = {key: value for key, value in item.items() if key in _TOGETHER}
    _noting(mistakes, lambda: attribute_from_json(together, ""), prefix)
    for key in sorted(set(item) - set(together)):
        alone: Json = {"name": "alone", "type": "boolean", key: item[key]}
        _noting(mistakes, lambda alone=alone: attribute_from_json(alone, ""), prefix)  # type: ignore[misc]
    return attribute_from_json(item, where) if len(mistakes) == before else None


def _terms(members: Members, mistakes: list[str]) -> Terms | None:
    """The terms, each of which is read alone first."""
    given = members.every(lambda value, _: value)
    given.pop("schema", None)
    before = len(mistakes)

    def read(values: dict[str, Json]) -> Terms:
        rest = Members(values, "")
        terms = terms_from_json(rest)
        rest.done()
        return terms

    _noting(mistakes, lambda: read({key: value for key, value in given.items() if key == "name"}))
    for key in sorted(set(given) - {"name"}):
        alone = {"name": "alone", key: given[key]}
        _noting(mistakes, lambda alone=alone: read(alone))  # type: ignore[misc]
    return read(given) if len(mistakes) == before else None


def make_campaign(domain: Domain, terms: Terms, wish: Wish) -> Campaign:
    """A campaign whose true epsilon is at most the wished one, and as near to it as its integers allow."""
    campaign = _made(domain, terms, wish)
    if (size := len(campaign.canonical_bytes)) > LONGEST_FILE:
        raise CampaignError(f"the campaign would be a file of {size:,} bytes; at most {LONGEST_FILE:,} are read: ask less")
    return campaign


def _made(domain: Domain, terms: Terms, wish: Wish) -> Campaign:
    rule, mechanism, jointly = _choice(domain, wish)
    rule.check(domain.sizes, jointly)  # before anything is derived from it

    def build(mechanism: Mechanism) -> Campaign:
        return Campaign(domain=domain, mechanism=mechanism, view=rule, jointly=jointly, terms=terms)

    counts = (1,) if jointly else rule.view_sizes(len(domain))
    if mechanism == "bloom":
        return _bloom_campaign(build, wish, counts, _filters(domain, wish, rule, jointly))
    if wish.flip_probability is not None:
        return build(Unary(dict.fromkeys(counts, change_units_of(wish.flip_probability)), symmetric=True))
    odds = {n: odds_for(_epsilon(wish), n) for n in counts}
    if mechanism not in BY_ODDS:
        raise CampaignError(f"mechanism {mechanism!r} cannot be made from an epsilon alone; build its campaign by hand")
    return build(BY_ODDS[mechanism](odds))


def _epsilon(wish: Wish) -> Decimal:
    return epsilon_decimal(wish.epsilon if wish.epsilon is not None else "")


def _choice(domain: Domain, wish: Wish) -> tuple[ViewRule, str, bool]:
    """View, mechanism, jointly or not: as wished, and where the wish is silent, the best known choice."""
    if wish.flip_probability is not None or wish.wants_filters or wish.mechanism == "bloom":
        return wish.view or AllAttributes(), wish.mechanism or "bloom", bool(wish.jointly)
    epsilon = _epsilon(wish)
    best = best_known(domain, epsilon)
    mechanism = wish.mechanism or ("direct" if isinstance(wish.view, Fill) else best[1])
    rule = wish.view
    if rule is None:
        rule = best[0] if mechanism == best[1] else _usual_view(domain, mechanism, epsilon)
    jointly = wish.jointly if wish.jointly is not None else not isinstance(rule, AllAttributes) or len(domain) == 1
    return rule, mechanism, jointly


def best_known(domain: Domain, epsilon: Decimal) -> tuple[ViewRule, str]:
    """What `choice` ranks first, for pairs: one view, randomized jointly with the whole budget."""
    best = ranked(usual_choices(domain.sizes, float(epsilon)), domain.sizes, float(epsilon))[0].choice
    return best.view, best.mechanism


def _usual_view(domain: Domain, mechanism: str, epsilon: Decimal) -> ViewRule:
    if len(domain) == 1:
        return AllAttributes()
    if mechanism == "direct":
        return Fill(max(FEWEST_CELLS, fill_cells(float(epsilon))))
    return Sample(2)


def _bloom_campaign(build: Build, wish: Wish, counts: tuple[int, ...], filters: tuple[Bits, int]) -> Campaign:
    """Try salts until no two candidates share a filter, then set the noise for the filters that came out."""
    for salt in range(MOST_SALTS):
        try:
            return _salted(build, wish, counts, filters, str(salt))
        except CodesCollide:
            continue
    raise CampaignError(f"in {MOST_SALTS:,} tries no salt gave every candidate a filter of its own; raise bits")


def _salted(build: Build, wish: Wish, counts: tuple[int, ...], filters: tuple[Bits, int], salt: str) -> Campaign:
    if wish.flip_probability is not None:
        return build(Bloom(dict.fromkeys(counts, change_units_of(wish.flip_probability)), *filters, salt))
    quiet = build(Bloom(dict.fromkeys(counts, UNIT // 4), *filters, salt))  # any noise: only the filters matter here
    units = {n: change_units_for(_epsilon(wish), _distance(quiet, n)) for n in counts}
    return build(Bloom(units, *filters, salt))


def _filters(domain: Domain, wish: Wish, rule: ViewRule, jointly: bool) -> tuple[Bits, int]:
    """m and h: as given, by the paper's equations from a false-positive rate, or the paper's usual ones."""
    most = [rule.most_cells(domain.sizes)] if jointly else list(domain.sizes)
    bits: Bits
    if wish.false_positive_rate is None:
        bits = PAPER_BITS if wish.n_bits is None else wish.n_bits
        n_hashes = PAPER_HASHES if wish.n_hashes is None else wish.n_hashes
    else:
        if max(most) > Bloom.largest_block:  # before equations that no float could hold
            raise CampaignError(f"false_positive_rate fits filters to at most {Bloom.largest_block:,} cells; use smaller views")
        n_hashes = hashes_for(wish.false_positive_rate)
        lengths = [bits_for(wish.false_positive_rate, cells) for cells in most]
        bits = lengths[0] if jointly else dict(zip(domain.names, lengths, strict=True))
    Bloom({1: UNIT // 4}, bits, n_hashes)  # refuses what cannot be before codes are counted
    for cells, n_bits in zip(most, [bits] * len(most) if isinstance(bits, int) else bits.values(), strict=True):
        if cells <= Bloom.largest_block:  # of more, the campaign itself says that they are too many
            _check_room(n_bits, n_hashes, cells)
    return bits, n_hashes


def _check_room(n_bits: int, n_hashes: int, cells: int) -> None:
    """Refuse filters so crowded that two candidates share one whatever the salt: by the birthday paradox a salt parts all of them
    with a probability of e^-(expected collisions)."""
    n_filters = math.comb(n_bits, n_hashes)
    if n_filters < cells or cells * (cells - 1) / 2 / n_filters > MOST_COLLISIONS:
        raise CampaignError(
            f"{n_bits} bits with {n_hashes} hashes give {n_filters:,} filters, too few for {cells:,} candidates; raise bits"
        )


def _distance(campaign: Campaign, n_blocks: int) -> int:
    """In how many bits the codes of two whole reports of so many blocks differ at most."""
    channels = [channel for channel in campaign.coded_channels if isinstance(channel, BloomChannel)]
    if campaign.jointly:
        return max(channel.distance for channel in channels)
    d = len(campaign.domain)
    distances = [Decimal(channel.distance) for channel in channels[:d]]
    return int(campaign.view.worst(lambda n: distances if n == n_blocks else [Decimal(0)] * d, d))
