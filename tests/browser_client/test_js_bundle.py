"""What is shipped: rebuilt to the same bytes, small, without a hook for randomness; and its lock file names no address."""

import gzip
import json
import re
import subprocess

import pytest
from javascript import FOLDER, ROOT, SHIPPED, needs_node, node

MOST_GZIPPED = 16_000
"""Bytes of either bundle."""
BUNDLES = ("lopub.mjs", "lopub.js")


@needs_node
def test_the_committed_bundle_is_what_the_sources_give(tmp_path):
    node("build.mjs", "--out", tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in SHIPPED.iterdir())
    assert all((tmp_path / name).read_bytes() == (SHIPPED / name).read_bytes() for name in names), (
        "run `npm run build` in clients/js"
    )


@needs_node
def test_the_sources_have_the_types_that_they_say():
    done = subprocess.run(
        ["npx", "tsc", "--noEmit"], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@needs_node
def test_the_sources_are_formatted_and_short():
    """Lines of at most 100 characters, and files that one can hold in one's head."""
    done = subprocess.run(
        ["npx", "prettier", "--check", "."], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for path in [*FOLDER.glob("src/*.ts"), *FOLDER.glob("page/*.ts"), *FOLDER.glob("test/*")]:
        lines = path.read_text().splitlines()
        assert len(lines) <= 400 and max(map(len, lines)) <= 100, path.name


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_is_small(name):
    assert len(gzip.compress((SHIPPED / name).read_bytes(), 9)) <= MOST_GZIPPED


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_draws_from_nowhere_but_the_browsers_cryptographic_generator(name):
    text = (SHIPPED / name).read_text()
    assert len(re.findall(r"\.getRandomValues\(", text)) == 1
    assert not re.search(
        r"Math\.random|handIn|seed|Date\.now\(\)\s*[*^%]|eval\(|Function\(|process\.env", text
    )


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_asks_nobody_but_the_address_that_it_is_given(name):
    addresses = re.findall(r"https?://[^\s\"'`]+", (SHIPPED / name).read_text())
    assert set(addresses) <= {"https://HOST/campaigns/ID"}


def test_the_hashes_are_those_of_the_bundles():
    import base64
    import hashlib

    told = json.loads((SHIPPED / "integrity.json").read_text())
    assert told == {
        name: f"sha384-{base64.b64encode(hashlib.sha384((SHIPPED / name).read_bytes()).digest()).decode()}"
        for name in BUNDLES
    }


def test_the_lock_file_names_no_address():
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_the_package_has_the_version_of_the_python_package():
    import lopub

    assert json.loads((FOLDER / "package.json").read_text())["version"] == lopub.__version__


def test_nothing_is_needed_to_run_it():
    assert "dependencies" not in json.loads((FOLDER / "package.json").read_text())
    assert not any((ROOT / "src" / "lopub").rglob("node_modules"))
