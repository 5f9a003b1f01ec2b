"""The descriptors of a publication: Data Package, Croissant, SDV metadata, registry entry, model card.

All are made from the publication and from the files that are there already. No clock: the only days are those of reports.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lopub.campaign.domain import NOT_APPLICABLE, Attribute, Binned, Dated
from lopub.files import sha256_of
from lopub.publication.render.card import model_card
from lopub.publication.render.deployment import deployment_yaml
from lopub.publication.render.tables import as_json
from lopub.publication.render.wording import abstract, citation, day_of, one_line, title_of
from lopub.publication.stages import Publication

CROISSANT = "http://mlcommons.org/croissant/1.0"
MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
_CROISSANT_TYPES = {
    "string": "sc:Text",
    "boolean": "sc:Boolean",
    "integer": "sc:Integer",
    "number": "sc:Float",
}
_SDV_TYPES = {
    "string": "categorical",
    "boolean": "boolean",
    "integer": "numerical",
    "number": "numerical",
}
_IDENTIFIER = re.compile(r"[-a-zA-Z0-9._]+")
_ADDRESS = re.compile(r"https?://\S+")
_CROISSANT_TERMS = """citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes
    isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated replace samplingRate separator source
    subField transform"""

Field = dict[str, Any]
"""Of a Table Schema."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A file that the descriptors describe."""

    name: str
    path: str
    """Within the publication, with forward slashes."""
    title: str
    fields: Sequence[Field]
    """Its columns; none where only the file itself is described."""
    n_bytes: int
    sha256: str

    @property
    def format(self) -> str:
        return self.path.rpartition(".")[2]


def package_files(publication: Publication, directory: Path) -> dict[str, bytes]:
    """File name -> content of all descriptors. directory: holds the tables and estimates, whose sizes and hashes they state."""
    described = resources(publication, directory)
    return {
        "datapackage.json": as_json(data_package(publication, described)),
        "croissant.json": as_json(croissant(publication, described)),
        "metadata.sdv.json": as_json(sdv_metadata(publication)),
        "dp-deployment.yaml": deployment_yaml(publication).encode(),
        "MODEL_CARD.md": model_card(publication).encode(),
    }


# ---- what there is


def resources(publication: Publication, directory: Path) -> list[Resource]:
    """Every table in the directory, the synthetic ones first."""
    return [
        Resource(
            name=name,
            path=path,
            title=title,
            fields=fields,
            n_bytes=(directory / path).stat().st_size,
            sha256=sha256_of(directory / path),
        )
        for name, path, title, fields in _tables(publication, directory)
    ]


def _tables(
    publication: Publication, directory: Path
) -> Iterator[tuple[str, str, str, list[Field]]]:
    """(name, path, title, fields) of every table that is there."""
    for path in sorted((directory / "data").glob("*.*")):
        kind = path.suffix[1:]
        if kind in MEDIA_TYPES:
            name = path.stem if kind == "csv" else f"{path.stem}-{kind}"
            yield name, f"data/{path.name}", "Synthetic records", fields_of(publication)
    known = _estimates(publication)
    for path in sorted((directory / "estimates").glob("*.csv")):
        title, fields = known.get(path.stem, (path.stem.replace("_", " ").capitalize(), []))
        yield path.stem, f"estimates/{path.name}", title, fields
    if (directory / "estimates" / "counts.parquet").exists():
        yield (
            "counts",
            "estimates/counts.parquet",
            "Counts of the noisy reports, for questions with intervals",
            [],
        )


def fields_of(publication: Publication) -> list[Field]:
    """The Table Schema fields of the synthetic tables."""
    is_drawn = publication.settings.numbers == "draw"
    return [
        field_of(attribute, is_drawn=is_drawn)
        for attribute in publication.campaign.domain.attributes
    ]


