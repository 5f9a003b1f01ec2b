"""The npm package: what is in it, and that it can be imported as it is packed."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from javascript import FOLDER, NODE, ROOT, SHIPPED, needs_node

pytestmark = [needs_node, pytest.mark.full]  # the bundles themselves: test_js_bundle.py
BUNDLES = ("lopub.js", "lopub.js.map", "lopub.mjs", "lopub.mjs.map", "integrity.json")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose node_modules the packed package lies."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "clients" / "js"
    shutil.copytree(FOLDER, source, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (source / "node_modules").symlink_to(FOLDER / "node_modules")
    shutil.copy(ROOT / "LICENSE", folder)
    packing = ["npm", "pack", "--pack-destination", str(folder), "--loglevel=error"]
    done = subprocess.run(
        packing,
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CI": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (archive,) = folder.glob("lopub-*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder / "node_modules", filter="data")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "lopub")
    return folder


def test_the_package_holds_the_bundles_their_types_and_nothing_of_the_workshop(installed):
    package = installed / "node_modules" / "lopub"
    files = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    types = {name for name in files if name.startswith("dist/types/")}
    assert files - types == {
        "LICENSE",
        "README.md",
        "package.json",
        *(f"dist/{name}" for name in BUNDLES),
    }
    assert all(name.endswith(".d.ts") for name in types)
    assert "dist/types/index.d.ts" in types
    assert all(
        (package / "dist" / name).read_bytes() == (SHIPPED / name).read_bytes() for name in BUNDLES
    )
    assert (package / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_packed_module_can_be_imported_in_node(installed):
    script = (
        """import * as lopub from "lopub"; console.log(JSON.stringify(Object.keys(lopub).sort()))"""
    )
    (installed / "use.mjs").write_text(script)
    done = subprocess.run(
        [NODE or "node", "use.mjs"], cwd=installed, capture_output=True, text=True, check=True
    )
    names = json.loads(done.stdout)
    assert {"Campaign", "Client", "IndexedDbStore", "MemoryStore", "Report", "fetchCampaign"} < set(
        names
    )
    classic = f"{(SHIPPED / 'lopub.js').read_text()};console.log(JSON.stringify(Object.keys(globalThis.lopub).sort()))"
    (installed / "classic.cjs").write_text(classic)
    done = subprocess.run(
        [NODE or "node", "classic.cjs"], cwd=installed, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == names


def test_the_packed_types_are_those_of_the_client(installed):
    (installed / "use.ts").write_text(
        """import { Client, MemoryStore, fetchCampaign, type Answers, type Campaign } from "lopub";
        export async function takePart(url: string, answers: Answers): Promise<number> {
          const campaign: Campaign = await fetchCampaign(url), store = new MemoryStore();
          const client = new Client(campaign, { epsilonCap: 4, store });
          const day: string | undefined = await client.due();
          if (day) await client.encode(answers);
          return client.send(url);
        }
        // @ts-expect-error: there is no such option
        export const wrong = (campaign: Campaign) => new Client(campaign, { seed: 1 });
        """
    )
    options = [
        "--noEmit",
        "--strict",
        "--target",
        "es2022",
        "--module",
        "esnext",
        "--moduleResolution",
        "bundler",
    ]
    command = [
        NODE or "node",
        str(FOLDER / "node_modules" / "typescript" / "bin" / "tsc"),
        *options,
        "use.ts",
    ]
    done = subprocess.run(command, cwd=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
