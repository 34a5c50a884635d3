"""Figures of others: shares are shares and no percentages, heads and layers are those of the models they are of."""

from __future__ import annotations

from attlas.ids import parse_head
from attlas.studies.shared import published
from attlas.studies.shared.keywords.choice import SHIPPED


def test_scores_are_shares() -> None:
    scores = [score for row in published.RELATIONS.values() for score in (row.value, row.baseline)]
    scores += [score for task in published.PIPELINE.values() for score in (task.base, task.score)]
    scores += [figure for taus in published.TAUS.values() for figure in taus]
    scores += [score for row in published.INSPEC for score in (row.f1_5, row.f1_10)]
    scores += [*published._CHUNKING.values(), *published.KEYWORDS.values(), published.KEYWORDS_BEST]
    scores += [published.CHUNKING_BEND, published.TAU_AVERAGE]
    assert all(0 < score <= 1 for score in scores)


def test_what_was_published_as_better_is() -> None:
    assert all(row.value > row.baseline for row in published.RELATIONS.values())  # heads than offsets
    assert all(task.score > task.base for task in published.PIPELINE.values())  # all layers than none
    assert all(row.f1_10 > row.f1_5 for row in published.INSPEC)
    by_ten = [row.f1_10 for row in published.INSPEC]
    assert by_ten == sorted(by_ten, reverse=True)


def test_heads_and_layers_are_those_of_the_models() -> None:
    for row in published.RELATIONS.values():
        layer, head = parse_head(row.head)
        assert layer is not None
        assert layer < 12  # BERT-base
        assert head < 12
        assert 0 < abs(row.offset) <= 2
    layers = published.PIPELINE_LAYERS
    for task in published.PIPELINE.values():
        assert 0 < task.expected_layer < task.centre_of_gravity < layers
    for heads in SHIPPED.values():  # of all-MiniLM-L6-v2, six layers of twelve heads
        assert len(set(heads)) == len(heads)
        assert all(0 <= layer < 6 and 0 <= head < 12 for layer, head in heads)
