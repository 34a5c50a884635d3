"""Heads of a result, written in the files that other programs read.

Heads are taken from ``attlas roles`` (by a definition) or ``attlas survey`` (by a quantity), the most or those beyond
a bar. Where a result has halves, heads are chosen on the one on which it chooses, and their figures on the other are
written beside them; every file says what was chosen by what. Layers and heads count from 0, as all these files do.

- ``csv``: one row a head, with both figures.
- ``vllm-hook``: the configuration of vLLM-Hook, JSON with the list ``params.important_heads`` of [layer, head].
- ``qrhead``: the configuration of QRRetriever, YAML with ``attn_head_set: "layer-head,layer-head"``.
- ``duo-tsv``: a folder with ``full_attention_heads.tsv``, layers by heads of keys, and ``config.json``, as
  DuoAttention writes them and kvpress reads them: gates from 0 (streaming) to 1 (whole context).
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import PlanError, StoreError, printable
from attlas.ids import paper_label
from attlas.whole import write_whole

if TYPE_CHECKING:
    from attlas.store import Result

TOP = 16
GATES = "streaming_gate"  # the definition whose figures are gates themselves
KEYED = {"roles": "definition", "survey": "quantity"}  # the column that says what a row's figure is


@dataclass(frozen=True)
class Figure:
    """One head: its figure where heads are chosen, and on the other half, where there is one.

    >>> Figure(5, 2, 0.5, 0.25).label
    '6-3'
    """

    layer: int
    head: int
    chosen_by: float
    value: float

    @property
    def label(self) -> str:
        """The head's label, counted from 1.

        >>> Figure(0, 0, 1.0, 1.0).label
        '1-1'
        """
        return paper_label(self.layer, self.head)


@dataclass(frozen=True)
class Choice:
    """All heads of a stream with their figures, those that were chosen, the best first, and how in words; which heads
    share their keys, by layer; and whether figures are gates.

    >>> Choice((), (), "no head", "a model").told
    'no head'
    """

    every: tuple[Figure, ...]
    heads: tuple[Figure, ...]
    told: str
    model: str
    sharing: Sequence[Sequence[Sequence[int]]] = ()
    gates: bool = False


def choose(
    result: Result, by: str, stream: str | None = None, top: int | None = None, at_least: float | None = None
) -> Choice:
    """Choose heads of a result by a definition (or a survey's quantity): the ``top`` ones, or all of ``at_least`` a
    figure (at most it, where small figures are meant), or both.

    >>> from attlas.store import Manifest, Result
    >>> columns = {"stream": ["decoder"] * 2, "layer": [0, 0], "head": [0, 1], "definition": ["sink"] * 2,
    ...            "value": [0.5, 0.4], "first_half": [0.2, 0.6], "second_half": [0.8, 0.2]}
    >>> choose(Result(Manifest("roles", model={"name": "tiny"}), {"heads": columns}), "sink", top=1).heads
    (Figure(layer=0, head=1, chosen_by=0.6, value=0.2),)
    """
    study = result.manifest.study
    if study not in KEYED:
        raise PlanError(f"heads are exported from a result of roles or survey, and this is one of {study}")
    key = KEYED[study]
    rows = [row for row in result.rows("heads") if row.get("measure", "weight") == "weight"]
    known = list(dict.fromkeys(row[key] for row in rows))
    if by not in known:
        raise PlanError(f"this result has no {key} {by!r}; choose one of {', '.join(map(str, known))}")
    rows = [row for row in rows if row[key] == by]
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    if stream is None and len(streams) > 1:
        raise PlanError(f"{by} has figures of several streams; say which with --stream: {', '.join(streams)}")
    wanted = streams[0] if stream is None else stream
    rows = [row for row in rows if row["stream"] == wanted]
    if not rows:
        raise PlanError(f"{by} has no figures of the stream {wanted!r}; there are {', '.join(streams)}")
    halves = "first_half" in rows[0]
    every = tuple(
        Figure(
            int(row["layer"]),
            int(row["head"]),
            _number(row["first_half"] if halves else row["value"]),
            _number(row["second_half"] if halves else row["value"]),
        )
        for row in rows
    )
    below = study == "roles" and _below(by)
    able = [figure for figure in every if math.isfinite(figure.chosen_by)]
    able.sort(key=lambda figure: figure.chosen_by if below else -figure.chosen_by)
    if at_least is not None:
        able = [one for one in able if (one.chosen_by <= at_least if below else one.chosen_by >= at_least)]
    most = TOP if top is None and at_least is None else top
    heads = tuple(able[:most])
    if not heads:
        raise PlanError(f"no head of {by} passes the bar of {at_least}; lower it, or take the best with --top")
    model = str(result.manifest.model.get("name", ""))
    told = _told(result, by, below, most, at_least, len(heads), halves)
    return Choice(every, heads, told, model, sharing_of(result, wanted), by == GATES)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _below(definition: str) -> bool:
    from attlas.studies.roles.definitions import DEFINITIONS

    return definition in DEFINITIONS and DEFINITIONS[definition].below


def _told(
    result: Result, by: str, below: bool, most: int | None, bar: float | None, count: int, halves: bool
) -> str:  # fmt: skip
    """How heads were chosen, in a sentence."""
    name, corpus = by, str(result.manifest.corpus.get("name", "its texts"))
    if result.manifest.study == "roles":
        from attlas.studies.roles.definitions import DEFINITIONS

        name = DEFINITIONS[by].name if by in DEFINITIONS else by
    bars = []
    if bar is not None:
        bars.append(f"of {'at most' if below else 'at least'} {bar:g}")
    if most is not None:
        bars.append(f"the {'lowest' if below else 'highest'} {most}")
    where = "on one half of the texts; figures are those of the other half" if halves else "on all texts"
    return (
        f"{count} heads of {result.manifest.model.get('name', 'a model')}, by {name}: {', '.join(bars)}; chosen by "
        f"attlas {result.manifest.study} (corpus {corpus}) {where}"
    )


def export_heads(choice: Choice, kind: str, out: Path | str, model_id: str | None = None) -> list[Path]:
    """Write a choice of heads in one of the :data:`KINDS`; gives the files.

    >>> import tempfile
    >>> heads = (Figure(0, 1, 0.5, 0.4), Figure(2, 3, 0.4, 0.4))
    >>> choice = Choice(heads, heads, "two heads", "tiny")
    >>> print(export_heads(choice, "qrhead", Path(tempfile.mkdtemp()) / "heads.yaml")[0].read_text())
    # two heads
    attn_head_set: "0-1,2-3"
    model_base_class: "tiny"
    model_name_or_path: "tiny"
    """
    require_kind(kind)
    return KINDS[kind](choice, Path(out), choice.model if model_id is None else model_id)


def require_kind(kind: str) -> None:
    """Refuse a kind of file that is not known.

    >>> require_kind("csv")
    """
    if kind not in KINDS:
        raise PlanError(f"heads are exported as {', '.join(KINDS)}, not as {kind!r}")


def _csv(choice: Choice, out: Path, model_id: str) -> list[Path]:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(("layer", "head", "label", "chosen_by", "value", "how"))
    for figure in choice.heads:
        rows.writerow((figure.layer, figure.head, figure.label, figure.chosen_by, figure.value, choice.told))
    return [write_whole(out, written.getvalue())]


def _vllm_hook(choice: Choice, out: Path, model_id: str) -> list[Path]:
    config = {
        "model_info": {"provider": "attn-hf", "name": Path(model_id).name, "model_id": model_id, "note": choice.told},
        "params": {"temperature": 0.1, "max_output_tokens": 32, "important_heads": [
            [figure.layer, figure.head] for figure in choice.heads
        ]},
        "hookq": {"hookq_mode": "last_token"},
    }  # fmt: skip
    return [write_whole(out, json.dumps(config, indent=2, ensure_ascii=False) + "\n")]


def _qrhead(choice: Choice, out: Path, model_id: str) -> list[Path]:
    heads = ",".join(f"{figure.layer}-{figure.head}" for figure in choice.heads)
    lines = [
        f"# {printable(choice.told)}",  # in which nothing ends a line, and the comment with it
        f"attn_head_set: {json.dumps(heads)}",
        f"model_base_class: {json.dumps(Path(model_id).name)}",
        f"model_name_or_path: {json.dumps(model_id)}",
    ]
    return [write_whole(out, "\n".join(lines) + "\n")]


def _duo(choice: Choice, out: Path, model_id: str) -> list[Path]:
    from attlas.studies.roles.gates import RECENT, SINK

    if not choice.sharing:
        raise PlanError(
            "DuoAttention's file has a gate for every head of keys, and this result does not tell which heads share "
            "theirs; export from a result of attlas roles"
        )
    widths = {len(groups) for groups in choice.sharing}
    if len(widths) != 1:
        raise PlanError("DuoAttention's file is a table, and this model's layers differ in their heads of keys")
    gates = [
        [max(one[head] for head in group) for group in groups]
        for groups, one in zip(choice.sharing, _gates(choice), strict=True)
    ]
    table = "\n".join("\t".join(f"{gate:.6f}" for gate in layer) for layer in gates) + "\n"
    config = {"sink_size": SINK, "recent_size": RECENT, "note": choice.told, "model_name": model_id}
    if out.exists() and not out.is_dir():
        raise StoreError(f"{out}: duo-tsv is written as a folder, and this is a file; name another place")
    out.mkdir(parents=True, exist_ok=True)
    return [
        write_whole(out / "full_attention_heads.tsv", table),
        write_whole(out / "config.json", json.dumps(config, indent=2, ensure_ascii=False) + "\n"),
    ]


def _gates(choice: Choice) -> list[dict[int, float]]:
    """A gate for every head, by layer: its own figure where that is a gate, else 1 for those that were chosen."""
    chosen = {(figure.layer, figure.head) for figure in choice.heads}
    gates: dict[int, dict[int, float]] = {}
    for figure in choice.every:
        gate = figure.value if choice.gates else float((figure.layer, figure.head) in chosen)
        if not math.isfinite(gate):
            raise StoreError(f"head {figure.label} has no gate in this result; make it again")
        gates.setdefault(figure.layer, {})[figure.head] = min(1.0, max(0.0, gate))
    return [gates[layer] for layer in sorted(gates)]


def sharing_of(result: Result, stream: str) -> list[list[list[int]]]:
    """Which heads share their keys, layer by layer, from a result of roles; nothing where it does not tell.

    >>> from attlas.store import Manifest, Result
    >>> rows = {"stream": ["decoder"] * 2, "layer": [0, 0], "head": [0, 1], "key_head": [0, 0]}
    >>> sharing_of(Result(Manifest("roles"), {"sharing": rows}), "decoder")
    [[[0, 1]]]
    """
    if "sharing" not in result.manifest.tables:
        return []
    found: dict[int, dict[int, list[int]]] = {}
    for row in result.rows("sharing"):
        if row["stream"] != stream:
            continue
        found.setdefault(int(row["layer"]), {}).setdefault(int(row["key_head"]), []).append(int(row["head"]))
    return [[found[layer][key] for key in sorted(found[layer])] for layer in sorted(found)]


Writer = Callable[[Choice, Path, str], list[Path]]
KINDS: dict[str, Writer] = {"csv": _csv, "vllm-hook": _vllm_hook, "qrhead": _qrhead, "duo-tsv": _duo}
ENDINGS: dict[str, str] = {
    "csv": "heads.csv",
    "vllm-hook": "heads.json",
    "qrhead": "heads.yaml",
    "duo-tsv": "heads-duo",
}
