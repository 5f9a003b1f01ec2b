"""From a request to a campaign: by f, m and h as in the paper, by false-positive rate, or by total epsilon."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from lopub.contract.budget import epsilon_decimal
from lopub.contract.campaign import Campaign
from lopub.contract.canonical import Json, Members, parse
from lopub.contract.domain import Domain, Question
from lopub.contract.fields import domain_of, question_from_json
from lopub.contract.mechanism import Mechanism
from lopub.contract.terms import Terms, terms_from_json
from lopub.contract.view import AllAttributes, ViewRule
from lopub.errors import CampaignError, DomainError, StoreError, all_of, checks_options
from lopub.files import kind_of
from lopub.forecast.design import ranked, usual_designs
from lopub.laws import bulk_of

PAPER = "bloom"
"""The paper's mechanism: what its f, bits and hashes ask for."""
_TOGETHER = {"name", "type", "constraints", "categories", "categoriesOrdered", "bins", "none"}
"""The members of a field that only make sense with one another."""


class FinishedCampaign(CampaignError):
    """A campaign where a draft of one is expected."""


@checks_options
@dataclass(frozen=True, kw_only=True)
class CampaignRequest:
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
        if self.mechanism and self.wants_filters and not self.kind.takes_filters:
            raise CampaignError(f"bits, hashes and false_positive_rate belong to mechanism 'bloom', not to {self.mechanism!r}")
        if self.false_positive_rate is not None and (self.n_bits is not None or self.n_hashes is not None):
            raise CampaignError("give either false_positive_rate, or bits and hashes")
        if self.mechanism and self.flip_probability is not None and not self.kind.takes_flips:
            raise CampaignError(f"flip_probability belongs to 'bloom' and 'unary'; give epsilon for {self.mechanism!r}")

    @property
    def kind(self) -> type[Mechanism]:
        """The mechanism that is named; Mechanism itself where none is."""
        return Mechanism.known[self.mechanism] if self.mechanism else Mechanism

    @property
    def budget(self) -> Decimal:
        """Epsilon, as the exact decimal that was written."""
        return epsilon_decimal(self.epsilon if self.epsilon is not None else "")

    @property
    def wants_filters(self) -> bool:
        """Whether it says anything about Bloom filters."""
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
        _noting(mistakes, lambda: _checked(attributes))
    if mistakes or terms is None:
        raise CampaignError(all_of(mistakes, "the draft"))
    return domain_of(attributes), terms


def _checked(questions: Sequence[Question]) -> Domain:
    """The domain of these questions, whose rules hold together."""
    domain = domain_of(questions)
    domain.check_questionnaire()
    return domain


Result = TypeVar("Result")


def _noting(mistakes: list[str], read: Callable[[], Result], prefix: str = "") -> Result | None:
    """What comes of reading; a mistake is noted, and nothing comes of it."""
    try:
        return read()
    except (CampaignError, DomainError) as error:
        mistakes.append(str(error) if str(error).startswith("attribute ") else f"{prefix}{error}")
        return None


def _attributes(members: Members, mistakes: list[str]) -> list[Question]:
    """The fields that can be; what is wrong with the others goes to the mistakes, by name."""
    schema = _noting(mistakes, lambda: members.members("schema"))
    fields = _noting(mistakes, lambda: schema.items("fields")) if schema is not None else None
    if schema is not None:
        _noting(mistakes, schema.done)
    found = [_attribute(item, f"schema.fields[{i}]", mistakes) for i, item in enumerate(fields or [])]
    return [attribute for attribute in found if attribute is not None]


def _attribute(item: Json, where: str, mistakes: list[str]) -> Question | None:
    """A field. Members that hang together are read together, every other one alone."""
    if not isinstance(item, dict) or not isinstance(name := item.get("name"), str):
        return _noting(mistakes, lambda: question_from_json(item, where))
    before, prefix = len(mistakes), f"field {name!r}: "
    together = {key: value for key, value in item.items() if key in _TOGETHER}
    _noting(mistakes, lambda: question_from_json(together, ""), prefix)
    for key in sorted(set(item) - set(together)):
        alone: Json = {"name": "alone", "type": "boolean", key: item[key]}
        _noting(mistakes, lambda alone=alone: question_from_json(alone, ""), prefix)  # type: ignore[misc]
    return question_from_json(item, where) if len(mistakes) == before else None


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


@checks_options
def make_campaign(domain: Domain, terms: Terms, request: CampaignRequest) -> Campaign:
    """A campaign whose true epsilon is at most the requested one, and as near to it as its integers allow."""
    campaign = _made(domain, terms, request)
    _ = campaign.id  # refuses one that is too large to be read back
    return campaign


def _made(domain: Domain, terms: Terms, request: CampaignRequest) -> Campaign:
    rule, mechanism, jointly = _choice(domain, request)
    rule.check(domain.sizes, jointly)  # before anything is derived from it

    def build(mechanism: Mechanism) -> Campaign:
        return Campaign(domain=domain, mechanism=mechanism, view=rule, jointly=jointly, terms=terms)

    sizes = {"": rule.most_cells(domain.sizes)} if jointly else dict(zip(domain.names, domain.sizes, strict=True))
    n_blocks = (1,) if jointly else rule.view_sizes(len(domain))
    return Mechanism.known[mechanism].made(request, n_blocks, sizes, build)


def _choice(domain: Domain, request: CampaignRequest) -> tuple[ViewRule, str, bool]:
    """Clique, mechanism, jointly or not: as requested, and where the request is silent, the best known choice."""
    if request.flip_probability is not None or request.wants_filters or request.kind.takes_filters:
        return request.view or AllAttributes(), request.mechanism or PAPER, bool(request.jointly)
    best = best_known(domain, request.budget)
    mechanism = request.mechanism or (request.view.usual_mechanism if request.view else "") or best[1]
    rule = request.view
    if rule is None:
        bulk = bulk_of(Mechanism.known[mechanism])
        rule = best[0] if mechanism == best[1] else bulk.usual_view(domain.sizes, float(request.budget))
    jointly = request.jointly if request.jointly is not None else rule.usually_jointly(len(domain))
    return rule, mechanism, jointly


def best_known(domain: Domain, epsilon: Decimal) -> tuple[ViewRule, str]:
    """What `design` ranks first, for pairs: one view, randomized jointly with the whole budget."""
    best = ranked(usual_designs(domain.sizes, float(epsilon)), domain.sizes, float(epsilon))[0].design
    return best.view, best.mechanism
