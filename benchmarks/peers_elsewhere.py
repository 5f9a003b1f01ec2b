"""What other people's packages make of a table; run by benchmarks/peers.py in an environment of its own, which has no lopub.

`python peers_elsewhere.py IN.npz OUT.npz METHOD EPSILON SEED`. IN has codes and sizes, and for `mbi` the noisy pairs. OUT gets
one array for each pair of attributes, named "0-1", and one for each attribute, named "0".
"""

import sys
from itertools import combinations

import numpy as np

DELTA = 1e-9


def projected(shares):
    """The nearest distribution: what is negative becomes zero, and all others fall by the same amount (norm-sub)."""
    flat = np.sort(np.ravel(shares))[::-1]
    falls = (np.cumsum(flat) - 1) / np.arange(1, flat.size + 1)
    return np.maximum(shares - falls[np.flatnonzero(flat > falls)[-1]], 0)


def of_marginals(shares):
    """Attributes alone: pairs are their products."""
    found = {str(i): projected(np.asarray(one, dtype=float)) for i, one in enumerate(shares)}
    for i, j in combinations(range(len(shares)), 2):
        found[f"{i}-{j}"] = np.outer(found[str(i)], found[str(j)])
    return found


def multi_freq(codes, sizes, epsilon, seed, client, aggregator):
    """A solution of multi-freq-ldpy. Its compiled functions have a generator of their own, which only they can seed."""
    import numba
    from multi_freq_ldpy.mdim_freq_est import RSpFD_solution, SMP_solution

    @numba.njit
    def seeded(number):
        np.random.seed(number)

    np.random.seed(seed)
    seeded(seed)
    found = {**vars(RSpFD_solution), **vars(SMP_solution)}
    reports = [found[client](row, sizes, len(sizes), epsilon) for row in codes]
    return of_marginals(found[aggregator](reports, sizes, len(sizes), epsilon))


def tree_of(weights):
    """The pairs of the tree of greatest weight."""
    import networkx

    graph = networkx.Graph()
    for (i, j), weight in weights.items():
        graph.add_edge(i, j, weight=weight)
    return [tuple(sorted(edge)) for edge in networkx.maximum_spanning_edges(graph, data=False)]


def fitted(sizes, measurements):
    """mbi's graphical model of noisy marginals of a tree, and what it says about every attribute and pair."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    from mbi import Domain, LinearMeasurement, estimation

    domain = Domain([str(i) for i in range(len(sizes))], [int(size) for size in sizes])
    noisy = [
        LinearMeasurement(shares.ravel(), tuple(map(str, clique)), stddev=error)
        for clique, shares, error in measurements
    ]
    model = estimation.MirrorDescent().estimate(domain, noisy, known_total=1.0, iters=1000)
    edges = [clique for clique, _, _ in measurements if len(clique) == 2]
    return of_tree(
        {
            edge: np.asarray(model.project(tuple(map(str, edge))).datavector(flatten=False))
            for edge in edges
        },
        len(sizes),
    )


def of_tree(joints, d):
    """Every attribute and pair of a model that is a tree, from its edges: along a path, one answer tells the next."""
    towards = {**joints, **{(j, i): joint.T for (i, j), joint in joints.items()}}
    alone = {i: joint.sum(1) for (i, _), joint in towards.items()}
    found = {str(i): alone[i] for i in range(d)}
    for start in range(d):
        reached, waiting = {start: np.diag(alone[start])}, [start]
        while waiting:
            here = waiting.pop()
            for i, j in towards:
                if i == here and j not in reached:
                    reached[j] = reached[here] @ (
                        towards[i, j] / np.maximum(alone[i], 1e-300)[:, None]
                    )
                    waiting.append(j)
        found.update({f"{start}-{end}": joint for end, joint in reached.items() if end > start})
    return found


def information(joint):
    joint = np.maximum(joint, 0) / np.maximum(joint, 0).sum()
    apart = np.outer(joint.sum(1), joint.sum(0))
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / apart[some])).sum())


def mbi_on_pairs(made, sizes):
    """Our noisy pairs, unshrunk, with their standard errors: the tree of largest information, as an analyst with mbi would."""
    pairs = {(i, j): made[f"{i}-{j}"] for i, j in combinations(range(len(sizes)), 2)}
    tree = tree_of({pair: information(joint) for pair, joint in pairs.items()})
    return fitted(
        sizes, [(pair, pairs[pair], float(made[f"error {pair[0]}-{pair[1]}"])) for pair in tree]
    )


def mst(codes, sizes, epsilon, seed):
    """MST (McKenna, Miklau, Sheldon 2021), written from the paper, with a trusted server that sees every record."""
    rng, n, d = np.random.default_rng(seed), len(codes), len(sizes)
    rho = (
        np.log(1 / DELTA) * (np.sqrt(1 + epsilon / np.log(1 / DELTA)) - 1) ** 2
    )  # zCDP that gives (epsilon, DELTA)

    def counts(clique):
        shape = tuple(sizes[i] for i in clique)
        return np.bincount(
            np.ravel_multi_index(tuple(codes[:, i] for i in clique), shape),
            minlength=np.prod(shape),
        ).reshape(shape)

    def measured(cliques, share):
        sigma = np.sqrt(len(cliques) / (2 * share))
        return [
            (
                clique,
                (counts(clique) + rng.normal(0, sigma, [sizes[i] for i in clique])) / n,
                sigma / n,
            )
            for clique in cliques
        ]

    ones = measured([(i,) for i in range(d)], rho / 3)
    alone = [projected(shares) for _, shares, _ in ones]
    far = {
        (i, j): np.abs(counts((i, j)) - n * np.outer(alone[i], alone[j])).sum()
        for i, j in combinations(range(d), 2)
    }
    each, tree, part = np.sqrt(8 * (rho / 3) / (d - 1)), [], list(range(d))
    for _ in range(d - 1):
        open_pairs = [pair for pair in far if part[pair[0]] != part[pair[1]]]
        scores = np.array([each * far[pair] / 2 for pair in open_pairs]) + rng.gumbel(
            size=len(open_pairs)
        )
        i, j = open_pairs[int(scores.argmax())]
        tree.append((i, j))
        part = [part[i] if one == part[j] else one for one in part]
    return fitted(sizes, ones + measured(tree, rho / 3))


def main(source, target, method, epsilon, seed):
    made = np.load(source)
    codes, sizes = made["codes"].astype(int), [int(size) for size in made["sizes"]]
    if method == "mst":
        found = mst(codes, sizes, epsilon, seed)
    elif method == "mbi":
        found = mbi_on_pairs(made, sizes)
    else:
        client, aggregator = {
            "rs+fd": ("RSpFD_ADP_Client", "RSpFD_ADP_Aggregator_MI"), "smp": ("SMP_ADP_Client", "SMP_ADP_Aggregator_MI"),
        }[method]  # fmt: skip
        found = multi_freq(codes, sizes, epsilon, seed, client, aggregator)
    np.savez(target, **found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
