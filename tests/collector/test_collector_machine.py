"""A collector against a model of it, in any order of events, with the noise off.

Every person has an answer that nobody else has, and sends it as it is: so each cell of the published table is counted once where
the model says that this person counts, and otherwise not at all.
"""

import hashlib
import itertools
import json
import os
import signal
import socket
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import load
from load import note_figures
from lopub import Campaign, CampaignRequest, Categorical, Domain, Report, Terms, make_campaign
from lopub.campaign.report import FRAMED_TYPE, JSON_TYPE, base64url, framed, pack
from lopub.collector.batches import batch_of
from lopub.collector.campaigns import find_campaign
from lopub.collector.database import store_at
from lopub.collector.store import today
from lopub.collector.tokens import new_token
from lopub.publication import publish
from lopub.reports.batch import ReportBatch
from servers import Answer, Running, start_collector

pytestmark = pytest.mark.full
N_PEOPLE = 24
TODAY = today()
DOMAIN = Domain((Categorical(name="who", values=tuple(f"person {i}" for i in range(N_PEOPLE))),))
PERSON = st.integers(0, N_PEOPLE - 1)
PEOPLE = st.lists(PERSON, min_size=1, max_size=6)
MOST_RESTARTS = 2
"""In one run of the machine: a start takes longer than all other steps together."""
FEWEST = 3
"""The campaign's min_reports."""
_numbers = itertools.count()


class Host:
    """A collector that can be restarted, for all runs of the machine."""

    def __init__(self, database: str) -> None:
        self.store = store_at(database)
        self.token = {"Authorization": f"Bearer {new_token(self.store, scope='manage', days=1)}"}
        self.running: Running = start_collector(database)
        self.events: Counter[str] = Counter()

    def close(self) -> None:
        self.running.stop()
        self.store.close()

    def restart(self, number: int) -> None:
        assert self.running.stop(number) == (0 if number == signal.SIGTERM else -number)
        self.running = start_collector(self.running.address)


