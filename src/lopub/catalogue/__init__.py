"""Known tables: public ones that lie in a directory, and the built-in demo population."""

from lopub.catalogue.alumni import ALUMNI
from lopub.catalogue.population import Node, Population
from lopub.catalogue.tables import data_directory, public_table, read_domain_file

__all__ = ["ALUMNI", "Node", "Population", "data_directory", "public_table", "read_domain_file"]
