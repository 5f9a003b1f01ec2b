"""report.html: the publication for people. One file, no network; every number is also in a file beside it."""

import math
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from lopub.contract.domain import Binned, ListOption, TickList
from lopub.inference.joint import JointDistribution, interval
from lopub.pages import plots
from lopub.pages.page import bars, between, facts, figure, folded, listed, number, page, paragraph, share, table, text_of
from lopub.release.numbers import shown_form
from lopub.release.render.wording import day_of
from lopub.release.stages import Publication
from lopub.release.summary import independent_pairs, summary, warnings_of

N_SAMPLED = 20
"""Synthetic records that are shown."""
N_LISTED = 30
"""Pairs, edges or cliques that a list names before it points to the file."""
SMALL_MISFIT = 1e-4
"""AVD between a clique's pairs and the estimated ones that nobody need care about."""
MOST_CARDS = 200
"""Attributes whose shares are shown; the file has all."""
MOST_SHOWN = 40
"""Candidates of an attribute whose shares are shown; the file has all."""


def report_html(publication: Publication) -> bytes:
    """The publication's page: one file, which loads nothing."""
    figures = summary(publication)
    title = publication.campaign.terms.title or publication.campaign.terms.name
    sections = [
        ("privacy", "What is protected", _privacy(publication, figures["privacy"])),
        ("reports", "What was collected", _reports(publication, figures["errors"])),
        ("shares", "What people answered", _shares(publication)),
        ("dependence", "What depends on what", _dependence(publication, figures["dependence"])),
        ("fit", "Does the table explain the reports?", _fit(publication, figures["fit"])),
        ("limits", "What the data cannot support", _limits(publication, figures)),
        ("sample", "Some synthetic records", _sample(publication)),
        ("files", "Files", _files()),
    ]
    lead = paragraph(
        f"A synthetic table of {number(len(publication.synthetic), ',')} records, made from"
        f" {number(publication.n_reports, ',')} noisy reports. Nobody in it exists, and nobody's answers were ever collected:"
        " every report was randomized on its owner's device.",
        "lead",
    )
    lead += "".join(paragraph(escape(warning[0].upper() + warning[1:]) + ".", "warn") for warning in warnings_of(publication))
    return page(f"{title}: synthetic data and how far to trust it", sections, lead=lead).encode()


# ---- privacy and collection


def _privacy(publication: Publication, figures: dict[str, Any]) -> str:
    campaign = publication.campaign
    certain = _certainty(figures["certainty_from_half"])
    said = paragraph(
        f"Each report protects its owner with <strong>epsilon {number(figures['epsilon'])}</strong> in total, for everything that"
        " it says together. Whatever two sets of answers a person might have given, any report is at most"
        f" {_factor(figures)} times as likely under one as under the other."
    )
    observer = paragraph(
        "What an observer of one report could at most conclude: somebody who thought it as likely as not that you gave a certain"
        f" answer could, in the worst case, become {certain} sure; from other odds, those odds can grow by at most the factor"
        " above, whatever else the observer knows. This holds against the collector too."
    )
    limits = listed(
        [
            "It does not hide that somebody took part, or on which day.",
            "It does not add up for you: whoever answers several campaigns is protected by the sum of their epsilons.",
            "What is true of the crowd may be concluded about its members; that is what statistics are for.",
        ]
    )
    each = table(
        "Epsilon of each attribute: what a report could reveal of it alone",
        ["attribute", "epsilon"],
        [[escape(name), number(value)] for name, value in figures["epsilon_of"].items()],
        numeric=[1],
    )
    how = paragraph(
        f"Mechanism <code>{escape(campaign.mechanism.name)}</code>, view <code>{escape(str(campaign.view))}</code>, attributes"
        f" randomized {'jointly' if campaign.jointly else 'separately'}.",
        "soft",
    )
    return said + observer + paragraph("What it does not do:") + limits + folded("Epsilon of each attribute", each) + how


def _beside(before: float, after: float | None) -> str:
    """Mean AVD as expected before the collection, and as the standard errors say now."""
    now = "" if after is None else f"; estimated from the reports {number(after, '.4f')}"
    return f"expected before the collection, of people like those of surveys, {number(before, '.4f')}{now} (mean AVD)"


def _factor(figures: dict[str, Any]) -> str:
    """e^epsilon, or a power of ten that is not below it."""
    if figures["odds_factor"] is None:
        return f"10<sup>{number(figures['odds_factor_power_of_ten'], 'd')}</sup>"
    return f'<data value="{figures["odds_factor"]!r}">{_four_digits_up(figures["odds_factor"]):,.4g}</data>'


