"""Explanations against slow twins: finite differences, sums that must come out, loops over heads, texts cut so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import faith_models
from attlas.capture import Recorder
from attlas.studies.faith import explanations as made
from attlas.studies.faith.erasing import Eraser
from attlas.studies.faith.explanations import Named
from attlas.studies.shared.faith import instances as instances_module
from attlas.studies.shared.faith.instances import ask, describe_rows, predicted, sites_of

FAMILIES = ["bert", "distilbert", "modernbert", "gpt2", "llama"]
READ = {"bert": "the first piece ([CLS])", "distilbert": "the first piece ([CLS])", "gpt2": "the last piece"}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_rows_that_are_read_are_found_by_looking(family: str) -> None:
    task, instances = faith_models.posed(family=family)
    asked = ask(task, instances)
    lengths = [instance.example.length for instance in instances]
    expected = torch.zeros_like(asked.rows)
    for row, length in enumerate(lengths):
        expected[row, length - 1 if family in ("gpt2", "llama") else 0] = True
    assert torch.equal(asked.rows, expected)
    assert describe_rows(task, instances) == READ.get(family, describe_rows(task, instances))


def test_a_head_that_reads_the_mean_reads_all_rows_and_none_of_the_padding() -> None:
    task, instances = faith_models.posed(family="modernbert", classifier_pooling="mean")
    asked = ask(task, instances)
    assert torch.equal(asked.rows, asked.real)
    assert not asked.real.all()
    assert describe_rows(task, instances) == "all pieces"


def test_rows_are_looked_for_until_several_texts_have_shown_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """One text of a few pieces could be read in more ways than one; after several it is known."""
    task, posed = faith_models.posed(family="bert")
    sizes: list[int] = []

    def counted(task: Any, question: Any) -> torch.Tensor:
        sizes.append(len(question.real))
        return looked_for(task, question)

    looked_for = instances_module._looked_for
    monkeypatch.setattr(instances_module, "_looked_for", counted)
    first = ask(task, posed[:1])
    several, again, last = ask(task, posed), ask(task, posed), ask(task, posed[:1])
    assert sizes == [1, len(posed)]
    assert torch.equal(several.rows, again.rows)
    assert torch.equal(first.rows, last.rows)


def test_labels_that_weigh_each_other_up_hide_no_rows() -> None:
    """Scores of two labels that always sum to zero still depend on the first piece, and on nothing else."""
    task, instances = faith_models.posed("classification", "bert")
    with torch.no_grad():
        weight = task.subject.model.classifier.weight
        weight[1] = -weight[0]
    assert describe_rows(task, instances) == READ["bert"]


def _by_hand(task: Any, instance: Any) -> tuple[np.ndarray, np.ndarray, list[int], np.ndarray]:
    """Weights and lengths of one text alone, its words, and the rows that are read."""
    asked, recorder = ask(task, [instance]), Recorder(kinds={"weights", "values"})
    with torch.no_grad(), task.subject.use(recorder):
        task.run(asked.question)
    weights, norms = [], []
    for site in sites_of(task):
        weights.append(recorder.get(site)[0].numpy())
        vectors = torch.einsum("hkw,hwd->hkd", recorder.get(site, "values")[0], task.subject.output_matrix(site))
        norms.append(vectors.norm(dim=-1).detach().numpy())
    return np.stack(weights), np.stack(norms), list(instance.example.source.segmentation.words), asked.rows[0].numpy()


@pytest.mark.parametrize(("name", "family"), [("classification", "bert"), ("tagging:upos", "llama")])
def test_attention_is_what_a_loop_over_layers_heads_and_rows_gives(name: str, family: str) -> None:
    task, instances = faith_models.posed(name, family)
    names = [Named("weight", "last", "mean"), Named("norm", "all", "mean"), Named("rollout", "all", "mean")]
    names += [Named("weight", "1", "2"), Named("norm", "last", "0")]
    found = made.attention_explanations(task, ask(task, instances), names)
    for number, instance in enumerate(instances):
        weights, norms, words, rows = _by_hand(task, instance)
        layers, heads, pieces, _ = weights.shape
        by_name = {each: np.zeros(found[names[0]].shape[1]) for each in names}
        flow = np.eye(pieces)
        for layer in range(layers):
            flow = (0.5 * weights[layer].mean(0) + 0.5 * np.eye(pieces)) @ flow
        for key in range(pieces):
            if words[key] < 0:
                continue
            for head in range(heads):
                last = np.mean([weights[-1, head, row, key] for row in range(pieces) if rows[row]])
                by_name[names[0]][words[key]] += last / heads
                for layer in range(layers):
                    below = [weights[layer, head, row, key] for row in range(pieces)]
                    share = last if layer == layers - 1 else np.mean(below)
                    by_name[names[1]][words[key]] += share * norms[layer, head, key] / (layers * heads)
                    if (layer, head) == (1, 2):
                        by_name[names[3]][words[key]] += share
                    if (layer, head) == (layers - 1, 0):
                        by_name[names[4]][words[key]] += share * norms[layer, head, key]
            by_name[names[2]][words[key]] += flow[rows, key].mean()
        for each in names:
            assert found[each][number].numpy() == pytest.approx(by_name[each], abs=1e-5), each


def _scaled(task: Any, asked: Any, row: int, piece: int, by: float, label: int) -> float:
    """The probability of a label when the embedding of one piece is longer by a factor."""

    def longer(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        changed = output.clone()
        changed[row, piece] *= 1 + by
        return changed

    handle = task.subject.model.get_input_embeddings().register_forward_hook(longer)
    with torch.no_grad():
        found = predicted(task, asked, task.run(asked.question))[row, label].item()
    handle.remove()
    return found


@pytest.mark.parametrize(("name", "family"), [("classification", "bert"), ("tagging:upos", "gpt2")])
def test_gradients_are_finite_differences_along_each_piece(
    name: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """|e . dp/de| of a word is what its probability changes by when its pieces grow together."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)  # single precision has no room for differences
    task, instances = faith_models.posed(name, family, double=True)
    asked = ask(task, instances[:2])
    found = made.gradient(task, asked)
    with torch.no_grad():
        labels = predicted(task, asked, task.run(asked.question)).argmax(-1).tolist()
    for row, instance in enumerate(asked.instances):
        words = instance.example.source.segmentation.words
        expected = np.zeros(found.shape[1])
        for piece, word in enumerate(words):
            if word >= 0:
                up, down = (_scaled(task, asked, row, piece, step, labels[row]) for step in (1e-5, -1e-5))
                expected[word] += (up - down) / 2e-5
        assert found[row].numpy() == pytest.approx(np.abs(expected), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("name", "family"), [("classification", "modernbert"), ("tagging:upos", "gpt2")])