class Collecting(RuleBasedStateMachine):
    """One campaign from its opening on. The model: who counts, who withdrew, what was refused, whether it is closed."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.counted: set[int] = set()
        self.withdrawn: set[int] = set()
        self.n_taken_back = 0
        self.refused: Counter[str] = Counter()
        self.closed = False
        self.n_restarts = self.n_unheard = 0
        self.key = os.urandom(16)

    @cached_property
    def campaign(self) -> Campaign:
        """Epsilon 200 keeps every answer but one in 10^85."""
        terms = Terms(name=f"run-{next(_numbers)}", min_reports=FEWEST)
        return make_campaign(DOMAIN, terms, CampaignRequest(epsilon=200, mechanism="direct"))

    def report(self, person: int, *, answer: int | None = None) -> bytes:
        """A person's report, always the same; or another one under the same id."""
        (channel,) = channels = self.campaign.channels((0,))
        payload = pack([channel.output(person if answer is None else answer)], channels)
        report_id = hashlib.sha256(self.key + bytes([person])).digest()[:16]
        return Report(
            campaign=self.campaign.prefix, id=report_id, slot=TODAY, mask=b"", payload=payload
        ).to_bytes()

    def ask(
        self, event: str, method: str, path: str, body: bytes = b"", media_type: str = JSON_TYPE
    ) -> Answer:
        self.host.events[event] += 1
        address = f"/campaigns/{self.campaign.id}{path}"
        return self.host.running.ask(
            method, address, body, Content_Type=media_type, **self.host.token
        )

    def send(self, event: str, reports: Sequence[bytes], expected: Sequence[str | None]) -> None:
        """Send reports, each of which is kept or refused as expected."""
        answer = self.ask(event, "POST", "/reports", framed(reports), FRAMED_TYPE)
        if self.closed:
            assert (answer.status, answer.json["type"]) == (409, "urn:lopub:problem:closed")
            return
        assert (answer.status, answer.json["received"]) == (200, len(reports))
        told = {each["index"]: each["reason"] for each in answer.json["refused"]}
        assert told == {i: reason for i, reason in enumerate(expected) if reason}
        self.refused.update(reason for reason in expected if reason)

    def arrive(self, people: Sequence[int]) -> list[str | None]:
        """What becomes of these people's reports."""
        if not self.closed:
            self.counted |= set(people) - self.withdrawn
        return ["withdrawn" if person in self.withdrawn else None for person in people]

    # ---- events

    @initialize()
    def open(self) -> None:
        assert self.ask("open", "PUT", "", self.campaign.canonical_bytes).status == 201

    @rule(people=PEOPLE)
    def send_reports(self, people: list[int]) -> None:
        self.send("send", [self.report(person) for person in people], self.arrive(people))

    @precondition(lambda self: self.counted)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        person = data.draw(st.sampled_from(sorted(self.counted)))
        self.send("replay", [self.report(person)] * 2, [None, None])

    @rule(person=PERSON)
    def send_without_hearing_the_answer(self, person: int) -> None:
        self.send_deaf(person)
        self.send("unheard", [self.report(person)], self.arrive([person]))

    def send_deaf(self, person: int) -> None:
        """The report may come to be looked at, and be refused, or not; heard or not, it is the same report."""
        self.n_unheard += 1
        body = framed([self.report(person)])
        with socket.create_connection(
            ("127.0.0.1", self.host.running.port), timeout=30
        ) as connection:
            connection.sendall(load.request_of(self.campaign, body))

    @precondition(lambda self: self.counted or self.withdrawn)
    @rule(data=st.data(), shift=st.integers(1, N_PEOPLE - 1))
    def send_another_body_under_a_known_id(self, data: st.DataObject, shift: int) -> None:
        person = data.draw(st.sampled_from(sorted(self.counted | self.withdrawn)))
        rival = self.report(person, answer=(person + shift) % N_PEOPLE)
        self.send("rival", [rival], ["withdrawn" if person in self.withdrawn else "conflict"])

    @rule(person=PERSON, shift=st.integers(1, N_PEOPLE - 1))
    def send_two_bodies_under_one_id(self, person: int, shift: int) -> None:
        rival = self.report(person, answer=(person + shift) % N_PEOPLE)
        (first,) = self.arrive([person])
        self.send("rivals", [self.report(person), rival], [first, first or "conflict"])

    @rule(person=PERSON, how=st.sampled_from(["length", "version", "campaign", "range"]))
    def send_a_malformed_report(self, person: int, how: str) -> None:
        good = self.report(person)
        changed = {
            "length": good[:-1],
            "version": b"\x02" + good[1:],
            "campaign": good[:1] + bytes(8) + good[9:],
            "range": good[:-1] + bytes([N_PEOPLE]),
        }
        self.send("malformed", [changed[how]], [how])

    @rule(body=st.binary(max_size=40))
    def send_noise(self, body: bytes) -> None:
        answer = self.ask("noise", "POST", "/reports", b"{" + body, JSON_TYPE)
        assert answer.status == (409 if self.closed else 400), answer.body

    @rule(person=PERSON)
    def withdraw(self, person: int) -> None:
        """Also somebody of whom nothing has come yet."""
        body = json.dumps({"id": base64url(self.report(person)[9:25])}).encode()
        answer = self.ask("withdraw", "POST", "/withdrawals", body)
        assert answer.status == (409 if self.closed else 204)
        if not self.closed:
            self.n_taken_back += person in self.counted
            self.withdrawn.add(person)
            self.counted.discard(person)

    @precondition(lambda self: self.n_restarts < MOST_RESTARTS)
    @rule(number=st.sampled_from([signal.SIGKILL, signal.SIGTERM]), person=PERSON)
    def restart(self, number: signal.Signals, person: int) -> None:
        """With a report on its way, which is sent again: nobody can say whether it had arrived."""
        self.n_restarts += 1
        self.send_deaf(person)
        self.host.restart(number)
        self.send(f"restart by {number.name}", [self.report(person)], self.arrive([person]))

    @precondition(lambda self: len(self.counted) > N_PEOPLE // 3)
    @rule()
    def close(self) -> None:
        answer = self.ask("close", "POST", "/close", json.dumps({"id": self.campaign.id}).encode())
        assert (answer.status, answer.json["open"]) == (200, False)
        self.closed = True

    # ---- what is seen

    @rule()
    def counts(self) -> None:
        answer = self.ask("counts", "GET", "/counts")
        if len(self.counted) < FEWEST:
            assert (answer.status, answer.json["type"]) == (
                409,
                "urn:lopub:problem:too-few-reports",
            )
            return
        told = answer.json
        assert (told["reports"], told["withdrawn"]) == (len(self.counted), self.n_taken_back)
        assert [(each["reports"]) for each in told["slots"]] == [len(self.counted)]
        unheard = Counter(told["refused"]) - self.refused
        assert Counter(told["refused"]) - unheard == self.refused
        assert set(unheard) <= {"withdrawn"} and unheard.total() <= self.n_unheard

    @precondition(lambda self: len(self.counted) >= FEWEST)
    @rule()
    def published(self) -> None:
        self.host.events["publish"] += 1
        publication = publish(self.stored())
        assert publication.n_reports == len(self.counted)
        cells = Counter(publication.synthetic.codes[:, 0].tolist())
        assert cells == dict.fromkeys(self.counted, 1)

    def stored(self) -> ReportBatch:
        return batch_of(self.host.store, find_campaign(self.host.store, self.campaign.id))

    @invariant()
    def every_cell_is_counted_once_or_not_at_all(self) -> None:
        batch = self.stored()
        cells = [int.from_bytes(batch.payloads.string(i)) for i in range(len(batch))]
        assert sorted(cells) == sorted(self.counted)


def test_every_person_is_counted_as_the_model_says(database: str):
    host = Host(database)
    try:
        run_state_machine_as_test(
            lambda: Collecting(host),
            settings=settings(
                max_examples=100,
                stateful_step_count=30,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],  # to shrink a failure would take hundreds of restarts
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        host.close()
    note_figures(
        "machine",
        load.kind_of(database),
        runs=host.events["open"],
        **dict(sorted(host.events.items())),
    )
    assert {
        "send",
        "replay",
        "rival",
        "withdraw",
        "counts",
        "publish",
        "restart by SIGKILL",
    } <= set(host.events)
