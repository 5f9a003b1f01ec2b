"""`lopub withdraw`: ask a collector to forget the report that was sent from here."""

from lopub.cli.console import tell
from lopub.cli.options import AsJson
from lopub.cli.send import PlainHttp, Respondent, Seconds, Store, Url
from lopub.device.client import Client
from lopub.device.keeping import FileStore
from lopub.device.sending import Patience, fetch_campaign


def withdraw(
    url: Url,
    respondent: Respondent = "self",
    store: Store = None,
    seconds: Seconds = 60.0,
    allow_plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Ask a collector to forget the report that was sent from here, which it does until the campaign closes.

    The collector is told the report's random id and nothing else. What was published before stays published. The report
    stays kept here, so that no second one is ever drawn for this campaign.

    Example: `lopub withdraw https://collector.example/campaigns/4f1c…`

    More: docs/operating.md
    """
    patience = Patience(seconds=seconds)
    campaign = fetch_campaign(url, patience=patience, allow_plain_http=allow_plain_http)
    client = Client(campaign, store=FileStore(store), respondent=respondent)
    n_attempts = client.withdraw(url, patience=patience, allow_plain_http=allow_plain_http)
    lines = [
        "Withdrawn: the collector does not count this report, and refuses it where it is still on its way.",
        "The collector may have seen it, so its epsilon stays in what this store has spent.",
    ]
    tell({"campaign": campaign.id, "n_attempts": n_attempts}, *lines, as_json=as_json)
