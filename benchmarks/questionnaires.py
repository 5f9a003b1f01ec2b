"""What a questionnaire's public rules are worth.

People are made up, and have three nested conditions and a list (tests/questionnaires.py).

- `error`: mean AVD of five pairs of a question and its condition, from the same 20,000 reports (`lopub campaign make`, all else
  default), with the estimator told of the conditions and not told; five seeds.
- `reports`: how many of 20,000 reports cover an ordinary pair of fourteen questions: alone, beside a list of twenty options, if
  the options counted as questions of their own; expected numbers, without chance.
- `contradictions`: how many of 1,000,000 synthetic records contradict the questionnaire, of 4,000 reports, for both structures
  and every method that each takes.

`python benchmarks/questionnaires.py [error] [reports] [contradictions]` writes benchmarks/results/questionnaires.csv anew.
"""

import csv
import importlib.util
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np

from lopub import (
    Boolean,
    Campaign,
    CampaignRequest,
    Sample,
    Study,
    Terms,
    make_campaign,
    publish,
    simulate,
)
from lopub.bulk.questionnaire import contradicting
from lopub.bulk.view_laws import view_law
from lopub.campaign.domain import TickList
from lopub.campaign.fields import domain_of
from lopub.estimation.agreement import Agreement

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "questionnaires.csv"
COLUMNS = ["figure", "case", "seed", "value", "seconds"]
SEEDS = (1, 2, 3, 4, 5)
N_PEOPLE, N_ROWS = 20_000, 1_000_000
PAIRS = [
    ("job", "hours"),
    ("hours", "overtime"),
    ("overtime", "weekends"),
    ("age", "weekends"),
    ("reads/books", "title"),
]
SEPARATELY = {"epsilon": 8, "mechanism": "unary", "view": Sample(3), "jointly": False}
WAYS = [
    *(
        ("jointly", {"epsilon": 4}, "calibrated", "shrunk"),
        ("subset", {"epsilon": 2, "mechanism": "subset"}, "calibrated", "shrunk"),
    ),
    ("separately", SEPARATELY, "calibrated", "shrunk"),
    *(
        ("separately", SEPARATELY, "paper", method)
        for method in ("shrunk", "em", "moments", "product", "lasso", "hybrid")
    ),
]
Row = tuple[str, str, int | str, float]


def made_up() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "made_up", HERE.parent / "tests" / "questionnaires.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PEOPLE = made_up()


def error() -> Iterator[Row]:
    truth, says = PEOPLE.people(N_PEOPLE), Agreement.__bool__
    for epsilon in (2, 4):
        for seed in SEEDS:
            batch = simulate(truth, PEOPLE.campaign(epsilon=epsilon), seed=seed)
            for told in (True, False):
                Agreement.__bool__ = says if told else (lambda self: False)  # type: ignore[method-assign]
                study = Study(batch)
                found = np.mean(
                    [study.estimate(pair).avd(truth.counts(pair) / len(truth)) for pair in PAIRS]
                )
                yield (
                    "error",
                    f"epsilon {epsilon}, {'told' if told else 'not told'}",
                    seed,
                    float(found),
                )
            Agreement.__bool__ = says  # type: ignore[method-assign]


def reports() -> Iterator[Row]:
    ordinary = tuple(Boolean(name=f"q{i}") for i in range(14))
    ticks = TickList(name="ticks", values=tuple(map(str, range(20))))
    options = tuple(Boolean(name=f"o{i}") for i in range(20))
    for case, questions in {
        "alone": ordinary,
        "beside a list": (*ordinary, ticks),
        "beside 20 questions": ordinary + options,
    }.items():
        campaign: Campaign = make_campaign(
            domain_of(questions), Terms(name="views"), CampaignRequest(epsilon=2, view=Sample(2))
        )
        yield (
            "reports",
            case,
            "",
            N_PEOPLE
            * float(view_law(campaign.view).coverage((0, 1), campaign.domain.sizes) or 0.0),
        )


def contradictions() -> Iterator[Row]:
    for which, wish, structure, method in WAYS:
        batch = simulate(PEOPLE.people(4_000), PEOPLE.campaign(**wish), seed=3)
        with warnings.catch_warnings(action="ignore"):
            table = publish(
                batch, structure=structure, method=method, rows=N_ROWS, most_cells=500
            ).synthetic
        yield (
            "contradictions",
            f"{which}, {structure}, {method}",
            3,
            float(contradicting(PEOPLE.DOMAIN, table.codes).sum()),
        )


def main(wanted: list[str]) -> None:
    with open(RESULTS, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for figure in (error, reports, contradictions):
            start = time.process_time()
            for name, case, seed, value in (
                figure() if not wanted or figure.__name__ in wanted else ()
            ):
                row = [name, case, seed, f"{value:.5g}", f"{time.process_time() - start:.1f}"]
                writer.writerow(row)
                print(*row, flush=True)
                start = time.process_time()


if __name__ == "__main__":
    main(sys.argv[1:])
