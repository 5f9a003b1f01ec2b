"""`lopub data`: public tables from their originals, downloaded from a server of our own or brought as files.

The originals here are made up and small. Where LOPUB_DATA names the real ones, they are prepared too.
"""

import gzip
import hashlib
import json
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from commands import lopub, refused

from lopub.campaign.domain import Binned
from lopub.cli import run
from lopub.errors import LopubWarning, StoreError
from lopub.reports.catalogue import data_directory, fetching, public_table, read_domain_file
from lopub.reports.catalogue.fetching import fetch, mirrored
from lopub.reports.catalogue.obtaining import Place, bring, download
from lopub.reports.catalogue.originals import SOURCES, Original, PublicSource
from lopub.reports.catalogue.preparation import (
    Prepared,
    prepare_adult,
    prepare_nltcs,
    prepare_retail,
)

ROOT = Path(__file__).parents[2]

TRAINING = b"""\
20, Private, 1000, Masters, 14, Divorced, Sales, Wife, White, Female, 0, 0, 40, Cuba, <=50K
36, ?, 1016, Masters, 14, Divorced, Sales, Wife, White, Female, 900, 0, 40, Cuba, <=50K
22, Local-gov, 1016, 9th, 5, Widowed, Sales, Husband, Black, Male, 16, 0, 48, Cuba, >50K

"""
TEST = b"""\
|1x3 Cross validator
21, Private, 1001, 9th, 30, Divorced, Tech-support, Husband, Black, Male, 1, 32, 41, India, >50K.
36, Private, 1002, 9th, 5, Widowed, Tech-support, Husband, Black, Male, 2, 2, 56, Cuba, <=50K.
"""
BASKETS = b"5 7 9 \n7 \n5 7 11 \n3 \n5 9 \n7 3 \n5 7 9 3 \n"


# ---- preparation


def described(prepared: Prepared) -> dict:
    return {attribute["name"]: attribute for attribute in json.loads(prepared.domain)["attributes"]}


def columns(prepared: Prepared) -> dict[str, list[int]]:
    header, *rows = prepared.csv.decode().splitlines()
    return dict(
        zip(
            header.split(","),
            map(list, zip(*(map(int, row.split(",")) for row in rows), strict=True)),
            strict=True,
        )
    )


@pytest.fixture(scope="module")
def adult() -> Prepared:
    return prepare_adult(TRAINING, TEST)


def test_adult_keeps_the_records_without_question_marks_in_their_order(adult: Prepared):
    assert columns(adult)["sex"] == [0, 1, 1, 1]
    assert (adult.n_records, adult.n_attributes) == (4, 15)


def test_adult_numbers_texts_as_they_first_appear_in_kept_records(adult: Prepared):
    assert described(adult)["workclass"]["labels"] == ["Private", "Local-gov"]
    assert described(adult)["occupation"]["labels"] == ["Sales", "Tech-support"]
    assert columns(adult)["occupation"] == [0, 0, 1, 1]


def test_adult_takes_the_full_stop_off_the_labels_of_the_test_file(adult: Prepared):
    assert described(adult)["income"]["labels"] == ["<=50K", ">50K"]
    assert columns(adult)["income"] == [0, 1, 1, 0]


def test_adult_cuts_numbers_between_the_extremes_of_kept_records(adult: Prepared):
    assert described(adult)["age"]["edges"] == [float(edge) for edge in range(20, 37)]
    assert described(adult)["capital_gain"]["edges"][-1] == 16.0


def test_adult_puts_a_value_on_an_edge_below_it(adult: Prepared):
    """bisect_right instead of bisect_left moves every such value, ages above all."""
    assert columns(adult)["age"] == [0, 1, 0, 15]
    assert columns(adult)["capital_loss"] == [0, 0, 15, 0]


def test_adult_says_how_many_candidates_occur(adult: Prepared):
    assert described(adult)["age"]["size"] == 16
    assert described(adult)["age"]["observed"] == 3


