"""The report of one case across layers: a sentence, spans of it, and what every task's probes give them.

It follows Figure 3 of Tenney et al. (2019). First the sentence and a table of what was asked and answered; then a
part for each span or pair, with a panel for each task: labels as rows, layers from left to right, a bar as high as
the probability. The bars are cells of plain tables: they are drawn without a script, and can be read without seeing
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from attlas.reports.findings import is_number
from attlas.reports.layers_case_findings import (
    NOTICED,
    SIDES,
    Panel,
    brief,
    ends,
    in_short,
    panels_of,
    task_name,
    told,
)
from attlas.reports.made import made, when_and_what
from attlas.reports.page import Section, render
from attlas.reports.tables import Cell, Html, share, table

if TYPE_CHECKING:
    import pyarrow

    from attlas.store import Manifest, Result

WORDS = {
    "probe": """a small classifier, trained by <code>attlas layers</code> to read the labels of a task off the frozen
    states of a model. For each label it gives a probability of its own, so those of a span need not sum to one.""",
    "layer": """the probe at layer 3 sees layers 0 to 3, mixed; layer 0 is what the model reads (embeddings), before
    any attention. So each column may know more than the one before it, and no less.""",
    "leads": f"""the label with the largest probability, if it reaches {share(NOTICED)}. Over one half, a probe
    <i>gives</i> a label: that is what its score counts.""",
    "settles": """from this layer on the leading label stays the same (where several labels are given, all of
    them).""",
}
KEY = {
    "leads or is given, here and at the last layer": '<i class="swatch end"></i>',
    "leads or is given here, but not at the last layer": '<i class="swatch gone"></i>',
    "neither": '<i class="swatch"></i>',
    "one half": '<i class="swatch half"></i>',
    "from here on it stays": '<i class="swatch settled"></i>',
}
LEADS = {
    "short": """What leads at the first and at the last layer, and from which layer on it stays that way.""",
    "further": """As above: a bar is as high as the probability; orange was given up on the way.""",
    "edge": """Rows are labels, columns are layers; the height of a bar is the probability, from 0 to 1. Orange bars
    are answers that the probes gave up on the way. Point at a bar for its number.""",
}
LIMITS = f"""<ul>
<li><b>This is an anecdote.</b> It shows how probes decide one sentence; what holds in general is in the report of the
runs themselves, with scores, intervals and controls.</li>
<li><b>It is the probe that speaks.</b> A label may rise because the model has worked it out by then, or because this
probe, with its own weights, reads these layers better. Small ups and downs mean nothing.</li>
<li><b>A probe knows its own labels only</b>, as well as training has shown them to it, and answers in any case. A
span that its task would never label (a preposition, for entities) may get anything.</li>
<li><b>One probe for each layer.</b> Where a run trained several seeds, those of its first are asked.</li>
<li><b>The order of a pair matters</b>, and each task has its own; a panel says what it takes the two spans for. Ask
a task the other way round (<code>--span TASK=C:D,A:B</code>) where that is wrong.</li>
<li><b>A causal model reads from left to right</b>: the states of a span know nothing of what comes after it.</li>
<li><b>At most twelve labels are drawn</b>: the six largest that reach {share(NOTICED)}, and further ones over one
half; all are in the table <code>probabilities</code>.</li>
</ul>"""
WINDOW = 24  # words on either side of the spans, where a text is long
LONG = 70
NUMBERS = 15  # labels of a table of numbers


def layers_case_page(result: Result) -> str:
    """Write the page of one case across layers.

    >>> from types import SimpleNamespace
    >>> manifest = SimpleNamespace(
    ...     study="layers-case", plan={}, versions={}, model={"name": "tiny"}, corpus={}, seed=0, skipped={},
    ...     started="2025-01-01T00:00:00+00:00", seconds=1.5,
    ... )
    >>> "One sentence through the layers of tiny" in layers_case_page(SimpleNamespace(manifest=manifest, tables={}))
    True
    """
    study = _Study(dict(result.tables), result.manifest)
    sections = [] if not study.panels else [_in_short(study), *(_edge(study, number) for number in study.edges)]
    sections.append(made(study.manifest, LIMITS))
    return render(f"One sentence through the layers of {study.name}", _opening(study), sections, {})


@dataclass(frozen=True)
class _Study:
    """The tables and the manifest, and what several sections ask of them."""

    tables: Mapping[str, pyarrow.Table]
    manifest: Manifest

    @property
    def name(self) -> str:
        return str(self.manifest.model.get("name", "a model"))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.tables[name].to_pylist() if name in self.tables else []

    @cached_property
    def panels(self) -> list[Panel]:
        return panels_of(self.rows("probabilities"))

    @cached_property
    def edges(self) -> dict[int, dict[str, Any]]:
        """The first row of each edge: where it lies, and its words."""
        found: dict[int, dict[str, Any]] = {}
        for row in self.rows("probabilities"):
            found.setdefault(row["edge"], row)
        return dict(sorted(found.items()))

    @cached_property
    def words(self) -> list[tuple[str, str]]:
        return [(row["form"], row["after"]) for row in self.rows("words")]

    @cached_property
    def runs(self) -> dict[str, dict[str, Any]]:
        return {row["run"]: row for row in self.rows("runs")}

    @cached_property
    def labels(self) -> dict[tuple[str, str], dict[str, Any]]:
        return {(row["run"], row["label"]): row for row in self.rows("labels")}

    def title(self, panel: Panel) -> str:
        """The name of a task, with that of its run where several runs are of it."""
        several = sum(run["task"] == panel.task for run in self.runs.values()) > 1
        return f"{task_name(panel.task)} ({panel.run})" if several else task_name(panel.task)


def _opening(study: _Study) -> str:
    lead = (
        f"Probes were trained to read labels off the states of <b>{escape(study.name)}</b>, layer by layer. Here "
        "they are asked about spans of one sentence: what do they take them for at each layer, and where do they "
        f"change their answer? {when_and_what(study.manifest)}"
    )
    words = "".join(f"<div><dt>{term}</dt><dd>{meaning}</dd></div>" for term, meaning in WORDS.items())
    numbered = "".join(
        f"<span>{escape(form)}<sub>{number}</sub></span>{'' if after == '' else ' '}"
        for number, (form, after) in enumerate(study.words)
    )
    sentence = f'<p class="case-sentence numbered">{numbered}</p>' if numbered else ""
    style = f"<style>{_static('layers_case.css')}</style>"
    return f'{style}\n<p class="lead">{lead}</p>\n{sentence}\n<dl class="words">{words}</dl>'


def _in_short(study: _Study) -> Section:
    found = "".join(f"<li>{item}</li>" for item in in_short(study.panels))
    body = f'<ol class="findings">{found}</ol>' if found else ""
    head: list[Cell] = ["asked about", "task", *ends(study.panels), "settles at"]
    rows: list[list[Cell]] = []
    before = None
    for panel in study.panels:
        name = Html(f'<a href="#edge-{panel.edge}">{escape(_named(study.edges[panel.edge], 22))}</a>')
        was, now = (_clipped(brief(panel, place), 44) for place in (0, -1))
        end: Cell = now if panel.chosen(0) == panel.chosen(-1) else Html(f"<b>{escape(now)}</b>")
        rows.append(["" if panel.edge == before else name, study.title(panel), was, end, f"layer {panel.settled}"])
        before = panel.edge
    body += table(head, rows, label="What was asked and answered", text=(0, 1, 2, 3))
    return Section("short", "In short", f"<p>{LEADS['short']}</p>", body)


def _edge(study: _Study, number: int) -> Section:
    """One span or pair: the sentence with it marked, and a panel for each task."""
    row = study.edges[number]
    panels = [panel for panel in study.panels if panel.edge == number]
    key = "".join(f"<span>{sign} {escape(name)}</span>" for name, sign in KEY.items())
    body = (
        f'{_sentence(study, row)}\n<p class="key">{key}</p>\n<div class="case-panels">'
        + "\n".join(_panel(study, panel) for panel in panels)
        + "</div>"
    )
    lead = f"<p>{LEADS['edge' if number == next(iter(study.edges)) else 'further']}</p>"
    return Section(f"edge-{number}", _named(row), lead, body, short=_named(row, 18))


def _named(row: Mapping[str, Any], most: int = 48) -> str:
    """The words of an edge, as a heading."""
    first = f"“{_clipped(row['first_words'], most)}”"
    return first if row["second_words"] is None else f"{first} and “{_clipped(row['second_words'], most)}”"


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _sentence(study: _Study, row: Mapping[str, Any]) -> str:
    """The sentence with the spans of an edge marked; of a long text, what stands around them."""
    if not study.words:
        return ""
    spans = [tuple(map(int, row[name].split(":"))) for name in ("first", "second") if row[name] is not None]
    count = len(study.words)
    start, stop = 0, count
    if count > LONG:
        start = max(0, min(span[0] for span in spans) - WINDOW)
        stop = min(count, max(span[1] for span in spans) + WINDOW)
    parts: list[tuple[str, str]] = [("", "… ")] if start else []
    for number in range(start, stop):
        form, after = study.words[number]
        inside = [place for place, span in enumerate(spans) if span[0] <= number < span[1]]
        going_on = [place for place in inside if number + 1 < spans[place][1]]
        parts += [(_marks(inside), form), (_marks(going_on), " " if after.isspace() else after)]
    parts += [("", " …")] if stop < count else []
    marked = "".join(_marked(kind, "".join(text for _, text in group)) for kind, group in groupby(parts, _first))
    said = "; ".join(
        f'<span><mark class="span-{place + 1}">{name}</mark> {row[column]}</span>'
        for place, (name, column) in enumerate((("first", "first"), ("second", "second")))
        if row[column] is not None and row["second"] is not None
    )
    note = f'<p class="note">{said}</p>' if said else ""
    return f'<p class="case-sentence">{marked}</p>{note}'


def _first(part: tuple[str, str]) -> str:
    return part[0]


def _marks(places: Sequence[int]) -> str:
    return " ".join(f"span-{place + 1}" for place in places)


def _marked(kind: str, text: str) -> str:
    return f'<mark class="{kind}">{escape(text)}</mark>' if kind and text else escape(text)


def _panel(study: _Study, panel: Panel) -> str:
    about = study.runs.get(panel.run, {})
    score = f"F1 {share(about['score'])} on its test set" if is_number(about.get("score")) else ""
    if score and is_number(about.get("score_at_0")):
        score += f", {share(about['score_at_0'])} at layer 0"
    heads = "mixes heads; " if about.get("over") == "heads" else ""
    note = f" <small>{heads}{score}</small>" if heads or score else ""
    sides = _sides(panel, study.edges[panel.edge])
    more = ""
    if panel.left_out:
        what = "label that reaches" if panel.left_out == 1 else "labels that reach"
        more = f'<p class="note">{panel.left_out} more {what} {share(NOTICED)} at some layer not drawn.</p>'
    title = study.title(panel)
    return (
        f'<figure class="case-panel"><figcaption>{escape(title[:1].upper() + title[1:])}{note}</figcaption>\n'
        f'{sides}<p class="told">{told(panel)}</p>\n{_strips(panel, title)}{more}{_numbers(study, panel)}</figure>'
    )


def _sides(panel: Panel, row: Mapping[str, Any]) -> str:
    """What the two spans are to the task, since their order is not the same in all."""
    if row["second_words"] is None or panel.task not in SIDES:
        return ""
    first, second = (escape(_clipped(row[name], 30)) for name in ("first_words", "second_words"))
    one, other = SIDES[panel.task]
    return f'<p class="note sides"><i>{first}</i> as {one}, <i>{second}</i> as {other}</p>\n'


def _strips(panel: Panel, title: str) -> str:
    """The bars: a table with a row for each label and a column for each layer."""
    step = 1 if len(panel.layers) <= 16 else 5
    head = "".join(
        f'<th scope="col"{_settled(panel, layer)}><span{"" if _written(panel, layer, step) else " class=quiet"}>'
        f"{layer}</span></th>"
        for layer in panel.layers
    )
    lines = []
    for label in panel.shown:
        cells = "".join(
            f'<td class="{_class(panel, label, place)}" style="--p:{value:.3f}">'
            f'<span data-said="{escape(label)}, layer {layer}: {share(value)}">{share(value)}</span></td>'
            for place, (layer, value) in enumerate(zip(panel.layers, panel.row(label), strict=True))
        )
        last = f'<td class="last">{share(panel.row(label)[-1])}</td>'
        lines.append(f'<tr><th scope="row" title="{escape(label)}">{escape(label)}</th>{cells}{last}</tr>')
    return (
        f'<div class="strips" style="--label:{_room(panel)}">'
        f'<table aria-label="{escape(title)}: probability by label and layer"><thead><tr>'
        f'<th scope="col">layer</th>{head}<th scope="col" class="last">last</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _room(panel: Panel) -> str:
    """How wide the column of labels is: as the longest needs it, within reason."""
    most = 27 if len(panel.layers) <= 16 else 20
    return f"{min(max(7, *(1.2 * len(label) + 2 for label in panel.shown)), most):.0f}ch"


def _written(panel: Panel, layer: int, step: int) -> bool:
    """Whether the number of a layer is written: all where there is room, else every fifth and the last."""
    last = panel.layers[-1]
    return layer == last or (layer % step == 0 and (step == 1 or last - layer > 2))


def _settled(panel: Panel, layer: int) -> str:
    return ' class="settled"' if layer == panel.settled > panel.layers[0] else ""


def _class(panel: Panel, label: str, place: int) -> str:
    kinds = ["step"]
    if label in panel.chosen(place):
        kinds.append("end" if label in panel.chosen(-1) else "gone")
    if panel.layers[place] == panel.settled > panel.layers[0]:
        kinds.append("settled")
    return " ".join(kinds)


def _numbers(study: _Study, panel: Panel) -> str:
    """The probabilities as numbers, with how well the probe knows each label."""
    order = sorted(panel.labels, key=lambda label: (label not in panel.shown, -max(panel.row(label))))[:NUMBERS]
    known = any((panel.run, label) in study.labels for label in order)
    head = ["label", *(["in training", "F1"] if known else []), *(str(layer) for layer in panel.layers)]
    rows = []
    for label in order:
        about = study.labels.get((panel.run, label), {})
        train = f"{about['train']:,}" if is_number(about.get("train")) else ""
        own = [train, share(about.get("value"))] if known else []
        rows.append([label, *own, *(share(value) for value in panel.row(label))])
    which = (
        "all labels" if len(order) == len(panel.labels) else f"the {len(order)} largest of {len(panel.labels)} labels"
    )
    return f"<details><summary>In numbers, {which}</summary>{table(head, rows, label='Probabilities')}</details>"


def _static(name: str) -> str:
    return files("attlas.reports").joinpath("static").joinpath(name).read_text(encoding="utf-8")
