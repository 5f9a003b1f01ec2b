"""Whatever reaches a terminal is plain, whoever wrote it and whichever command shows it."""

import io
import json

import pytest

from lopub import StoreError
from lopub.cli.console import (
    _Console,
    note,
    one_line,
    out,
    plain,
    print_json,
    progress_bar,
    refuse,
    say,
    table,
    working,
)

HOSTILE = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *map(chr, range(0x200B, 0x2010)),
    *map(chr, range(0x2028, 0x202F)),
    *map(chr, range(0x2060, 0x2070)),
    *("\u00ad", "\u061c", "\ufeff", "\ufff9", "\ud800", "\U000e0041"),
]
LAWFUL = set("\n")


@pytest.mark.parametrize("sign", HOSTILE, ids=lambda sign: f"U+{ord(sign):04X}")
def test_no_sign_that_moves_turns_or_hides_is_shown(sign, capsys):
    shown = plain(f"a{sign}b")
    assert all(kept.isprintable() or kept in LAWFUL for kept in shown)
    assert shown[0] + shown[-1] == "ab"


@pytest.mark.parametrize(
    "text", ["", "Zürich, 東京, القاهرة", "👍 ok", "[bold]x[/bold] :smile: {y}", "two\nlines"]
)
def test_honest_words_stay_as_they_are(text):
    assert plain(text) == text


def test_spaces_of_any_kind_are_spaces():
    assert plain("10\u00a0000\u202f€\t\u3000x") == "10 000 €  x"


def test_one_line_is_one():
    assert one_line(" a\r\nb\u2028c\x85 ") == "a� b�c�"


WORDS = "[bold red]x[/bold red] [/] :smile: \x9b2J\u202e"
SHOWN = "[bold red]x[/bold red] [/] :smile: �2J�"


def test_every_way_to_print_takes_words_for_words(capsys):
    say(WORDS)
    note(WORDS)
    shown = table("head" + WORDS)
    shown.add_row(WORDS)
    out.print(shown)
    out.print(WORDS)
    out.print(WORDS, markup=True, emoji=True)
    with working(WORDS):
        pass
    told = capsys.readouterr()
    assert told.out.count(SHOWN) == 5 and told.err.count(SHOWN) >= 1
    assert all(sign.isprintable() or sign == "\n" for sign in told.out + told.err)


def test_a_refusal_is_one_line_whatever_a_file_is_called(capsys):
    with pytest.raises(SystemExit):
        refuse(StoreError(f"cannot read a\nlopub: all is well{WORDS}"))
    told = capsys.readouterr().err
    assert told == f"lopub: cannot read a lopub: all is well{SHOWN}\n"


def test_json_says_the_same_in_plain_signs(capsys):
    value = {"a\u202e": ["\x9b", "\U000e0041", "\u2028", "é", "\ud800"]}
    print_json(value)
    text = capsys.readouterr().out
    assert json.loads(text) == value
    assert all(sign.isprintable() or sign == "\n" for sign in text) and "é" in text


# ---- progress


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal of 100 columns would be sent on standard error."""
    sent = io.StringIO()
    monkeypatch.setattr(
        "lopub.cli.console.err", _Console(file=sent, force_terminal=True, width=100)
    )
    return sent


def last_line(
    sent: io.StringIO, told: list[tuple[str, int, int | None]], *, in_bytes: bool = False
) -> str:
    """What stands there after the last of these steps, before the bar is taken away; without colours."""
    with progress_bar("beginning", in_bytes=in_bytes) as progress:
        for step in told:
            progress(*step)
    return next(line for line in reversed(sent.getvalue().splitlines()) if "━" in line)


def test_a_bar_has_its_title_until_it_is_told_something(terminal: io.StringIO):
    assert "beginning" in last_line(terminal, [])


def test_a_bar_shows_what_is_being_done_and_how_much_of_it(terminal: io.StringIO):
    shown = last_line(terminal, [("counting", 3, 9), (f"fitting{WORDS}", 1, 4)])
    assert f"fitting{SHOWN}" in shown and "1/4" in shown and "counting" not in shown


def test_a_total_that_nobody_knows_is_not_that_of_what_came_before(terminal: io.StringIO):
    assert "20/?" in last_line(terminal, [("counting", 9, 9), ("copying reports", 20, None)])


def test_bytes_are_shown_as_bytes(terminal: io.StringIO):
    assert "1.5/3.0 MB" in last_line(
        terminal, [("downloading retail.dat", 1_500_000, 3_000_000)], in_bytes=True
    )


def test_without_a_terminal_there_is_no_bar(capsys):
    with progress_bar("counting") as progress:
        progress("counting", 1, 2)
    assert capsys.readouterr() == ("", "")