def test_a_prepared_domain_is_read_as_a_domain(adult: Prepared, tmp_path: Path):
    (tmp_path / "adult.domain.json").write_bytes(adult.domain)
    domain = read_domain_file(tmp_path / "adult.domain.json")
    assert domain.sizes == tuple(json.loads(adult.domain)["domain_sizes"])
    assert (
        isinstance(domain["age"], Binned)
        and [domain["age"].index(v) for v in (20, 22, 21, 36)] == columns(adult)["age"]
    )


def test_retail_takes_the_most_frequent_items_and_of_equals_the_smaller():
    assert list(columns(prepare_retail(BASKETS, n_items=3, n_baskets=7))) == [
        "item_7",
        "item_5",
        "item_3",
    ]
    assert list(columns(prepare_retail(BASKETS, n_items=9, n_baskets=7))) == [
        f"item_{i}" for i in (7, 5, 3, 9, 11)
    ]


def test_retail_keeps_the_fullest_baskets_and_of_equals_the_earlier_in_the_order_of_the_file():
    kept = prepare_retail(BASKETS, n_items=3, n_baskets=3)
    assert columns(kept) == {"item_7": [1, 1, 1], "item_5": [1, 1, 1], "item_3": [0, 0, 1]}


def test_retail_writes_absent_as_zero():
    assert described(prepare_retail(BASKETS, n_items=2, n_baskets=4))["item_5"]["labels"] == [
        "absent",
        "present",
    ]
    assert columns(prepare_retail(BASKETS, n_items=2, n_baskets=4))["item_5"] == [1, 0, 1, 1]


def test_nltcs_keeps_the_records_below_the_line_with_their_number():
    table = prepare_nltcs(b"3\n0,1\n1,1\n0,0\n")
    assert columns(table) == {"activity_1": [0, 1, 0], "activity_2": [1, 1, 0]}
    assert described(table)["activity_2"]["labels"] == ["able", "unable"]


def test_nltcs_is_not_downloaded(tmp_path):
    with pytest.raises(
        StoreError,
        match=r"NLTCS comes under a data use agreement, so it is not downloaded: bring Data4-coarse\.dat",
    ):
        download(SOURCES["nltcs"], Place(tmp_path, "nltcs"))
    assert not list(tmp_path.iterdir())


def test_retail_counts_an_item_once_a_basket():
    assert list(columns(prepare_retail(b"1 1 1\n2\n2\n", n_items=2, n_baskets=3))) == [
        "item_2",
        "item_1",
    ]


# ---- made-up sources, and a server that has them


def original(name: str, content: bytes) -> Original:
    return Original(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest())


def source(name: str, originals: dict[str, bytes], prepare: object) -> PublicSource:
    prepared = prepare(*originals.values())  # type: ignore[operator]
    return PublicSource(
        name=name,
        originals=tuple(original(*item) for item in originals.items()),
        prepare=prepare,  # type: ignore[arg-type]
        csv_sha256=hashlib.sha256(prepared.csv).hexdigest(),
        domain_sha256=hashlib.sha256(prepared.domain).hexdigest(),
        licence="made up",
        citation="nobody",
    )


LARGE = b"".join(b"%d %d \n" % (i % 90, i % 7) for i in range(60_000))
"""Several blocks of baskets."""
ADULT = source("adult", {"adult.data": TRAINING, "adult.test": TEST}, prepare_adult)
RETAIL = source("retail", {"retail.dat": LARGE}, partial(prepare_retail, n_items=4, n_baskets=50))
DAT = RETAIL.originals[0]


@dataclass
class Behaviour:
    """What the server has, how it errs, and what it was asked."""

    files: dict[str, bytes]
    ranges: bool = True
    cut_after: list[int] = field(default_factory=list)
    """Bytes after which the next answers end, though they announced all."""
    stall: bool = False
    refuse: list[int] = field(default_factory=list)
    """Statuses of the next answers."""
    announce: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    n_sent: int = 0
    done: threading.Event = field(default_factory=threading.Event)


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def do_GET(self) -> None:
        b, span = self.behaviour, self.headers.get("Range")
        b.asked.append((self.path.rpartition("/")[2], span))
        content = b.files.get(self.path.rpartition("/")[2])
        if content is None or b.refuse:
            self.send_error(b.refuse.pop(0) if content is not None else 404)
            return
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span and b.ranges else 0
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if b.announce:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.send_body(content[start:])

    def send_body(self, rest: bytes) -> None:
        rest = rest[: self.behaviour.cut_after.pop(0)] if self.behaviour.cut_after else rest
        self.behaviour.n_sent += len(rest)
        self.wfile.write(rest)
        self.wfile.flush()
        if self.behaviour.stall:
            self.behaviour.done.wait(20)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass
