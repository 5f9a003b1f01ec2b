"""Same reports and seed, same bytes: whatever numba's cache holds, in whatever process, with however many threads.

After a change of what `simulate` draws, `python tests/publication/test_determinism.py` prints the new DIGESTS.
"""

import ast
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lopub
from lopub import CampaignRequest, Dataset, Terms, count, make_campaign, simulate
from lopub.campaign.domain import Domain
from lopub.publication import publish
from lopub.reports.catalogue import ALUMNI

SOURCE = Path(lopub.__file__).parent

WISHES = {
    "direct": CampaignRequest(epsilon=6, mechanism="direct"),
    "subset": CampaignRequest(epsilon=4, mechanism="subset"),
    "unary": CampaignRequest(epsilon=6, mechanism="unary"),
    "bloom": CampaignRequest(flip_probability=0.5, mechanism="bloom"),
}
DIGESTS = {
    "direct": {
        "reports": "26a82e146aca87281e4fc0d4111182306b862e551e3672213130755cedc8d45d",
        "counts": "25d9200d92ae9369644218394813923de04aabea68b03d31d5504a878eb98723",
    },
    "subset": {
        "reports": "485acb9ff8153e0ffa6f9a103907ad39d15fbb3c73bb01b53a3e1f08cf151350",
        "counts": "79aaf93abccde9ba49aab4455c89a307c1bd510ebe19ca22097829973ab6303d",
    },
    "unary": {
        "reports": "b143c2e5edce50c73d18c6d7ccb118f3da0e4c35f2d1c2d142d0eebdb4606474",
        "counts": "92a5bfa297c91672dac361f29959a4e627d1cafe7db085df7ac43d27a223d7eb",
    },
    "bloom": {
        "reports": "3c2163ab9a6b216ac44c48eb966e9b1d21abdd5cac522cd5b62240316bd82612",
        "counts": "a8bd142fe7809d673384dd63c77d10774fe719adbfd742ce0a0eeb378c220b05",
    },
}
"""SHA-256 of what `simulate` makes of 500 people, and of its counts."""


def people(n: int = 500) -> Dataset:
    """Three attributes of the made-up alumni."""
    table = ALUMNI.people(n, seed=1)
    names = ("gender", "home", "field")
    positions = [table.domain.names.index(name) for name in names]
    return Dataset(
        Domain([table.domain.attributes[p] for p in positions]), table.codes[:, positions]
    )


def digest(*arrays: np.ndarray) -> str:
    """Of the arrays' numbers, as little-endian integers of 64 bits, and their shapes."""
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(f"{array.shape}".encode() + np.ascontiguousarray(array, dtype="<i8").tobytes())
    return whole.hexdigest()


def digests(mechanism: str) -> dict[str, str]:
    """Of the reports, and of their counts."""
    batch = simulate(
        people(), make_campaign(people().domain, Terms(name="x"), WISHES[mechanism]), seed=2
    )
    tables = count(batch).tables
    views = np.array([sum(1 << position for position in view) for view in batch.views])[
        batch.view_index
    ]
    return {
        "reports": digest(
            batch.ids, batch.slots, views, batch.payloads.offsets, batch.payloads.bytes_used
        ),
        "counts": digest(*(tables[key].counts for key in sorted(tables))),
    }


@pytest.mark.parametrize("mechanism", WISHES)
def test_reports_and_counts_of_a_seed_are_those_of_every_machine(mechanism: str):
    assert digests(mechanism) == DIGESTS[mechanism]


@pytest.mark.full
def test_reports_and_counts_do_not_depend_on_the_processor(tmp_path: Path):
    """Compiled for the plainest processor of this kind."""
    code = "print(json.dumps({name: digests(name) for name in WISHES}))"
    assert (
        json.loads(said(code, NUMBA_CACHE_DIR=str(tmp_path), NUMBA_CPU_NAME="generic")) == DIGESTS
    )


# ---- publications


def publications(directory: Path) -> None:
    """Of evidence in every form: counts of kept cells, dense, factorised."""
    for name in ("direct", "subset", "bloom"):
        campaign = make_campaign(people().domain, Terms(name="x"), WISHES[name])
        publish(simulate(people(), campaign, seed=2), seed=3).save(directory / name)


def said(code: str, **environment: str) -> str:
    """What a process of its own prints, which has what this file has."""
    here = [str(path) for path in Path(__file__).parents[:2]]
    code = f"import sys; sys.path[:0] = {here!r}; from test_determinism import *; {code}"
    whole = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=whole, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def published(directory: Path, **environment: str) -> dict[str, bytes]:
    """All files of the publications that a process of its own makes."""
    said(f"publications(Path({str(directory)!r}))", **environment)
    return taken(directory)


def taken(directory: Path) -> dict[str, bytes]:
    """All files of a directory, which is removed."""
    found = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    shutil.rmtree(directory)
    return found


def differing(first: dict[str, bytes], second: dict[str, bytes]) -> list[str]:
    return [
        name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)
    ]


