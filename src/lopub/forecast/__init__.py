"""Before anybody has answered: drafts of questionnaires (`draft`, `shorthand`, and XLSForm files in `xlsform` and `xlsx`), the
campaign that a request asks for, and what a design will give: expected errors, what fakes can move, coverage of views."""
