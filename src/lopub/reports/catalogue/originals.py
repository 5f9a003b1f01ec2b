"""What the public tables are made from: which files, by their SHA-256, and where their owners and others offer them."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from lopub.reports.catalogue.preparation import (
    Prepared,
    as_brought,
    prepare_adult,
    prepare_nltcs,
    prepare_retail,
)

PACKING = 65_536
"""Bytes by which a packed file, or one with a long header, may be larger than what is in it."""


@dataclass(frozen=True, kw_only=True)
class Original:
    """One file, known by its content: size and SHA-256 are those of the unpacked bytes."""

    name: str
    size: int
    sha256: str
    addresses: tuple[str, ...] = ()
    """Where it can be had, packed with gzip or not; the first that has it serves."""

    @property
    def most_bytes(self) -> int:
        """What no honest copy exceeds, packed or not; nothing larger is fetched or read."""
        return self.size + PACKING

    def content(self, copy: bytes) -> bytes | None:
        """The unpacked bytes of a copy, packed or not; None where they are not this original's."""
        unpacked = _unpacked(copy, at_most=self.size + 1)
        return unpacked if hashlib.sha256(unpacked).hexdigest() == self.sha256 else None


def _unpacked(copy: bytes, *, at_most: int) -> bytes:
    """Never more than so many bytes, so that a small file cannot fill the memory; a damaged file comes out empty."""
    if not copy.startswith(b"\x1f\x8b"):
        return copy
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(copy)) as packed:
            return packed.read(at_most)
    except (OSError, EOFError, zlib.error):
        return b""


@dataclass(frozen=True, kw_only=True)
class PublicSource:
    """How one public table comes about, and what must come out."""

    name: str
    originals: tuple[Original, ...]
    prepare: Callable[..., Prepared]
    """Takes the contents of the originals, in their order."""
    csv_sha256: str
    domain_sha256: str
    licence: str
    citation: str
    instead: str = ""
    """What to do where there is nothing to download."""


UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
UCI_COPY = "https://raw.githubusercontent.com/ryan112358/hd-datasets/HEAD/raw/adult/"
FIMI = "http://fimi.uantwerpen.be/data/"
FIMI_COPY = "https://raw.githubusercontent.com/DIYer22/dataMining/HEAD/"

ADULT = PublicSource(
    name="adult",
    originals=(
        Original(
            name="adult.data",
            size=3_974_305,
            sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            addresses=(f"{UCI}adult.data", f"{UCI_COPY}adult.data"),
        ),
        Original(
            name="adult.test",
            size=2_003_153,
            sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            addresses=(f"{UCI}adult.test", f"{UCI_COPY}adult.test"),
        ),
    ),
    prepare=prepare_adult,
    csv_sha256="4079a91ce7408a23662225e2855ece929662635145369535ed5a836e20ee6f9c",
    domain_sha256="e0641f34f73c2218259ace8af7d660dccbaae098ee1b2f0b28469a3b7ce2ba80",
    licence="CC BY 4.0",
    citation="B. Becker, R. Kohavi: Adult. UCI Machine Learning Repository, 1996. doi:10.24432/C5XW20",
)

RETAIL = PublicSource(
    name="retail",
    originals=(
        Original(
            name="retail.dat",
            size=4_167_490,
            sha256="d967431ba522e32f0fbb243f2ee113ecd4cb374cb0234c1b0858dae1d499a055",
            addresses=(f"{FIMI}retail.dat.gz", f"{FIMI}retail.dat", f"{FIMI_COPY}retail2.dat"),
        ),
    ),
    prepare=prepare_retail,
    csv_sha256="b6cb081c8736badf0d9955e998e6e7ee9d5fb72e0576058131eab733a0c9eea6",
    domain_sha256="543528beb42d4b062f9f3dd974aaa40524810b96b418da868db38097ddf2f3b6",
    licence="free to use with acknowledgment and a copy of the work to its author, T. Brijs",
    citation="T. Brijs, G. Swinnen, K. Vanhoof, G. Wets: Using association rules for product assortment decisions: a case"
    " study. KDD 1999, 254-260",
)

TPCE_CSV = Original(
    name="tpce.csv",
    size=2_111_745,
    sha256="005670425db73ef94c47c9bd0ef7514a308243ab7ed49587f8ca389ffa46f226",
)
TPCE_DOMAIN = Original(
    name="tpce.domain.json",
    size=6_840,
    sha256="85db118f614128bad2672cd2c20a116854cc8bd64c03227ff390bf180ff56ebe",
)
TPCE = PublicSource(
    name="tpce",
    originals=(TPCE_CSV, TPCE_DOMAIN),
    prepare=as_brought,
    csv_sha256=TPCE_CSV.sha256,
    domain_sha256=TPCE_DOMAIN.sha256,
    licence="generated with EGen under the TPC software licence: internal, academic and research use; no TPC benchmark result",
    citation="Transaction Processing Performance Council: TPC Benchmark E, EGen",
    instead="TPC-E has no public download: generate TRADE with EGen (5,000 customers, 10 days) and prepare it as docs/datasets.md"
    " says, or bring tpce.csv.gz and tpce.domain.json with --from",
)

NLTCS = PublicSource(
    name="nltcs",
    originals=(
        Original(
            name="Data4-coarse.dat",
            size=690_374,
            sha256="6e49f47f49449a45cf7436f19ece833bc9c91f9aff15f54f94ac7157a742fcab",
        ),
    ),
    prepare=prepare_nltcs,
    csv_sha256="fd50f2d4b1973f84fb0b5a0b06bdb4c361024ef05db63be8484650873b4fc14e",
    domain_sha256="d51d066a0b2e8cf74ea8b9a55ea6f1d700d2d228e4d0670ecd967bd24fe3409d",
    licence="the NLTCS data use agreement: pass copies on under it only, and destroy them on request",
    citation="The NLTCS (National Long Term Care Study) is sponsored by the National Institute of Aging and conducted by the Duke"
    " University Center for Demographic Studies under Grant No. U01AG007198",
    instead="NLTCS comes under a data use agreement, so it is not downloaded: bring Data4-coarse.dat of the public repository"
    " IoTDATALab/Python_LoPub with --from, see docs/datasets.md",
)

SOURCES = {source.name: source for source in (ADULT, RETAIL, TPCE, NLTCS)}
