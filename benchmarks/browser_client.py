"""How many records a second the browser client encodes, in Node and in Chromium on one core: as benchmarks/client.py does."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from client import SIZES, adult_shaped
from lopub import Campaign, CampaignRequest, Terms, make_campaign

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "clients" / "js" / "test" / "bench.mjs"
BUNDLE = ROOT / "src" / "lopub" / "pages" / "client" / "lopub.js"
N_RECORDS = 3_000
REQUESTS = {
    "the default for epsilon 4": CampaignRequest(epsilon=4),
    "bloom, m=128 h=4 f=0.5, all attributes": CampaignRequest(flip_probability=0.5),
    "direct, fill, jointly, epsilon 8": CampaignRequest(epsilon=8),
    "unary (optimized), sample:2, jointly, epsilon 4": CampaignRequest(
        epsilon=4, mechanism="unary"
    ),
}
IN_A_PAGE = """const [text, record, n, done] = arguments;
(async () => {
  const campaign = lopub.Campaign.fromBytes(new TextEncoder().encode(text));
  let best = 0;
  for (let turn = 0; turn < 3; turn++) {
    const start = performance.now();
    for (let i = 0; i < n; i++) await new lopub.Client(campaign, { store: new lopub.MemoryStore() }).encode(record);
    best = Math.max(best, (1000 * n) / (performance.now() - start));
  }
  done(best);
})()"""


def chromium() -> Any:
    """A browser with the classic script on an empty page."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"):
        options.add_argument(flag)
    driver = webdriver.Chrome(
        options=options,
        service=webdriver.ChromeService(executable_path=shutil.which("chromedriver")),
    )
    driver.set_script_timeout(600)
    driver.execute_script(BUNDLE.read_text())
    return driver


def in_node(campaign: Campaign, record: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "campaign.json"
        path.write_bytes(campaign.canonical_bytes)
        command = ["node", SCRIPT, str(N_RECORDS), path]
        return float(
            subprocess.run(
                command, input=json.dumps(record), capture_output=True, text=True, check=True
            ).stdout
        )


def main() -> None:
    record = {f"a{i}": f"v{n // 2}" for i, n in enumerate(SIZES)}
    browser = chromium()
    print(
        f"browser client: records encoded a second on one core ({N_RECORDS:,} records, best of 3; asked: 2,000 by default)"
    )
    print(f"  {'':<50} {'Node':>10} {'Chromium':>10}")
    for name, request in REQUESTS.items():
        campaign = make_campaign(adult_shaped(), Terms(name="bench"), request)
        there = browser.execute_async_script(
            IN_A_PAGE, campaign.canonical_bytes.decode(), record, N_RECORDS
        )
        print(f"  {name:<50} {in_node(campaign, record):>10,.0f} {there:>10,.0f}")
    browser.quit()


if __name__ == "__main__":
    main()
