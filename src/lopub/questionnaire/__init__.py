"""Questionnaires while they are written: drafts, the shorthand of their text, XLSForm files, advice on questions."""
