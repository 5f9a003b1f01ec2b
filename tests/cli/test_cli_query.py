"""`lopub query` and `lopub export`: the same answer from whatever holds the reports, or one sentence."""

import json
import re
import shlex
from pathlib import Path

import pytest
from commands import done, lopub, refusal

from lopub import Campaign, DomainError, Publication, ReportBatch, StoreError, Study, open_study
from lopub.publication.published_study import PublishedStudy
from lopub.reports.catalogue import ALUMNI

PAGE = (Path(__file__).parents[2] / "docs" / "queries.md").read_text()
N = 2_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same reports in every form."""
    path = tmp_path_factory.mktemp("asked")
    ALUMNI.people(N, seed=1).save(path / "people.csv")
    columns = ("--columns", "gender,age,education,income,region,donates", "--epsilon", "8")
    done(lopub("campaign", "infer", "people.csv", "-o", "campaign.json", *columns, cwd=path))
    done(
        lopub(
            "encode",
            "campaign.json",
            "people.csv",
            "-o",
            "reports.parquet",
            "--seed",
            "1",
            cwd=path,
        )
    )
    done(lopub("count", "--from", "reports.parquet", "-o", "counts.parquet", cwd=path))
    done(lopub("import", "reports.parquet", cwd=path))
    done(lopub("export", "--from", "sqlite:///lopub.db", "-o", "exported.parquet", cwd=path))
    done(lopub("publish", "reports.parquet", "-o", "publication", "--rows", "500", cwd=path))
    done(
        lopub(
            "publish", "reports.parquet", "-o", "without", "--rows", "500", "--no-counts", cwd=path
        )
    )
    return path


SOURCES = [
    "reports.parquet",
    "counts.parquet",
    "sqlite:///lopub.db",
    "exported.parquet",
    "publication",
]


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("expression", "given"),
    [("donates", None), ("income == 'affluent'", "donates"), ("age > 40", None)],
)
def test_every_source_gives_the_same_answer(expression: str, given: str | None):
    found = [open_study(source).probability(expression, given=given) for source in SOURCES]
    assert {answer.how for answer in found} == {"direct"}
    assert (
        len({(round(float(answer), 9), answer.interval, answer.n_informative) for answer in found})
        == 1
    )


def test_the_command_line_gives_the_answer_of_python():
    (told,) = [
        json.loads(
            done(
                lopub("query", "publication", "donates", "--given", "gender == 'F'", "--json")
            ).stdout
        )
    ]
    assert (
        told["estimate"]
        == open_study("reports.parquet").probability("donates", given="gender == 'F'").estimate
    )


def test_a_name_means_the_same_on_the_command_line_and_in_python():
    told = json.loads(done(lopub("query", "publication", "donates", "--json")).stdout)
    answer = open_study("publication").probability("donates")
    assert (
        told["n_reports"]
        == N
        > told["n_informative"]
        == answer.n_informative
        == answer.to_dict()["n_informative"]
    )


def test_a_source_without_a_question_is_told_what_is_missing():
    assert (
        "publication is a source; what is asked of it is missing"
        in lopub("query", "publication").stderr
    )


def test_a_number_that_nobody_can_report_is_told():
    printed = done(lopub("query", "publication", "age > 100")).stdout
    assert re.search(
        r"assumes that nobody's age lies outside 25 to \d+, as no other number can be reported",
        printed,
    )
    assert not any(
        "outside" in each for each in open_study("publication").probability("age > 40").assumptions
    )


def test_a_table_is_printed_with_its_cells():
    table = open_study("publication").table("gender", "donates")
    head, names, *cells = str(table).splitlines()
    assert head == repr(table) and names.split() == [
        "gender",
        "donates",
        "estimate",
        "low",
        "high",
        "how",
    ]
    assert [line.split()[:2] for line in cells] == [list(values) for values in table.cells]
    assert f"{table['F', 'true'].estimate:.4f}" in next(
        line for line in cells if line.split()[:2] == ["F", "true"]
    )
    many = open_study("publication").table("age", "education")
    assert (
        str(many).endswith(f"and {len(many) - 40:,} more cells")
        and len(str(many).splitlines()) == 43
    )


def test_an_answer_is_printed_with_its_interval_and_its_way():
    printed = done(
        lopub("query", "counts.parquet", "donates and gender == 'F'", "--given", "age > 40")
    ).stdout
    assert re.search(r"= 0\.\d{4} \(95 % interval 0\.\d{4} to 0\.\d{4}\)", printed)
    assert "reports speak of parts of this; " in printed
    assert (
        "model: counts hold attributes and pairs; 3 attributes together need the reports" in printed
    )


def test_a_publication_without_counts_answers_from_its_table():
    printed = done(lopub("query", "without", "donates")).stdout
    assert (
        "from the synthetic table, without an interval, as the counts were not published" in printed
    )
    assert isinstance(open_study("without"), PublishedStudy)


def test_only_questions_can_be_put_to_a_publication_without_counts():
    told = refusal(lopub("estimate", "without", "-a", "donates"))
    assert told == "without was published without its counts; only `lopub query` can ask it"


def test_what_has_no_answer_is_refused_in_one_sentence():
    told = refusal(
        lopub(
            "query",
            "reports.parquet",
            "donates",
            "--given",
            "income == 'affluent' and age < 26",
            "--json",
        )
    )
    assert told.startswith(
        "P(donates given income == 'affluent' and age < 26) has no answer: the condition's probability is within"
    )


def test_a_misspelt_attribute_is_refused_with_the_nearest_one():
    told = refusal(lopub("query", "reports.parquet", "donats"))
    assert told == "there is no attribute 'donats'; did you mean donates?"


def test_a_query_without_a_source_is_wrong_usage():
    assert lopub("query", "donates").returncode == 2


def test_exported_reports_are_those_of_the_database():
    exported = ReportBatch.load("exported.parquet")
    assert len(exported) == N and exported.ids.shape == (N, 32)
    assert sorted(exported.digests.tolist()) == sorted(
        ReportBatch.load("reports.parquet").digests.tolist()
    )


def test_exported_reports_are_not_imported_again():
    told = refusal(lopub("import", "exported.parquet", "--database", "sqlite:///again.db"))
    assert "a collector keeps only the hashes of report ids" in told


def test_reports_out_of_a_collector_and_out_of_a_file_do_not_go_into_one(tmp_path: Path):
    from lopub.reports.batch.report_files import save_reports

    both = [ReportBatch.load("exported.parquet"), ReportBatch.load("reports.parquet")]
    with pytest.raises(DomainError, match="cannot be written into one file"):
        save_reports(tmp_path / "both.parquet", both[0].campaign, both)


def test_counts_cannot_be_exported(tmp_path: Path):
    told = refusal(lopub("export", "counts.parquet", "-o", tmp_path / "r.parquet"))
    assert told == "counts no longer hold the reports, so these cannot be exported"


def test_an_export_is_parquet(tmp_path: Path):
    assert "must end in .parquet" in refusal(
        lopub("export", "reports.parquet", "-o", tmp_path / "r.bin")
    )


# ---- publications


def test_a_publication_that_is_loaded_is_the_one_that_was_saved():
    found, manifest = (
        Publication.load("publication"),
        json.loads(Path("publication/manifest.json").read_text()),
    )
    assert (found.n_reports, len(found.synthetic), found.campaign.id) == (
        N,
        500,
        Campaign.load("campaign.json").id,
    )
    assert found.settings.seed == manifest["settings"]["seed"] and isinstance(
        open_study(found), Study
    )
    assert len(found.pairs) == 15 and len(found.marginals) == 6
    assert all(marginal.standard_errors is not None for marginal in found.marginals)


def test_what_is_not_a_publication_is_refused(tmp_path: Path):
    with pytest.raises(StoreError, match="is not a publication: it has no manifest"):
        Publication.load(tmp_path)


def test_a_publication_whose_files_are_gone_is_refused(tmp_path: Path):
    for name in ("manifest.json", "campaign.json"):
        (tmp_path / name).write_bytes(Path("publication", name).read_bytes())
    with pytest.raises(StoreError, match="is not a whole publication"):
        Publication.load(tmp_path)


def test_a_study_of_another_campaign_is_refused(tmp_path: Path):
    done(
        lopub(
            "campaign",
            "infer",
            "people.csv",
            "-o",
            tmp_path / "other.json",
            "--columns",
            "gender,age",
            "--epsilon",
            "2",
        )
    )
    for source in ("reports.parquet", "counts.parquet", "publication"):
        with pytest.raises(ValueError, match="of campaign"):
            open_study(source, tmp_path / "other.json")


# ---- the page


def test_every_example_of_the_page_runs():
    names: dict[str, object] = {}
    for language, text in re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL):
        if language == "python":
            exec(compile(text, "queries.md", "exec"), names)
        for line in text.splitlines() if language == "sh" else ():
            done(lopub(*shlex.split(line)[1:]))
    assert {"study", "answer", "joint"} <= names.keys()
