"""From a request to a campaign: by f, m and h as in the paper, by false-positive rate, or by total epsilon."""

import math
from dataclasses import dataclass, replace
from decimal import Decimal

from lopub.bulk import bulk_of
from lopub.bulk.view_laws import view_law
from lopub.campaign.campaign import Campaign
from lopub.campaign.domain import Domain
from lopub.campaign.mechanisms import Mechanism
from lopub.campaign.terms import Terms
from lopub.campaign.views import AllAttributes, ViewRule
from lopub.errors import CampaignError, checks_options
from lopub.planning.budgets import epsilon_decimal
from lopub.planning.design import ranked, usual_designs
from lopub.planning.makers import Maker, maker_of
from lopub.planning.population import Population
from lopub.reports.showing import options_repr

MUCH_BETTER = 0.8
"""Where nobody says how many people answer, one question a person, which forgoes all dependence, has to be off by no more than
this share of what pairs are off by."""
KEPT = "direct"
"""Where a permanent answer is kept and nobody names a mechanism; every attribute is then randomized by itself."""
PAPER = "bloom"
"""The paper's mechanism: what its f, bits and hashes ask for."""


@checks_options
@dataclass(frozen=True, kw_only=True)
class CampaignRequest:
    """What the maker of a campaign asks for. Exactly one of epsilon and flip_probability."""

    epsilon: float | str | Decimal | None = None
    """Of a whole report. Alone: the best known mechanism and view for it."""
    lifetime_epsilon: float | str | Decimal | None = None
    """Of everything that a device ever sends, where a campaign repeats in mode permanent: that of the answer which is kept. In
    mode sampled it follows from epsilon."""
    flip_probability: float | str | Decimal | None = None
    """The paper's f: each bit is redrawn with it. Alone: the paper's choice, `bloom`, all attributes, separately."""
    mechanism: str | None = None
    """`direct`, `subset`, `hashed`, `unary` or `bloom`. An epsilon makes `unary` optimized, a flip probability symmetric."""
    view: ViewRule | None = None
    """Which attributes a report covers: AllAttributes(), Sample(2), Fill(500), Listed.of(...)."""
    jointly: bool | None = None
    """Whether the answers of a view are randomized as one cell; otherwise each on its own, with its share of epsilon."""
    n_bits: int | None = None
    """The length m of a Bloom filter; 128 unless given."""
    n_hashes: int | None = None
    """The number h of hash functions of a Bloom filter; 4 unless given."""
    false_positive_rate: float | None = None
    """Instead of bits and hashes: the paper's equations."""

    def __repr__(self) -> str:
        return options_repr(self)

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.flip_probability is None):
            raise CampaignError(
                "give either epsilon or flip_probability (on the command line --epsilon E or --flip-probability F), and not both"
            )
        if self.mechanism is not None and self.mechanism not in Mechanism.known:
            raise CampaignError(
                f"mechanism must be one of {', '.join(sorted(Mechanism.known))}, got {self.mechanism!r}"
            )
        if self.mechanism and self.wants_filters and not self.maker.takes_filters:
            raise CampaignError(
                f"bits, hashes and false_positive_rate belong to mechanism 'bloom', not to {self.mechanism!r}"
            )
        if self.false_positive_rate is not None and (
            self.n_bits is not None or self.n_hashes is not None
        ):
            raise CampaignError("give either false_positive_rate, or bits and hashes")
        if self.mechanism and self.flip_probability is not None and not self.maker.takes_flips:
            raise CampaignError(
                f"flip_probability belongs to 'bloom' and 'unary'; give epsilon for {self.mechanism!r}"
            )

    @property
    def maker(self) -> Maker:
        """The maker of the mechanism that is named; one that makes none where none is."""
        return maker_of(Mechanism.known[self.mechanism]) if self.mechanism else Maker()

    @property
    def budget(self) -> Decimal:
        """Epsilon, as the exact decimal that was written."""
        return epsilon_decimal(self.epsilon if self.epsilon is not None else "")

    @property
    def keeps_an_answer(self) -> bool:
        """Whether it is about a permanent answer, and the reports over it."""
        return self.lifetime_epsilon is not None

    @property
    def is_open(self) -> bool:
        """Whether epsilon alone is given, so that the rest is chosen."""
        named = (self.mechanism, self.view, self.jointly)
        return self.epsilon is not None and named == (None, None, None) and not self.wants_filters

    @property
    def wants_filters(self) -> bool:
        """Whether it says anything about Bloom filters."""
        return (self.n_bits, self.n_hashes, self.false_positive_rate) != (None, None, None)


