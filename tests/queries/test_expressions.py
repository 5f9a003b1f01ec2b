"""Expressions: parsed and checked, never evaluated; whatever is wrong is one clear sentence."""

import random
import string

import numpy as np
import pytest

from lopub import Binned, Boolean, Categorical, Comparison, Dated, Domain, DomainError, IntegerRange
from lopub.campaign.domain import TickList
from lopub.campaign.fields import domain_of
from lopub.queries.expressions import DEEPEST, LONGEST, MOST_COMPARISONS, parsed
from lopub.queries.predicates import Question, question
from tiers import FULL

N_FUZZED = 100_000 if FULL else 3_000
SMOKES = Comparison(field="smokes", operator="equals", values=(True,))
DOMAIN = Domain(
    (
        Categorical(name="city", values=("berlin", "rome", "o'hara"), missing=True),
        Boolean(name="smokes"),
        IntegerRange(name="age", minimum=20, maximum=29),
        Binned(name="pay", edges=("0", "10", "20", "40"), missing=True),
        Categorical(name="marital-status", values=("single", "married")),
        Categorical(name="degree", values=("none", "college", "phd"), is_ordered=True),
        IntegerRange(name="hours", minimum=0, maximum=2, only_if=SMOKES),
        Dated(name="moved", period="month", first="2025-01", last="2025-04"),
        Dated(name="wakes", kind="time", period="hour"),
        Binned(name="rent", edges=("0", "10", "20", "inf"), missing=True, only_if=SMOKES),
        Categorical(name="back`quote", values=("a\\b", "c")),
        Categorical(name="größe", values=("mörder", "klein")),
    )
)


def asked(text: str) -> Question:
    return question([parsed(text)], DOMAIN)


def weights(text: str) -> list[float]:
    """Of an expression about one attribute: how much of each candidate it holds of."""
    found = asked(text)
    (grouping,) = found.groupings
    return found.weights[0][grouping.classes].tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smokes", [0, 1]),
        ("not smokes", [1, 0]),
        ("smokes == false", [1, 0]),
        ("city == 'rome'", [0, 1, 0, 0]),
        ('city = "o\'hara"', [0, 0, 1, 0]),
        ("city == 'o\\'hara'", [0, 0, 1, 0]),
        ("city != 'rome'", [1, 0, 1, 1]),
        ("city in ('rome', null)", [0, 1, 0, 1]),
        ("city not in ['rome',]", [1, 0, 1, 1]),
        ("22 <= age < 25", [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]),
        ("age > 24.5 and age != 27", [0, 0, 0, 0, 0, 1, 1, 0, 1, 1]),
        ("age < 21 or age >= 28 or (age == 25)", [1, 0, 0, 0, 0, 1, 0, 0, 1, 1]),
        ("pay > 10", [0, 1, 1, 0]),
        ("pay <= 25", [1, 1, 0.25, 0]),
        ("pay > 12 and pay <= 15", [0, 0.3, 0, 0]),
        ("pay > 12 or pay <= 5", [0.5, 0.8, 1, 0]),
        ("pay >= 0", [1, 1, 1, 0]),
        ("pay == '(10, 20]'", [0, 1, 0, 0]),
        ("degree >= 'college'", [0, 1, 1]),
        ("`marital-status` == 'married'", [0, 1]),
        ("NOT (smokes AND TRUE == smokes)", [1, 0]),
        ("age == 20.0", [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("hours > 1", [0, 0, 1, 0]),
        ("not hours > 1", [1, 1, 0, 1]),
        ("hours == '(not applicable)'", [0, 0, 0, 1]),
        ("moved >= '2025-03'", [0, 0, 1, 1]),
        ("moved == '2025-02-28'", [0, 1, 0, 0]),
        ("wakes in (7, '08')", [*[0] * 7, 1, 1, *[0] * 15]),
        ("rent > 10", [0, 1, 1, 0, 0]),
        ("rent > 15", [0, 0.5, 1, 0, 0]),
        ("rent == '(not applicable)' or rent == null", [0, 0, 0, 1, 1]),
        ("`back``quote` == 'a\\b'", [1, 0]),
        (r"`back``quote` == 'a\\b'", [1, 0]),
        ("gro\u0308\u00dfe == 'mo\u0308rder'", [1, 0]),
    ],
)
def test_an_expression_holds_of_the_answers_that_it_names(text: str, expected: list[float]):
    assert np.allclose(weights(text), expected)


