"""What `lopub draft new` writes: a draft with one question of every kind, and comments that say what to change."""

from datetime import date, timedelta

from lopub.campaign.budget import SUGGESTED_EPSILON

DAYS_OPEN = 30
SOME_DAY = date(2027, 1, 1)
TEMPLATE = """\
// A draft of a campaign: what is asked, and on which terms. Comments like this one are allowed in drafts only.
// Change it, then: lopub draft check FILE        all mistakes and advice, by field and line
//                  lopub campaign make FILE -o campaign.json --epsilon EPSILON
// Every kind of question is explained in docs/questionnaires.md.
{
  "name": "NAME",              // small letters, digits, dots, hyphens, underscores
  "language": "en",            // of the texts here; a text can also be {"en": "...", "de": "..."}
  "title": {"en": "Work and reading", "de": "Arbeit und Lesen"},
  "consent": "A randomized version of your answers is sent. It limits how sure anybody can become of them.",
  "min_reports": 100,          // nothing is shown of fewer
  "schedule": {"opens": "FIRST", "closes": "LAST"},   // days in UTC
  "schema": {
    "fields": [
      // one answer out of a few; "other" is an answer whose text is never asked for
      {
        "name": "region",
        "type": "string",
        "question": {"en": "Where do you live?", "de": "Wo wohnen Sie?"},
        "categories": [
          {"value": "north", "label": {"en": "North", "de": "Norden"}},
          {"value": "south", "label": {"en": "South", "de": "Süden"}}
        ],
        "other": {"en": "Elsewhere", "de": "Anderswo"}
      },
      // yes or no
      {"name": "job", "type": "boolean", "question": {"en": "Do you have a paid job?", "de": "Haben Sie eine bezahlte Arbeit?"}},
      // a number in bins; only asked of those with a job
      {
        "name": "hours",
        "type": "number",
        "question": {"en": "How many hours do you work in a week?", "de": "Wie viele Stunden arbeiten Sie in der Woche?"},
        "bins": {"count": 4, "from": 0, "to": 40, "open": "above"},
        "onlyIf": {"field": "job", "equals": true}
      },
      // tick all that apply: at most three, or "nothing"
      {
        "name": "reads",
        "type": "list",
        "question": {"en": "What do you read?", "de": "Was lesen Sie?"},
        "categories": ["books", "papers", "magazines", "blogs", "nothing"],
        "none": "nothing",
        "atMost": 3,
        "constraints": {"required": false}   // false: people may leave it unanswered
      },
      // a whole number
      {
        "name": "children",
        "type": "integer",
        "question": {"en": "How many children live with you?", "de": "Wie viele Kinder leben bei Ihnen?"},
        "constraints": {"minimum": 0, "maximum": 5}
      },
      // a date, of which only the month is kept
      {
        "name": "moved",
        "type": "date",
        "period": "month",
        "question": {"en": "When did you move here?", "de": "Wann sind Sie hergezogen?"},
        "constraints": {"minimum": "2025-01", "maximum": "2026-12"}
      }
    ]
  }
}
"""


def template(name: str, first: date = SOME_DAY) -> str:
    """The draft, for a campaign of this name that opens on this day: today, where people are to answer at once."""
    filled = {
        "FIRST": str(first),
        "LAST": str(first + timedelta(days=DAYS_OPEN)),
        "NAME": name,
        "EPSILON": str(SUGGESTED_EPSILON),
    }
    text = TEMPLATE
    for place, written in filled.items():
        text = text.replace(place, written, 1)
    return text