def test_a_publication_does_not_depend_on_the_process(tmp_path: Path):
    """Strings hash anew in every process."""
    publications(tmp_path / "out")
    here = taken(tmp_path / "out")
    there = published(tmp_path / "out", PYTHONHASHSEED="1")
    assert len(here) > 30 and differing(here, there) == []


@pytest.mark.full
def test_a_publication_does_not_depend_on_what_is_cached(tmp_path: Path):
    """Nothing, everything, all but each kernel in turn; with one thread of BLAS and with two."""
    cache = tmp_path / "cache"
    own = {"NUMBA_CACHE_DIR": str(cache)}
    cold = published(tmp_path / "out", **own, PYTHONHASHSEED="1", OPENBLAS_NUM_THREADS="2")
    kernels = sorted(cache.rglob("*.nbi"))
    assert any("best_strength" in kernel.name for kernel in kernels) and any(
        "weigh" in kernel.name for kernel in kernels
    )
    warm = published(tmp_path / "out", **own, PYTHONHASHSEED="2", OPENBLAS_NUM_THREADS="1")
    assert differing(cold, warm) == []
    for kernel in kernels:
        kernel.unlink()
        again = published(tmp_path / "out", **own, PYTHONHASHSEED="3")
        assert differing(cold, again) == [], kernel.name


@pytest.mark.full
@pytest.mark.parametrize(
    "other", [{"NUMBA_CPU_NAME": "generic"}, {"OPENBLAS_CORETYPE": "Prescott"}]
)
def test_a_publication_on_another_processor_differs_by_rounding_alone(
    tmp_path: Path, other: dict[str, str]
):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    here = published(tmp_path / "out", **cache)
    there = published(tmp_path / "out", **cache, **other)
    for name in ("direct", "subset", "bloom"):
        assert here[f"{name}/data/synthetic.csv"] == there[f"{name}/data/synthetic.csv"]
        for file in ("marginals", "pairs"):
            one, two = (cells(files[f"{name}/estimates/{file}.csv"]) for files in (here, there))
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)


def cells(csv_file: bytes) -> np.ndarray:
    """The probabilities in a file of estimates."""
    return np.array(
        [float(row["probability"]) for row in csv.DictReader(csv_file.decode().splitlines())]
    )


# ---- the rules of `lopub.bulk.compiling`

KERNELS = sorted(
    path for path in SOURCE.rglob("*.py") if "from lopub.bulk.compiling import" in path.read_text()
)
ALLOWED = {
    "range",
    "len",
    "min",
    "max",
    "abs",
    "float",
    "int",
    "copy",
    "astype",
    "ones",
    "hash_lanes",
}
"""What a kernel may call beside what is inlined into it: loops, single numbers, and copies. `ones` is an instruction, and
`hash_lanes` some in a row, on integers."""
ALLOWED_OF_NUMPY = {
    "empty",
    "zeros",
    "log",
    "sqrt",
    "float32",
    "float64",
    "uint64",
    "uint32",
    "uint8",
    "int64",
}


def kernels_of(path: Path) -> dict[str, tuple[ast.FunctionDef, str]]:
    """By name: the compiled functions of a file, and how each is compiled."""
    functions = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    marks = {"compiled", "compiled_sums", "inlined_sums"}
    return {
        f.name: (f, ast.unparse(d))
        for f in functions
        for d in f.decorator_list
        if ast.unparse(d) in marks
    }


def test_all_files_with_kernels_are_checked():
    inference = {"kernels.py", "climb_kernels.py", "root_kernels.py"}
    counting = {
        "columns.py",
        "bit_kernels.py",
        "repeats.py",
        "framed.py",
        "direct.py",
        "packed.py",
        "records.py",
        "hashing.py",
    }
    assert {path.name for path in KERNELS} == inference | counting


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_kernel_calls_nothing_but_what_is_inlined_from_its_own_file(path: Path):
    """Whatever else it calls is compiled apart, and may be another version in another process."""
    found = kernels_of(path)
    inlined = {name for name, (_, how) in found.items() if how == "inlined_sums"}
    for function, _ in found.values():
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            owner, _, called = ast.unparse(call.func).rpartition(".")
            allowed = ALLOWED_OF_NUMPY if owner == "np" else ALLOWED | inlined
            assert called in allowed, f"{path.name}: {function.name} calls {ast.unparse(call.func)}"


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_loop_of_a_kernel_adds_up_floats_and_stores_into_an_array(path: Path):
    """Where arrays lie side by side, such a loop adds in another order: publications of one seed then differed at random."""
    for function, how in kernels_of(path).values():
        loops = (
            [node for node in ast.walk(function) if isinstance(node, ast.For)]
            if how != "compiled"
            else []
        )
        for loop in loops:
            inside = [node for node in ast.walk(loop) if node is not loop]
            if any(isinstance(node, ast.For) for node in inside):
                continue
            adds = any(
                isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
                for node in inside
            )
            stores = any(
                isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
                for node in inside
            )
            assert not (adds and stores), f"{path.name}: {function.name}, line {loop.lineno}"


if __name__ == "__main__":
    print("DIGESTS =", json.dumps({name: digests(name) for name in WISHES}, indent=4))
