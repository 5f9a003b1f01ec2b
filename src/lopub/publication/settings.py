"""How a publication is made."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from lopub.campaign.terms import check_language
from lopub.errors import DomainError, checks_options
from lopub.estimation import Estimator, estimator_of
from lopub.reports.days import days_between
from lopub.reports.showing import options_repr
from lopub.synthesis.dependence import Pruning, check_phi

Structure = Literal["calibrated", "paper"]
Numbers = Literal["label", "draw"]
STRUCTURES: tuple[Structure, ...] = ("calibrated", "paper")
PHI = 0.2
"""The paper's dependency degree, where none is given."""
MOST_CLIQUE_CELLS = 2**24
"""The largest cap that may be given: a joint of so many cells takes 128 MiB."""
MOST_COPIES = 100
MOST_ROWS = 100_000_000


@checks_options
@dataclass(frozen=True, kw_only=True)
class PublishSettings:
    """How a publication is made."""

    method: str | Estimator = "shrunk"
    """How joints are estimated: a name, or an estimator with options of its own."""
    structure: Structure = "calibrated"
    """How dependence is found: by held-out gain, or by mutual information as in the paper."""
    phi: float | None = None
    """Dependency degree of structure paper; PHI unless given."""
    pruning: Pruning | None = None
    """Which pairs structure paper looks at; None: all."""
    most_cells: int | None = None
    """Cells of the largest clique joint; None: from the number of reports."""
    rows: int | None = None
    """Records of the synthetic table; None: as many as reports."""
    copies: int = 1
    """How many independent synthetic tables."""
    numbers: Numbers = "label"
    """How a binned number stands in the table: its bin's label, or a number drawn inside the bin."""
    seed: int = 0
    language: str = ""
    """In which language the pages show the campaign's own texts, such as de; empty: the campaign's. What is not translated is
    shown in the campaign's."""
    counts: bool = True
    """Whether the counts of the reports are published, from which questions are answered with intervals, if not too large."""
    leave_out: tuple[str, ...] = ()
    """Days whose reports are left out, such as 2026-03-01 or 2026-03-01..2026-03-04: by a rule that looks at nothing that reports
    say. It is published with the rest."""

    def __repr__(self) -> str:
        return options_repr(self)

    def __post_init__(self) -> None:
        if self.phi is not None:
            check_phi(self.phi)
        if self.structure not in STRUCTURES:
            raise DomainError(
                f"structure must be one of {', '.join(STRUCTURES)}, got {self.structure!r}"
            )
        if self.structure == "calibrated" and self.estimator.name != "shrunk":
            raise DomainError(
                f"structure calibrated scores edges by held-out gain, which only method shrunk has, not {self.estimator.name}; "
                "use structure paper"
            )
        if self.structure != "paper" and (self.pruning is not None or self.phi is not None):
            what = "pruning" if self.pruning is not None else "phi"
            raise DomainError(f"{what} is a part of structure paper")
        if self.rows is not None and self.rows < 1:
            raise DomainError(f"rows must be at least 1, got {self.rows}")
        if self.rows is not None and self.rows > MOST_ROWS:
            raise DomainError(f"rows must be at most {MOST_ROWS:,}, got {self.rows:,}")
        if self.most_cells is not None and self.most_cells > MOST_CLIQUE_CELLS:
            raise DomainError(
                f"most_cells must be at most {MOST_CLIQUE_CELLS:,}, got {self.most_cells:,}"
            )
        if not 1 <= self.copies <= MOST_COPIES:
            raise DomainError(f"copies must lie in 1..{MOST_COPIES}, got {self.copies}")
        if self.numbers not in ("label", "draw"):
            raise DomainError(f"numbers must be label or draw, got {self.numbers!r}")
        if self.language:
            check_language(self.language)
        for days in self.leave_out:
            days_between(days)
        if self.seed < 0:
            raise DomainError(f"seed must not be negative, got {self.seed}")

    @cached_property
    def estimator(self) -> Estimator:
        """The estimator that `method` is, or names."""
        return estimator_of(self.method)
