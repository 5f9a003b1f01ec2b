"""Margins: what is publicly known of some attributes, and takes the place of what is estimated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lopub.bulk.support import Support
from lopub.campaign.domain import Domain
from lopub.errors import DomainError
from lopub.estimation.agreement import Agreement
from lopub.estimation.joint import Fit, JointDistribution, Probabilities, raked
from lopub.queries import Study

AGREEMENT = 1e-3
"""How far two known margins may differ on what they share: they are printed with few digits."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Known joints of one or two attributes, by their names in order. domain: whose questionnaire may rule cells out."""

    known: dict[tuple[str, ...], JointDistribution]
    domain: Domain
    moved: Mapping[str, Probabilities] = field(default_factory=dict)
    """Shares of other attributes, where they had to be brought to agree with the known ones by the questionnaire's rules."""

    @classmethod
    def of(cls, margins: Sequence[JointDistribution], domain: Domain) -> "Margins":
        """Checked: of attributes of the domain, one or two each, none twice, and not contradicting each other."""
        known: dict[tuple[str, ...], JointDistribution] = {}
        for margin in margins:
            if len(margin.names) > 2:
                raise DomainError(
                    f"a public margin is of one or two attributes, got {len(margin.names)}: {', '.join(margin.names)}"
                )
            domain.positions(margin.names)
            ordered = margin.marginal(sorted(margin.names))
            if ordered.names in known:
                raise DomainError(f"two public margins are of {' and '.join(ordered.names)}")
            known[ordered.names] = _certain(ordered)
        checked = cls(known, domain)
        checked._check_agreement()
        for joint in known.values():
            if (checked._open(joint) == 0)[joint.probabilities > AGREEMENT].any():
                raise DomainError(
                    f"the public margin of {' and '.join(joint.names)} holds people whom the questionnaire rules out"
                )
        return checked

    def agreeing(self, study: Study) -> "Margins":
        """With the shares of what the reports tell brought to agree with what is known, as far as questions follow from each
        other; refuses margins that nobody who keeps the questionnaire's rules could have."""
        agreement, names = Agreement(study.domain), study.domain.names
        given = {
            position: found
            for position, name in enumerate(names)
            if (found := self.marginal(name)) is not None
        }
        if not given or not agreement:
            return self
        shares = study.marginals | {
            position: joint.probabilities for position, joint in given.items()
        }
        agreed = agreement.agreed(shares, study.marginal_covariance, given)
        if contradicting := agreement.contradiction(agreed, given):
            known = " and ".join(sorted({name for names in self.known for name in names}))
            raise DomainError(
                f"the public margins of {known} contradict the questionnaire: nobody who keeps its rules about"
                f" {' and '.join(contradicting)} could have these shares; mend them, or leave one out"
            )
        return replace(
            self,
            moved={
                names[position]: own for position, own in agreed.items() if position not in given
            },
        )

    def share(self, joint: JointDistribution) -> JointDistribution:
        """One attribute's estimate, or what takes its place."""
        (name,) = joint.names
        if (known := self.marginal(name)) is not None:
            return known
        return replace(joint, probabilities=self.moved[name]) if name in self.moved else joint

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        return tuple(sorted(self.known))

    def marginal(self, name: str) -> JointDistribution | None:
        """What is known of one attribute, be it from a margin of two."""
        found = [
            self.known[names].marginal((name,))
            for names in sorted(self.known, key=len)
            if name in names
        ]
        return _certain(found[0]) if found else None

    def has(self, names: Sequence[str]) -> bool:
        """Whether these attributes are known together."""
        return tuple(sorted(names)) in self.known

    def pair(self, names: Sequence[str]) -> Probabilities | None:
        """What is known of two attributes together, with its axes in the order given."""
        margin = self.known.get(tuple(sorted(names)))
        return None if margin is None else margin.marginal(names).probabilities

    def within(self, names: Sequence[str]) -> dict[tuple[int, ...], Probabilities]:
        """The known margins of some of these attributes, by their places among them."""
        inside = [known for known in self.names if set(known) <= set(names)]
        moved = {
            (place,): self.moved[name] for place, name in enumerate(names) if name in self.moved
        }
        return moved | {
            tuple(names.index(name) for name in known): self.known[known].probabilities
            for known in inside
        }

    def in_pair(
        self, joint: JointDistribution, marginals: Sequence[Probabilities]
    ) -> JointDistribution:
        """The pair that is known, or the estimated one raked to the marginals, if one of them is known."""
        known = self.pair(joint.names)
        if known is not None:
            return replace(
                joint,
                probabilities=known,
                standard_errors=np.zeros(known.shape),
                fit=Fit(method="given"),
            )
        if not any(self.marginal(name) or name in self.moved for name in joint.names):
            return joint
        return replace(joint, probabilities=raked(self._open(joint), [(0,), (1,)], marginals))

    def in_clique(self, joint: JointDistribution) -> JointDistribution:
        """The joint raked to what is known of its attributes."""
        known = self.within(joint.names)
        if not known:
            return joint
        start = self._open(joint)
        return replace(
            joint,
            probabilities=raked(start / start.sum(), list(known), list(known.values())),
            standard_errors=None,
        )

    def _open(self, joint: JointDistribution) -> Probabilities:
        """The joint with something in every cell that is possible: raking cannot bring a zero back."""
        mask = Support(self.domain).mask(self.domain.positions(joint.names))
        least = np.maximum(joint.probabilities, 1e-12)
        return least if mask is None else np.where(mask, least, 0.0)

    def _check_agreement(self) -> None:
        for name in sorted({name for names in self.known for name in names}):
            said = [
                self.known[names].marginal((name,)).probabilities
                for names in self.names
                if name in names
            ]
            if max(float(np.abs(one - said[0]).max()) for one in said) > AGREEMENT:
                raise DomainError(
                    f"the public margins contradict each other about attribute {name!r}"
                )


def _certain(joint: JointDistribution) -> JointDistribution:
    return replace(
        joint, standard_errors=np.zeros(joint.probabilities.shape), fit=Fit(method="given")
    )
