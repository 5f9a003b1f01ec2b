"""From an answer to its candidate and back; what fits nowhere is refused, and no message repeats an answer."""

import math
from collections.abc import Iterator
from decimal import Decimal

import pytest

from every import every
from lopub import Binned, Boolean, Categorical, Domain, DomainError, IntegerRange
from lopub.campaign.canonical import decimal_text
from lopub.campaign.condition import Comparison
from lopub.campaign.domain import Attribute
from lopub.errors import CampaignError

SENTINEL = "Kaluza-Klein-7f3a9c"
GENDER = Categorical(name="gender", values=("F", "M", "Ä"))
SMOKER = Boolean(name="smoker")
CHILDREN = IntegerRange(name="children", minimum=-1, maximum=3)
INCOME = Binned(name="income", edges=("-5", "0", "10.5", "20"))
KINDS = [GENDER, SMOKER, CHILDREN, INCOME]
OPTIONAL = [
    Categorical(name="gender", values=("F", "M", "Ä"), missing=True),
    Boolean(name="smoker", missing=True),
    IntegerRange(name="children", minimum=-1, maximum=3, missing=True),
    Binned(name="income", edges=("-5", "0", "10.5", "20"), missing=True),
]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and everything that a traceback would show with it."""
    while error is not None:
        yield error
        if error.__cause__ is not None:
            yield from chain(error.__cause__)
        error = error.__context__


def tells(error: BaseException, secret: str) -> bool:
    return any(
        secret in text
        for link in chain(error)
        for text in (str(link), repr(link), repr(vars(link)))
    )


# ---- every kind


@every(KINDS + OPTIONAL, lambda a: f"{a.type}-{a.missing}")
def test_a_candidate_has_its_own_number(attribute):
    assert [attribute.index(candidate) for candidate in attribute.candidates] == list(
        range(attribute.size)
    )


@every(KINDS + OPTIONAL, lambda a: f"{a.type}-{a.missing}")
def test_the_text_of_a_candidate_is_parsed_back_to_it(attribute):
    assert [attribute.index(attribute.parse(text)) for text in attribute.texts] == list(
        range(attribute.size)
    )


@every(OPTIONAL, lambda a: a.type)
def test_a_missing_answer_is_the_last_candidate(attribute):
    assert attribute.index(None) == attribute.size - 1 == len(attribute.answers)
    assert attribute.texts[-1] == ""


@every(KINDS, lambda a: a.type)
def test_a_missing_answer_is_refused_where_it_is_no_candidate(attribute):
    with pytest.raises(
        DomainError,
        match=f"attribute '{attribute.name}' has no answer, and the campaign does not take",
    ):
        attribute.index(None)


@every(KINDS, lambda a: a.type)
def test_the_empty_text_of_a_table_is_no_answer(attribute):
    assert attribute.parse("") is None


@every(
    [
        (GENDER, 1, "attribute 'gender' takes a text, got int"),
        (GENDER, True, "attribute 'gender' takes a text, got bool"),
        (GENDER, b"F", "attribute 'gender' takes a text, got bytes"),
        (GENDER, ["F"], "attribute 'gender' takes a text, got list"),
        (SMOKER, 1, "attribute 'smoker' takes true or false, got int"),
        (SMOKER, "true", "attribute 'smoker' takes true or false, got str"),
        (CHILDREN, True, "attribute 'children' takes an integer, got bool"),
        (CHILDREN, 1.0, "attribute 'children' takes an integer, got float"),
        (CHILDREN, "1", "attribute 'children' takes an integer, got str"),
        (INCOME, False, "attribute 'income' takes a number, got bool"),
        (INCOME, Decimal(1), "attribute 'income' takes a number, got Decimal"),
        (INCOME, "1", "attribute 'income' takes a number or one of its bins, got str"),
        (INCOME, {}, "attribute 'income' takes a number, got dict"),
    ]
)
def test_a_value_of_the_wrong_type_is_refused(attribute, value, message):
    with pytest.raises(DomainError, match=f"^{message}$"):
        attribute.index(value)


@every(KINDS, lambda a: a.type)
def test_an_unknown_value_is_refused_and_never_repeated(attribute):
    with pytest.raises(DomainError, match=f"attribute '{attribute.name}'") as refusal:
        attribute.index(SENTINEL)
    assert not tells(refusal.value, SENTINEL)


@every(KINDS, lambda a: a.type)
def test_an_unknown_text_of_a_table_is_refused_and_never_repeated(attribute):
    with pytest.raises(DomainError, match=f"attribute '{attribute.name}'") as refusal:
        attribute.index(attribute.parse(SENTINEL))
    assert not tells(refusal.value, SENTINEL)


@every([(CHILDREN, 918_273_645), (INCOME, 918_273_645), (INCOME, 918_273_645.5)])
def test_a_number_outside_is_refused_and_never_repeated(attribute, value):
    with pytest.raises(DomainError, match="this one is outside") as refusal:
        attribute.index(value)
    assert not tells(refusal.value, "918273645")


# ---- categorical


def test_an_unknown_value_is_refused_with_the_next_step():
    with pytest.raises(
        DomainError,
        match=r"^attribute 'gender' does not list this value \(3 candidates\): it takes F, M, Ä$",
    ):
        GENDER.index("X")


@every(["f", " F", "F ", "F\n", ""])
def test_a_value_is_neither_trimmed_nor_folded(value):
    with pytest.raises(DomainError, match="does not list this value"):
        GENDER.index(value)


def test_composed_and_decomposed_values_are_the_same_candidate():
    assert GENDER.index("\u00c4") == GENDER.index("A\u0308") == 2


def test_two_spellings_of_a_listed_value_are_two_candidates():
    both = Categorical(name="x", values=("\u00c4", "A\u0308"))
    assert (both.index("\u00c4"), both.index("A\u0308")) == (0, 1)


def test_an_answer_is_composed_and_a_listed_value_is_not():
    with pytest.raises(DomainError, match="does not list this value"):
        Categorical(name="x", values=("A\u0308", "b")).index("\u00c4")


def test_a_condition_means_the_very_text_that_it_names():
    with pytest.raises(DomainError, match="does not list this value"):
        GENDER.accepted(Comparison("gender", "equals", ("A\u0308",)))


def test_half_a_surrogate_pair_is_a_value_that_does_not_fit():
    with pytest.raises(DomainError, match="attribute 'gender'") as refusal:
        GENDER.index(SENTINEL + "\udc80")
    assert not tells(refusal.value, SENTINEL)


@every(
    [
        (("F", "F"), "attribute 'x' lists the same candidate twice"),
        ((), "attribute 'x' has 0 candidates; with fewer than 2 there is nothing to ask"),
        (("F",), "attribute 'x' has 1 candidates; with fewer than 2 there is nothing to ask"),
        (("F", ""), "a value of attribute 'x' must be a non-empty text"),
        (("F", 3), "a value of attribute 'x' must be a non-empty text"),
        (
            ("F", "a\nb"),
            "a value of attribute 'x' must not contain control characters or half a surrogate pair",
        ),
        (
            ("F", "a\x7fb"),
            "a value of attribute 'x' must not contain control characters or half a surrogate pair",
        ),
        (
            ("F", "\ud800"),
            "a value of attribute 'x' must not contain control characters or half a surrogate pair",
        ),
        (("F", "a" * 1001), "a value of attribute 'x' must have at most 1000 characters, got 1001"),
    ]
)
def test_values_that_cannot_be_candidates_are_refused(values, message):
    with pytest.raises(DomainError, match=f"^{message}$"):
        Categorical(name="x", values=values)


def test_a_value_may_be_as_long_as_the_limit():
    assert Categorical(name="x", values=("a" * 1000, "b")).size == 2


def test_one_value_is_enough_where_a_missing_answer_is_the_second():
    assert Categorical(name="x", values=("yes",), missing=True).texts == ("yes", "")


def test_more_candidates_than_a_survey_can_learn_are_refused():
    with pytest.raises(
        DomainError,
        match="attribute 'x' has 65,537 candidates; at most 65,536 are allowed: use bins",
    ):
        Categorical(name="x", values=tuple(f"v{i}" for i in range(65_537)))


def test_a_label_for_a_value_that_is_not_listed_is_refused():
    with pytest.raises(
        DomainError, match="attribute 'x' has a label for a value that it does not list"
    ):
        Categorical(name="x", values=("a", "b"), labels={"c": "C"})


def test_a_label_is_the_value_where_there_is_no_other():
    assert Categorical(name="x", values=("a", "b"), labels={"b": "B"}).labels == {
        "a": "a",
        "b": "B",
    }


@every(
    [
        (GENDER, False),
        (Categorical(name="x", values=("a", "b"), is_ordered=True), True),
        (SMOKER, False),
    ]
)
def test_only_some_kinds_have_an_order_that_means_something(attribute, ordered):
    assert attribute.ordered is ordered


@every([CHILDREN, INCOME], lambda a: a.type)
def test_numbers_have_an_order_that_means_something(attribute):
    assert attribute.ordered


# ---- boolean


@every(["true", "True", "TRUE", "1"])
def test_the_spellings_of_yes_in_a_table_are_yes(text):
    assert SMOKER.parse(text) is True


@every(["false", "False", "FALSE", "0"])
def test_the_spellings_of_no_in_a_table_are_no(text):
    assert SMOKER.parse(text) is False


@every(["yes", "tRUE", " true", "2"])
def test_other_spellings_of_a_truth_value_are_refused(text):
    with pytest.raises(DomainError, match="attribute 'smoker' does not list this value"):
        SMOKER.parse(text)


# ---- integers


@every([(-1, 0), (0, 1), (3, 4)])
def test_an_integer_counts_from_the_minimum(value, candidate):
    assert CHILDREN.index(value) == candidate


@every([-2, 4, 10**30])
def test_an_integer_outside_is_refused_with_the_range(value):
    with pytest.raises(
        DomainError, match="attribute 'children' takes integers from -1 to 3; this one is outside"
    ):
        CHILDREN.index(value)


@every([("3", 3), ("+3", 3), ("-1", -1), ("007", 7)])
def test_an_integer_in_a_table_is_read(text, value):
    assert CHILDREN.parse(text) == value


@every(["3.0", "1e2", "three", " 3", "٣", "1_000", "9" * 21])
def test_a_text_that_is_no_integer_is_refused(text):
    with pytest.raises(
        DomainError, match="attribute 'children' takes an integer; this text is not one"
    ):
        CHILDREN.parse(text)


def test_a_range_of_a_single_integer_is_refused():
    with pytest.raises(DomainError, match="attribute 'x' has 1 candidates"):
        IntegerRange(name="x", minimum=0, maximum=0)


@every([(1, 0), (5, -5)])
def test_a_minimum_above_the_maximum_is_told_as_such(minimum, maximum):
    with pytest.raises(
        DomainError, match=f"^attribute 'x' has the minimum {minimum} above the maximum {maximum}$"
    ):
        IntegerRange(name="x", minimum=minimum, maximum=maximum)


def test_an_unknown_value_of_many_candidates_is_told_a_few_of_them():
    many = Categorical(name="x", values=tuple(f"v{i}" for i in range(501)))
    with pytest.raises(
        DomainError, match=r"\(501 candidates\): it takes v0, v1, v2, v3, v4, v5, v6, v7, …$"
    ):
        many.index(SENTINEL)
    long = Categorical(name="x", values=("v" * 1000, "w"))
    with pytest.raises(DomainError, match=f": it takes {'v' * 40}…, w$"):
        long.index(SENTINEL)


def test_a_word_for_a_boolean_is_told_what_is_allowed():
    with pytest.raises(
        DomainError,
        match=r"attribute 'smoker' does not list this value \(2 candidates\): it takes false, true",
    ):
        SMOKER.parse("yes")


def test_a_range_of_too_many_integers_is_refused_before_they_are_listed():
    with pytest.raises(
        DomainError, match="attribute 'x' spans more than 65,536 integers; use bin edges instead"
    ):
        IntegerRange(name="x", minimum=0, maximum=10**18)


def test_a_range_below_zero_is_measured_by_its_span():
    with pytest.raises(DomainError, match="attribute 'x' spans more than 65,536 integers"):
        IntegerRange(name="x", minimum=-(10**15), maximum=0)


def test_a_missing_answer_counts_among_the_most_candidates():
    assert IntegerRange(name="x", minimum=0, maximum=65_535).size == 65_536
    with pytest.raises(DomainError, match="attribute 'x' has 65,537 candidates"):
        IntegerRange(name="x", minimum=0, maximum=65_535, missing=True)


# ---- bins


@every(
    [
        (-5, 0),
        (-5.0, 0),
        (math.nextafter(-5, 0), 0),
        (0, 0),
        (-0.0, 0),
        (5e-324, 1),
        (10.5, 1),
        (math.nextafter(10.5, 11), 2),
        (11, 2),
        (20, 2),
    ]
)
def test_a_bin_holds_its_upper_edge_and_the_lowest_bin_both(value, candidate):
    assert INCOME.index(value) == candidate


@every([math.nextafter(-5, -6), math.nextafter(20, 21), 10**400, math.inf, -math.inf, math.nan])
def test_a_number_outside_all_bins_is_refused_with_the_range(value):
    with pytest.raises(
        DomainError, match="attribute 'income' takes numbers from -5 to 20; this one is outside"
    ):
        INCOME.index(value)


@every([(-6, 0), (-math.inf, 0), (-(10**400), 0), (21, 2), (math.inf, 2), (10**400, 2), (3, 1)])
def test_a_clamped_number_counts_as_the_nearest_edge(value, candidate):
    assert Binned(name="income", edges=INCOME.edges, clamp=True).index(value) == candidate


def test_a_number_that_is_none_is_refused_even_where_numbers_are_clamped():
    with pytest.raises(DomainError, match="attribute 'income' takes numbers from -5 to 20"):
        Binned(name="income", edges=INCOME.edges, clamp=True).index(math.nan)


def test_bins_are_named_by_their_edges():
    assert INCOME.texts == ("[-5, 0]", "(0, 10.5]", "(10.5, 20]")


@every([("3", 3.0), ("-.5", -0.5), ("+1.", 1.0), ("1e1", 10.0), ("2.5E-1", 0.25)])
def test_a_number_in_a_table_is_read(text, value):
    assert INCOME.parse(text) == value


@every(["nan", "inf", "1_0", " 1", "1,5", "0x10", ".", "e5", "١"])
def test_a_text_that_is_no_number_is_refused(text):
    with pytest.raises(
        DomainError, match="attribute 'income' takes a number; this text is not one"
    ):
        INCOME.parse(text)


@every(
    [
        ((), "attribute 'x' needs at least 2 bin edges, got 0"),
        (("1",), "attribute 'x' needs at least 2 bin edges, got 1"),
        (("1", "2"), "attribute 'x' has 1 candidates"),
        (
            ("0", "2", "1"),
            "attribute 'x' has bin edges out of order; each must be above the one before",
        ),
        (("0", "1", "1.0"), "attribute 'x' has bin edges out of order"),
        (
            ("0", "one", "2"),
            "attribute 'x' has a bin edge that is not a number within 1e15 of zero",
        ),
        (
            ("0", "nan", "2"),
            "attribute 'x' has a bin edge that is not a number within 1e15 of zero",
        ),
        (
            ("0", "1", "Infinity"),
            "attribute 'x' has a bin edge that is not a number within 1e15 of zero",
        ),
        (
            ("0", "1", "1e16"),
            "attribute 'x' has a bin edge that is not a number within 1e15 of zero",
        ),
        (
            ("0", "1", 10**400),
            "attribute 'x' has a bin edge that is not a number within 1e15 of zero",
        ),
    ]
)
def test_edges_that_make_no_bins_are_refused(edges, message):
    with pytest.raises(DomainError, match=message):
        Binned(name="x", edges=edges)


def test_an_edge_that_is_nothing_is_refused():
    with pytest.raises(DomainError, match="attribute 'x' has a bin edge that is not a number"):
        Binned(name="x", edges=("0", None, "2"))


@every(
    [
        ("17.0", "17"),
        (17, "17"),
        ("1e3", "1000"),
        (1e-5, "0.00001"),
        (-0.0, "0"),
        ("-0", "0"),
        ("0.10", "0.1"),
        (-2.5, "-2.5"),
        (1e15, "1000000000000000"),
        ("0.1000000000000000055511151231257827", "0.1"),
    ]
)
def test_an_edge_is_written_as_the_shortest_plain_decimal(number, text):
    assert decimal_text(number, "x") == text


def test_edges_are_stored_in_their_one_spelling():
    assert Binned(name="x", edges=("0.0", "1e1", "20.50")).edges == ("0", "10", "20.5")


# ---- names


@every(
    [
        ("", "an attribute's name must be a non-empty text"),
        (3, "an attribute's name must be a non-empty text"),
        (
            "a\tb",
            "an attribute's name must not contain control characters or half a surrogate pair",
        ),
        ("a" * 1001, "an attribute's name must have at most 1000 characters, got 1001"),
        ("\ud800", "half a surrogate pair"),
    ]
)
def test_a_name_that_cannot_be_is_refused(name, message):
    with pytest.raises(CampaignError, match=message):
        Boolean(name=name)


# ---- domain


def domain() -> Domain:
    return Domain((GENDER, SMOKER, CHILDREN, INCOME))


def record() -> dict[str, str | bool | int | float | None]:
    return {"gender": "M", "smoker": True, "children": 3, "income": 20}


def test_a_record_becomes_candidate_numbers_in_domain_order():
    assert domain().indices(dict(reversed(record().items()))) == (1, 1, 4, 2)


@every(["gender", "smoker", "children", "income"])
def test_a_record_without_an_attribute_is_refused(name):
    rest = {key: value for key, value in record().items() if key != name}
    with pytest.raises(
        DomainError, match=f"^the record lacks attribute '{name}', which must be answered$"
    ):
        domain().indices(rest)


def test_a_record_without_an_answer_that_may_be_missing_is_told_how_to_say_so():
    optional = Domain((Boolean(name="happy", missing=True), SMOKER))
    with pytest.raises(
        DomainError, match=r"lacks attribute 'happy'; give null \(None in Python\) for no answer$"
    ):
        optional.indices({"smoker": True})


def test_all_mistakes_of_a_record_are_told_at_once_by_attribute():
    wrong = {"gender": SENTINEL, "smoker": "yes", "income": 20, "shoe": SENTINEL, "hat": 1}
    with pytest.raises(DomainError) as refusal:
        domain().indices(wrong)
    assert str(refusal.value).splitlines() == [
        "the record has 4 mistakes:",
        "- attribute 'gender' does not list this value (3 candidates): it takes F, M, Ä",
        "- attribute 'smoker' takes true or false, got str",
        "- the record lacks attribute 'children', which must be answered",
        "- the record has 2 keys that the campaign does not ask for; it asks for gender, smoker, children, income",
    ]
    assert not tells(refusal.value, SENTINEL)


def test_of_very_many_mistakes_the_first_are_told():
    wide = Domain(tuple(Boolean(name=f"b{i}") for i in range(1000)))
    with pytest.raises(
        DomainError, match=r"^the record has 1,000 mistakes:\n- the record lacks attribute 'b0'"
    ) as refusal:
        wide.indices({})
    assert str(refusal.value).count("\n") == 21 and str(refusal.value).endswith("\n- and 980 more")


def test_a_record_with_one_attribute_too_many_is_refused():
    with pytest.raises(
        DomainError,
        match="the record has a key that the campaign does not ask for; it asks for gender, ",
    ):
        domain().indices(record() | {"shoe": SENTINEL})


def test_a_key_that_is_not_asked_for_is_not_told():
    """It may be an answer that slipped to where the attribute's name should be."""
    with pytest.raises(DomainError) as refusal:
        domain().indices(record() | {SENTINEL: "gender"})
    assert not tells(refusal.value, SENTINEL)