def test_a_part_of_a_bin_is_stated_as_an_assumption():
    assert asked("pay > 12 and pay <= 15").assumptions == ("pay is spread evenly within (10, 20]",)
    assert asked("pay > 10 and pay <= 20").assumptions == ()


def test_a_number_at_the_end_of_its_bin_is_stated_as_an_assumption():
    assert asked("pay < 10").assumptions == (
        "nobody's pay is exactly 10, which belongs to the bin [0, 10]",
    )


def test_a_list_is_asked_for_by_its_options():
    """Its own name was said not to be there, with the name of another question as what might be meant."""
    domain = domain_of(
        (Boolean(name="eats"), TickList(name="eat", values=("meat", "fish", "bread")))
    )
    with pytest.raises(
        DomainError,
        match="'eat' is a list, of which each option is asked for by itself, such as `eat/meat` or",
    ):
        question([parsed("eat")], domain)


def test_attributes_are_told_apart_only_as_far_as_is_asked():
    found = asked("(city == 'rome' and age > 25) or smokes")
    assert [grouping.n_classes for grouping in found.groupings] == [2, 2, 2]
    assert found.weights[0].sum() == 5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("smoks", "there is no attribute 'smoks'; did you mean smokes?"),
        ("City == 'rome'", "there is no attribute 'City'; did you mean city?"),
        ("city == 'rom'", "attribute 'city' has no value 'rom'; did you mean 'rome'?"),
        ("city == 'ROME'", "attribute 'city' has no value 'ROME'; did you mean 'rome'?"),
        ("city > 'rome'", "attribute 'city' has no order, so > says nothing of it; use == or in"),
        ("age", "attribute 'age' is not true or false; compare it with a value, or use in"),
        ("age > 'old'", "attribute 'age' is a number; compare it with one, not with 'old'"),
        ("age == null", "attribute 'age' is answered by everybody, so null is none of its values"),
        (
            "age == 30",
            "attribute 'age' takes integers from 20 to 29; this one is outside, got '30'",
        ),
        (
            "pay == 5",
            "attribute 'pay' is known in bins; ask for a range with <= and >, or for a bin such as '[0, 10]'",
        ),
        (
            "pay == '5'",
            "attribute 'pay' is known in bins; ask for a range with <= and >, or for a bin such as '[0, 10]'",
        ),
        (
            "age == smokes",
            "two attributes cannot be compared with each other; texts stand in quotes, at character 5",
        ),
        ("1 == 1", "two values cannot be compared with each other, at character 3"),
        ("age >", "an attribute or a value is expected, at its end"),
        ("(age > 3", "a closing parenthesis is expected, at its end"),
        ("age > 3)", "and, or, or the end is expected, at character 8"),
        (
            "mean(age)",
            "an expression has no functions, and a mean or a quantile is asked for in Python",
        ),
        ("age in 3", "a list such as (1, 2) is expected after in, at character 8"),
        ("age; drop", "there is a sign that means nothing here, at character 4"),
        (
            "city == 'rome",
            "there is a sign that means nothing here; a quote is not closed, at character 9",
        ),
        (
            "marital-status == 'single'",
            "a name with other signs than letters and digits stands in `backquotes`, at character 8",
        ),
        (
            "maritalstatus == 'single'",
            "there is no attribute 'maritalstatus'; did you mean `marital-status`?",
        ),
        ("In == 1", "an attribute called 'in' stands in `backquotes`, at character 1"),
        (
            "smokes & smokes",
            "there is a sign that means nothing here; write and, or, not, at character 8",
        ),
        ("age > 1e400", "the number is too long, or too large, at character 7"),
        ("age in ()", "a value is expected, at character 9"),
        ("age > nan", "two attributes cannot be compared with each other; texts stand in quotes"),
        ("20 < age < 22 < 25", "two values cannot be compared with each other, at character 15"),
        (
            "\ud800 == 1",
            "there is a sign that means nothing here, at character 1, before '\\ud800 == 1'",
        ),
        ("smokes == '\x00'", "attribute 'smokes' does not list this value"),
        (
            "smokes == ''",
            "attribute 'smokes' is answered by everybody, so null is none of its values",
        ),
        (
            "hours == null",
            "everybody whom it concerns, so null is none of its values; for all others, ask for '(not applicable)'",
        ),
        (
            "moved >= '2031-01'",
            "attribute 'moved' has no value '2031-01'; it has 2025-01 to 2025-04",
        ),
        ("rent > 50", "attribute 'rent' is one bin above 20, so nothing is known about 50"),
        ("'rome'", "a comparison with an attribute is expected after a value, at its end"),
        ("  ", "the expression is empty; write one such as age > 40"),
        (
            "(" * 200 + "smokes" + ")" * 200,
            f"parentheses and negations may be {DEEPEST} deep, and are deeper",
        ),
        (
            "not " * 400 + "smokes",
            f"parentheses and negations may be {DEEPEST} deep, and are deeper",
        ),
        (
            "age in (" + "20, " * 10_000 + "21)",
            f"an expression may have {LONGEST:,} characters, got 40,011",
        ),
        (
            " or ".join(["smokes"] * 300),
            f"an expression may have {MOST_COMPARISONS} comparisons, and has more",
        ),
    ],
)
def test_a_mistake_is_said_in_one_sentence(text: str, sentence: str):
    with pytest.raises(DomainError) as caught:
        asked(text)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_an_expression_must_be_a_text():
    with pytest.raises(DomainError, match="an expression must be a text, got int"):
        parsed(3)  # type: ignore[arg-type]