def field_of(attribute: Attribute, *, is_drawn: bool = False) -> Field:
    """The Table Schema field of an attribute as it stands in the table: a binned number is its bin's text, unless it is drawn."""
    field: Field = attribute.to_json()
    constraints: Field = {"required": not attribute.missing and attribute.only_if is None}
    if (
        attribute.only_if is not None
    ):  # the rule itself stands in the campaign; here, what a cell can hold
        field = {key: value for key, value in field.items() if key != "onlyIf"}
        field |= {
            "constraints": field["constraints"] | constraints,
            "missingValues": ["", NOT_APPLICABLE],
        }
    if not isinstance(attribute, Binned | Dated):
        return field
    if isinstance(attribute, Dated):
        is_drawn = False
    elif is_drawn and not attribute.is_open:
        bounds = {"minimum": attribute.bounds[0], "maximum": attribute.bounds[-1]}
        return field | {"constraints": constraints | bounds}
    if is_drawn:
        return field | {"constraints": constraints}
    texts = list(attribute.answer_texts)
    ordered = attribute.ordered
    return {key: value for key, value in field.items() if key != "period"} | {
        "type": "string",
        "constraints": constraints | {"enum": texts},
        "categories": texts,
        "categoriesOrdered": ordered,
    }


SHRUNK = (
    "As the model has it, which may be shrunk: shares of one attribute towards even ones, of a pair towards independence. A"
    " question (lopub query) is answered from the reports, unshrunk and with an interval, and may differ; quote that."
)
UNSHRUNK = "As a question gives it (lopub query, Study.mean, Study.quantile): from the reports, and not shrunk."
STATED = (
    "Only what says yes may be quoted. The other rows have contrasts, too, but are not sure enough: among so many pairs, some"
    " look like this by chance."
)


def _estimates(publication: Publication) -> dict[str, tuple[str, list[Field]]]:
    """Name -> title and fields of the tables of estimates."""
    names = {"enum": list(publication.names), "required": True}
    first, second = (_text(f"attribute_{i}", constraints=names) for i in (1, 2))
    one = _text("attribute", constraints=names)
    values = [_text(f"value_{i}", description="Empty: no answer.") for i in (1, 2)]
    value, share = values[0] | {"name": "value"}, {"minimum": 0, "maximum": 1}
    figures = [
        _number("probability", constraints={"required": True, **share}, description=SHRUNK),
        _number(
            "standard_error",
            constraints={"minimum": 0},
            description="Of the noise, before anything was shrunk.",
        ),
    ]
    bounds = [_number(name, description="Of the 95 % interval.") for name in ("low", "high")]
    made = _number(
        "synthetic", constraints=share, description="Share in the first synthetic table."
    )
    spoken = _number(
        "n_reports",
        constraints={"required": True, "minimum": 0},
        description="Reports that speak of it.",
    )
    among = [
        _number(
            "among_asked",
            constraints=share,
            description="Share among those to whom the question applied.",
        ),
        *(
            _number(f"among_asked_{end}", constraints=share, description="Of its 95 % interval.")
            for end in ("low", "high")
        ),
    ]
    fate = _text("edge", constraints={"required": True, "enum": ["yes", "no", "dropped"]})
    measured = [
        _number("strength", description="In nats."),
        _number("mutual_information", description="In nats."),
    ]
    counts = [
        _number(name) for name in ("observed", "predicted", "standard_deviation", "deviation")
    ]
    return {
        "marginals": (
            "Estimated share of every answer",
            [one, value, *figures, *bounds, made, spoken, *among],
        ),
        "pairs": ("Estimated share of every pair of answers", [first, second, *values, *figures]),
        "dependence": (
            "How pairs of attributes depend on each other",
            [first, second, _text("measure"), *measured, fate],
        ),
        "findings": (
            "Dependences, which of them are stated, and their contrasts",
            _finding_fields(first, second),
        ),
        "numbers": (
            "Means and quantiles of numeric attributes",
            [one, _text("statistic"), _number("value", description=UNSHRUNK), *bounds],
        ),
        "fit": (
            "Noisy answers, observed and predicted",
            [first, _text("attribute_2"), _text("said"), *counts],
        ),
    }


def _finding_fields(first: Field, second: Field) -> list[Field]:
    stated = _text(
        "stated", constraints={"required": True, "enum": ["yes", "no"]}, description=STATED
    )
    parts = [_text(f"{part}{end}") for part in ("group", "answer") for end in ("_attribute", "")]
    shares = [
        _number(f"{place}{end}")
        for place in ("within", "outside", "difference")
        for end in ("", "_low", "_high")
    ]
    return [first, second, _number("gain", description="In nats."), stated, *parts, *shares]


def _text(name: str, **more: Any) -> Field:
    return {"name": name, "type": "string", **more}


def _number(name: str, **more: Any) -> Field:
    return {"name": name, "type": "number", **more}


# ---- Data Package (datapackage.org): version 1, and the categories of version 2, which a reader of version 1 passes over


