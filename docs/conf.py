"""How `make docs` builds these pages into a site that asks no other host for anything."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

project = "LoPub"
author = "The LoPub maintainers"
project_copyright = "The LoPub maintainers"
version = release = installed("lopub")
extensions = ["myst_parser", "accessible", "links", "mathml", "public_names"]
exclude_patterns = ["_site", "*.py"]
suppress_warnings = ["myst.xref_ambiguous"]
nitpicky = True
smartquotes_action = "qe"  # quotes and ellipses; two hyphens are an option, not a dash
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

html_theme = "furo"
html_title = f"LoPub {release}"
html_math_renderer = "mathml"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}
