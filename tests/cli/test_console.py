"""Whatever reaches a terminal is plain, whoever wrote it and whichever command shows it."""

import json

import pytest

from lopub import StoreError
from lopub.cli.console import note, one_line, out, plain, print_json, refuse, say, table, working

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


@pytest.mark.parametrize("text", ["", "Zürich, 東京, القاهرة", "👍 ok", "[bold]x[/bold] :smile: {y}", "two\nlines"])
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
