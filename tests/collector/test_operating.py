"""The page on running a collector: its first run is run, its figures are those of the committed table."""

import csv
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from commands import done, lopub
from documents import Shell, commands_of

from lopub.campaign.report import FRAMED_TYPE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operating.md").read_text()
README = (ROOT / "README.md").read_text()


def block(page: str, language: str, words: str) -> str:
    """The block of a page that has these words in it."""
    return next(
        text for text in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) if words in text
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a reader of the README has by now: a campaign, and reports of it in a file."""
    rows = [
        f"{'FM'[i % 2]},{('college', 'master', 'phd')[i % 3]},{25 + i % 36}" for i in range(1000)
    ]
    (tmp_path / "people.csv").write_text("gender,education,age\n" + "\n".join(rows) + "\n")
    (tmp_path / "draft.json").write_text(block(README, "json", '"alumni"'))
    done(
        lopub(
            "campaign", "make", "draft.json", "-o", "campaign.json", "--epsilon", "4", cwd=tmp_path
        )
    )
    done(lopub("encode", "campaign.json", "people.csv", "-o", "reports.parquet", cwd=tmp_path))
    return tmp_path


@pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "curl", "sha256sum"))), reason="no bash, curl or sha256sum"
)
def test_the_first_run_runs(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """As it stands, but for its ports, which are any that are free; before the backup, the app sends its report."""
    pytest.importorskip("fastapi")
    app = "import os\nurl = os.environ['URL']\n" + block(PAGE, "python", "client.send(url)")
    (folder / "app.py").write_text(app)
    before, backup, after = block(PAGE, "sh", "lopub serve").partition("lopub backup")
    use_app = "URL=http://127.0.0.1:8000/campaigns/$ID python app.py\n"
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("LOPUB_CONSOLE", "127.0.0.1:0")
    with Shell() as shell:
        said = "".join(map(shell.run, commands_of(f"{before}{use_app}{backup}{after}")))
    assert "1 reports backed up" in said  # the app's; the one of `lopub send` was withdrawn
    assert "1,000 reports" in said
    assert (folder / "publication" / "data" / "synthetic.csv").exists()


def test_the_example_of_the_bound_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(folder)
    exec(compile(block(PAGE, "python", "poisoning_bound"), "operating.md", "exec"), {})
    worst, mean = map(float, capsys.readouterr().out.split())
    assert worst > mean > 0.01


def test_every_page_that_this_one_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / target).resolve().exists(), target


def test_every_metric_of_the_page_is_one_of_the_collectors():
    metrics = pytest.importorskip("lopub.collector.metrics")
    shown = metrics.Metrics().text(n_waiting=0)
    named = set(re.findall(r"`(lopub_\w+)", PAGE))
    assert named == set(re.findall(r"# TYPE (\w+)", shown))


def test_every_setting_of_the_page_is_one_of_the_collectors(tmp_path: Path):
    settings = pytest.importorskip("lopub.collector.settings")
    (tmp_path / "lopub.toml").write_text(block(PAGE, "toml", "database"))
    assert settings.settings_from(tmp_path / "lopub.toml", {}, {}).queue_reports == 65536


# ---- what fakes move


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "poisoning_figures", ROOT / "benchmarks" / "poisoning.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> list[dict[str, str]]:
    with open(ROOT / "benchmarks" / "results" / "poisoning.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_the_figures_of_the_page_are_those_of_the_committed_table():
    assert script().page_table() in PAGE


def test_what_the_page_says_of_the_estimators_is_so():
    """Every estimator stays within the bound, whatever views fakes choose."""
    passed = {
        method: {
            (row["mechanism"], row["view"], row["randomize"])
            for row in rows()
            if float(row[method]) > most(row)
        }
        for method in ("linear", "moments", "shrunk", "em")
    }
    assert not any(passed.values()), passed
    assert any(
        float(row["shrunk"]) > float(row["mean_bound"])
        for row in rows()
        if row["mechanism"] == "bloom"
    )


def most(row: dict[str, str]) -> float:
    """The bound, and a little for how many honest reports happened to cover the cell."""
    return float(row["bound"]) * 1.02 + 0.0005


def test_one_percent_of_chosen_views_is_noticed_wherever_views_are_drawn_in_pairs():
    told = {
        row["warned"]
        for row in rows()
        if row["view"] == "sample:2" and row["fake_share"] in ("0.01", "0.05")
    }
    assert told == {"True"}
    assert {row["warned"] for row in rows() if row["view"] == "all"} == {"False"}


# ---- the HTTP interface

HTTP = (ROOT / "docs" / "http.md").read_text()


@pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "curl", "sha256sum"))), reason="no bash, curl or sha256sum"
)
def test_every_command_of_the_page_on_http_runs(folder: Path):
    pytest.importorskip("fastapi")
    from lopub import Campaign
    from servers import running_collector

    python = Path(sys.executable)
    made = subprocess.run(
        [python, "-c", block(HTTP, "python", "report.json")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    campaign = Campaign.load(folder / "campaign.json")
    with running_collector(f"sqlite:///{folder}/lopub.db", "--console", "127.0.0.1:0") as running:
        assert running.process.stdout is not None
        (console,) = re.findall(r"http://127.0.0.1:(\d+)", running.process.stdout.readline())
        script = (
            block(HTTP, "sh", "COLLECTOR=")
            .replace("8000", str(running.port))
            .replace("8001", console)
        )
        environment = os.environ | {"PATH": f"{python.parent}:{os.environ['PATH']}"}
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        result = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert result.returncode == 0, result.stderr
    assert f"{campaign.id}  -" in result.stdout  # the hash of what was fetched
    assert '"received": 1' in result.stdout or '"received":1' in result.stdout
    assert '"open":false' in result.stdout
    assert "lopub_withdrawals_total 1" in result.stdout


def test_the_page_on_http_and_the_collectors_own_name_every_route(tmp_path: Path):
    from servers import running_collector

    with running_collector(f"sqlite:///{tmp_path}/lopub.db") as running:
        paths = running.ask("GET", "/openapi.json").json["paths"]
        shown = running.ask("GET", "/docs").body.decode()
        front = running.ask("GET", "/")
    for path, methods in paths.items():
        for method in methods:
            assert f"`{method.upper()} {path}`" in HTTP
            assert f"<code>{method.upper()} {path}</code>" in shown
    types = paths["/campaigns/{id}/reports"]["post"]["requestBody"]["content"]
    assert (
        FRAMED_TYPE in types and f"@reports.bin -H &#39;Content-Type: {FRAMED_TYPE}&#39;" in shown
    )
    assert front.status == 200 and b'href="/docs"' in front.body
    assert "default-src 'none'" in front.headers["content-security-policy"]
