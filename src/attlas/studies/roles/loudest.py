"""The pieces that move each head most: those of the largest ||E W_VO||, as its weights say (MAPS).

Of some thousand pieces of the vocabulary it is asked how much a head writes when it attends to one of them, whatever
makes it do so. Heads of the first layer read embeddings, others what the first block makes of them
(:mod:`~attlas.studies.roles.first_block`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attlas.ids import Stream
from attlas.store.columns import as_columns
from attlas.studies.roles.first_block import AT_ONCE, fed_forward, why_no_readings
from attlas.studies.roles.readout import found_circuits
from attlas.studies.roles.texts import ordinary_pieces

if TYPE_CHECKING:
    from attlas.studies.roles.texts import Setting

PIECES = 4096  # of the vocabulary, drawn from its middle
FIRST = 5  # of them, for each head
COLUMNS = ("stream", "layer", "head", "pieces", "value", "n")


def loudest_table(setting: Setting) -> dict[str, list[Any]]:
    """The table ``loudest``: for every head of a decoder the pieces of which it writes most, and how many times what
    it writes of a mean piece that is for the first of them; empty where heads cannot be read in pieces.

    >>> from attlas.capture import load
    >>> from attlas.studies.roles.texts import Setting
    >>> loudest_table(Setting(load(), None))["pieces"]
    []
    """
    subject = setting.subject
    if Stream.DECODER not in subject.streams or subject.pieces.translating or why_no_readings(subject):
        return as_columns([], COLUMNS)
    circuits = found_circuits(subject)
    pieces = ordinary_pieces(setting, setting.draw("loudest"), PIECES, FIRST)
    states = circuits.embedding[pieces], fed_forward(subject, pieces)
    rows = []
    for site, weights in circuits.sites.items():
        if site.stream is not Stream.DECODER:
            continue
        read = states[min(site.layer, 1)]
        lengths = torch.cat(
            [weights.written(some).norm(dim=-1) for some in torch.split(read, AT_ONCE)], 1
        )  # (head, piece)
        top = lengths.topk(min(FIRST, len(pieces)), dim=1)
        mean = lengths.mean(1)
        for head, (values, places) in enumerate(zip(top.values.tolist(), top.indices.tolist(), strict=True)):
            shown = [str(subject.pieces.tokenizer.decode([pieces[place]])).strip() for place in places]
            rows.append({
                "stream": site.stream.value, "layer": site.layer, "head": head, "pieces": ", ".join(shown),
                "value": values[0] / max(float(mean[head]), 1e-30), "n": len(pieces),
            })  # fmt: skip
    return as_columns(rows, COLUMNS)