WORDS = [
    *(
        "age",
        "city",
        "smokes",
        "pay",
        "`marital-status`",
        "and",
        "or",
        "not",
        "in",
        "(",
        ")",
        "[",
        "]",
        ",",
        "==",
        "<",
        ">=",
    ),
    *(
        "1",
        "25",
        "-3.5e7",
        "1e999",
        "'rome'",
        '"x"',
        "null",
        "true",
        "__import__",
        "\\",
        "'",
        "`",
        "\x00",
        "é",
        "٣",
        "=",
        ";",
    ),
]


def fuzzed(rng: random.Random) -> str:
    """Words of the language in any order, noise, or an expression with a few signs changed."""
    kind = rng.random()
    if kind < 0.5:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 30)))
    if kind < 0.7:
        return "".join(chr(rng.randint(0, 0x2FFF)) for _ in range(rng.randint(1, 60)))
    text = list("22 <= age < 25 and (city in ('rome', null) or not smokes) and pay > 12.5")
    for _ in range(rng.randint(1, 6)):
        text[rng.randrange(len(text))] = rng.choice(string.printable)
    return "".join(text)


def test_whatever_is_asked_is_understood_or_refused_in_one_sentence():
    """In full, 100,000 of them: nothing but a DomainError may come out."""
    rng = random.Random(7)
    found = [sentence(fuzzed(rng)) for _ in range(N_FUZZED)]
    assert all(len(one) < 500 and "\n" not in one for one in found)
    assert found.count("") > N_FUZZED / 1000


def sentence(text: str) -> str:
    """Why an expression is refused; nothing where it is understood."""
    try:
        asked(text)
    except DomainError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("size", [1_000, LONGEST, 1_000_000])
@pytest.mark.parametrize(
    "part",
    [
        "(",
        "[",
        "not ",
        "age in (",
        "'",
        "`",
        "\\'",
        "age == 1 or ",
        "9",
        "age<",
        "a" * 50,
        "-",
        "1,",
    ],
)
def test_a_hostile_expression_is_refused(part: str, size: int):
    with pytest.raises(DomainError) as caught:
        asked((part * (size // len(part) + 1))[:size])
    assert len(str(caught.value)) < 500


def test_a_question_that_tells_too_much_apart_is_refused():
    wide = Domain(tuple(IntegerRange(name=f"n{i}", minimum=0, maximum=99) for i in range(4)))
    with pytest.raises(
        DomainError, match="the question tells 100,000,000 combinations of answers apart"
    ):
        question([parsed("n0 > 3")], wide, ["n0", "n1", "n2", "n3"])
