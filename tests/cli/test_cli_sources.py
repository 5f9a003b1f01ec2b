"""One way to name reports: what stands for which campaign and which reports, whatever command reads them."""

from dataclasses import replace
from pathlib import Path

import pytest
from commands import done, lopub, refusal

from lopub import Campaign, Counts, ReportBatch
from lopub.cli.sources import read, resolved
from lopub.errors import CampaignError, DomainError, StoreError
from lopub.reports.batch.report_files import framed_bytes
from lopub.reports.catalogue import ALUMNI
from lopub.reports.origin import PLAIN

N = 300
DATABASE = "sqlite:///lopub.db"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of one campaign in every form, and those of another."""
    path = tmp_path_factory.mktemp("sources")
    ALUMNI.people(N, seed=1).save(path / "people.csv")
    for name, epsilon in (("campaign", "8"), ("other", "6")):
        columns = ("--columns", "gender,income,donates", "--epsilon", epsilon)
        done(lopub("campaign", "infer", "people.csv", "-o", f"{name}.json", *columns, cwd=path))
        done(
            lopub(
                "encode",
                f"{name}.json",
                "people.csv",
                "-o",
                f"{name}.parquet",
                "--seed",
                "1",
                cwd=path,
            )
        )
    batch = ReportBatch.load(path / "campaign.parquet")
    (path / "days").mkdir()
    batch[:100].save(path / "days" / "1.parquet")
    (path / "days" / "2.reports").write_bytes(framed_bytes(batch[90:200]))
    batch[200:].save(path / "days" / "3.bin")
    (path / "days" / "read.me").write_text("not a file of reports")
    done(lopub("count", "campaign.parquet", "-o", "counts.parquet", cwd=path))
    done(lopub("import", "campaign.parquet", cwd=path))
    done(lopub("import", "campaign.parquet", "--database", "sqlite:///two.db", cwd=path))
    done(lopub("collect", "open", "other.json", "--database", "sqlite:///two.db", cwd=path))
    (path / "empty").mkdir()
    return path


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def whole_id() -> str:
    return Campaign.load("campaign.json").id


# ---- what the words stand for


@pytest.mark.parametrize(
    "words",
    [
        ["campaign.parquet"],
        ["campaign.json", "campaign.parquet"],
        ["campaign.parquet", "campaign.json"],
        ["counts.parquet"],
        ["campaign.json", "counts.parquet"],
        ["days"],
        ["days/"],
        ["days/*"],
        ["campaign.json", "days/1.parquet", "days/2.reports", "days/3.bin"],
        ["days/2.reports", "days/3.bin", "days/1.parquet"],
        [DATABASE],
        ["campaign.json", "sqlite:///two.db"],
    ],
    ids=" ".join,
)
def test_all_these_words_name_the_same_reports(words: list[str]):
    found = read(resolved(words))
    assert (found.campaign.id, len(found.data)) == (whole_id(), N)


@pytest.mark.parametrize("name", ["file", "id", "short", "shortened", "capitals"])
def test_a_campaign_is_named_by_its_file_or_its_id(name: str):
    whole = whole_id()
    word = {
        "file": "campaign.json",
        "id": whole,
        "short": whole[:8],
        "shortened": f"{whole[:16]}…",
        "capitals": whole[:9].upper(),
    }
    for source in ("campaign.parquet", "counts.parquet", "sqlite:///two.db"):
        assert resolved([source], word[name]).campaign.id == whole


def test_counts_are_added_to_reports(folder: Path):
    found = read(resolved(["counts.parquet", "days/1.parquet"]))
    assert isinstance(found.data, Counts) and len(found.data) == N + 100


def test_counts_are_added_to_the_reports_of_a_database():
    assert len(read(resolved([DATABASE, "counts.parquet"])).data) == 2 * N


def test_a_report_in_two_databases_counts_once():
    found = read(resolved(["campaign.json", DATABASE, "sqlite:///two.db"]))
    assert (len(found.data), found.n_repeated) == (N, N)


@pytest.mark.parametrize("words", [["days"], ["campaign.parquet", "days/2.reports"]], ids=" ".join)
def test_repeated_reports_are_counted_once_and_a_note_says_so(words: list[str], tmp_path: Path):
    n = 10 if words == ["days"] else 110
    for command in (
        ("estimate", "-a", "gender"),
        ("count", "-o", tmp_path / "c"),
        ("publish", "-o", tmp_path / "p", "--rows", 9),
    ):
        result = done(lopub(*command, *words))
        assert f"note: {n} repeated reports were counted once\n" in result.stderr


def test_without_repeated_reports_there_is_no_note():
    assert done(lopub("estimate", "campaign.parquet", "-a", "gender")).stderr == ""


def test_every_command_that_reads_reports_takes_them_without_a_campaign(tmp_path: Path):
    done(lopub("estimate", "counts.parquet", "-a", "gender,income"))
    done(lopub("publish", "counts.parquet", "-o", tmp_path / "publication", "--rows", "9"))
    done(lopub("count", DATABASE, "-o", tmp_path / "c"))
    replace(Counts.load("counts.parquet"), origin=PLAIN).save(
        tmp_path / "told"
    )  # a store does not tell where reports are from
    assert (tmp_path / "c").read_bytes() == (tmp_path / "told").read_bytes()


# ---- what is refused


REFUSED = [
    (
        ["campaign.parquet", "other.parquet"],
        None,
        CampaignError,
        "other.parquet holds reports of campaign ",
    ),
    (["campaign.parquet", "counts.parquet"], "other.json", CampaignError, "of campaign "),
    (
        ["other.json", "counts.parquet"],
        None,
        CampaignError,
        "counts.parquet holds counts of campaign ",
    ),
    (
        ["campaign.json", "campaign.parquet", "other.json"],
        None,
        DomainError,
        "name one campaign, not 2: campaign.json, other.json",
    ),
    (
        ["campaign.json", "campaign.parquet"],
        "other.json",
        DomainError,
        "name one campaign, not 2: campaign.json, other.json",
    ),
    (
        ["days/2.reports"],
        None,
        CampaignError,
        "days/2.reports does not say which campaign it is of; name the campaign file",
    ),
    (["campaign.parquet"], "00000000", CampaignError, "whose id does not begin with 00000000"),
    ([DATABASE], "00000000", DomainError, "name one campaign by its file, by its id"),
    (
        ["sqlite:///two.db"],
        None,
        DomainError,
        "has 2 campaigns; name one by its file or its id with --campaign",
    ),
    (["sqlite:///none.db"], None, StoreError, "there is no database none.db"),
    (["mysql://user:secret@host/lopub"], None, DomainError, "got one of kind 'mysql'"),
    (["counts.parquet", "counts.parquet"], None, DomainError, "a file of counts is named twice"),
    (
        ["empty"],
        None,
        StoreError,
        "empty has no file of reports; their names end in .parquet, .bin, .reports",
    ),
    (
        ["*.parquet"],
        None,
        StoreError,
        "has files of reports and files of counts, which may be of the same reports",
    ),
    (["people.csv"], None, StoreError, "people.csv is not a file of reports, but text"),
    (
        ["nowhere.json", "campaign.parquet"],
        None,
        StoreError,
        "cannot read campaign nowhere.json: No such file",
    ),
    (["nowhere.parquet"], None, StoreError, "cannot read reports nowhere.parquet: No such file"),
]


@pytest.mark.parametrize(
    ("words", "campaign", "kind", "said"), REFUSED, ids=lambda value: str(value)[:40]
)
def test_what_cannot_be_meant_is_refused_in_one_sentence(
    words: list[str], campaign: str | None, kind: type[Exception], said: str, tmp_path: Path
):
    with pytest.raises(kind):
        read(resolved(words, campaign))
    named = () if campaign is None else ("--campaign", campaign)
    for command, *rest in (
        ("estimate", "-a", "gender"),
        ("publish", "-o", tmp_path / "p"),
        ("count", "-o", tmp_path / "c"),
    ):
        told = refusal(lopub(command, *words, *named, *rest))
        assert said in told and "secret" not in told
    assert list(tmp_path.iterdir()) == []


def test_files_and_databases_together_can_only_be_counted(tmp_path: Path):
    """A database keeps hashes of ids: enough to count each report once, not to join them with those of a file."""
    both = (DATABASE, "campaign.parquet")
    for command, *rest in (("estimate", "-a", "gender"), ("publish", "-o", tmp_path / "p")):
        assert "name either files of reports or databases" in refusal(lopub(command, *both, *rest))
    said = done(lopub("count", *both, "-o", tmp_path / "c"))
    assert said.stdout.startswith(f"{N} reports of campaign ")
    assert said.stderr == f"note: {N} repeated reports were counted once\n"


@pytest.mark.parametrize("words", [[], ["campaign.json"]], ids=["nothing", "campaign"])
def test_no_source_at_all_is_wrong_usage(words: list[str], tmp_path: Path):
    for command, *rest in (
        ("estimate", "-a", "gender"),
        ("publish", "-o", tmp_path / "p"),
        ("count", "-o", tmp_path / "c"),
    ):
        assert lopub(command, *words, *rest).returncode == 2


@pytest.mark.parametrize(
    ("source", "said"),
    [("counts.parquet", "counts.parquet holds counts"), (DATABASE, "hashes of their ids")],
)
def test_only_files_of_reports_are_imported(source: str, said: str, tmp_path: Path):
    told = refusal(lopub("import", source, "--database", f"sqlite:///{tmp_path}/new.db"))
    assert told.startswith("only files of reports can be imported: ") and said in told
    assert list(tmp_path.iterdir()) == []


def test_several_files_are_imported_at_once(tmp_path: Path):
    said = done(lopub("import", "days", "--database", f"sqlite:///{tmp_path}/new.db")).stdout
    assert said.startswith(f"{N} reports of campaign ") and said.endswith(
        "accepted, 10 were there already\n"
    )


# ---- import


def test_an_import_that_meets_a_file_that_it_cannot_read_keeps_nothing(tmp_path: Path) -> None:
    data = Path("campaign.parquet").read_bytes()
    (tmp_path / "half.parquet").write_bytes(data[: len(data) // 2])
    database = f"sqlite:///{tmp_path}/new.db"
    told = refusal(
        lopub(
            "import",
            "campaign.json",
            "days/1.parquet",
            tmp_path / "half.parquet",
            "--database",
            database,
        )
    )
    assert told.endswith("half.parquet is a damaged or cut-off Parquet file")
    assert not (tmp_path / "new.db").exists()


def test_an_import_of_the_reports_of_another_campaign_is_refused(tmp_path: Path) -> None:
    other = Campaign.load("other.json")
    told = refusal(
        lopub(
            "import", "other.json", "days/2.reports", "--database", f"sqlite:///{tmp_path}/new.db"
        )
    )
    assert (
        told
        == f"no report of campaign {other.id[:16]}… is in these files; 110 are of another campaign"
    )
    assert not (tmp_path / "new.db").exists()
