"""The public names: typed options, one verb for files, short reprs, a name where a list of names is expected."""

import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

import lopub
import lopub.campaign
import lopub.estimation.joint
import lopub.estimation.methods
import lopub.planning.request
import lopub.publication.stages
import lopub.reports
from lopub import (
    Binned,
    Boolean,
    Campaign,
    CampaignRequest,
    Categorical,
    Client,
    Counts,
    Dataset,
    Domain,
    DomainError,
    Em,
    Estimator,
    Evaluation,
    FileStore,
    Hybrid,
    IntegerRange,
    JointDistribution,
    Lasso,
    Listed,
    MemoryStore,
    Moments,
    Plan,
    Product,
    Pruning,
    Publication,
    PublishSettings,
    ReportBatch,
    Shrunk,
    Study,
    Terms,
    TickList,
    Translation,
    count,
    estimate,
    estimate_pairs,
    evaluate,
    fetch_campaign,
    infer_domain,
    make_campaign,
    plan,
    poisoning_bound,
    publish,
    simulate,
)
from lopub.estimation import METHODS
from lopub.reports.showing import Shown

SECRET = "rumpelstilzchen"
"""An answer, and therefore in no repr."""
CITY = Categorical(name="city", values=("berlin", SECRET, "rome"), missing=True)
DOMAIN = Domain(
    (
        CITY,
        Boolean(name="smoker"),
        IntegerRange(name="age", minimum=20, maximum=23),
        Binned(name="pay", edges=("0", "10", "20")),
    )
)
CAMPAIGN = make_campaign(
    DOMAIN, Terms(name="towns"), CampaignRequest(epsilon=8, mechanism="direct")
)


@cache
def people() -> Dataset:
    rng = np.random.default_rng(1)
    city = rng.integers(0, 4, 900)
    return Dataset(
        DOMAIN, np.stack([city, city % 2, rng.integers(0, 4, 900), rng.integers(0, 2, 900)], axis=1)
    )


@cache
def reports() -> ReportBatch:
    return simulate(people(), CAMPAIGN, seed=1)


@cache
def publication() -> Publication:
    return publish(reports(), rows=50, seed=1)


@cache
def planned() -> Plan:
    return plan(Domain((CITY, DOMAIN["smoker"])), people=200, epsilon=4, n_tried=1)


# ---- at home elsewhere


@cache
def evaluation() -> Evaluation:
    return evaluate(people(), publication().synthetic, classifiers=False)


RESULTS: dict[str, Callable[[], Any]] = {
    "Answer": lambda: Study(reports()).probability("smoker"),
    "AnswerTable": lambda: Study(reports()).table("age"),
    "Counts": lambda: count(reports()),
    "Dataset": people,
    "Evaluation": evaluation,
    "JointDistribution": lambda: Study(reports()).estimate(("age", "smoker")),
    "Plan": lambda: planned(),
    "Population": lambda: planned().population,
    "Publication": publication,
    "ReportBatch": reports,
    "Study": lambda: Study(reports()),
}
"""One of each public class that holds results."""


def test_every_public_result_is_listed_here():
    public = {
        name
        for name in lopub.__all__
        if isinstance(found := getattr(lopub, name), type) and issubclass(found, Shown)
    }
    assert public == set(RESULTS)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table_to_whoever_knows_arrow(name: str):
    result = RESULTS[name]()
    assert type(result).__name__ == name
    assert pa.table(result).equals(result.to_arrow())
    assert pa.RecordBatchReader.from_stream(result).read_all().equals(result.to_arrow())
    assert len(result.to_pandas()) == result.to_arrow().num_rows


@pytest.mark.parametrize("name", RESULTS)
def test_polars_has_the_same_rows(name: str):
    """In both ways: by our method, and by the Arrow C interface alone, which needs no pyarrow."""
    result = RESULTS[name]()
    arrow, frame = result.to_arrow(), result.to_polars()
    assert frame.columns == arrow.column_names
    assert frame.equals(polars.DataFrame(result))
    assert [tuple(row.values()) for row in arrow.to_pylist()] == frame.rows()