def test_a_record_with_another_attribute_instead_is_refused():
    other = record() | {"shoe": 43}
    del other["income"]
    with pytest.raises(DomainError, match="the record lacks attribute 'income'"):
        domain().indices(other)


@every([{"shoe": SENTINEL}, {"gender": SENTINEL}, {"income": SENTINEL}])
def test_a_refused_record_is_never_repeated(changed):
    with pytest.raises(DomainError) as refusal:
        domain().indices(record() | changed)
    assert not tells(refusal.value, SENTINEL)


def test_an_empty_domain_is_refused():
    with pytest.raises(DomainError, match="a domain needs 1 to 4,096 attributes, got 0"):
        Domain(())


def test_a_domain_of_too_many_attributes_is_refused():
    with pytest.raises(DomainError, match="a domain needs 1 to 4,096 attributes, got 4097"):
        Domain(tuple(Boolean(name=f"b{i}") for i in range(4097)))


def test_a_domain_that_lists_an_attribute_twice_is_refused():
    with pytest.raises(DomainError, match=r"^a domain lists the same attribute twice: 'smoker'$"):
        Domain((SMOKER, Boolean(name="smoker")))


def test_an_unknown_name_is_refused_with_the_names_that_there_are():
    with pytest.raises(
        DomainError,
        match=r"there is no attribute 'age'; the 4 attributes are gender, smoker, children, income$",
    ):
        domain().position("age")


def test_of_many_names_only_a_few_are_shown():
    many = Domain(tuple(Boolean(name=f"b{i}") for i in range(20)))
    with pytest.raises(
        DomainError, match=r"the 20 attributes are b0, b1, b2, b3, b4, b5, b6, b7, …$"
    ):
        many.position("age")


def test_a_domain_finds_its_attributes_by_name():
    assert domain()["income"] is INCOME
    assert domain().positions(["income", "gender"]) == (3, 0)
    assert domain().sizes == (3, 2, 5, 3)


def test_an_attribute_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Attribute(name="x")