@checks_options
def make_campaign(domain: Domain, terms: Terms, request: CampaignRequest) -> Campaign:
    """A campaign whose true epsilon is at most the requested one, and as near to it as its integers allow."""
    domain.check_questionnaire()  # before people are made up who keep its rules
    is_kept = terms.repeat is not None and terms.repeat.is_permanent
    if request.lifetime_epsilon is not None and not is_kept:
        raise CampaignError(
            "lifetime_epsilon belongs to campaigns that repeat in mode permanent; give epsilon, of one report"
        )
    campaign = (_layered if is_kept else _made)(domain, terms, request)
    _ = campaign.id  # refuses one that is too large to be read back
    return campaign


def _layered(domain: Domain, terms: Terms, request: CampaignRequest) -> Campaign:
    """Two layers of noise: that of the answer which is kept, and over it that of a report."""
    if request.lifetime_epsilon is None or request.epsilon is None:
        raise CampaignError(
            "mode permanent needs epsilon, of one report, and lifetime_epsilon, of everything that is ever sent"
            " (on the command line --epsilon E --lifetime-epsilon L)"
        )
    rule = request.view or AllAttributes()
    one = request.jointly if request.jointly is not None else len(domain) == 1
    asked = replace(
        request,
        mechanism=request.mechanism or (PAPER if request.wants_filters else KEPT),
        view=rule,
        jointly=one,
    )
    below = _made(domain, terms.once, replace(asked, epsilon=request.lifetime_epsilon))
    above = _made(domain, terms.once, asked)
    smallest = (
        min(math.prod(domain.sizes[i] for i in view) for view in rule.views(domain.sizes))
        if one
        else min(domain.sizes)
    )
    mechanism = maker_of(above.mechanism).layered(above.mechanism, below.mechanism, smallest)
    return replace(above, mechanism=mechanism, terms=terms)


def _made(domain: Domain, terms: Terms, request: CampaignRequest) -> Campaign:
    rule, mechanism, jointly = _choice(domain, request)
    rule.check(domain.sizes, jointly)  # before anything is derived from it

    def build(mechanism: Mechanism) -> Campaign:
        return Campaign(domain=domain, mechanism=mechanism, view=rule, jointly=jointly, terms=terms)

    sizes = (
        {"": rule.most_cells(domain.sizes)}
        if jointly
        else dict(zip(domain.names, domain.sizes, strict=True))
    )
    n_blocks = (1,) if jointly else rule.view_sizes(len(domain))
    return maker_of(Mechanism.known[mechanism]).made(request, n_blocks, sizes, build)


def _choice(domain: Domain, request: CampaignRequest) -> tuple[ViewRule, str, bool]:
    """View, mechanism, jointly or not: as requested, and where the request is silent, the best known choice."""
    if request.flip_probability is not None or request.wants_filters or request.maker.takes_filters:
        return request.view or AllAttributes(), request.mechanism or PAPER, bool(request.jointly)
    named, rule = (
        request.mechanism or (view_law(request.view).usual_mechanism if request.view else ""),
        request.view,
    )
    if rule is None or not named:
        view, mechanism = best_known(domain, request.budget, jointly=request.jointly is not False)
        bulk = bulk_of(Mechanism.known[named or mechanism])
        usual = (
            view
            if named in ("", mechanism)
            else bulk.usual_view(domain.sizes, float(request.budget))
        )
        if request.jointly is False and view_law(usual).n_alike(len(domain)) is None:
            usual = view
        named, rule = named or mechanism, rule or usual
    jointly = (
        request.jointly
        if request.jointly is not None
        else view_law(rule).usually_jointly(len(domain))
    )
    return rule, named, jointly


def best_known(domain: Domain, epsilon: Decimal, *, jointly: bool = True) -> tuple[ViewRule, str]:
    """The best of the usual designs for pairs of people like those of surveys: one view, randomized jointly with the whole
    budget."""
    crowd = Population.like_surveys(domain)
    able = [
        one
        for one in usual_designs(domain.sizes, float(epsilon))
        if jointly or view_law(one.view).n_alike(len(domain))
    ]
    found = ranked(able, crowd, float(epsilon))
    of_pairs = [one for one in found if view_law(one[0].view).n_alike(len(domain)) != 1] or found
    best = of_pairs[0] if of_pairs[0][1].pairs * MUCH_BETTER <= found[0][1].pairs else found[0]
    return best[0].view, best[0].mechanism
