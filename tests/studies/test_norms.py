"""Weights against norms: every figure once more in plain loops over materialised vectors, and the draws it makes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import rankdata, spearmanr

import twins
from attlas.capture import Recorder, Subject
from attlas.errors import CapabilityError
from attlas.ids import Site, Stream
from attlas.measures.ranks import spearman_of_equals
from attlas.stats import Bundle
from attlas.studies.norms.call import norms
from attlas.studies.norms.marks import pairs_by_class
from attlas.studies.norms.passes import Norms
from attlas.studies.shared.piece_classes import Frequencies, draw_pairs
from attlas.studies.survey.call import survey
from attlas.text import Document, Passage

ENGLISH = [
    "The farmer offered apples, because he had too many of them.",
    "The designer asked the farmer what the farmer was working on.",
    "Nobody noticed the old bridge, the station, the storm.",
]
FRENCH = ["Les enfants mangent des pommes.", "Des enfants, des pommes.", "Les pommes des enfants."]
DOCUMENTS = [
    replace(Document.from_text(text), translation=Document.from_text(other))
    for text, other in zip(ENGLISH, FRENCH, strict=True)
]


def twin(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def table(result: Any, name: str, *keys: str) -> dict:
    return {tuple(row[key] for key in keys): row for row in result.tables[name].to_pylist()}


def kinds(encoded: Any) -> list[str]:
    found = []
    for place, (piece, role) in enumerate(zip(encoded.segmentation.pieces, encoded.roles, strict=True)):
        kind = "punctuation" if piece in (".", ",") and not role else "other"
        found.append(role if role in ("cls", "sep") else "first" if place == 0 else kind)
    return found


def vectors(subject: Subject, document: Document) -> dict[Site, tuple[np.ndarray, np.ndarray]]:
    """alpha (head, query, key) and f(x) (head, key, hidden) of every site, from what stood at the seam."""
    batch = subject.pieces.batch([subject.pieces.encode(passage(subject, document))])
    recorder = Recorder(kinds={"weights", "values"})
    with torch.no_grad(), subject.use(recorder):
        subject.run(batch)
    return {
        site: (
            recorder.get(site)[0].double().numpy(),
            torch.einsum(
                "hkw,hwd->hkd",
                recorder.get(site, "values")[0].double(),
                subject.output_matrix(site).detach().double(),
            ).numpy(),
        )
        for site in subject.sites
    }


def passage(subject: Subject, document: Document) -> Passage:
    return Passage(document, document.translation if subject.pieces.translating else None)


def sides(subject: Subject, document: Document, stream: Stream) -> tuple[Any, Any]:
    example = subject.pieces.encode(passage(subject, document))
    if stream is Stream.ENCODER or subject.pieces.own is Stream.DECODER:
        return example.source, example.source
    return example.target, example.source if stream is Stream.CROSS else example.target


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian", "llama"])
def test_shares_and_means_against_materialised_vectors(family: str) -> None:
    subject = twin(family)
    result = norms(subject, DOCUMENTS, budget=64)
    heads, layers = table(result, "norms", "stream", "layer", "head", "keys"), {}
    sums: dict = {}

    def add(key: Any, value: float, n: float = 1.0) -> None:
        total = sums.setdefault(key, [0.0, 0.0])
        total[0] += value
        total[1] += n

    for document in DOCUMENTS:
        for site, (alpha, f) in vectors(subject, document).items():
            asked, met = (kinds(side) for side in sides(subject, document, site.stream))
            length = np.linalg.norm(f, axis=-1)
            parts = np.linalg.norm(alpha[..., None] * f[:, None], axis=-1)  # (head, query, key)
            joint = np.linalg.norm((alpha[..., None] * f[:, None]).sum(0), axis=-1)
            for kind in sorted(set(met)):
                here = [j for j in range(len(met)) if met[j] == kind]
                for i in range(len(asked)):
                    seen = [j for j in here if site.stream is not Stream.DECODER or j <= i]
                    every = len(met) if site.stream is not Stream.DECODER else i + 1
                    place = (site.stream.value, site.layer)
                    add((*place, kind, "joint"), sum(joint[i, j] for j in seen) / joint[i].sum())
                    add((*place, kind, "mean_joint"), sum(joint[i, j] for j in seen), len(seen))
                    add((*place, kind, "chance"), len(seen) / every)
                    for head in range(len(alpha)):
                        own = (*place, head, kind)
                        add((*own, "weight"), sum(alpha[head, i, j] for j in seen))
                        add((*own, "norm"), sum(parts[head, i, j] for j in seen) / parts[head, i].sum())
                        add((*own, "mean_weight"), sum(alpha[head, i, j] for j in seen), len(seen))
                        add((*own, "mean_norm"), sum(parts[head, i, j] for j in seen), len(seen))
                for head in range(len(alpha)):
                    own = (site.stream.value, site.layer, head, kind)
                    add((*own, "length"), sum(length[head, j] for j in here), len(here))
    found = {key: total / n for key, (total, n) in sums.items()}
    for (*place, column), expected in found.items():
        if len(place) == 4:
            assert heads[tuple(place)][column] == pytest.approx(expected, rel=2e-4, abs=1e-6), (place, column)
    layers = table(result, "norms_layers", "stream", "layer", "keys")
    count = {stream.value: subject.shape(stream)[1] for stream in subject.streams}
    for (stream, layer, kind), row in layers.items():
        for column in ("joint", "mean_joint", "chance"):
            assert row[column] == pytest.approx(found[stream, layer, kind, column], rel=2e-4), (stream, layer, kind)
        for column in ("weight", "norm", "mean_weight", "mean_norm", "length"):
            each = [heads[stream, layer, head, kind][column] for head in range(count[stream])]
            assert row[column] == pytest.approx(np.mean(each), rel=2e-4, abs=1e-6)
    assert {key[3] for key in heads} == {
        "bert": {"cls", "sep", "punctuation", "other"},
        "gpt2": {"cls", "punctuation", "other"},
        "llama": {"cls", "punctuation", "other"},
        "marian": {"cls", "sep", "punctuation", "other"},
    }[family]


def test_shares_are_those_of_the_survey() -> None:
    subject = twin("bert")
    ours = table(norms(subject, DOCUMENTS), "norms", "layer", "head", "keys")
    theirs = table(survey(subject, DOCUMENTS), "heads", "layer", "head", "quantity", "measure")
    for (layer, head, kind), row in ours.items():
        for measure in ("weight", "norm"):
            known = theirs[layer, head, kind, measure]
            assert (row[measure], row[f"{measure}_low"]) == pytest.approx((known["value"], known["low"]), abs=1e-9)


def by_place(pairs: list[tuple[float, float]]) -> float:
    """Spearman where what is equal to a ten-thousandth is ranked in order of place."""
    coarse = np.round(np.log(np.array(pairs)) * 1e4)
    return float(np.corrcoef(*(rankdata(column, method="ordinal") for column in coarse.T))[0, 1])


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian"])
def test_correlations_against_scipy(family: str) -> None:
    subject = twin(family)
    result = norms(subject, DOCUMENTS, seed=3)
    rho = table(result, "spearman", "stream", "layer", "head", "keys", "over")
    words = table(result, "frequency", "stream", "layer", "head", "words")
    both = [DOCUMENTS, [document.translation for document in DOCUMENTS]]
    counts = [Counter(form.lower() for document in side for form in document.forms) for side in both]
    within: dict = {}
    lengths: dict = {}
    for document in DOCUMENTS:
        batch = subject.pieces.batch([subject.pieces.encode(passage(subject, document))])
        for site, (alpha, f) in vectors(subject, document).items():
            asked, met = batch.queries(site.stream), batch.keys(site.stream)
            pairs, _ = draw_pairs(
                asked, met, [passage(subject, document)], causal=site.stream is Stream.DECODER, seed=3
            )
            kind = kinds(met.encoded[0])
            text = document.translation if met is batch.target else document
            known = counts[met is batch.target]
            for head in range(len(alpha)):
                own = (site.stream.value, site.layer, head)
                length = np.linalg.norm(f[head], axis=-1)
                drawn = [(alpha[head, i, j], length[j], kind[j]) for i, j in pairs[0].tolist()]
                within.setdefault((*own, "all"), []).append(by_place([d[:2] for d in drawn]))
                within.setdefault((*own, "other"), []).append(by_place([d[:2] for d in drawn if d[2] == "other"]))
                forms: dict = {}
                for piece, word in enumerate(met.encoded[0].segmentation.words):
                    if word >= 0:
                        forms.setdefault(text.forms[word].lower(), []).append(length[piece])
                for name, kept in (
                    ("all", forms),
                    ("plain", {form: forms[form] for form in forms if form not in (".", ",")}),
                ):
                    seen = [(-known[form], np.round(np.log(np.mean(found)) * 1e4)) for form, found in kept.items()]
                    lengths.setdefault((*own, name), []).append(spearmanr(*zip(*seen, strict=True))[0])
    for (*own, keys), found in within.items():
        assert rho[(*own, keys, "texts")]["value"] == pytest.approx(np.mean(found), abs=2e-3), (own, keys)
    for (*own, name), found in lengths.items():
        assert words[(*own, name)]["value"] == pytest.approx(np.mean(found), abs=2e-3), (own, name)


def states(model: torch.nn.Module, subject: Subject, document: Document) -> list[np.ndarray]:
    batch = subject.pieces.batch([subject.pieces.encode(Passage(document))])
    with torch.no_grad():
        made = model(**batch.inputs, output_hidden_states=True).hidden_states
    return [state[0].double().numpy() for state in made]


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_mixing_ratios_against_materialised_vectors(family: str) -> None:
    """The original arrangement and norms first: residual and norm are read off the modules themselves."""
    subject = twin(family)
    rows = table(norms(subject, DOCUMENTS), "mixing", "layer", "step", "queries")
    found: dict = {}
    for document in DOCUMENTS:
        kind = kinds(subject.pieces.encode(Passage(document)).source)
        before = states(subject.model, subject, document)
        for site, (alpha, f) in vectors(subject, document).items():
            if family == "bert":
                output = subject.model.encoder.layer[site.layer].attention.output
                norm, bias = output.LayerNorm, output.dense.bias
            else:
                norm, bias = subject.model.h[site.layer].ln_2, subject.model.h[site.layer].attn.c_proj.bias
            gain, bias = norm.weight.detach().double().numpy(), bias.detach().double().numpy()
            brought = np.einsum("hqk,hkd->qkd", alpha, f)
            for i in range(len(kind)):
                for step in ("attention", "residual", "normalised"):
                    parts = brought[i].copy()
                    if step != "attention":
                        parts[i] += before[site.layer][i]
                    if step == "normalised":
                        whole = parts.sum(0) + bias
                        parts = (parts - parts.mean(-1, keepdims=True)) / whole.std() * gain
                    others = np.linalg.norm(parts.sum(0) - parts[i])
                    ratio = others / (others + np.linalg.norm(parts[i]))
                    for queries in ("all", kind[i]):
                        found.setdefault((site.layer, step, queries), []).append(ratio)
    assert rows.keys() == found.keys()
    for key, ratios in found.items():
        assert rows[key]["value"] == pytest.approx(np.mean(ratios), rel=2e-3, abs=1e-6), key
        assert rows[key]["n"] == len(ratios)


def test_cross_attention_has_no_ratio_without_its_residual() -> None:
    rows = table(norms(twin("marian"), DOCUMENTS), "mixing", "stream", "layer", "step", "queries")
    assert {key[2] for key in rows if key[0] == "cross"} == {"residual", "normalised"}
    assert {key[2] for key in rows if key[0] == "decoder"} == {"attention", "residual", "normalised"}


@pytest.mark.parametrize(("family", "reason"), [("gemma2", "a norm of its own"), ("gpt_neox", "added together")])
def test_a_model_without_plain_residuals_has_all_but_mixing(family: str, reason: str) -> None:
    result = norms(twin(family), DOCUMENTS[:2])
    assert "mixing" not in result.tables
    assert result.tables["norms"].num_rows > 0
    assert [why for why in result.manifest.skipped if why.startswith("mixing ratios:") and reason in why]


def test_a_model_without_output_matrix_is_refused() -> None:
    subject = twin("bert")
    subject.layout.projections.clear()
    with pytest.raises(CapabilityError, match="W_O"):
        norms(subject, DOCUMENTS)


def test_drawn_pairs_are_even_and_visible() -> None:
    """Over many seeds every visible pair of a class comes first equally often, and numbers are even where few are."""
    subject = twin("gpt2")
    batch = subject.pieces.batch([subject.pieces.encode(Passage(DOCUMENTS[0]))])
    side = batch.source
    n = side.encoded[0].length
    kinds = np.full((1, n), 4)
    kinds[0, 2] = 3
    first: Counter[tuple[int, ...]] = Counter()
    smallest = []
    for seed in range(600):
        drawn = pairs_by_class(side, side, kinds, [Passage(DOCUMENTS[0])], causal=True, seed=seed)
        pairs, cells = drawn.pairs[0].numpy(), drawn.cells[0]
        assert (pairs[:, 1] <= pairs[:, 0]).all()
        assert {tuple(pair) for pair in pairs[cells == 3]} == {(i, 2) for i in range(2, n)}  # fewer than may be drawn
        assert len({tuple(pair) for pair in pairs[cells == 5]}) == (cells == 5).sum() == min(40, n * (n + 1) // 2)
        draws = drawn.draws[0]
        assert (np.diff(draws[cells == 3]) > 0).all()
        first[tuple(pairs[cells == 3][0])] += 1
        smallest.append(draws[cells == 5][0])
    assert min(first.values()) > 600 / len(first) / 2
    assert np.mean(smallest) == pytest.approx(1 / (n * (n + 1) // 2 + 1), rel=0.15)


def test_the_sample_of_pairs_holds_what_was_seen() -> None:
    subject = twin("bert")
    result = norms(subject, DOCUMENTS, heads=["2-3"])
    rows = [row for row in result.tables["scatter"].to_pylist() if row["who"] == "model"]
    assert {row["shown"] for row in rows} == {"layer 1", "layer 2", "layer 3", "head 2-3"}
    seen: dict = {}
    for document in DOCUMENTS:
        pieces = subject.pieces.encode(Passage(document)).source.segmentation.pieces
        for site, (alpha, f) in vectors(subject, document).items():
            length = np.linalg.norm(f, axis=-1)
            for head, i, j in np.ndindex(*alpha.shape):
                place = (site.layer, head, pieces[i], pieces[j])
                seen.setdefault(place, []).append((alpha[head, i, j], length[head, j]))
    for row in rows:
        found = np.array(seen[row["layer"], row["head"], row["query"], row["key"]])
        apart = np.abs(found / [row["weight"], row["length"]] - 1).max(-1)
        assert apart.min() < 1e-3, row


def test_batches_and_splits_make_no_difference() -> None:
    subject = twin("bert")
    known = Frequencies.of(DOCUMENTS)
    study = Norms(subject, frequencies=known)
    examples = subject.pieces.encode_all([Passage(document) for document in DOCUMENTS])
    whole, one, other = study.empty(), study.empty(), study.empty()
    study.update(whole, examples)
    study.update(one, examples[2:])
    study.update(other, examples[:2])
    one.merge(other)
    assert isinstance(one, Bundle)
    for name in whole:
        for key, values in whole[name].state().items():
            if values.dtype.kind == "f":
                np.testing.assert_allclose(values, one[name].state()[key], rtol=1e-3, atol=1e-4)


def test_ranks_of_equals_against_scipy() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 4, (5, 30)), generator.normal(size=(5, 30))
    real = generator.random((5, 30)) < 0.7
    found = spearman_of_equals(torch.tensor(a), torch.tensor(b), torch.tensor(real))
    for row in range(5):
        assert found[row].item() == pytest.approx(spearmanr(a[row][real[row]], b[row][real[row]])[0], abs=1e-6)
    assert torch.isnan(spearman_of_equals(torch.ones(4), torch.arange(4.0), torch.ones(4, dtype=torch.bool)))
