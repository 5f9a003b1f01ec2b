"""Known tables: public ones that lie in a directory, and the built-in demo population."""

from lopub.reports.catalogue.alumni import ALUMNI
from lopub.reports.catalogue.known_population import KnownPopulation, Node
from lopub.reports.catalogue.public import data_directory, public_table, read_domain_file

__all__ = [
    "ALUMNI",
    "KnownPopulation",
    "Node",
    "data_directory",
    "public_table",
    "read_domain_file",
]