class Mirror:
    base: str
    behaviour: Behaviour


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """A real server on this machine; waiting is made short."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetching, "PAUSES", (0.0, 0.0))
    behaviour = Behaviour({"adult.data": TRAINING, "adult.test": TEST, "retail.dat": LARGE})
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Bound", (Handler,), {"behaviour": behaviour})
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield Mirror(f"http://127.0.0.1:{server.server_port}/tables", behaviour)
    behaviour.done.set()
    server.shutdown()
    thread.join()
    server.server_close()


def parts(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.part"))


def failure(mirror: Mirror, folder: Path) -> str:
    with pytest.raises(StoreError) as caught:
        fetch(DAT, folder, base=mirror.base)
    return str(caught.value)


# ---- download


def test_a_download_ends_in_a_table_that_public_table_finds(mirror: Mirror, tmp_path: Path):
    prepared = download(ADULT, Place(tmp_path / "new", "adult"), base=mirror.base)
    assert public_table("adult", tmp_path / "new").codes.shape == (4, 15)
    files = sorted(path.name for path in (tmp_path / "new" / "adult").iterdir())
    assert files == ["adult.csv.gz", "adult.domain.json"]
    assert (
        gzip.decompress((tmp_path / "new" / "adult" / "adult.csv.gz").read_bytes()) == prepared.csv
    )


def test_a_packed_original_is_unpacked(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.files = {"retail.dat.gz": gzip.compress(LARGE)}
    assert fetch(DAT, tmp_path, base=mirror.base + "/") == LARGE
    assert [name for name, _ in mirror.behaviour.asked] == ["retail.dat", "retail.dat.gz"]


def test_an_answer_that_does_not_say_how_long_it_is_is_read_to_its_end(
    mirror: Mirror, tmp_path: Path
):
    mirror.behaviour.announce = False
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE


def test_progress_is_told_in_bytes_up_to_the_total(mirror: Mirror, tmp_path: Path):
    heard: list[tuple[str, int, int | None]] = []
    fetch(DAT, tmp_path, base=mirror.base, progress=lambda *news: heard.append(news))
    assert [n for _, n, _ in heard] == sorted({n for _, n, _ in heard}) and len(heard) > 1
    assert heard[-1] == ("downloading retail.dat", len(LARGE), len(LARGE))


def test_a_transfer_that_is_cut_off_is_resumed_at_once(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.cut_after = [100_000, 70_000]
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE
    assert mirror.behaviour.asked == [
        ("retail.dat", span) for span in (None, "bytes=100000-", "bytes=170000-")
    ]
    assert mirror.behaviour.n_sent == len(LARGE)


def test_a_later_call_asks_for_the_rest_only(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.cut_after = [90_000, 10_000, 1_000]
    assert "the transfer broke off after 101,000 of" in failure(mirror, tmp_path)
    assert [part.stat().st_size for part in parts(tmp_path)] == [101_000]
    mirror.behaviour.asked.clear()
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE
    assert mirror.behaviour.asked == [("retail.dat", "bytes=101000-")]


def test_a_server_that_ignores_ranges_is_read_from_the_start(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.ranges = False
    mirror.behaviour.cut_after = [100_000]
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE
    assert mirror.behaviour.n_sent == len(LARGE) + 100_000


def test_an_original_that_has_arrived_is_not_asked_for_again(mirror: Mirror, tmp_path: Path):
    del mirror.behaviour.files["adult.test"]
    with pytest.raises(StoreError, match=r"cannot download adult\.test"):
        download(ADULT, Place(tmp_path, "adult"), base=mirror.base)
    mirror.behaviour.files["adult.test"] = TEST
    mirror.behaviour.asked.clear()
    download(ADULT, Place(tmp_path, "adult"), base=mirror.base)
    assert mirror.behaviour.asked == [("adult.test", None)]
    assert not parts(tmp_path)


def test_a_file_that_changed_between_two_halves_is_thrown_away(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.cut_after = [100_000] * 1 + [0, 0]
    assert "broke off after 100,000 of" in failure(mirror, tmp_path)
    mirror.behaviour.files["retail.dat"] = LARGE[::-1]
    assert (
        f"is not retail.dat (SHA-256 {DAT.sha256[:16]}… expected) and was thrown away"
        in failure(mirror, tmp_path)
    )
    assert not parts(tmp_path)
    mirror.behaviour.files["retail.dat"] = LARGE
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE


def test_a_part_that_is_longer_than_the_file_is_thrown_away(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.cut_after = [10, 0, 0]
    failure(mirror, tmp_path)
    parts(tmp_path)[0].write_bytes(LARGE + b"more")
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE
    assert [span for _, span in mirror.behaviour.asked[-2:]] == [f"bytes={len(LARGE) + 4}-", None]


@pytest.mark.parametrize(
    "sent",
    [
        LARGE[:-1] + b"x",
        b"<html>log in here</html>",
        b"",
        gzip.compress(LARGE)[:-9],
        gzip.compress(LARGE + b"1 \n"),
    ],
    ids=["one byte", "page", "nothing", "torn gzip", "longer"],
)
def test_wrong_bytes_are_refused_and_leave_nothing_behind(
    mirror: Mirror, tmp_path: Path, sent: bytes
):
    mirror.behaviour.files["retail.dat"] = sent
    with pytest.raises(
        StoreError,
        match=r"what it sent is not retail\.dat .* and was thrown away; .*retail\.dat\.gz: it answered 404",
    ):
        download(RETAIL, Place(tmp_path / "new", "retail"), base=mirror.base)
    assert not list(tmp_path.iterdir())


def test_a_server_that_sends_without_end_is_cut_short(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.files["retail.dat"] = LARGE * 20
    heard: list[int] = []
    with pytest.raises(StoreError, match="was thrown away"):
        fetch(DAT, tmp_path, base=mirror.base, progress=lambda _, n, __: heard.append(n))
    assert max(heard) <= DAT.most_bytes + fetching.BLOCK
    assert not parts(tmp_path)


def test_a_small_file_that_unpacks_to_a_large_one_is_never_unpacked_whole():
    assert original("bomb", bytes(10)).content(gzip.compress(bytes(50_000_000))) is None


def test_a_server_that_falls_silent_is_given_up(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where it has nothing more to say, time is up at once."""
    read = HTTPResponse.read1

    def read_until_silent(answer: HTTPResponse, n: int) -> bytes:
        content = read(answer, n)
        if not content:
            raise TimeoutError
        return content

    monkeypatch.setattr(HTTPResponse, "read1", read_until_silent)
    mirror.behaviour.cut_after = [1_000, 0, 0, 0, 0, 0]
    assert "broke off after 1,000 bytes (it fell silent), 3 tries in all; run it again" in failure(
        mirror, tmp_path
    )
    assert [part.stat().st_size for part in parts(tmp_path)] == [1_000]


