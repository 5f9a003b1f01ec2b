"""The compiled loops of estimation against their plain twins."""

import numpy as np
import pytest

from lopub.bulk.compiling import Later
from lopub.estimation.climb_kernels import mix, solve
from lopub.estimation.kernels import weigh


def test_weigh_is_dot_then_divide_with_the_logarithms_summed():
    rng = np.random.default_rng(1)
    work, second = rng.random((500, 7), dtype=np.float32), rng.random((500, 7), dtype=np.float32)
    chances = (work.astype(np.float64) * second).sum(axis=1)
    found = work.copy()
    assert weigh(found, second) == pytest.approx(np.log(chances).sum(), rel=1e-6)
    np.testing.assert_allclose(found, second / chances[:, None], rtol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-37, 1e-44])
def test_weigh_does_not_lose_small_chances(scale: float):
    work, second = np.full((4000, 1), scale, dtype=np.float32), np.ones((4000, 1), dtype=np.float32)
    expected = 4000 * np.log(np.float64(np.float32(scale)))
    assert weigh(work, second) == pytest.approx(expected, rel=1e-9)


def test_an_impossible_report_is_minus_infinity_and_no_error():
    work, second = np.zeros((5, 2), dtype=np.float32), np.ones((5, 2), dtype=np.float32)
    assert weigh(work, second) == -np.inf


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_solve_is_numpys(n: int):
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n + 3))
    square, right = half @ half.T, rng.normal(size=n)
    expected = np.linalg.solve(square, right)
    solve(square.copy(), right)
    np.testing.assert_allclose(right, expected, rtol=1e-8)


def plain_mix(residual, bends, moves, ridge):
    square = bends @ bends.T
    square += ridge * np.trace(square) * np.eye(len(bends))
    return np.linalg.solve(square, bends @ residual) @ moves


def test_mix_remembers_and_combines_as_numpy_does():
    rng = np.random.default_rng(3)
    memory, n_cells, ridge = 4, 12, 1e-10
    bends, moves, products = (
        np.zeros((memory, n_cells)),
        np.zeros((memory, n_cells)),
        np.zeros((memory, memory)),
    )
    expected_bends, expected_moves = np.zeros_like(bends), np.zeros_like(moves)
    for seen in range(7):  # the oldest is overwritten once the memory is full
        residual, bend, step = rng.normal(size=(3, n_cells))
        place, n = seen % memory, min(seen + 1, memory)
        expected_bends[place], expected_moves[place] = bend, step + bend
        found = mix(residual, bend, step, place, n, bends, moves, products, ridge)
        np.testing.assert_allclose(
            found, plain_mix(residual, expected_bends[:n], expected_moves[:n], ridge), rtol=1e-6
        )


def test_mix_of_nothing_is_nothing():
    memory, still = np.zeros((3, 5)), np.zeros(5)
    assert not mix(
        np.ones(5), still, still, 0, 1, memory, memory.copy(), np.zeros((3, 3)), 1e-10
    ).any()


def test_a_kernel_that_cannot_be_kept_runs_all_the_same():
    """Forbids to fail where the disk is full: by then numba has compiled the kernel, and only keeping it failed."""
    calls = list[int]()

    def kernel(n: int) -> int:
        calls.append(n)
        if len(calls) == 1:
            raise OSError("no space left")
        return n + 1

    assert Later(kernel, lambda it: it)(1) == 2
    assert calls == [1, 1]