@pytest.mark.parametrize("make", [*RESULTS.values(), lambda: CAMPAIGN, lambda: DOMAIN])
def test_a_notebook_shows_what_is_public(make: Callable[[], Any]):
    shown = make()._repr_html_()
    assert shown.startswith(("<table>", "<pre>")) and shown.count("<table>") == shown.count(
        "</table>"
    )


def test_what_a_notebook_shows_is_escaped():
    domain = Domain((Categorical(name="<b>", values=("x", "y"), title="1 & 2"),))
    assert "<td>&lt;b&gt;</td><td>1 &amp; 2</td>" in domain._repr_html_()


@pytest.mark.parametrize(
    "name", ["Answer", "AnswerTable", "Evaluation", "JointDistribution", "Plan", "Publication"]
)
def test_a_picture_is_drawn_on_the_axes_that_are_given_or_on_its_own(name: str):
    axes = Figure().subplots()
    assert RESULTS[name]().plot(axes) is axes and axes.has_data()
    own = RESULTS[name]().plot()
    assert own.has_data()
    own.figure.canvas.draw()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(DomainError, match="this needs polars; install it with: pip install polars"):
        people().to_polars()


def test_records_are_shown_without_an_answer():
    assert SECRET not in people()._repr_html_()


# ---- typed options


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything in `lopub` that can be called, and the methods that people call on it."""
    for name in lopub.__all__:
        found = getattr(lopub, name)
        if inspect.isfunction(found):
            yield name, found
        elif inspect.isclass(found) and found.__module__.startswith("lopub"):
            own = inspect.getmembers(
                found, lambda member: inspect.isfunction(member) or inspect.ismethod(member)
            )
            yield from (
                (f"{name}.{method}", member) for method, member in own if not method.startswith("_")
            )


def test_no_public_function_takes_options_of_any_type():
    for name, function in public_functions():
        for parameter in inspect.signature(
            function
        ).parameters.values():  # a text names what loads only when it is needed
            if parameter.kind == inspect.Parameter.VAR_KEYWORD:
                assert parameter.annotation not in (
                    Any,
                    object,
                    "Any",
                    "object",
                    inspect.Parameter.empty,
                ), name


def test_every_parameter_of_a_public_function_has_a_type():
    for name, function in public_functions():
        if function.__module__.startswith("lopub"):
            own = [
                one
                for one in inspect.signature(function).parameters.values()
                if one.name not in ("self", "cls")
            ]
            assert all(one.annotation is not inspect.Parameter.empty for one in own), name


def test_every_public_name_says_what_it_is():
    for name in lopub.__all__:
        assert inspect.getdoc(getattr(lopub, name)), name


@pytest.mark.parametrize(
    ("call", "misspelt", "meant"),
    [
        (lambda **o: estimate(reports(), "age", **o), "methd", "method"),
        (lambda **o: estimate_pairs(reports(), **o), "worker", "workers"),
        (lambda **o: publish(reports(), **o), "row", "rows"),
        (lambda **o: plan(DOMAIN, people=10, epsilon=1, **o), "goals", "goal"),
        (lambda **o: evaluate(people(), people(), **o), "target", "targets"),
        (lambda **o: simulate(people(), CAMPAIGN, **o), "sed", "seed"),
        (lambda **o: count(reports(), **o), "progres", "progress"),
        (lambda **o: make_campaign(DOMAIN, Terms(name="t"), **o), "reqest", "request"),
        (lambda **o: infer_domain("table.csv", **o), "column", "columns"),
        (lambda **o: poisoning_bound(CAMPAIGN, "age", n_reports=9, **o), "n_fakes", "n_fake"),
        (
            lambda **o: fetch_campaign("https://nowhere.invalid/campaigns/0", **o),
            "patence",
            "patience",
        ),
        (Em, "strat", "start"),
        (Lasso, "alhpa", "alpha"),
        (Hybrid, "stopp", "stop"),
        (PublishSettings, "copy", "copies"),
        (CampaignRequest, "epsilom", "epsilon"),
        (Pruning, "finds", "find"),
    ],
)
def test_a_misspelt_option_is_told_the_nearest_one(
    call: Callable[..., object], misspelt: str, meant: str
):
    with pytest.raises(
        TypeError, match=rf"\(\) has no option '{misspelt}'; did you mean '{meant}'\?$"
    ):
        call(**{misspelt: 1})


def test_an_option_like_no_other_is_told_those_that_there_are():
    with pytest.raises(
        TypeError, match=r"^estimate\(\) has no option 'zzz'; it takes data, names, method$"
    ):
        estimate(reports(), "age", zzz=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [Shrunk, Moments, Product])
def test_an_estimator_without_options_takes_none(kind: type[Estimator]):
    with pytest.raises(TypeError, match=r"\(\) has no option 'alpha'; it takes none$"):
        kind(alpha=1)  # type: ignore[call-arg]


def test_publish_has_the_options_of_its_settings_with_the_same_defaults():
    taken = inspect.signature(publish).parameters
    for field in fields(PublishSettings):
        assert taken[field.name].default == field.default
        assert taken[field.name].annotation == field.type
    assert set(taken) - {field.name for field in fields(PublishSettings)} == {
        "data",
        "margins",
        "progress",
    }


def modules() -> Iterator[ModuleType]:
    """Those whose definitions people meet first."""
    for package in (lopub.campaign, lopub.reports):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield import_module(found.name)
    yield from (
        lopub.estimation.methods,
        lopub.estimation.joint,
        lopub.publication.stages,
        lopub.planning.request,
    )


# ---- estimators


@pytest.mark.parametrize("name", METHODS)
def test_an_estimator_is_known_by_its_name(name: str):
    assert METHODS[name].name == name
    assert METHODS[name]() == METHODS[name]() and METHODS[name]().options == {}


@pytest.mark.parametrize("estimator", [Em(), Em(start="product"), Shrunk(), Product()])
def test_a_method_may_be_an_estimator_or_its_name(estimator: Estimator):
    joint = estimate(reports(), ("age", "city"), method=estimator)
    assert joint.fit.method == estimator.name
    named = estimate(reports(), ("age", "city"), method=estimator.name)
    np.testing.assert_allclose(joint.probabilities, named.probabilities, atol=1e-4)


def test_the_options_of_an_estimator_are_those_that_differ_from_its_defaults():
    assert Em(start="product", stop="change").options == {"start": "product"}


def test_an_estimator_with_options_publishes_and_is_named_in_the_manifest(tmp_path: Path):
    made = publish(reports(), structure="paper", method=Em(stop="paper"), rows=5)
    made.save(tmp_path / "p")
    manifest = (tmp_path / "p" / "manifest.json").read_text()
    assert '"method": "em"' in manifest and '"stop": "paper"' in manifest


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Em(start="middle"), r"^start must be uniform or product, got 'middle'$"),
        (lambda: Em(stop="never"), r"^stop must be change or paper, got 'never'$"),
        (lambda: Em(tolerance=0), r"^tolerance must be above 0, got 0$"),
        (lambda: Hybrid(most_evaluations=0), r"^most_evaluations must be at least 1, got 0$"),
        (lambda: Lasso(alpha=-1), r"^alpha must not be negative, got -1$"),
        (lambda: Hybrid(alpha=-1), r"^alpha must not be negative, got -1$"),
        (
            lambda: estimate(reports(), "age", Em),
            r"^method must be a name, or an estimator such as Em\(\), got ABCMeta$",
        ),
    ],
)
def test_an_estimator_checks_its_options_at_the_door(make: Callable[[], object], words: str):
    with pytest.raises(DomainError, match=words):
        make()


# ---- load and save


def test_a_campaign_survives_its_file(tmp_path: Path):
    CAMPAIGN.save(tmp_path / "campaign.json")
    assert Campaign.load(tmp_path / "campaign.json") == CAMPAIGN


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_a_dataset_survives_its_file(tmp_path: Path, name: str):
    people().save(tmp_path / name)
    assert (Dataset.load(tmp_path / name, DOMAIN).codes == people().codes).all()


@pytest.mark.parametrize("name", ["reports.parquet", "reports.bin"])
def test_reports_survive_their_file(tmp_path: Path, name: str):
    reports().save(tmp_path / name)
    back = ReportBatch.load(tmp_path / name, CAMPAIGN)
    assert [back.report(i) for i in range(9)] == [reports().report(i) for i in range(9)] and len(
        back
    ) == 900


def test_counts_survive_their_file(tmp_path: Path):
    counts = count(reports())
    counts.save(tmp_path / "counts.parquet")
    back = Counts.load(tmp_path / "counts.parquet")
    assert back.tables.keys() == counts.tables.keys() and len(back) == 900


@pytest.mark.parametrize("method", ["shrunk", "lasso"])
def test_a_joint_survives_its_file_with_its_errors(tmp_path: Path, method: str):
    batch = simulate(
        people(),
        make_campaign(DOMAIN, Terms(name="t"), CampaignRequest(flip_probability="0.5")),
        seed=1,
    )
    joint = estimate(batch, ("age", "city"), method)
    joint.save(tmp_path / "joint.csv")
    back = JointDistribution.load(tmp_path / "joint.csv", DOMAIN)
    assert back.names == joint.names
    np.testing.assert_allclose(back.probabilities, joint.probabilities, rtol=1e-12)
    assert (back.standard_errors is None) == (joint.standard_errors is None) == (method == "lasso")
    if back.standard_errors is not None:
        np.testing.assert_array_equal(back.standard_errors, joint.standard_errors)


def test_a_publication_is_saved_once_unless_forced(tmp_path: Path):
    publication().save(tmp_path / "p")
    with pytest.raises(lopub.StoreError, match="exists already"):
        publication().save(tmp_path / "p")
    publication().save(tmp_path / "p", force=True)
    assert len(Dataset.load(tmp_path / "p" / "data" / "synthetic.parquet", DOMAIN)) == 50


# ---- reprs


def nouns() -> list[object]:
    client = Client(CAMPAIGN, store=MemoryStore())
    report = client.encode({"city": SECRET, "smoker": True, "age": 22, "pay": 5})
    joint = estimate(reports(), ("city", "age"))
    made = evaluate(people(), people(), classifiers=False)
    rule = Listed.of(DOMAIN, [("city", 1), (("age", "pay"), 2)])
    data = [people(), reports(), count(reports()), Study(reports())]
    ticks = TickList(name="long", values=tuple(f"option {i}" for i in range(16)))
    texts = Translation(title="t", labels={"city": {SECRET: "x" * 500}})
    settings = [
        PublishSettings(),
        PublishSettings(structure="paper", method=Em()),
        CampaignRequest(epsilon=1),
        Em(),
        Pruning(),
        ticks,
        texts,
    ]
    stores = [
        MemoryStore(),
        FileStore("x" * 500),
        lopub.Population.like_surveys(DOMAIN),
    ]
    results = [joint, publication(), planned(), made, client, report, rule]
    return [CAMPAIGN, CAMPAIGN.terms, DOMAIN, *DOMAIN, *data, *settings, *stores, *results]


def test_a_repr_is_one_short_line_without_arrays_or_answers():
    for noun in nouns():
        text = repr(noun)
        assert text.startswith(f"{type(noun).__name__}(") and text.endswith(")")
        assert len(text) <= 120 and "\n" not in text, text
        assert "array" not in text and SECRET not in text, text


def test_a_repr_of_long_names_is_cut():
    long = Domain(tuple(Boolean(name=f"{'x' * 300}{i}") for i in range(20)))
    for noun in (long, long.attributes[0], Dataset(long, np.zeros((3, 20), np.uint16))):
        assert len(repr(noun)) == 120 and repr(noun).endswith("…)")


@pytest.mark.parametrize(
    ("noun", "text"),
    [
        (DOMAIN, "Domain(4 attributes: city, smoker, age, pay)"),
        (CITY, "Categorical('city', 4 candidates)"),
        (people(), "Dataset(900 records, 4 attributes: city, smoker, age, pay)"),
        (PublishSettings(rows=5), "PublishSettings(rows=5)"),
        (MemoryStore(), "MemoryStore(0 kept)"),
    ],
)
def test_a_repr_says_what_one_wants_to_know_first(noun: object, text: str):
    assert repr(noun) == text


# ---- a name where a list of names is expected


def test_a_bare_string_is_one_name():
    joint = estimate(reports(), "age")
    assert joint.names == ("age",) and Study(reports()).estimate("age").names == ("age",)
    assert people().counts("age").tolist() == people().counts(["age"]).tolist()
    assert estimate(reports(), ("age", "city")).marginal("city").names == ("city",)
    assert DOMAIN.positions("age") == (2,)
    assert Listed.of(DOMAIN, [("age", 1)]).names == (("age",),)
    assert poisoning_bound(CAMPAIGN, "age", n_reports=90, n_fake=1) == poisoning_bound(
        CAMPAIGN, ["age"], n_reports=90, n_fake=1
    )


def test_a_bare_column_is_one_column(tmp_path: Path):
    people().save(tmp_path / "people.csv")
    assert infer_domain(tmp_path / "people.csv", columns="age").names == ("age",)


def test_a_bare_target_is_one_target():
    scores = evaluate(people(), people(), targets="smoker")
    assert {score.target for score in scores.classifiers} == {"smoker"}


def test_a_bare_margin_is_one_margin():
    margin = JointDistribution((DOMAIN["smoker"],), np.array([0.25, 0.75]))
    assert publish(reports(), rows=10, margins=margin).margins == (("smoker",),)
    raked = estimate(reports(), ("city", "smoker")).rake(margin)
    np.testing.assert_allclose(raked.marginal("smoker").probabilities, margin.probabilities)


@pytest.mark.parametrize("names", ["age", ["age"], []])
def test_a_pair_needs_two_names(names: str | list[str]):
    with pytest.raises(
        DomainError, match=r"^names must list at least two attributes to make a pair, got [01]$"
    ):
        Study(reports()).pairs(names)


def test_one_text_is_not_a_list_of_values():
    with pytest.raises(
        DomainError, match=r"^attribute 'city' needs a list of values, got one text$"
    ):
        Categorical(name="city", values="rome")  # type: ignore[arg-type]


# ---- convenience


def test_a_domain_is_a_collection_of_attributes():
    assert [attribute.name for attribute in DOMAIN] == list(DOMAIN.names) and len(DOMAIN) == 4
    assert "age" in DOMAIN and CITY in DOMAIN and "height" not in DOMAIN and 3 not in DOMAIN
    assert DOMAIN["city"] is CITY


def test_a_joint_gives_the_probability_of_a_cell():
    joint = estimate(reports(), ("smoker", "city"))
    assert joint[True, "rome"] == joint.probabilities[1, 2]
    assert joint[False, None] == joint.probabilities[0, 3]
    assert estimate(reports(), "smoker")[True] == estimate(reports(), "smoker").probabilities[1]


def test_a_cell_needs_an_answer_for_every_attribute():
    with pytest.raises(
        DomainError, match=r"^a cell needs one answer for each of smoker, city, got 1$"
    ):
        estimate(reports(), ("smoker", "city"))[True]


# ---- names


def test_every_class_has_a_name_of_its_own():
    """Two classes of one name are mistaken for each other in messages, in searches and in people's heads."""
    source = Path(lopub.__file__).parent
    names = [
        line.split("class ")[1].split("(")[0].split(":")[0].strip()
        for path in sorted(source.rglob("*.py"))
        for line in path.read_text().splitlines()
        if line.startswith("class ")
    ]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice
