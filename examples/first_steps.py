"""The whole way in one page: questions, a campaign, one person's report, a simulated crowd, an estimate, a synthetic table."""

import tempfile
from pathlib import Path

import numpy as np

from lopub import (
    CampaignRequest,
    Categorical,
    Client,
    Dataset,
    Domain,
    IntegerRange,
    MemoryStore,
    Terms,
    estimate,
    make_campaign,
    publish,
    simulate,
)

# What is asked, and how much one report may reveal.
questions = Domain(
    (
        Categorical(name="gender", values=("F", "M")),
        Categorical(name="education", values=("college", "master", "phd"), is_ordered=True),
        IntegerRange(name="age", minimum=25, maximum=30),
    )
)
campaign = make_campaign(questions, Terms(name="alumni"), CampaignRequest(epsilon=4))
print(
    f"campaign {campaign.id[:16]}…  epsilon {campaign.epsilon:.3f}  {campaign.mechanism.name}, {campaign.view}"
)

# One person: the answers become noise on her own device, once.
answers = {"gender": "F", "education": "master", "age": 28}
client = Client(campaign, epsilon_cap=4, lifetime_cap=10, store=MemoryStore())
report = client.encode(answers)
print(f"report   {report.to_bytes().hex()}")
print(f"again    {client.encode(answers).to_bytes().hex()}  (the same bytes: noise is drawn once)")

# A crowd, for this example: made-up people whose education depends on their gender, each with a simulated client.
rng = np.random.default_rng(1)
gender = rng.integers(0, 2, size=20_000)
education = np.where(rng.random(20_000) < 0.7, gender, 2)
people = Dataset(questions, np.column_stack([gender, education, rng.integers(0, 6, size=20_000)]))
reports = simulate(people, campaign, seed=1)

# What the noisy reports say about all of them together.
joint = estimate(reports, ("gender", "education"))
for (who, what), share, error in joint.rows():
    print(f"estimate {who} {what:8} {share:6.3f} ± {error:.3f}")

# Everything that may be published: a synthetic table, its estimates, and pages that explain them.
publication = publish(reports, seed=1)
with tempfile.TemporaryDirectory() as directory:
    publication.save(Path(directory) / "publication")
    names = sorted(path.name for path in (Path(directory) / "publication").iterdir())
print(f"publish  {len(publication.synthetic):,} synthetic people; files: {', '.join(names)}")
