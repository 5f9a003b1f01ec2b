"""What the number of ones of a cell's bit says about the share of people in that cell, and how far it may be off."""

from dataclasses import dataclass, replace

from lopub.campaign.mechanisms import Law


@dataclass(frozen=True)
class CellNoise:
    """Of one report of a jointly randomized block whose cells have a bit each, (bit - q) / (p - q) has the mean P of its cell.

    The covariance of all cells is diag(alpha + beta P), but for a part that depends on sums over all cells alone: it touches
    no difference of cells that is orthogonal to the shares.
    """

    p: float
    q: float
    alpha: float
    beta: float
    independent: bool = False
    """Whether, given the true cell, bits are independent of each other."""


def cell_noise(law: Law, with_own: float, without: float) -> CellNoise:
    """From the chances that two bits are both ones. with_own: where one of them is the true cell's; without: where none is.

    The mean of b_c b_d over people is without + (with_own - without) (P_c + P_d) for two cells, and q + (p - q) P_c for one.
    What the diagonal has more than the others is therefore q - without + (p - q - 2 (with_own - without)) P_c.
    """
    p, q = float(law.p), float(law.q)
    alpha, beta = q - without, p - q - 2 * (with_own - without)
    return CellNoise(p, q, alpha / (p - q) ** 2, beta / (p - q) ** 2)


def independent_noise(law: Law) -> CellNoise:
    """Where, given the true cell, bits are independent of each other."""
    p, q = float(law.p), float(law.q)
    return replace(cell_noise(law, p * q, q * q), independent=True)