def test_integrated_gradients_are_complete(name: str, family: str) -> None:
    """All words together make up for the way from the baseline to the text."""
    task, instances = faith_models.posed(name, family)
    asked = ask(task, instances)
    signed = made.integrated_gradients(task, asked, 60)
    plain, start = made.baseline(task, asked)
    with torch.no_grad():
        there = predicted(task, asked, task.run(asked.question))
        with made._embedding_as(task.subject, start):
            empty = predicted(task, asked, task.run(asked.question))
    label = there.argmax(-1, keepdim=True)
    way = (there.gather(1, label) - empty.gather(1, label))[:, 0]
    assert way.abs().max() > 0.05
    assert signed.sum(-1).tolist() == pytest.approx(way.tolist(), abs=1e-4)
    assert made.gap(task, asked, signed).max() < 1e-4
    specials = [piece < 0 for piece in instances[0].example.source.segmentation.words]
    assert torch.equal(plain[0, : len(specials)][specials], start[0, : len(specials)][specials])


def test_a_word_is_left_out_as_if_it_had_never_been_there() -> None:
    """Against the model run by itself on ids that are cut by hand."""
    task, instances = faith_models.posed()
    found = made.leave_one_out(task, ask(task, instances))
    model = task.subject.model
    for number in (0, 2):
        ids = torch.tensor(instances[number].example.source.ids)
        words = torch.tensor(instances[number].example.source.segmentation.words)
        for word in range(int(words.max()) + 1):
            with torch.no_grad():
                whole, cut = (model(some[None]).logits.softmax(-1) for some in (ids, ids[words != word]))
            assert found[number, word].item() == pytest.approx((whole - cut).abs().sum().item() / 2, abs=1e-5)


def test_the_word_that_is_tagged_is_masked_and_stays_in_its_place() -> None:
    task, instances = faith_models.posed("tagging:upos", per_text=3)
    eraser = Eraser.of(task.subject.pieces.tokenizer)
    for instance in instances:
        before = instance.example.source
        place = instance.place
        own = before.segmentation.pieces_of(place)
        after = eraser.without(instance, {place}).example.source
        assert after.length == before.length
        assert all(after.ids[piece] == task.subject.pieces.tokenizer.mask_token_id for piece in own)
        other = next(word for word in range(before.segmentation.word_count) if word != place)
        fewer = eraser.without(instance, {place, other}).example.source
        assert fewer.length == before.length - len(before.segmentation.pieces_of(other))
        assert len(fewer.segmentation.pieces_of(place)) == len(own)


@pytest.mark.parametrize(("name", "family"), [("classification", "modernbert"), ("tagging:upos", "bert")])
def test_an_instance_is_explained_alike_alone_and_among_others(name: str, family: str) -> None:
    task, instances = faith_models.posed(name, family, per_text=2)

    def every(some: Any) -> list[torch.Tensor]:
        asked = ask(task, some)
        names = made.names_of(task, Named("weight", "last", "mean"))
        attention = made.attention_explanations(task, asked, names)
        others = [made.gradient(task, asked), made.integrated_gradients(task, asked, 4)]
        return [*attention.values(), *others, made.leave_one_out(task, asked)]

    together = every(instances)
    for number, instance in enumerate(instances):
        for one, all_of_them in zip(every([instance]), together, strict=True):
            width = one.shape[1]
            assert all_of_them[number, :width].tolist() == pytest.approx(one[0].tolist(), rel=1e-3, abs=1e-5)
            assert not all_of_them[number, width:].any()
