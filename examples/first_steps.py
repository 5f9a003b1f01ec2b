"""The part of the way that exists: questions become a campaign, a record becomes a noisy report."""

from lopub import Categorical, Client, Domain, IntegerRange, MemoryStore, Terms, Wish, make_campaign

questions = Domain(
    (
        Categorical(name="gender", values=("F", "M")),
        Categorical(name="education", values=("college", "master", "phd"), is_ordered=True),
        IntegerRange(name="age", minimum=25, maximum=60),
    )
)
campaign = make_campaign(questions, Terms(name="alumni"), Wish(epsilon=4))
print(f"campaign {campaign.id[:16]}…  epsilon {campaign.epsilon:.3f}  {campaign.mechanism.name}, {campaign.view}")

answers = {"gender": "F", "education": "master", "age": 35}
client = Client(campaign, epsilon_cap=4, store=MemoryStore())
report = client.encode(answers)
print(f"report   {report.to_bytes().hex()}")
print(f"again    {client.encode(answers).to_bytes().hex()}  (the same bytes: noise is drawn once)")
print("Estimation from many reports, and the synthetic table, are the next stages.")
