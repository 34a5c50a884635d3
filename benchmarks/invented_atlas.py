"""Made-up tables of an atlas, of any size and seeded: what the site of one is tested and measured with.

Every model has some heads of each role, whose figure of that role is high; all other figures are low, spread around
their chance level. So it is known of every head what its page must say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

ROLES = (
    ("previous", "previous piece", "looks at the previous piece", "before left neighbour", "does"),
    ("induction", "induction", "does induction", "copy repeat in-context", "does"),
    ("syntax", "syntax", "finds the object of a verb", "governor dependent grammar subject object verb", "does"),
    ("coreference", "coreference", "finds antecedents", "mention pronoun", "does"),
    ("sep", "[SEP]", "rests on [SEP]", "sep special eos end", "rests"),
    ("first", "first piece", "rests on the first piece", "beginning bos sink", "rests"),
    ("dormant", "does little", "adds little", "nothing does nothing idle", "rests"),
    ("other", "other", "", "unknown mixed", ""),
)  # role, title, what is said of a head, terms, part
NAMES = ("tiny", "small", "wide", "deep")
KINDS = ("share", "percent", "signed", "number")


@dataclass(frozen=True)
class Shape:
    """How large a made-up atlas is; ``streams`` have equally many heads each."""

    models: int = 2
    layers: int = 6
    heads: int = 12
    figures: int = 20
    streams: tuple[str, ...] = ("encoder",)
    key_heads: int = 0
    seed: int = 0


def names_of(shape: Shape) -> list[str]:
    """What the models are called."""
    return [NAMES[at] if at < len(NAMES) else f"org/model-{at}" for at in range(shape.models)]


def figure_names(shape: Shape) -> list[tuple[str, str, str]]:
    """Study, quantity and title of each figure: one for each role, then others."""
    named = [("roles" if at % 2 else "survey", role, title) for at, (role, title, *_) in enumerate(ROLES[:-1])]
    rest = [(("survey", "relations", "norms", "importance")[at % 4], f"figure_{at}", f"figure {at} of something")
            for at in range(shape.figures - len(named))]  # fmt: skip
    return (named + rest)[: shape.figures]


def invented(shape: Shape = Shape()) -> dict[str, Any]:
    """All tables of an atlas."""
    random = np.random.default_rng(shape.seed)
    names, figures = names_of(shape), figure_names(shape)
    count = len(shape.streams) * shape.layers * shape.heads
    place = np.array(np.unravel_index(np.arange(count), (len(shape.streams), shape.layers, shape.heads)))
    roles = [random.integers(0, len(ROLES), count) for _ in names]
    tables: dict[str, Any] = {
        "models": _rows(
            {"model": name, "family": "ToyModel", "stream": stream, "layers": shape.layers, "heads": shape.heads,
             "key_heads": shape.key_heads, "parameters": 1_000_000 * (at + 1), "fingerprint": f"{at:016x}"}
            for at, name in enumerate(names) for stream in shape.streams
        ),
        "roles": _rows({"role": role, "title": title, "meaning": f"It {said}." if said else "Nothing stands out.",
                        "terms": terms, "order": at} for at, (role, title, said, terms, _) in enumerate(ROLES)),
        "sources": _rows(
            {"source": 4 * at + own, "model": name, "study": study, "question": f"What does {study} say of {name}?",
             "corpus": "sample", "command": f"attlas {study} sample --model {name}", "version": "0.1.0",
             "started": "2026-01-02T03:04:05", "seconds": 12.5, "folder": f"{name}/{study}", "fingerprint": "f00"}
            for at, name in enumerate(names) for own, study in enumerate(dict.fromkeys(one for one, *_ in figures))
        ),
        "left_out": _rows([{"given": "align", "reason": "no bitext was given"}]),
    }  # fmt: skip
    values = [_values(random, shape, len(figures), own) for own in roles]
    tables["heads"] = _figures(shape, names, figures, place, values)
    tables["portraits"] = _portraits(shape, names, figures, place, values, roles)
    tables |= _small(shape, names, place, roles, values)
    return tables


def _values(random: np.random.Generator, shape: Shape, figures: int, roles: Any) -> Any:
    """Figures by heads: about 0.05, and high where a head has the role of the figure."""
    values = np.abs(random.normal(0.05, 0.02, (figures, len(roles))))
    for role in range(min(figures, len(ROLES) - 1)):
        mine = roles == role
        values[role, mine] = random.uniform(0.4, 0.9, mine.sum())
    for figure in range(len(ROLES) - 1, figures):
        if KINDS[figure % 4] == "signed":
            values[figure] = random.normal(0, 0.1, len(roles))
    return values.round(6)


def _figures(
    shape: Shape, names: list[str], figures: list[tuple[str, str, str]], place: Any, values: Any
) -> pa.Table:
    count, many = place.shape[1], len(figures)
    size = len(names) * many * count
    model, figure, head = np.unravel_index(np.arange(size), (len(names), many, count))
    value = np.concatenate([one.ravel() for one in values])
    studies = list(dict.fromkeys(study for study, *_ in figures))

    def coded(codes: Any, of: list[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(of))

    missing = pa.nulls(size, pa.float64())
    twin = pa.array(np.where(figure % 3 == 0, 0.06, np.nan), from_pandas=True)
    return pa.table({
        "model": coded(model, names), "stream": coded(place[0][head], list(shape.streams)),
        "layer": pa.array(place[1][head].astype(np.int16)), "head": pa.array(place[2][head].astype(np.int16)),
        "study": coded(np.array([studies.index(study) for study, *_ in figures])[figure], studies),
        "quantity": coded(figure, [quantity for _, quantity, _ in figures]),
        "title": coded(figure, [title for *_, title in figures]),
        "kind": coded(np.array([0 if at < len(ROLES) - 1 else at % 4 for at in range(many)])[figure], list(KINDS)),
        "definition": coded(np.zeros(size), ["made up"]),
        "value": value, "low": value - 0.02, "high": value + 0.02,
        "chance": pa.array(np.where(figure % 5 == 4, np.nan, 0.05), from_pandas=True),
        "twin": twin, "twin_low": missing, "twin_high": missing, "p": np.where(value > 0.3, 0.0004, 0.4),
        "n": np.full(size, 500.0), "first_half": value + 0.001, "second_half": value - 0.001,
        "corpus": coded(np.zeros(size), ["sample"]), "command": coded(np.zeros(size), ["attlas survey sample"]),
        "version": coded(np.zeros(size), ["0.1.0"]),
        "source": (4 * model + np.array([studies.index(study) for study, *_ in figures])[figure]).astype(np.int32),
    })  # fmt: skip


def _portraits(
    shape: Shape, names: list[str], figures: list[tuple[str, str, str]], place: Any, values: Any, roles: Any
) -> dict[str, list[Any]]:
    rows = []
    for at, name in enumerate(names):
        for head in range(place.shape[1]):
            stream, layer, own = shape.streams[place[0][head]], int(place[1][head]), int(place[2][head])
            role, _, said, _, part = ROLES[roles[at][head]]
            base = {"model": name, "stream": stream, "layer": layer, "head": own, "corpus": "sample", "claims": "[]"}
            if part:
                figure = roles[at][head]
                value = values[at][figure, head]
                numbers = {"value": value, "low": value - 0.02, "high": value + 0.02, "chance": 0.05}
                strength = (value - 0.02 - 0.05) / 0.95
                written = f"{said}: {value:.2f} of its attention (an even spread: 0.05)"
                if role == "syntax":
                    written = (
                        f"finds the {('object', 'subject', 'determiner')[head % 3]} of a verb: {value:.2f} right"
                    )
                rows.append(base | numbers | {"order": 0, "role": role, "part": part, "strength": strength,
                            "sentence": written, "study": figures[figure][0],
                            "quantity": figures[figure][1]})  # fmt: skip
                rows.append(base | numbers | {
                    "order": 1, "role": "needed", "part": "without", "strength": 0.5 * strength,
                    "sentence": f"without it the accuracy on sentiment falls by {value:.2f}", "study": "importance",
                    "quantity": "change"})  # fmt: skip
                other = f"{layer + 1}-{(own + 1) % shape.heads + 1}"
                rows.append(base | numbers | {
                    "order": 2, "role": "sink", "part": "writes", "strength": 0.3 * strength, "study": "norms",
                    "sentence": f"has a short value for the first piece: {value:.2f} of an average one",
                    "quantity": "sink_value"})  # fmt: skip
                rows.append(base | numbers | {
                    "order": 3, "role": "alike", "part": "alike", "strength": 0.2 * strength, "study": "clusters",
                    "sentence": f"attends much as {other} does: {value / 9:.2f} nats apart", "quantity": "alike",
                })  # fmt: skip
            else:
                rows.append(base | {"value": None, "low": None, "high": None, "chance": None, "order": 0,
                            "role": "other", "part": "none", "strength": 0.0, "study": "", "quantity": "",
                            "sentence": f"shows nothing that stands out among its {len(figures)} figures",
                            })  # fmt: skip
    return _rows(rows)


def _small(shape: Shape, names: list[str], place: Any, roles: Any, values: Any) -> dict[str, Any]:
    """Disagreements, what stands out, matches, heads alike, examples and their texts."""
    count = place.shape[1]

    def of(at: int, head: int) -> dict[str, Any]:
        return {"model": names[at], "stream": shape.streams[place[0][head]], "layer": int(place[1][head]),
                "head": int(place[2][head])}  # fmt: skip

    def label(head: int) -> str:
        return f"{place[1][head] + 1}-{place[2][head] + 1}"

    words = ["the", "cat", "that", "sat", "on", "the", "mat", "saw", "the", "dog", "and", "the", "dog", "saw", "it"]
    weights = np.random.default_rng(shape.seed).dirichlet(np.ones(len(words)), 3).round(4)
    told = [at for at in range(len(names)) if at < 4]  # examples and matches of some models are enough
    matched = [(at, other, by) for at in told for other in told if at < other
               for by in ("behaviour", *(["number"] if (at, other) == (2, 3) else []))]  # fmt: skip
    return {
        "disagreements": _rows(of(at, 0) | {
            "sentence": "survey says that it rests on [SEP], and relations that it finds the object of a verb",
            "one_study": "survey", "one_role": "sep", "one_quantity": "sep", "other_study": "relations",
            "other_role": "syntax", "other_quantity": "syntax"} for at in range(len(names))),
        "stands_out": _rows(of(at, head) | {
            "order": order, "study": "survey", "quantity": ROLES[order][0], "value": float(values[at][order, head]),
            "sentence": f"Of all {count} heads of the {shape.streams[0]}, {label(head)} has the most of "
                        f"{ROLES[order][1]}: {values[at][order, head]:.2f} (chance: 0.05)."}
            for at in range(len(names)) for order in range(3) for head in [int(np.argmax(values[at][order]))]),
        "matches": _rows(of(at, head) | {
            "other": names[other], "other_layer": int(place[1][partner]), "other_head": int(place[2][partner]),
            "distance": 0.1 + 0.01 * (head % 7), "runner_up": 0.4, "matched": head % 9 != 8,
            "by": by}
            for at, other, by in matched for head in range(count)
            for partner in [head if by == "number" else count - 1 - head]),
        "alike": _rows(of(at, head) | {"order": order, "other_layer": int(place[1][(head + order + 1) % count]),
                                       "other_head": int(place[2][(head + order + 1) % count])}
                       for at in told for head in range(count) for order in range(2)),
        "examples": _rows(of(at, head) | {
            "example": kind, "quantity": ROLES[min(roles[at][head], len(ROLES) - 2)][0], "value": 0.9 - 0.3 * order,
            "text": 0, "query": 5 + order, "weights": weights[order].tolist()}
            for at in told for head in range(min(count, 40))
            for order, kind in enumerate(("best", "typical", "fails"))),
        "texts": _rows({"model": names[at], "text": 0, "words": words, "corpus": "sample",
                        "page": f"{names[at]}/texts/0.html"} for at in told),
    }  # fmt: skip


def _rows(rows: Any) -> dict[str, list[Any]]:
    """Rows as columns."""
    listed = list(rows)
    return {name: [row[name] for row in listed] for name in listed[0]} if listed else {}
