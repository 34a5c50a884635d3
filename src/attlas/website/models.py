"""The files of one model: what its map needs, all values, the rest of the figures by block of heads, its sentences,
its examples by block, and its heads beside those of other models.

A map is drawn from the first alone. Whatever a page needs beyond is asked for when it is, so that a model of a
thousand heads opens as fast as one of twelve.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attlas.website.given import Given
from attlas.website.grids import NUMBERS, Grid, Heads, Rows, beside, streams_of
from attlas.website.packing import packed, packed_bytes, put, short
from attlas.website.sentences import Sentences

BLOCK = 64  # heads whose figures lie in one file
FACTS = ("source", "study", "question", "corpus", "command", "version", "started", "seconds", "folder", "fingerprint")

SHOWN = ("example", "study", "quantity", "value", "text", "query")  # of an example, beside its weights


def plain(value: Any) -> Any:
    """A cell as JSON can hold it.

    >>> plain(np.float64("nan")), plain(0.5), plain(None), plain("a")
    (None, 0.5, None, 'a')
    """
    if isinstance(value, float | np.floating):
        return short(float(value))
    return value if value is None or isinstance(value, int | str) else str(value)


class ModelFiles:
    """Writes the files of one model after the other into ``folder``; tables are read once for all."""

    def __init__(self, folder: Path, given: Given, sentences: Sentences) -> None:
        self.folder, self.given, self.sentences = folder, given, sentences
        streams = streams_of(given)
        self.numbers = {model: place for place, model in enumerate(streams)}
        self.shapes = given.rows("models")
        self.sources = given.rows("sources")
        self.left_out = given.rows("left_out")
        self.listed = {
            name: (Rows(given, name, streams), given.rows(name)) if name in given else None
            for name in ("stands_out", "disagreements", "examples")
        }
        self.alike = (
            (Rows(given, "alike", streams), given.numbers("alike", "order"),
             given.whole_numbers("alike", "other_layer"), given.whole_numbers("alike", "other_head"))
            if "alike" in given else None
        )  # fmt: skip
        self.matches = Rows(given, "matches", streams) if "matches" in given else None
        self.match_columns = (
            {name: given.texts("matches", name) for name in ("other", "other_layer", "other_head", "distance",
                                                             "runner_up", "matched", "by")}
            if self.matches is not None else {}
        )  # fmt: skip
        self.texts = {(row["model"], row["text"]): row for row in given.rows("texts")}

    def write(self, grid: Grid, cite: str) -> dict[str, Any]:
        """Write all files of a model; what of it the index of all models needs comes back."""
        number, heads = self.numbers[grid.model], grid.heads
        rows, place = self.sentences.of(number, heads)
        role, telling = self.sentences.of_heads(rows, place, len(heads))
        shapes = [row for row in self.shapes if row["model"] == grid.model]
        shape = {name: plain(shapes[0].get(name)) for name in ("family", "parameters", "fingerprint")}
        blocks = -(-len(heads) // BLOCK)
        whole = {
            **shape,
            "model": grid.model,
            "heads": {"stream": heads.stream.tolist(), "layer": heads.layer.tolist(), "head": heads.head.tolist()},
            "roles": packed_bytes(role),
            "first": [self.sentences.text[row] if row >= 0 else "" for row in telling],
            "figures": [self._figure(grid, at) for at in range(len(grid.figures))],
            "standsOut": self._listed("stands_out", number, heads, ("study", "quantity")),
            "disagreements": self._listed("disagreements", number, heads,
                                          ("one_study", "one_role", "other_study", "other_role")),
            "sources": [{name: plain(row.get(name)) for name in FACTS}
                        for row in self.sources if row["model"] == grid.model],
            "leftOut": [{name: plain(row.get(name)) for name in ("given", "reason")}
                        for row in self.left_out if row.get("model") in (None, "", grid.model)],
            "alike": self._alike(number, heads),
            "block": BLOCK,
            "examples": self._examples(number, grid.model, heads),
            "cite": cite,
        }  # fmt: skip
        put(self.folder, f"{number}/model", whole)
        put(self.folder, f"{number}/values", {
            "figures": len(grid.figures), "heads": len(heads), "values": packed(grid.values),
            "sure": packed_bytes(grid.sure()),
        })  # fmt: skip
        for block in range(blocks):
            part = slice(block * BLOCK, (block + 1) * BLOCK)
            known = {name: grid.numbers[name][:, part] for name in NUMBERS}
            columns = {name: packed(values) for name, values in known.items() if np.isfinite(values).any()}
            put(self.folder, f"{number}/rows-{block}", {"from": part.start, "columns": columns})
        put(self.folder, f"{number}/portraits", self._portraits(grid, rows, place))
        others = self._matches(number, heads)
        return {
            **shape,
            "name": grid.model,
            "streams": [
                {"stream": stream, **{name: plain(row.get(name)) for name in ("layers", "heads", "key_heads")}}
                for stream in heads.streams
                for row in shapes
                if row["stream"] == stream
            ],
            "count": len(heads),
            "place": {
                "stream": packed_bytes(heads.stream),
                "layer": heads.layer.tolist(),
                "head": heads.head.tolist(),
            },
            "roles": packed_bytes(role),
            "standsOut": next((one["sentence"] for one in whole["standsOut"]), ""),
            "others": others,
        }

    def _figure(self, grid: Grid, at: int) -> dict[str, Any]:
        """What is known of a figure beside its numbers, its chance level where all heads have about one."""
        chance = grid.numbers["chance"][at]
        known = chance[np.isfinite(chance)]
        return {
            **grid.figures[at],
            "chance": [short(known.min()), short(known.max())] if len(known) else None,
            "twin": bool(np.isfinite(grid.numbers["twin"][at]).any()),
        }

    def _listed(self, name: str, number: int, heads: Heads, extra: tuple[str, ...]) -> list[dict[str, Any]]:
        """Sentences of a small table, each with the place of its head."""
        if (table := self.listed[name]) is None:
            return []
        rows, listed = table
        mine = rows.of(number)
        place = heads.places(rows.keys[mine])
        order = sorted(range(len(mine)), key=lambda at: listed[mine[at]].get("order") or 0)
        return [
            {"head": int(place[at]), "sentence": str(listed[mine[at]]["sentence"])}
            | {key: plain(listed[mine[at]].get(key)) for key in extra}
            for at in order
        ]

    def _alike(self, number: int, heads: Heads) -> dict[str, list[int]]:
        """For each head the places of those that are nearest to it, the nearest first."""
        if self.alike is None:
            return {}
        rows, order, layer, head = self.alike
        mine = rows.of(number)
        keys = rows.keys[mine]
        mine, keys = mine[np.argsort(order[mine], kind="stable")], keys[np.argsort(order[mine], kind="stable")]
        places, others = heads.places(keys), heads.places(beside(keys, layer[mine], head[mine]))
        near: dict[str, list[int]] = {}
        for at, other in zip(places.tolist(), others.tolist(), strict=True):
            if at >= 0 and other >= 0:
                near.setdefault(str(at), []).append(other)
        return near

    def _portraits(self, grid: Grid, rows: NDArray[np.int64], place: NDArray[np.int64]) -> dict[str, Any]:
        """All sentences of a model, packed by column."""
        told, figures = self.sentences, {}
        for at, figure in enumerate(grid.figures):
            figures[(figure["study"], figure["quantity"], figure["corpus"])] = at
            figures.setdefault((figure["study"], figure["quantity"], ""), at)
        named = zip(told.study[rows], told.quantity[rows], told.corpus[rows], strict=True)
        keys = [(told.studies[s], told.quantities[q], told.corpora[c]) for s, q, c in named]
        return {
            "head": place.tolist(),
            "parts": told.parts,
            "part": told.part[rows].tolist(),
            "role": told.role[rows].tolist(),
            "strength": [short(value, 3) for value in told.strength[rows]],
            "sentence": [told.text[row] for row in rows],
            "studies": told.studies,
            "study": told.study[rows].tolist(),
            "quantities": told.quantities,
            "quantity": told.quantity[rows].tolist(),
            "figure": [figures.get(key, -1) for key in keys],
            **{name: [short(value) for value in values[rows]] for name, values in told.numbers.items()},
        }

    def _examples(self, number: int, model: str, heads: Heads) -> list[int]:
        """Write the examples of each block of heads that has some; which blocks those are."""
        if (table := self.listed["examples"]) is None:
            return []
        rows, listed = table
        mine = rows.of(number)
        place = heads.places(rows.keys[mine])
        blocks: dict[int, dict[str, Any]] = {}
        for row, at in zip(mine, place, strict=True):
            example = listed[row]
            block = blocks.setdefault(int(at) // BLOCK, {"heads": {}, "texts": {}})
            text = self.texts.get((model, example["text"]))
            if text is None:
                continue
            block["texts"].setdefault(
                str(example["text"]), {name: text.get(name) for name in ("words", "corpus", "page")}
            )
            block["heads"].setdefault(str(at), []).append(
                {
                    name: plain(example.get(name))
                    for name in ("example", "study", "quantity", "value", "text", "query")
                }
                | {"weights": [short(weight, 3) for weight in example["weights"]]}
            )
        for block_number, block in blocks.items():
            put(self.folder, f"{number}/examples-{block_number}", block)
        return sorted(blocks)

    def _matches(self, number: int, heads: Heads) -> dict[str, list[str]]:
        """Write the heads beside those of each other model there is a comparison with: by the numbers of these, what
        heads were paired by."""
        if self.matches is None:
            return {}
        mine = self.matches.of(number)
        place = heads.places(self.matches.keys[mine])
        columns = self.match_columns
        pairs: dict[str, dict[str, list[list[Any]]]] = {}
        for row, at in zip(mine, place, strict=True):
            other = str(columns["other"][row])
            found = columns["other_layer"][row], columns["other_head"][row]
            if other not in self.numbers or at < 0 or None in found:
                continue
            pairs.setdefault(other, {}).setdefault(str(columns["by"][row]), []).append([
                int(at), *map(int, found), plain(columns["distance"][row]), plain(columns["runner_up"][row] or None),
                bool(columns["matched"][row]),
            ])  # fmt: skip
        for other, listed in pairs.items():
            put(self.folder, f"{number}/matches-{self.numbers[other]}", listed)
        return {str(self.numbers[other]): sorted(listed) for other, listed in pairs.items()}
