"""Error of a pair by mechanism and estimator, at equal total epsilon, over seeds."""

import argparse

import numpy as np

from lopub import (
    CampaignRequest,
    Categorical,
    Dataset,
    Domain,
    Terms,
    estimate,
    make_campaign,
    simulate,
)

MECHANISMS = ("direct", "subset", "unary", "hashed", "bloom")
METHODS = ("shrunk", "em", "product")
DOMAIN = Domain(tuple(Categorical(name=name, values=tuple("abcd")) for name in ("x", "y", "z")))


def people(n: int, seed: int) -> Dataset:
    """x and y go together, z goes with nothing."""
    rng = np.random.default_rng(seed)
    x = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    y = np.where(rng.random(n) < 0.5, x, rng.integers(0, 4, n))
    return Dataset(DOMAIN, np.column_stack([x, y, rng.integers(0, 4, n)]).astype(np.uint16))


def errors(mechanism: str, epsilon: float, n: int, seed: int) -> list[float]:
    crowd = people(n, seed)
    reports = simulate(
        crowd,
        make_campaign(
            DOMAIN, Terms(name=mechanism), CampaignRequest(epsilon=epsilon, mechanism=mechanism)
        ),
        seed=seed,
    )
    truth = crowd.counts(["x", "y"]) / n
    return [
        float(np.abs(estimate(reports, ("x", "y"), method=method).probabilities - truth).sum() / 2)
        for method in METHODS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--seeds", type=int, default=10)
    wanted = parser.parse_args()
    print(f"{'':8}" + "".join(f"{method:>18}" for method in METHODS))
    for mechanism in MECHANISMS:
        found = np.array(
            [errors(mechanism, wanted.epsilon, wanted.people, seed) for seed in range(wanted.seeds)]
        )
        spread = found.std(axis=0, ddof=1) / np.sqrt(wanted.seeds)
        print(
            f"{mechanism:8}"
            + "".join(
                f"{mean:12.3f} ±{error:.3f}"
                for mean, error in zip(found.mean(axis=0), spread, strict=True)
            )
        )


if __name__ == "__main__":
    main()