def _four_digits_up(value: float) -> float:
    """Rounded up, as everything that is told of a guarantee."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return math.ceil(value / unit) * unit


def _certainty(value: float) -> str:
    """In per cent, with as many digits as it takes not to say 100."""
    digits = next((digits for digits in range(1, 16) if float(f"{100 * value:.{digits}f}") < 100), 15)
    return f'<data value="{value!r}">{100 * value:.{digits}f}&nbsp;%</data>'


def _reports(publication: Publication, errors: dict[str, Any]) -> str:
    refused = sum(publication.refused.values())
    first, last = (day_of(slot) for slot in (publication.first_slot, publication.last_slot))
    days = "not known" if first is None or last is None else str(first) if first == last else f"{first} to {last}"
    rows = [
        ("campaign", f"<code>{publication.campaign.id}</code>"),
        ("reports accepted", number(publication.n_reports, ",")),
        ("reports refused", number(refused, ",")),
        ("days", escape(days)),
        ("error of one attribute", _beside(errors["expected_marginals"], errors["estimated_marginals"])),
    ]
    known = ""
    if publication.margins:
        shown = "; ".join(escape(" and ".join(names)) for names in publication.margins)
        known = paragraph(f"Taken from public knowledge, not from reports: the shares of {shown}.", "warn")
    return facts(rows) + known


# ---- shares


def _shares(publication: Publication) -> str:
    said = paragraph(
        "Estimated share of each answer with its 95 % interval, and its share in the synthetic table. The upper bar is the"
        " estimate, the lower one the synthetic table."
    )
    shown = publication.marginals[:MOST_CARDS]
    cards = "".join(_card(publication, marginal) for marginal in shown)
    left = len(publication.marginals) - len(shown)
    more = f"{number(left, ',')} more attributes are in <code>estimates/marginals.csv</code>." if left else ""
    return f'{said}<div class="cards">{cards}</div>{paragraph(more) if left else ""}'


def _card(publication: Publication, marginal: JointDistribution) -> str:
    """Of an attribute; of a list, one for all its options, in the place of the first of them."""
    attribute = marginal.attributes[0]
    if not isinstance(attribute, ListOption):
        return _attribute(publication, marginal)
    names = sorted(option.name for option in attribute.of_list.options)
    return _ticks(publication, attribute.of_list) if attribute.name == names[0] else ""


def _ticks(publication: Publication, ticks: TickList) -> str:
    """How many ticked each option of a list, and how many did not answer it."""
    estimated = dict(zip(publication.names, publication.marginals, strict=True))
    wanted = [(option.name, 1, option.value) for option in ticks.options]
    wanted += [(ticks.options[0].name, at, ticks.options[0].texts[at]) for at in range(2, ticks.options[0].size)]
    rows = []
    for name, at, shown in wanted:
        made = publication.synthetic.counts((name,)) / len(publication.synthetic)
        rows.append((shown, *estimated[name].rows()[at][1:], float(made[at])))
    most = max(max(row[1], row[3]) for row in rows)
    cells = [_share_row(*row, most) for row in rows]
    caption = f"{ticks.name}: {ticks.title or ticks.question}; several can be ticked"
    body = table(caption, ["ticked", "estimate", "95 % interval", "synthetic", ""], cells, numeric=[1, 2, 3])
    return f"<div><h3>{escape(ticks.name)}</h3>{body}</div>"


def _attribute(publication: Publication, marginal: JointDistribution) -> str:
    attribute = marginal.attributes[0]
    synthetic = publication.synthetic.counts((attribute.name,)) / len(publication.synthetic)
    rows = list(zip(marginal.rows(), synthetic.tolist(), strict=True))
    most = max(float(marginal.probabilities.max()), float(synthetic.max()))
    shown = sorted(rows, key=lambda row: -row[0][1])[:MOST_SHOWN] if len(rows) > MOST_SHOWN else rows
    cells = [_share_row(values[0], probability, error, made, most) for (values, probability, error), made in shown]
    columns = ["answer", "estimate", "95 % interval", "synthetic", ""]
    caption = f"{attribute.name}: {attribute.title}" if attribute.title and attribute.title != attribute.name else attribute.name
    if len(rows) > len(shown):
        caption += f" (the {MOST_SHOWN} most frequent of {len(rows):,} answers)"
    body = table(caption, columns, cells, numeric=[1, 2, 3], unseen=caption == attribute.name)
    return f"<div><h3>{escape(attribute.name)}</h3>{body}{_statistics(publication, attribute.name)}</div>"


def _share_row(value: str, probability: float, error: float, synthetic: float, most: float) -> list[str]:
    low, high = interval(probability, error)
    within = "-" if np.isnan(error) else between(low, high)
    drawn = f'<div class="bar" aria-hidden="true">{bars(probability, synthetic, most)}</div>'
    return [text_of(value), share(probability), within, share(synthetic), drawn]


def _statistics(publication: Publication, name: str) -> str:
    own = [row for row in publication.statistics if row.attribute == name]
    if not own:
        return ""
    rows = [
        [escape(row.name), number(row.value, form), f"{number(row.low, form)} to {number(row.high, form)}"]
        for row in own
        for form in [shown_form(row)]
    ]
    said = table(f"{name} as a number", ["", "estimate", "95 % interval"], rows, numeric=[1, 2])
    if isinstance(publication.campaign.domain[name], Binned):
        said += paragraph(
            "Of each number only its bin is known. The estimates take numbers to be spread evenly inside their bins; the"
            " intervals do not, and allow for any place in them.",
            "soft",
        )
    return said


# ---- dependence


def _dependence(publication: Publication, figures: dict[str, Any]) -> str:
    names, graph = publication.names, publication.graph
    measure = "held-out gain, nats" if graph.measure == "held-out gain" else "mutual information, nats"
    said = paragraph(
        f"{number(figures['edges'], ',')} of {number(figures['pairs'], ',')} pairs of attributes are taken to depend on each"
        f" other, by {escape(graph.measure)}."
    )
    if len(names) == 1:
        return paragraph("There is one attribute; nothing can depend on it.")
    edges = _strongest(publication, measure)
    return said + _heat(publication) + edges + _drawings(publication, names) + _cliques(publication, figures)


def _in_heat(publication: Publication) -> list[int]:
    """The attributes that the heat map shows: all, or of many those of the strongest dependences."""
    if len(publication.names) <= plots.MOST_LABELS:
        return list(range(len(publication.names)))
    shown: set[int] = set()
    for edge in publication.graph.edges:
        shown |= set(edge) if len(shown) + 2 <= plots.MOST_LABELS else set()
    return sorted(shown)


def _heat(publication: Publication) -> str:
    shown = _in_heat(publication)
    place = {position: at for at, position in enumerate(shown)}
    values = np.full((len(shown), len(shown)), np.nan)
    for a, b in publication.graph.edges:
        if (a, b) in publication.pairs and a in place and b in place:
            values[place[a], place[b]] = values[place[b], place[a]] = publication.pairs[a, b].mutual_information()
    if np.isnan(values).all():
        return ""
    svg = plots.heat_map(
        values,
        [publication.names[position] for position in shown],
        name="heat",
        description="Heat map of the mutual information of dependent attributes; the numbers are in estimates/dependence.csv",
        scale="mutual information, nats",
    )
    left = len(publication.names) - len(shown)
    caption = "Mutual information of each two attributes that depend on each other"
    caption += f"; {left:,} attributes are left out, the strongest dependences are shown" if left else ""
    return figure(svg, f"{caption}; the numbers are in estimates/dependence.csv.")


def _strongest(publication: Publication, measure: str) -> str:
    names, graph = publication.names, publication.graph
    dropped = set(publication.dropped)
    rows = []
    for a, b in graph.edges[:N_LISTED]:
        strength = graph.strengths.get((a, b))
        fate = "left out by the cell cap" if (a, b) in dropped else "kept"
        without = "publicly known" if (a, b) in publication.pairs else "assumed"
        shown = without if strength is None else number(strength, ",.4g")
        rows.append([f"{escape(names[a])} – {escape(names[b])}", shown, fate])
    if not rows:
        return ""
    caption = "Dependences" if len(graph.edges) <= N_LISTED else f"The {N_LISTED} strongest of {len(graph.edges):,} dependences"
    return table(caption, ["pair", measure, ""], rows, numeric=[1])


def _drawings(publication: Publication, names: tuple[str, ...]) -> str:
    kept, tree = publication.dependences, publication.model.tree
    drawn = ""
    if kept and len(names) <= plots.MOST_NODES:
        svg = plots.graph(names, kept, name="graph", description="Dependency graph; its edges are listed in the table above")
        drawn += figure(svg, "Dependency graph: the wider a line, the stronger the dependence.")
    if len(tree.cliques) <= plots.MOST_NODES:
        labels = ["\n".join(names[position] for position in clique) for clique in tree.cliques]
        svg = plots.tree(
            labels, tree.parents, name="tree", description="Junction tree; its cliques are listed in the table below"
        )
        drawn += figure(
            svg, "Junction tree: cliques of attributes that are described together; each shares attributes with the one above it."
        )
    return drawn


def _cliques(publication: Publication, figures: dict[str, Any]) -> str:
    model, names = publication.model, publication.names
    rows = []
    for clique, separator, joint, misfit in list(
        zip(model.tree.cliques, model.tree.separators, model.joints, model.misfits, strict=True)
    )[:N_LISTED]:
        shared = ", ".join(names[position] for position in separator)
        own = ", ".join(names[position] for position in clique)
        rows.append([escape(own), escape(shared), number(int(joint.size), ","), number(misfit, ".4f")])
    caption = f"Cliques ({len(model.tree.cliques):,})"
    return table(caption, ["attributes", "shared with its parent", "cells", "misfit"], rows, numeric=[2, 3])


# ---- fit, limits, sample


def _fit(publication: Publication, figures: dict[str, Any]) -> str:
    if not publication.fit:
        return paragraph("There are no counts to compare with.")
    predicted = np.array([row.predicted for row in publication.fit])
    observed = np.array([float(row.observed) for row in publication.fit])
    svg = plots.scatter(
        predicted,
        observed,
        x_label="predicted by the model",
        y_label="observed in the reports",
        name="fit",
        description="Observed against predicted counts; the numbers are in estimates/fit.csv",
    )
    said = paragraph(
        f"If people like the model's had sent the reports, {number(figures['counts'], ',')} counts of noisy answers would be as"
        f" predicted here. {share(figures['share_within_two_deviations'])} of the observed ones are within two standard"
        f" deviations of that; the largest is off by {number(figures['largest_deviation'], '.1f')}. Of reports that had not been"
        " used to make the model, about 95 % would be; far fewer mean that it does not fit."
    )
    return said + figure(svg, "Observed against predicted counts of noisy answers; all are in estimates/fit.csv.")


def _limits(publication: Publication, figures: dict[str, Any]) -> str:
    support, dependence = figures["support"], figures["dependence"]
    items = [
        f"{number(support['marginal_cells_in_doubt'], ',')} of {number(support['marginal_cells'], ',')} shares of single answers,"
        f" and {number(support['pair_cells_in_doubt'], ',')} of {number(support['pair_cells'], ',')} of pairs, are below their"
        " own standard error: they cannot be told from zero.",
        "Intervals speak of the noise and of chance; not of who chose to take part. Those of pairs are of the estimates before"
        " they were shrunk towards independence.",
    ]
    if publication.dropped:
        items.append(
            f"{number(dependence['dropped_edges'], ',')} dependences were left out because a clique would have passed"
            f" {number(dependence['most_cells'], ',')} cells."
        )
    if dependence["largest_misfit"] >= SMALL_MISFIT:
        items.append(
            f"Pairs of the model differ from the estimated ones by up to {number(dependence['largest_misfit'], '.4f')} (AVD),"
            " because estimates contradict each other."
        )
    blind = independent_pairs(publication)
    if publication.graph.measure == "held-out gain" and not publication.graph.edges and len(publication.names) > 1:
        items.insert(0, "<strong>Independence would have done as well</strong>: no pair stands out of the noise.")
    body = listed(items)
    if blind:
        shown = "; ".join(f"{escape(a)} – {escape(b)}" for a, b in blind[:N_LISTED])
        more = f" and {len(blind) - N_LISTED:,} more" if len(blind) > N_LISTED else ""
        said = f"{number(support['independent_pairs'], ',')} pairs for which independence would have done as well: {shown}{more}."
        body += paragraph(said)
    return body


def _sample(publication: Publication) -> str:
    rows = list(_records(publication))
    caption = f"The first {len(rows)} records of data/synthetic.csv"
    return table(caption, ["", *publication.campaign.domain.names], rows)


def _records(publication: Publication) -> Iterator[list[str]]:
    attributes = publication.campaign.domain.attributes
    for place, record in enumerate(publication.synthetic.codes[:N_SAMPLED].tolist(), start=1):
        yield [str(place), *(text_of(attribute.texts[code]) for attribute, code in zip(attributes, record, strict=True))]


def _files() -> str:
    return facts(
        [
            ("data/synthetic.csv, .parquet", "the table"),
            ("estimates/marginals.csv, pairs.csv", "every share with its standard error"),
            ("estimates/numbers.csv", "means and quantiles"),
            ("estimates/dependence.csv, model.json", "dependences, cliques, junction tree"),
            ("estimates/fit.csv, summary.json", "the figures of this page"),
            ("MODEL_CARD.md, datapackage.json, croissant.json", "descriptions for people and programs"),
            ("dp-deployment.yaml", "the entry for a registry of deployments"),
            ("manifest.json", "versions, settings, the SHA-256 of every file"),
        ]
    )
