"""Messages in the reader's language: templates with their blanks, and finished sentences of rooms that have no templates yet."""

import pytest

from lopub.errors import DomainError, LopubError, Message
from lopub.pages.finished_sentences import FormattedText, message_of
from lopub.pages.translation import Catalogue, catalogue, figures

PO = """\
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Language: de\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "there is no job {number}"
msgstr "es gibt keinen Auftrag {number}"

msgid "{n:,} reports weigh {share:.1f} of {what}"
msgstr "von {what} wiegen {n:,} Meldungen {share:.1f}"

msgid "it failed: {why}"
msgstr "es ging schief: {why}"

msgid "a <b>bold</b> word in {place!r}"
msgstr "ein <b>fettes</b> Wort in {place!r}"

msgid "One day"
msgid_plural "%(n)s days"
msgstr[0] "Ein Tag"
msgstr[1] "%(n)s Tage"

#, fuzzy
msgid "not sure"
msgstr "vielleicht"

msgid "empty"
msgstr ""

msgid "nothing has blanks"
msgstr "nichts hat {Lücken}"

msgctxt "sentence"
msgid "field {} has {} answers"
msgstr "Feld {} hat {} Antworten"

msgctxt "sentence"
msgid "{} goes with {}"
msgstr "mit {1} geht {0}"

msgctxt "sentence"
msgid "enough"
msgstr "genug"
"""


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    folder = tmp_path_factory.mktemp("locale")
    (folder / "de.po").write_text(PO, encoding="utf-8")
    return catalogue("de", folder)


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return catalogue("en", tmp_path_factory.mktemp("locale"))


def test_an_error_is_looked_up_by_its_template(german: Catalogue):
    error = DomainError("there is no job {number}", number=7)
    assert str(error) == "there is no job 7"
    assert (
        german.translated(error) == german.translated(error.message) == "es gibt keinen Auftrag 7"
    )


def test_figures_are_written_as_people_of_a_language_write_them(
    german: Catalogue, english: Catalogue
):
    message = Message(
        "{n:,} reports weigh {share:.1f} of {what}", {"n": 1234567, "share": 0.25, "what": "1,5"}
    )
    assert str(message) == english.translated(message) == "1,234,567 reports weigh 0.2 of 1,5"
    assert german.translated(message) == "von 1,5 wiegen 1.234.567 Meldungen 0,2"


def test_a_message_in_a_blank_is_translated(german: Catalogue):
    inner = LopubError("there is no job {number}", number=1)
    outer = DomainError("it failed: {why}", why=inner)
    assert str(outer) == "it failed: there is no job 1"
    assert german.translated(outer) == "es ging schief: es gibt keinen Auftrag 1"


def test_what_has_no_translation_is_marked_as_english_where_it_stands(
    german: Catalogue, english: Catalogue
):
    unknown = Message("nobody knows {what}", {"what": "<i>"})
    marked = '<span lang="en">nobody knows &lt;i&gt;</span>'
    assert german.translated(unknown) == marked
    assert german.translated(Message("it failed: {why}", {"why": unknown})) == (
        f"es ging schief: {marked}"
    )
    assert english.translated(unknown) == "nobody knows &lt;i&gt;"


def test_a_template_and_what_stands_in_it_are_text_and_no_html(
    german: Catalogue, english: Catalogue
):
    message = Message("a <b>bold</b> word in {place!r}", {"place": "<x>"})
    assert german.translated(message) == (
        "ein &lt;b&gt;fettes&lt;/b&gt; Wort in &#39;&lt;x&gt;&#39;"
    )
    assert english.translated(message) == ("a &lt;b&gt;bold&lt;/b&gt; word in &#39;&lt;x&gt;&#39;")


def test_a_message_without_parameters_keeps_its_braces(german: Catalogue, english: Catalogue):
    assert german.translated("nothing has blanks") == "nichts hat {Lücken}"
    assert english.translated('say {"id": 1}') == "say {&#34;id&#34;: 1}"


def test_fuzzy_and_empty_entries_are_english(german: Catalogue):
    for text in ("not sure", "empty"):
        assert german.gettext(text) == text
        assert german.translated(text) == f'<span lang="en">{text}</span>'


def test_plurals_follow_the_rule_in_the_header(german: Catalogue, english: Catalogue):
    forms = [german.ngettext("One day", "%(n)s days", n) for n in (0, 1, 2)]
    assert forms == ["%(n)s Tage", "Ein Tag", "%(n)s Tage"]
    assert english.ngettext("One day", "%(n)s days", 1) == "One day"


def test_a_finished_sentence_becomes_a_message_again(german: Catalogue):
    found = message_of("field 'a' has 1,201 answers", german.templates)
    assert found == Message(
        "field {} has {} answers", {"0": FormattedText("'a'"), "1": FormattedText("1,201")}
    )
    assert (
        german.translated("field 'a' has 1,201 answers") == "Feld &#39;a&#39; hat 1.201 Antworten"
    )
    assert german.translated("a goes with b") == "mit b geht a"
    assert german.translated(DomainError("there is no job 1234.5")) == (
        "es gibt keinen Auftrag 1234,5"
    )


def test_a_sentence_inside_a_finished_one_is_translated(german: Catalogue):
    assert german.translated("it failed: enough") == "es ging schief: genug"
    assert german.translated("it failed: x goes with 0.5") == "es ging schief: mit 0,5 geht x"
    assert message_of("of no kind", german.templates) is None


def test_what_a_finished_sentence_has_formatted_is_not_formatted_again(german: Catalogue):
    assert german.translated("1,234 reports weigh 0.2 of it") == "von it wiegen 1.234 Meldungen 0,2"
    assert german.translated("a <b>bold</b> word in 'x'") == (
        "ein &lt;b&gt;fettes&lt;/b&gt; Wort in &#39;x&#39;"
    )


def test_languages_write_figures_their_own_way():
    assert figures("1,234.5", "de") == "1.234,5" and figures("1,234.5", "en") == "1,234.5"
