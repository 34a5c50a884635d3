"""Edges as rows of pieces, numbered labels, control labels, and the states on disk."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import edged
import numpy as np
import pytest
import torch

import twins
from attlas.capture import Subject
from attlas.errors import CorpusError
from attlas.models import Example
from attlas.probes.edges.layout import Answers, Vocabulary, known_types, lay_out, majority
from attlas.probes.edges.states import lengths_for
from attlas.text import Document, Edge, Passage, Span


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "t5", "modernbert"])
def test_rows_hold_the_models_own_states(tmp_path: Path, family: str) -> None:
    lab = edged.Lab(tmp_path, family)
    layout = lab.layouts["test"]
    for number, example in enumerate(layout.examples):
        batch = lab.subject.pieces.batch([example])
        with torch.no_grad():
            found = lab.subject.run(batch, output_hidden_states=True).hidden_states
        for slot, state in enumerate(found):
            wanted = state[0, layout.kept[number]].numpy()
            rows = lab.states.rows("test", int(layout.rows[number]), int(layout.rows[number + 1]))[:, slot]
            assert np.allclose(rows, wanted, rtol=2e-3, atol=2e-3)
    assert len(lab.mixable.origins) == 4
    assert lab.mixable.origins[0] == (0, None)


@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_heads_together_are_what_attention_adds(tmp_path: Path, family: str) -> None:
    lab = edged.Lab(tmp_path, family, over="heads")
    layers, heads = lab.subject.shape(lab.subject.pieces.own)
    assert len(lab.mixable.origins) == layers * heads
    assert lab.mixable.origins[heads] == (2, 0)
    batch = lab.subject.pieces.batch(list(lab.layouts["train"].examples[:1]))
    seen: list[torch.Tensor] = []
    projections = [lab.subject.layout.projections[site] for site in lab.subject.sites][:layers]
    handles = [module.register_forward_hook(lambda m, i, o: seen.append(o.detach())) for module in projections]
    try:
        found = lab.mixable.expand(lab.mixable.capture(batch))
    finally:
        for handle in handles:
            handle.remove()
    for layer, module in enumerate(projections):
        bias = module.bias.detach() if getattr(module, "bias", None) is not None else 0.0
        summed = found[:, :, layer * heads : (layer + 1) * heads].sum(2)
        assert torch.allclose(summed, seen[layer] - bias, atol=1e-4)


def test_usual_lengths_are_geometric_means_over_the_training_part(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    rows = lab.states.rows("train", 0, int(lab.layouts["train"].rows[-1])).astype(np.float64)
    wanted = np.exp(np.log(np.sqrt((rows**2).mean(-1))).mean(0))
    assert np.allclose(lab.scales, wanted, rtol=1e-3)


def encoded(words: list[str], edges: list[Edge]) -> Example:
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")
    return subject.pieces.encode(Passage(Document.from_words(words, edges=edges)))


def test_spans_are_found_among_the_pieces_that_are_kept() -> None:
    example = encoded(
        ["The", "unbelievable", "storm", "of", "yesterday"],
        [Edge(Span(1, 3), None, ("x",)), Edge(Span(4, 5), None, ("y",)), Edge(Span(2, 3), None, ("x",))],
    )
    layout = lay_out("train", [example], Vocabulary(Counter({"x": 2, "y": 1})))
    words = np.array(example.source.segmentation.words)[layout.kept[0]]
    assert set(words) == {1, 2, 4}
    for (start, stop), wanted in zip(layout.spans, [{1, 2}, {4}, {2}], strict=True):
        assert set(words[start:stop]) == wanted
    assert layout.types == ("storm", "yesterday", "storm")


def test_nothing_to_probe_is_refused() -> None:
    example = encoded(["The", "storm"], [])
    with pytest.raises(CorpusError, match="no text of the train part has an edge"):
        lay_out("train", [example], Vocabulary(Counter({"x": 1})))


def test_control_labels_belong_to_words(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path)
    answers = Answers(lab.layouts, lab.known, seed=0)
    drawn: dict[str, list[bool]] = {}
    for name, layout in lab.layouts.items():
        given, _, unknown = answers.of("control", name, np.arange(len(layout.labels)))
        assert not unknown.any()
        for word, labels in zip(layout.types, given.tolist(), strict=True):
            assert drawn.setdefault(word, labels) == labels
    train = lab.known.table()[lab.layouts["train"].labels].tolist()
    assert all(labels in train for labels in drawn.values())
    assert len({tuple(labels) for labels in drawn.values()}) > 5
    others = Answers(lab.layouts, lab.known, seed=1).of("control", "train", np.arange(20))[0]
    assert (others != answers.of("control", "train", np.arange(20))[0]).any()
    assert 0 < known_types(lab.layouts) <= 1


def test_labels_that_were_not_asked_about_do_not_count() -> None:
    asked = encoded(["The", "storm"], [Edge(Span(0, 1), None, ("a",), ("a", "b")), Edge(Span(1, 2), None, ("c",))])
    known = Vocabulary(Counter({"a": 3, "b": 2, "c": 1}))
    layouts = {"train": lay_out("train", [asked], known), "test": lay_out("test", [asked], known)}
    _, among, _ = Answers(layouts, known, 0).of("gold", "train", np.arange(2))
    assert among.tolist() == [[True, True, False], [True, True, True]]
    # "a" is had by one of two edges that were asked, "b" by neither, "c" by the one that was asked: a and c are said,
    # which makes three predictions (the first edge was not asked about c), two of them right
    assert majority(layouts, known) == pytest.approx(2 * 2 / (3 + 2))


@pytest.mark.parametrize(("family", "wanted"), [("bert", "usual"), ("gpt2", "own"), ("llama", "own"), ("t5", "own")])
def test_states_are_divided_by_their_own_length_where_norms_come_first(family: str, wanted: str) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)
    assert lengths_for(subject, "layers") == wanted
    assert lengths_for(subject, "heads") == "usual"


def test_a_state_that_is_very_long_does_not_drown_the_others(tmp_path: Path) -> None:
    lab = edged.Lab(tmp_path, "llama")
    first = int(lab.layouts["train"].rows[0])
    lab.states.arrays["train"][first : first + 1] = lab.states.rows("train", first, first + 1) * 100
    usual, own = (
        lab.reader(lengths=lengths).lesson("train", np.array([0])).asked.states.square().mean(-1).sqrt()
        for lengths in ("usual", "own")
    )
    assert torch.allclose(own, torch.ones(()).double(), atol=1e-6)
    assert float(usual.max()) > 20
