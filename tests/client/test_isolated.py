"""The client needs nothing but the standard library: it runs in an interpreter that has nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from store_files import reports_in

import lopub

SOURCE = Path(lopub.__file__).parent.parent
VECTORS = json.loads(
    (Path(__file__).parents[1] / "golden" / "vectors.json").read_text(encoding="ascii")
)
REPORTS = [
    item for item in VECTORS["reports"][::9] if item["campaign"] != "every-member"
]  # which is open for one month only

MAKE = """
from lopub import Boolean, Campaign, Categorical, Client, Domain, FileStore, Sample, Terms
from lopub.campaign.mechanisms import Direct
domain = Domain((Boolean(name="a"), Categorical(name="b", values=("x", "y", "z"))))
campaign = Campaign(domain=domain, mechanism=Direct({1: 7 * 2**32}), view=Sample(2), jointly=True, terms=Terms(name="t"))
record = {"a": True, "b": "z"}
"""
LOAD = """
from lopub import Campaign, Client, FileStore, MemoryStore
for number, (name, record) in enumerate(json.loads(sys.argv[3])):
    campaign = Campaign.load(sys.argv[2] + f"/{name}.json")
    respondent = Client(campaign, epsilon_cap=200, store=MemoryStore(), respondent=str(number))
    assert 29 < len(respondent.encode(record).to_bytes()) <= campaign.longest_report, name
"""
ENCODE = """
wire = Client(campaign, epsilon_cap=200, store=FileStore(sys.argv[2] + "/store")).encode(record).to_bytes()
known = sys.stdlib_module_names | {"lopub", "__main__"}
foreign = sorted(name for name in sys.modules if name.split(".")[0] not in known)
print(json.dumps({"length": len(wire), "longest": campaign.longest_report, "foreign": foreign, "modules": sorted(sys.modules)}))
"""


def isolated(code: str, *arguments: str) -> dict[str, object]:
    """What the code prints, run without site-packages, user settings or environment; only our source is on the path."""
    start = "import json, sys\nsys.path.append(sys.argv[1])\n"
    command = [
        sys.executable,
        "-I",
        "-S",
        "-W",
        "error",
        "-c",
        start + code + ENCODE,
        str(SOURCE),
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_client_makes_a_report_without_any_package(tmp_path):
    told = isolated(MAKE, str(tmp_path))
    assert told["length"] == told["longest"] == 29 + 1 + 1
    assert told["foreign"] == []


def test_a_client_loads_campaigns_and_makes_reports_without_any_package(tmp_path):
    """Of every mechanism, in one interpreter."""
    told = isolated(LOAD, str(tmp_path), loaded(tmp_path, REPORTS))
    assert 29 < told["length"] <= told["longest"]
    assert told["foreign"] == []


def loaded(folder: Path, reports: list[dict[str, Any]]) -> str:
    """Write the campaigns of these reports to the folder; what is to be encoded."""
    texts = {item["campaign"]: item["text"] for item in VECTORS["campaigns"]}
    for item in reports:
        (folder / f"{item['campaign']}.json").write_bytes(texts[item["campaign"]].encode())
    return json.dumps([(item["campaign"], item["record"]) for item in reports])


def test_a_client_keeps_its_report_without_any_package(tmp_path):
    told = isolated(MAKE, str(tmp_path))
    (kept,) = reports_in(tmp_path / "store")
    assert len(kept) == told["length"]


def test_all_names_can_be_imported_where_the_client_alone_is_installed():
    """`from lopub import *` wanted NumPy, and brought nothing; what needs more still says what to install."""
    code = (
        "import sys; sys.path.append(sys.argv[1]); from lopub import *; import lopub;"
        " print(Client, FileStore, MemoryStore, ContributionOutcome, Domain, Reason, fetch_campaign);"
        " assert 'publish' not in globals() and 'publish' in dir(lopub)"
    )
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", code, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_a_client_loads_no_part_of_lopub_that_it_does_not_need(tmp_path):
    told = isolated(LOAD, str(tmp_path), loaded(tmp_path, VECTORS["reports"][:1]))
    rooms = {name.split(".")[1] for name in told["modules"] if name.startswith("lopub.")}
    assert rooms == {"campaign", "client", "errors", "files"}


def test_what_needs_more_than_the_client_says_what_to_install():
    code = "import sys; sys.path.append(sys.argv[1]); from lopub import make_campaign"
    command = [sys.executable, "-I", "-S", "-c", code, str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (
        "ImportError: lopub.make_campaign needs numpy; install it with: pip install 'lopub[all]'"
        in done.stderr
    )