def data_package(publication: Publication, described: Sequence[Resource]) -> dict[str, Any]:
    """The descriptor of the whole directory."""
    terms = publication.campaign.terms
    package: dict[str, Any] = {
        "name": terms.name,
        "title": title_of(publication.campaign),
        "description": _description(publication),
        "keywords": ["synthetic data", "local differential privacy"],
        "resources": [_package_resource(resource) for resource in described],
        "campaign": publication.campaign.id,
        "epsilon": publication.campaign.epsilon,
    }
    if terms.repeat is not None:
        package["lifetime_epsilon"] = publication.campaign.lifetime_epsilon
    return package | ({"licenses": [package_licence(terms.licence)]} if terms.licence else {})


def package_licence(licence: str) -> dict[str, str]:
    """A licence as a Data Package names it: by identifier, by address, or as `other` with its text."""
    if _ADDRESS.fullmatch(licence):
        return {"path": licence}
    return (
        {"name": licence}
        if _IDENTIFIER.fullmatch(licence)
        else {"name": "other", "title": one_line(licence)}
    )


def _package_resource(resource: Resource) -> dict[str, Any]:
    described = {
        "name": resource.name,
        "path": resource.path,
        "title": resource.title,
        "format": resource.format,
        "mediatype": MEDIA_TYPES[resource.format],
        "bytes": resource.n_bytes,
        "hash": f"sha256:{resource.sha256}",
    }
    if resource.format != "csv":
        return {
            **described,
            "type": "file",
        }  # frictionless needs more than itself to look into parquet, and then no size or hash
    if not resource.fields:
        return {**described, "type": "table"}
    some_apply = any("missingValues" in field for field in resource.fields)
    schema = {
        "fields": list(resource.fields),
        "missingValues": ["", NOT_APPLICABLE] if some_apply else [""],
    }
    return {**described, "type": "table", "encoding": "utf-8", "schema": schema}


def _description(publication: Publication) -> str:
    own = publication.campaign.terms.description.strip()
    return f"{abstract(publication)}\n\n{own}" if own else abstract(publication)


# ---- Croissant (mlcommons.org/croissant, 1.0)


def croissant(publication: Publication, described: Sequence[Resource]) -> dict[str, Any]:
    """The JSON-LD that searches for data sets and machine-learning loaders read."""
    campaign, day = publication.campaign, day_of(publication.last_slot)
    about: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "name": campaign.terms.name,
        "alternateName": title_of(campaign),
        "description": _description(publication),
        "inLanguage": campaign.terms.language,
        "isLiveDataset": False,
        "version": "1.0.0",
        "citeAs": citation(publication),
    }
    about |= {"license": campaign.terms.licence} if campaign.terms.licence else {}
    about |= {"datePublished": str(day)} if day else {}
    records = [
        _record_set(resource)
        for resource in described
        if resource.format == "csv" and resource.fields
    ]
    return {
        **about,
        "distribution": [_file_object(resource) for resource in described],
        "recordSet": records,
    }


def _context() -> dict[str, Any]:
    """The context that the specification gives."""
    plain = {term: f"cr:{term}" for term in _CROISSANT_TERMS.split()}
    return {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "sc": "https://schema.org/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        **plain,
    }


def _file_object(resource: Resource) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": resource.path,
        "name": resource.path,
        "description": resource.title,
        "contentUrl": resource.path,
        "contentSize": f"{resource.n_bytes} B",
        "encodingFormat": MEDIA_TYPES[resource.format],
        "sha256": resource.sha256,
    }


def _record_set(resource: Resource) -> dict[str, Any]:
    """The fields of a csv table. Ids are numbers: a name may hold what an id must not."""
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{resource.name}/{i}",
            "name": field["name"],
            "description": field.get("title") or field.get("description") or field["name"],
            "dataType": _CROISSANT_TYPES[field["type"]],
            "source": {"fileObject": {"@id": resource.path}, "extract": {"column": field["name"]}},
        }
        for i, field in enumerate(resource.fields)
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": resource.name,
        "name": resource.name,
        "description": resource.title,
        "field": fields,
    }


# ---- SDV


def sdv_metadata(publication: Publication) -> dict[str, Any]:
    """The columns as the Synthetic Data Vault names them, for SDV and SDMetrics."""
    columns = {
        field["name"]: {"sdtype": _SDV_TYPES[field["type"]]} for field in fields_of(publication)
    }
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns}
