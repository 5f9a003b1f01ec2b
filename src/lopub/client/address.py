"""The address at which a collector has a campaign."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Self

from lopub.errors import CampaignError

_ADDRESS = re.compile(
    r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?((?:/[A-Za-z0-9._~-]+)*/campaigns/([0-9a-f]{64}))/?"
)


@dataclass(frozen=True)
class Address:
    """Where a collector has one campaign."""

    secure: bool
    host: str
    port: int
    path: str
    campaign_id: str

    @classmethod
    def of(cls, url: str, *, allow_plain_http: bool = False) -> Self:
        """The parts of https://host/campaigns/ID. Nothing else may be in it: a query could tell people apart."""
        found = _ADDRESS.fullmatch(url)
        if found is None or int(found[3] or 1) not in range(1, 2**16):
            raise CampaignError(
                "a campaign's address must look like https://host/campaigns/ and the 64 digits of its id"
            )
        secure, host = found[1] == "https", found[2].strip("[]")
        if not (secure or allow_plain_http or _is_loopback(host)):
            raise CampaignError(
                "a campaign's address must begin with https://, so that nobody on the way can read or change it"
            )
        return cls(secure, host, int(found[3] or (443 if secure else 80)), found[4], found[5])

    def check(self, campaign_id: str) -> None:
        """Refuse the address of another campaign, and show where the ids differ."""
        if self.campaign_id == campaign_id:
            return
        pairs = zip(self.campaign_id, campaign_id, strict=True)
        at = next(i for i, (one, other) in enumerate(pairs) if one != other)
        here = slice(max(0, at - 4), at + 8)
        raise CampaignError(
            f"the address is that of another campaign: the ids differ from digit {at + 1} on, …{self.campaign_id[here]}… in the"
            f" address, …{campaign_id[here]}… in the campaign of this client"
        )

    @property
    def is_loopback(self) -> bool:
        """Whether it leads to this very machine."""
        return _is_loopback(self.host)

    @property
    def host_name(self) -> str:
        """As it stands in a request: an address of version 6 in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def host_header(self) -> str:
        """The host, and the port where it is not the usual one."""
        usual = 443 if self.secure else 80
        return self.host_name if self.port == usual else f"{self.host_name}:{self.port}"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
