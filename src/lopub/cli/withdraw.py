"""`lopub withdraw`: ask a collector to forget the report that was sent from here."""

from lopub.campaign.schedule import day_of
from lopub.cli.console import tell
from lopub.cli.options import AsJson
from lopub.cli.send import PlainHttp, Respondent, Seconds, Store, Url, rounds_from
from lopub.client.client import Client
from lopub.client.sending import fetch_campaign
from lopub.client.store import FileStore


def withdraw(
    url: Url,
    respondent: Respondent = "self",
    store: Store = None,
    seconds: Seconds = 60.0,
    allow_plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Ask a collector to forget the report that was sent from here, which it does until the
    campaign closes.

    The collector is told the report's random id and nothing else. What was published before stays
    published, and the collector has seen the report: do not decide by what it says, which would
    reveal more. The report stays kept here, so that no second one is ever drawn for this campaign,
    and is not sent again. Of a campaign that repeats, the reports of all rounds so far are
    withdrawn, those of rounds that are over, too; `lopub send` still makes one in a later round of
    this device.

    Example: `lopub withdraw https://collector.example/campaigns/4f1c…`

    More: docs/operating.md
    """
    campaign = fetch_campaign(url, patience=seconds, allow_plain_http=allow_plain_http)
    client = Client(campaign, store=FileStore(store), respondent=respondent)
    n_attempts = client.withdraw(url, patience=seconds, allow_plain_http=allow_plain_http)
    lines = [
        "Withdrawn: the collector does not count this report, and refuses it where it is still on its way.",
        "The collector may have seen it, so its epsilon stays in what this store has spent.",
    ]
    if client.rounds():
        own = rounds_from([day_of(report.slot) for report in client.reports()])
        lines[0] = (
            f"Withdrawn: the collector does not count what was sent in the {own}, and refuses it where it is on its way."
        )
        lines[1] = (
            "The collector may have seen it, so the epsilon of the whole series stays in what this store has spent."
        )
        lines.append(
            "`lopub send` still makes a report in a later round of this device; do not run it if that is not wanted."
        )
    tell({"campaign": campaign.id, "n_attempts": n_attempts}, *lines, as_json=as_json)
