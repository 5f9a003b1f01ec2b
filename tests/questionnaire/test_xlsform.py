"""XLSForms as drafts: twenty questions in the style of public examples, expressions, and files that must not be opened."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest

import hostile_xlsx
from lopub import CampaignRequest, DomainError, StoreError, make_campaign
from lopub.campaign.domain import Binned, IntegerRange, TickList
from lopub.questionnaire.draft import draft_from_file, draft_of
from lopub.questionnaire.relevant import NotCarried, condition, parsed
from lopub.questionnaire.xlsform import draft_from_xlsform
from lopub.questionnaire.xlsx import MOST_UNPACKED, check_parts

MOST_SECONDS, MOST_MEBIBYTES = 2.0, 190
SURVEY_HEAD = (
    "type",
    "name",
    "label::English (en)",
    "label::French (fr)",
    "required",
    "relevant",
    "constraint",
    "hint",
)
SURVEY = [
    ("start", "start"),
    ("note", "welcome", "Thank you for taking part.", "Merci."),
    ("begin_group", "person", "About you", "Vous"),
    ("select_one sex", "sex", "Sex of the respondent", "Sexe", "yes"),
    ("integer", "age", "Age in years", "Âge", "yes", "", ". >= 15 and . <= 95"),
    ("select_one district or_other", "district", "Where do you live?", "Où habitez-vous ?", "yes"),
    ("select_one yes_no", "school", "Did you go to school?", "École ?", "yes"),
    ("select_one level", "level", "Highest level", "Niveau", "yes", "${school} = 'yes'"),
    ("end_group",),
    ("begin_group", "work", "Work", "Travail", "", "${age} >= 18"),
    ("select_one yes_no", "job", "Do you work?", "Travaillez-vous ?", "yes"),
    ("decimal", "hours", "Hours per week", "Heures", "yes", "${job} = 'yes'", ". >= 0 and . <= 80"),
    (
        "select_one yes_no",
        "overtime",
        "Paid for overtime?",
        "",
        "no",
        "${job} = 'yes' and ${hours} > 40",
    ),
    ("integer", "jobs", "How many jobs?", "", "yes", "${job} = 'yes'", ". >= 1 and . <= 5"),
    ("end_group",),
    ("integer", "household", "People in the household", "", "yes", "", ". > 0 and . <= 20"),
    (
        "select_multiple water",
        "water",
        "Sources of water",
        "Eau",
        "yes",
        "",
        "count-selected(.) <= 3",
        "Tick up to three.",
    ),
    (
        "select_one yes_no",
        "treat",
        "Do you treat it?",
        "",
        "yes",
        "selected(${water}, 'river') or selected(${water}, 'well')",
    ),
    ("select_multiple assets", "assets", "What do you own?", "", "no"),
    ("select_one fuel", "fuel", "Fuel for cooking", "", "yes"),
    (
        "date",
        "moved",
        "When did you move in?",
        "",
        "yes",
        "",
        ". >= date('2024-01-01') and . <= date('2025-12-31')",
    ),
    ("time", "wakes", "When do you get up?", "", "no"),
    ("range", "trust", "Trust in the council", "", "no", "", "", "0 to 10"),
    (
        "select_one yes_no",
        "vote",
        "Did you vote?",
        "",
        "no",
        "not(${age} < 21) and ${sex} != 'other'",
    ),
    ("select_one yes_no", "again", "May we come again?", "", "yes"),
    ("integer", "rooms", "Rooms", "", "yes", "", ". >= 1 and . <= 12"),
    ("text", "remarks", "Anything else?"),
    ("geopoint", "place", "Where is the house?"),
    ("calculate", "total"),
]
CHOICES_HEAD = ("list_name", "name", "label::English (en)", "label::French (fr)")
CHOICES = {
    "sex": ("male", "female", "other"),
    "district": ("north", "south", "east"),
    "yes_no": ("yes", "no"),
    "level": ("primary", "secondary", "higher"),
    "water": ("tap", "well", "river", "truck", "none"),
    "assets": ("radio", "phone", "bicycle", "car"),
    "fuel": ("wood", "gas", "power"),
}


def written(
    path: Path, survey: list[tuple[str, ...]] = SURVEY, head: tuple[str, ...] = SURVEY_HEAD
) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "survey"
    for row in (head, *survey):
        sheet.append(row)
    choices = book.create_sheet("choices")
    for row in (
        CHOICES_HEAD,
        *(
            (owner, name, name.title(), f"{name} (fr)")
            for owner, names in CHOICES.items()
            for name in names
        ),
    ):
        choices.append(row)
    settings = book.create_sheet("settings")
    settings.append(("form_title", "form_id", "default_language"))
    settings.append(("Household survey", "Household 2026", "English (en)"))
    book.save(path)
    return path


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("form") / "household.xlsx")


def test_a_form_of_twenty_questions_becomes_a_campaign(form, tmp_path):
    draft, n_questions, left_out = draft_from_xlsform(form)
    path = tmp_path / "draft.json"
    path.write_text(json.dumps(draft))
    domain, terms = draft_from_file(path)
    make_campaign(domain, terms, CampaignRequest(epsilon=4))
    assert n_questions == len(domain.questions) == 20
    assert (terms.name, terms.title, terms.translations["fr"].questions["sex"]) == (
        "household-2026",
        "Household survey",
        "Sexe",
    )
    assert [line.split(" is left out")[0].split(";")[0] for line in left_out] == [
        "row 3: note 'welcome'",
        "'age' is asked in 12 bins from 15 to 95",
        "'hours' is asked in 10 bins from 0 to 80",
        "of 'moved' only the month is kept",
        "'trust' is asked in 10 bins from 0 to 10",
        "row 28: text 'remarks'",
        "row 29: geopoint 'place'",
        "row 30: calculate 'total'",
    ]


def test_conditions_of_a_question_and_of_its_group_hold_together(form):
    draft, _, _ = draft_from_xlsform(form)
    questions = {question.name: question for question in draft_of(draft, {}).questions}
    assert (
        str(questions["overtime"].only_if)
        == "age is above 17 and (job is yes and hours is above 40)"
    )
    assert str(questions["treat"].only_if) == "water includes river or water includes well"
    assert str(questions["vote"].only_if) == "not (age is at most 20) and not (sex is other)"


def test_lists_numbers_and_other_are_carried_over(form):
    questions = {
        question.name: question for question in draft_of(draft_from_xlsform(form)[0], {}).questions
    }
    water, jobs, hours, district = (
        questions[name] for name in ("water", "jobs", "hours", "district")
    )
    assert isinstance(water, TickList) and (water.most, water.none, water.description) == (
        3,
        "none",
        "Tick up to three.",
    )
    assert isinstance(jobs, IntegerRange) and (jobs.minimum, jobs.maximum) == (1, 5)
    assert isinstance(hours, Binned) and hours.edges[0] == "0" and "40" in hours.edges
    assert (
        district.texts == ("north", "south", "east", "other")
        and not district.missing
        and questions["assets"].missing
    )


# ---- expressions

KINDS = {"a": "string", "n": "integer", "x": "number", "w": "whole number", "l": "list"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("${a} = 'yes'", {"field": "a", "equals": "yes"}),
        ("'yes' = ${ a }", {"field": "a", "equals": "yes"}),
        ('${a} != "no"', {"not": {"field": "a", "equals": "no"}}),
        ("${n} >= 3", {"field": "n", "atLeast": 3}),
        ("3 < ${n}", {"field": "n", "above": 3}),
        ("${x} <= 2.5", {"field": "x", "atMost": "2.5"}),
        ("${w} < 18", {"field": "w", "atMost": "17"}),
        ("selected(${l}, 'b')", {"field": "l", "includes": "b"}),
        ("selected(${a}, 'b')", {"field": "a", "equals": "b"}),
        ("not(${n} = 1)", {"not": {"field": "n", "equals": 1}}),
        (
            "${a}='x' and (${n}=1 or ${n}=2)",
            {
                "and": [
                    {"field": "a", "equals": "x"},
                    {"or": [{"field": "n", "equals": 1}, {"field": "n", "equals": 2}]},
                ]
            },
        ),
    ],
)
def test_an_expression_becomes_a_condition(text, wanted):
    assert condition(parsed(text), KINDS) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "${a}",
        "${a} = ",
        "= 'x'",
        "${a} = ${n}",
        "count(${a}) > 1",
        "${a} = 'x' and",
        "(${a} = 'x'",
        "${a} = 'x')",
        "${x} >= 3",
        "${x} = 3",
        "${x} > 'three'",
        "${n} = 'three'",
        "${later} = 1",
        "${a} = ''",
        "${a} ~ 'x'",
        "regex(., '[a-z]')",
        "'" * 3,
        "(" * 200 + ")" * 200,
        "x" * 3000,
        "not " * 300,
    ],
)
def test_an_expression_that_goes_further_is_not_carried(text):
    with pytest.raises(NotCarried):
        condition(parsed(text), KINDS)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            ("select_one nowhere", "x", "X"),
            "row 2: select_one 'x' is left out: there is no list of choices 'nowhere'",
        ),
        (
            ("integer", "x", "X"),
            "row 2: integer 'x' is left out: it has no constraint with a lowest and a highest answer",
        ),
        (
            ("select_one sex", "x", "X", "", "", "pulldata('a')"),
            "row 2: select_one 'x' is left out: pulldata is not understood here",
        ),
        (
            ("rank sex", "x", "X"),
            "row 2: rank 'x' is left out: an order of answers cannot be asked",
        ),
        (
            ("begin_repeat", "x"),
            "row 2: a repeat and all in it, because one report answers each question once",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_listed_with_its_row(tmp_path, row, said):
    survey = [
        row,
        ("end_repeat",) if row[0] == "begin_repeat" else ("note", "n"),
        ("select_one yes_no", "b", "B"),
    ]
    _, n_questions, left_out = draft_from_xlsform(written(tmp_path / "form.xlsx", survey))
    assert n_questions == 1 and left_out[0].startswith(said)


# ---- files from strangers


def archive(path: Path, **parts: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(
                name.replace("__", "/").replace("_xml", ".xml").replace("_bin", ".bin"), content
            )
    return path


LAUGHS = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"xl__worksheets__sheet1_xml": b"a" * (MOST_UNPACKED + 1)}, "would unpack to more than"),
        ({f"p{i}_xml": b"" for i in range(201)}, "would unpack to more than"),
        ({"xl__vbaProject_bin": b"x"}, "holds macros; save it without them"),
        ({"xl__sharedStrings_xml": LAUGHS}, "holds XML that defines its own entities"),
        (
            {"xl__sharedStrings_xml": LAUGHS.decode().encode("utf-16")},
            "holds XML that defines its own entities",
        ),
    ],
    ids=["a bomb", "many parts", "macros", "entities", "entities in UTF-16"],
)
def test_a_hostile_file_is_refused_before_it_is_read(tmp_path, parts, message):
    with pytest.raises(DomainError, match=message):
        check_parts(archive(tmp_path / "form.xlsx", **parts))


def test_a_file_that_is_none_is_refused(tmp_path):
    (tmp_path / "form.xlsx").write_bytes(b"no")
    with pytest.raises(DomainError, match="is not an xlsx file, or a damaged one"):
        draft_from_xlsform(tmp_path / "form.xlsx")
    with pytest.raises(DomainError, match="is a damaged xlsx file"):
        draft_from_xlsform(archive(tmp_path / "other.xlsx", a_xml=b"<a/>"))
    with pytest.raises(StoreError, match="cannot read"):
        draft_from_xlsform(tmp_path / "nowhere.xlsx")


def test_a_formula_is_refused(tmp_path):
    with pytest.raises(
        DomainError, match="sheet 'survey' has a formula in row 2; save the form with values only"
    ):
        draft_from_xlsform(written(tmp_path / "form.xlsx", [("=HYPERLINK(1)", "x")]))


def test_more_rows_than_a_form_has_are_refused(tmp_path):
    with pytest.raises(DomainError, match="has more than 5,000 rows"):
        draft_from_xlsform(written(tmp_path / "form.xlsx", [("note", "n")] * 5_001))


@pytest.fixture(scope="module")
def measurements() -> dict[str, dict[str, object]]:
    """Of every hostile file, read in a process of its own."""
    command = [sys.executable, str(Path(hostile_xlsx.__file__))]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {found["name"]: found for found in map(json.loads, lines)}


@pytest.mark.slow
def test_every_hostile_file_is_refused_in_one_sentence(tmp_path):
    """But for the two that are large before they are packed."""
    small = hostile_xlsx.HOSTILE.keys() - {"a_bomb_of_half_a_gigabyte", "a_size_that_is_a_lie"}
    told = {
        name: hostile_xlsx.outcome(hostile_xlsx.written(tmp_path / f"{name}.xlsx", name))
        for name in sorted(small)
    }
    others = {
        name: said
        for name, said in told.items()
        if not said.startswith("refused: ") or "\n" in said
    }
    assert others == {}


@pytest.mark.full
@pytest.mark.parametrize("name", hostile_xlsx.HOSTILE)
def test_a_hostile_file_is_refused_within_two_seconds_of_a_processor_and_200_megabytes(
    name, measurements
):
    found = measurements[name]
    assert found["outcome"].startswith("refused: ") and "\n" not in found["outcome"]
    assert found["seconds"] < MOST_SECONDS
    assert found["mebibytes"] < MOST_MEBIBYTES
