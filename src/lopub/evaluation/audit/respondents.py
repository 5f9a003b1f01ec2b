"""The client under audit, as a command: one JSON record per line in, one report in hexadecimal per line out."""

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

from lopub.campaign.domain import NOT_APPLICABLE, Domain, Question, TickList, Value
from lopub.errors import DomainError, EngineError
from lopub.reports.progress import Progress, silent

Record = dict[str, Value | list[str]]
AGAIN = "again"
"""In place of a record: the last respondent's report once more."""
MOST_SECONDS = 600
N_AT_ONCE = 2
"""Processes that run side by side."""


Client = Callable[[Sequence[Record | str]], list[bytes]]
"""One run of a client: it is started, given these lines, and ends."""


@dataclass(frozen=True)
class Command:
    """A client that is a program of its own."""

    command: str

    def __call__(self, lines: Sequence[Record | str]) -> list[bytes]:
        given = "".join(json.dumps(line) + "\n" for line in lines)
        try:
            ran = subprocess.run(  # noqa: S603 -- the command is the caller's own
                shlex.split(self.command),
                input=given,
                capture_output=True,
                text=True,
                timeout=MOST_SECONDS,
                check=False,
            )
            reports = [bytes.fromhex(line) for line in ran.stdout.split()]
        except OSError as error:
            raise EngineError(f"the client cannot be run: {error.strerror or error}") from None
        except subprocess.TimeoutExpired:
            raise EngineError(
                f"the client took more than {MOST_SECONDS} seconds for {len(lines):,} records"
            ) from None
        except ValueError:
            raise EngineError(
                "the client prints other things than reports: expected one line in hexadecimal per record, and nothing else"
            ) from None
        if len(reports) != len(lines):
            last = (ran.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise EngineError(
                f"the client printed {len(reports)} reports for {len(lines)} lines: {last[:200]}"
            )
        return reports


def asked(
    client: Client, lines: Sequence[Record | str], n_processes: int, progress: Progress = silent
) -> list[list[bytes]]:
    """What the client makes of the same lines in each of so many runs."""
    done: list[list[bytes]] = []
    with ThreadPoolExecutor(N_AT_ONCE if isinstance(client, Command) else 1) as pool:
        for reports in pool.map(lambda _: client(lines), range(n_processes)):
            done.append(reports)
            progress("running the client", len(done), n_processes)
    return done


def made_up_records(domain: Domain, n: int) -> list[Record]:
    """Records that fit, as different from each other as so many can be: the first two take first and last answers, and so on
    inwards."""
    found: list[Record] = []
    for turn in range(8 * n):
        if len(found) < n and (record := _record(domain, turn)) not in found:
            found.append(record)
    if len(found) < 2:
        raise DomainError(
            "an audit compares records, and this campaign's questions allow fewer than 2"
        )
    return found


def _record(domain: Domain, turn: int) -> Record:
    record: Record = {}
    codes: dict[str, int] = {}
    for place, question in enumerate(domain.questions):
        if question.only_if is None or domain.holds(question.only_if, codes):
            record[question.name] = _answer(question, turn if turn < 4 else turn + place)
        codes |= _candidates(question, record.get(question.name, NOT_APPLICABLE))
    return record


def _answer(question: Question, turn: int) -> Value | list[str]:
    answers = question.values if isinstance(question, TickList) else question.answers
    inwards = turn // 2 % len(answers)
    answer = answers[-1 - inwards if turn % 2 else inwards]
    return [str(answer)] if isinstance(question, TickList) else answer


def _candidates(question: Question, answer: Value | list[str]) -> dict[str, int]:
    """Attribute -> candidate of an answer, as conditions want them."""
    if not isinstance(question, TickList):
        return {question.name: question.index(cast(Value, answer))}
    names = [option.name for option in question.options]
    if answer == NOT_APPLICABLE:
        return dict.fromkeys(names, question.not_applicable_index or 0)
    return dict(zip(names, question.indices(answer), strict=True))
