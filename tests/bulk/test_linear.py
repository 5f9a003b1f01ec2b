"""Second moments of readings, against the matrix that defines them."""

import numpy as np

from lopub.bulk.linear import Scatter


def test_the_second_moment_of_two_sums_is_that_of_the_matrix():
    rng = np.random.default_rng(0)
    sigma, noise = rng.dirichlet(np.ones(4)), rng.random((4, 4))
    scatter, first, other = Scatter(noise + noise.T, 0.3, sigma), rng.random(4), rng.random(4)
    for own, found in enumerate(scatter.second(first, other)):
        unit = np.eye(4)[own]
        moments = (
            np.outer(unit, unit)
            + scatter.noise
            + scatter.gamma * np.outer(unit - sigma, unit - sigma)
        )
        np.testing.assert_allclose(found, first @ moments @ other)
