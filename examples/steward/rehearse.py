"""Made-up people answer the campaign: whoever comes with children would like Sundays."""

import numpy as np

from lopub import Campaign, Dataset, simulate

campaign = Campaign.load("campaign.json")
rng = np.random.default_rng(1)
n = 4000
children = rng.random(n) < 0.3
sunday = rng.random(n) < np.where(children, 0.8, 0.4)
columns = {"visits": rng.choice(3, n, p=[0.2, 0.5, 0.3]), "children": children, "sunday": sunday}
for option, share in (("books", 0.7), ("films", 0.4), ("games", 0.2)):
    columns[f"reads/{option}"] = rng.random(n) < share
people = Dataset(
    campaign.domain,
    np.column_stack([columns[name] for name in campaign.domain.names]).astype(np.uint16),
)
simulate(people, campaign, seed=1).save("reports.parquet")
print(f"{n:,} reports of people who do not exist")