@pytest.mark.full
def test_a_server_that_keeps_a_connection_and_says_nothing_is_given_up(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    mirror.behaviour.stall = True
    mirror.behaviour.cut_after = [1_000, 0, 0, 0, 0, 0]
    assert "broke off after 1,000 bytes (it fell silent), 3 tries in all; run it again" in failure(
        mirror, tmp_path
    )
    assert [part.stat().st_size for part in parts(tmp_path)] == [1_000]


def test_a_server_that_is_busy_is_asked_again(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.refuse = [503, 429]
    assert fetch(DAT, tmp_path, base=mirror.base) == LARGE


def test_a_server_that_stays_busy_is_given_up(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.refuse = [503] * 3
    assert "it answered 503, 3 tries in all" in failure(mirror, tmp_path)
    assert not parts(tmp_path)


def test_a_refusal_is_not_asked_again(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.refuse = [403, 403]
    assert "retail.dat: it answered 403;" in failure(mirror, tmp_path)
    assert [name for name, _ in mirror.behaviour.asked] == ["retail.dat", "retail.dat.gz"]


def test_a_part_survives_a_server_that_is_gone(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.cut_after = [5_000, 0, 0]
    failure(mirror, tmp_path)
    mirror.behaviour.refuse = [403]
    failure(mirror, tmp_path)
    assert [part.stat().st_size for part in parts(tmp_path)] == [5_000]


def test_the_next_address_serves_where_the_first_does_not(mirror: Mirror, tmp_path: Path):
    mirror.behaviour.files["page"] = b"<html>"
    both = replace(DAT, addresses=(f"{mirror.base}/page", f"{mirror.base}/retail.dat"))
    with pytest.warns(
        LopubWarning,
        match=r"retail\.dat came from .*/retail\.dat, not from .*/page: what it sent is not",
    ):
        assert fetch(both, tmp_path) == LARGE


def test_parts_of_two_addresses_are_kept_apart(mirror: Mirror, tmp_path: Path):
    """Two servers may pack differently; half of one and half of the other would be neither."""
    mirror.behaviour.files = {"a.gz": gzip.compress(LARGE, 1), "b.gz": gzip.compress(LARGE, 9)}
    mirror.behaviour.cut_after = [900, 0, 0]
    both = replace(DAT, addresses=(f"{mirror.base}/a.gz", f"{mirror.base}/b.gz"))
    with pytest.warns(LopubWarning, match="broke off"):
        assert fetch(both, tmp_path) == LARGE
    assert len(parts(tmp_path)) == 2


@pytest.mark.parametrize(
    "base",
    [
        "ftp://example.org",
        "file:///etc",
        "example.org",
        "http://",
        "http://a b",
        "http://é",
        "http://[",
        "",
    ],
)
def test_a_mirror_must_be_an_http_address(base: str):
    with pytest.raises(StoreError, match="--url must be the http or https address of a directory"):
        mirrored(DAT, base)


# ---- files that are there


@pytest.mark.parametrize("packed", [False, True])
def test_files_are_known_by_their_content_whatever_their_names(tmp_path: Path, packed: bool):
    for name, content in (("one", TEST), ("two", TRAINING)):
        (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
    assert bring(
        ADULT, Place(tmp_path, "adult"), [tmp_path / "one", tmp_path / "two"]
    ) == prepare_adult(TRAINING, TEST)


def test_a_directory_is_searched_for_the_names_of_the_originals(tmp_path: Path):
    (tmp_path / "adult.data").write_bytes(TRAINING)
    (tmp_path / "adult.test.gz").write_bytes(gzip.compress(TEST))
    (tmp_path / "readme").write_bytes(b"anything")
    assert bring(ADULT, Place(tmp_path / "out", "adult"), [tmp_path]).n_records == 4


def test_an_original_that_is_missing_is_named(tmp_path: Path):
    (tmp_path / "adult.data").write_bytes(TRAINING)
    with pytest.raises(
        StoreError, match=r"adult\.test is not among the files given; add it with --from"
    ):
        bring(ADULT, Place(tmp_path / "out", "adult"), [tmp_path])
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_original_is_refused(tmp_path: Path):
    (tmp_path / "adult.data").write_bytes(TRAINING + b"\n")
    with pytest.raises(
        StoreError,
        match=r"adult\.data is not adult\.data nor adult\.test: its SHA-256 is another one",
    ):
        bring(ADULT, Place(tmp_path / "out", "adult"), [tmp_path])


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(StoreError, match=r"cannot read .*nowhere: No such file"):
        bring(ADULT, Place(tmp_path / "out", "adult"), [tmp_path / "nowhere"])


def test_a_preparation_that_comes_out_otherwise_is_not_written(tmp_path: Path):
    (tmp_path / "retail.dat").write_bytes(LARGE)
    other = replace(RETAIL, prepare=partial(prepare_retail, n_items=4, n_baskets=51))
    with pytest.raises(
        StoreError, match=r"retail was prepared, but its SHA-256 is not .*, so nothing was written"
    ):
        bring(other, Place(tmp_path / "out", "retail"), [tmp_path])
    assert not (tmp_path / "out").exists()


def test_the_same_table_is_written_as_the_same_bytes(tmp_path: Path):
    (tmp_path / "retail.dat").write_bytes(LARGE)
    places = [Place(tmp_path / name, "retail") for name in "ab"]
    for place in places:
        bring(RETAIL, place, [tmp_path])
    assert len({place.table.read_bytes() for place in places}) == 1
    assert places[0].table.read_bytes()[4:8] == bytes(4)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "retail.dat").write_bytes(LARGE)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(StoreError, match=r"cannot make directory .*closed/retail"):
        bring(RETAIL, Place(tmp_path / "closed", "retail"), [tmp_path])


def test_a_file_in_the_place_of_a_directory_is_told(tmp_path: Path):
    (tmp_path / "retail.dat").write_bytes(LARGE)
    with pytest.raises(StoreError, match="cannot make directory"):
        bring(RETAIL, Place(tmp_path / "retail.dat", "retail"), [tmp_path])


# ---- the command


@dataclass
class Command:
    """`lopub data` in this process, with made-up sources."""

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["lopub", "data", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        said = self.capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Command:
    monkeypatch.setitem(SOURCES, "adult", ADULT)
    monkeypatch.setitem(SOURCES, "retail", RETAIL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOPUB_DATA", raising=False)
    return Command(capsys, monkeypatch)


def test_the_command_says_what_it_wrote_and_how_to_use_it(
    command: Command, mirror: Mirror, tmp_path: Path
):
    code, said, noted = command("adult", "--url", mirror.base)
    assert (code, noted) == (0, "")
    assert said.splitlines() == [
        "adult: 4 records of 15 attributes",
        "written: data/adult/adult.csv.gz",
        "written: data/adult/adult.domain.json",
        "licence: made up",
        "cite: nobody",
        f"To use it: export LOPUB_DATA={tmp_path / 'data'}",
    ]


def test_the_command_writes_where_lopub_data_points(
    command: Command, mirror: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("LOPUB_DATA", str(tmp_path / "mine"))
    assert command("adult", "--url", mirror.base)[0] == 0
    assert len(public_table("adult")) == 4


def test_json_holds_the_files_with_their_checksums(command: Command, mirror: Mirror):
    told = json.loads(command("retail", "--url", mirror.base, "-o", "out", "--json")[1])
    assert (told["name"], told["n_records"], told["n_attributes"], told["output"]) == (
        "retail",
        50,
        4,
        "out",
    )
    assert [file["unpacked_sha256"] for file in told["files"]] == [
        RETAIL.csv_sha256,
        RETAIL.domain_sha256,
    ]


def test_a_table_that_is_there_is_refused_before_anything_is_asked_for(
    command: Command, mirror: Mirror
):
    assert command("retail", "--url", mirror.base)[0] == 0
    mirror.behaviour.asked.clear()
    code, _, noted = command("retail", "--url", mirror.base)
    assert (
        code == 1
        and noted.startswith("lopub: data/retail/retail.csv.gz exists already")
        and noted.count("\n") == 1
    )
    assert not mirror.behaviour.asked


def test_force_takes_the_place_of_a_table_and_of_nothing_else(
    command: Command, mirror: Mirror, tmp_path: Path
):
    folder = tmp_path / "data" / "retail"
    folder.mkdir(parents=True)
    for name in ("retail.csv.gz", "retail.domain.json", "notes.txt"):
        (folder / name).write_text("old")
    assert command("retail", "--url", mirror.base, "--force")[0] == 0
    assert len(public_table("retail", tmp_path / "data")) == 50
    assert (folder / "notes.txt").read_text() == "old"


def test_a_failing_download_is_one_sentence_that_leaves_an_old_table_alone(
    command: Command, mirror: Mirror, tmp_path: Path
):
    command("retail", "--url", mirror.base)
    before = (tmp_path / "data" / "retail" / "retail.csv.gz").read_bytes()
    mirror.behaviour.files = {}
    code, said, noted = command("retail", "--url", mirror.base, "--force")
    assert (
        (code, said) == (1, "")
        and noted.startswith("lopub: cannot download retail.dat (")
        and noted.count("\n") == 1
    )
    assert (tmp_path / "data" / "retail" / "retail.csv.gz").read_bytes() == before


def test_a_mirror_that_stepped_in_is_noted(
    command: Command, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
):
    mirror.behaviour.files["page"] = b"<html>"
    both = replace(DAT, addresses=(f"{mirror.base}/page", f"{mirror.base}/retail.dat"))
    monkeypatch.setitem(SOURCES, "retail", replace(RETAIL, originals=(both,)))
    code, _, noted = command("retail")
    assert (
        code == 0
        and noted.startswith("warning: retail.dat came from ")
        and "/page: what it sent is not retail.dat" in noted
    )


def test_several_files_are_brought_with_several_options(command: Command, tmp_path: Path):
    (tmp_path / "one").write_bytes(TRAINING)
    (tmp_path / "two").write_bytes(TEST)
    assert command("adult", "--from", "one", "--from", "two")[0] == 0
    assert command("adult", "--from", "one", "--url", "http://example.org")[0] == 2


def test_without_a_network_there_is_one_sentence(tmp_path: Path):
    sentence = refused(
        lopub(
            "data",
            "adult",
            "--url",
            "http://127.0.0.1:9/tables",
            "-o",
            "out",
            cwd=tmp_path,
            no_proxy="127.0.0.1",
        )
    )
    assert (
        "cannot download adult.data (http://127.0.0.1:9/tables/adult.data: Connection refused;"
        in sentence
    )
    assert sentence.endswith("use --url BASE for a mirror or --from FILE\n")
    assert not list(tmp_path.iterdir())


def test_tpce_says_what_to_bring(tmp_path: Path):
    sentence = refused(lopub("data", "tpce", cwd=tmp_path))
    assert (
        "TPC-E has no public download: generate TRADE with EGen (5,000 customers, 10 days)"
        in sentence
    )
    assert "bring tpce.csv.gz and tpce.domain.json with --from" in sentence
    assert not list(tmp_path.iterdir())


def test_an_unknown_table_is_wrong_usage():
    assert lopub("data", "iris").returncode == 2


# ---- the real ones


@pytest.mark.parametrize("name", SOURCES)
def test_the_page_on_datasets_states_every_checksum(name: str):
    page = (ROOT / "docs" / "datasets.md").read_text()
    known = SOURCES[name]
    stated = set(re.findall(r"\b[0-9a-f]{64}\b", page))
    assert {
        known.csv_sha256,
        known.domain_sha256,
        *(each.sha256 for each in known.originals),
    } <= stated
    assert all(address in page for each in known.originals for address in each.addresses)


needs_tables = pytest.mark.skipif(
    not os.environ.get("LOPUB_DATA"), reason="LOPUB_DATA names no directory of public tables"
)


def real(test: Callable[..., None]) -> Callable[..., None]:
    """Only in full: the tables are not everywhere, and those that are made up go the same way."""
    return pytest.mark.full(needs_tables(test))


def real_originals(name: str) -> Path:
    folder = data_directory() / name
    for each in SOURCES[name].originals:
        if not any((folder / file).is_file() for file in (each.name, f"{each.name}.gz")):
            pytest.skip(f"LOPUB_DATA has no {each.name} beside the prepared table")
    return folder


@real
@pytest.mark.parametrize("name", SOURCES)
def test_the_real_originals_give_the_prepared_files_byte_for_byte(name: str, tmp_path: Path):
    folder, place = real_originals(name), Place(tmp_path, name)
    bring(SOURCES[name], place, [folder])
    assert gzip.decompress(place.table.read_bytes()) == gzip.decompress(
        (folder / f"{name}.csv.gz").read_bytes()
    )
    assert place.domain.read_bytes() == (folder / f"{name}.domain.json").read_bytes()


@real
def test_the_real_adult_is_downloaded_packed_from_a_mirror(mirror: Mirror, tmp_path: Path):
    folder = real_originals("adult")
    mirror.behaviour.files = {path.name: path.read_bytes() for path in folder.glob("adult.*.gz")}
    mirror.behaviour.cut_after = [200_000]
    prepared = download(SOURCES["adult"], Place(tmp_path, "adult"), base=mirror.base)
    assert (prepared.n_records, prepared.n_attributes) == (45_222, 15)
    assert ("adult.data.gz", "bytes=200000-") in mirror.behaviour.asked
