"""Clusters of heads: against naive loops over eager weights, on models of every kind, whole and in parts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import twins
from attlas.capture import Capture, Subject, load
from attlas.capture.check import eager_weights
from attlas.corpora import Corpus
from attlas.errors import CapabilityError, ModelError, NumberError, StoreError, TextError
from attlas.ids import Site, Stream
from attlas.stats import Bundle
from attlas.store import Manifest, Result
from attlas.studies.clusters.behaviour import BROAD, behaviour, relation_heads
from attlas.studies.clusters.call import clusters, fitting_budget, require_room
from attlas.studies.clusters.passes import Clusters
from attlas.studies.clusters.tables import cluster_tables, seen_of
from attlas.studies.shared.piece_classes import half_of
from attlas.studies.shared.watching import Together, part
from attlas.studies.survey.passes import Survey
from attlas.text import Document, Passage

TEXTS = [
    Document.from_text("The farmer offered apples to the housekeeper, because he had too many."),
    Document.from_text("Nobody noticed."),
    Document.from_text("An engineer repaired the old bridge near the station; nobody noticed."),
]
BITEXT = [
    Document.from_words(["the", "cat"], translation=Document.from_words(["le", "chat", "."])),
    Document.from_words(["a", "dog", "slept"], translation=Document.from_words(["un", "chien"])),
]


def twin(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def rows(result: Result, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = result.tables[table].to_pylist()
    return found


def eager(subject: Subject, documents: list[Document]) -> list[dict[Stream, np.ndarray]]:
    """Text by text, the model library's own weights of every stream: (layer * head, query, key)."""
    found = []
    for document in documents:
        passage = Passage(document, document.translation if subject.pieces.translating else None)
        weights = eager_weights(subject, subject.pieces.batch([subject.pieces.encode(passage)]))
        streams: dict[Stream, list[np.ndarray]] = {}
        for site, layer in weights.items():
            streams.setdefault(site.stream, []).append(layer[0].double().numpy())
        found.append({stream: np.concatenate(layers) for stream, layers in streams.items()})
    return found


@pytest.mark.parametrize("family", ["bert", "gpt2", "gemma2", "mpnet", "t5", "marian"])
def test_distances_against_scipy_on_the_eager_weights(family: str) -> None:
    subject = twin(family)
    documents = BITEXT if family in twins.TRANSLATING else TEXTS
    result = clusters(subject, documents)
    seen = eager(subject, documents)
    found = rows(result, "pairs")
    assert {row["stream"] for row in found} == {stream.value for stream in seen[0]}
    for row in found[:: max(1, len(found) // 60)]:
        stream, heads = Stream(row["stream"]), subject.shape(Stream(row["stream"]))[1]
        a, b = row["layer"] * heads + row["head"], row["layer_b"] * heads + row["head_b"]
        all_queries = [
            jensenshannon(p, q) for text in seen for p, q in zip(text[stream][a], text[stream][b], strict=True)
        ]
        expected = np.mean([0.0 if math.isnan(root) else root**2 for root in all_queries])
        assert row["n"] == len(all_queries)
        assert row["value"] == pytest.approx(expected, abs=2e-5), row


@pytest.mark.parametrize("family", ["bert", "llama", "mpnet", "gpt_oss", "marian"])
def test_distances_by_norm_against_scipy_on_materialised_vectors(family: str) -> None:
    """Rows of ||alpha f(x)||, from the vectors themselves; scipy divides each by its sum. A sink has no vector."""
    subject = twin(family)
    documents = BITEXT if family in twins.TRANSLATING else TEXTS
    found = rows(clusters(subject, documents, measure="norm"), "pairs")
    seen = []
    for document in documents:
        capture = subject.look(document, document.translation if subject.pieces.translating else None)
        seen.append({stream: materialised(subject, capture, stream) for stream in capture.weights})
    apart = 0.0
    plain = {tuple(row.values())[:5]: row["value"] for row in rows(clusters(subject, documents), "pairs")}
    for row in found[:: max(1, len(found) // 40)]:
        stream, heads = Stream(row["stream"]), subject.shape(Stream(row["stream"]))[1]
        a, b = row["layer"] * heads + row["head"], row["layer_b"] * heads + row["head_b"]
        roots = [jensenshannon(p, q) for text in seen for p, q in zip(text[stream][a], text[stream][b], strict=True)]
        expected = np.mean([0.0 if math.isnan(root) else root**2 for root in roots])
        assert row["value"] == pytest.approx(expected, abs=2e-5), row
        apart = max(apart, abs(row["value"] - plain[tuple(row.values())[:5]]))
    assert apart > 1e-3, "norms are not weights"


def materialised(subject: Subject, capture: Capture, stream: Stream) -> np.ndarray:
    """||alpha f(x)|| of every head of a stream, one vector of the model's width for each pair of pieces."""
    layers = []
    for place, layer in enumerate(capture.layers[stream]):
        matrix = subject.output_matrix(Site(stream, layer)).detach().double()
        vectors = torch.einsum("hkw,hwd->hkd", capture.values[stream][place].double(), matrix)
        layers.append((capture.weights[stream][place].double()[..., None] * vectors[:, None]).norm(dim=-1))
    return torch.cat(layers).numpy()


@pytest.mark.parametrize("measure", ["weight", "norm"])
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_figures_of_heads_are_the_surveys(family: str, measure: str) -> None:
    """One fact, two routes: the survey never builds the matrix."""
    from attlas.studies.survey.call import survey

    subject = twin(family)
    surveyed = {
        (row["layer"], row["head"], row["quantity"]): row
        for row in rows(survey(subject, TEXTS), "heads")
        if row["measure"] == measure
    }
    even = {(row["layer"], row["head"]): row["even"] for row in rows(clusters(subject, TEXTS), "clusters")}
    for row in rows(clusters(subject, TEXTS, measure=measure), "clusters"):
        for name in ("entropy", "previous", "next", "self", "first", "cls", "sep", "punctuation"):
            known = surveyed.get((row["layer"], row["head"], name))
            if known is None:
                assert row[name] is None
            else:
                assert row[name] == pytest.approx(known["value"], abs=1e-4), name
        chance = surveyed[row["layer"], row["head"], "entropy"]["chance"]
        assert row["even"] == pytest.approx(even[row["layer"], row["head"]] if chance is None else chance, abs=1e-4)
        specials = [row[name] or 0.0 for name in ("first", "cls", "sep", "punctuation")]
        assert row["special"] <= sum(specials) + 1e-6


def test_what_goes_to_a_sink_is_a_key_of_its_own() -> None:
    subject = twin("gpt_oss")
    result = clusters(subject, TEXTS[:1])
    weights = eager(subject, TEXTS[:1])[0][Stream.DECODER]
    whole = np.concatenate([weights, 1 - weights.sum(-1, keepdims=True)], -1)
    assert whole[..., -1].max() > 0.01, "there is a sink"
    for row in rows(result, "pairs")[::7]:
        a, b = row["layer"] * 4 + row["head"], row["layer_b"] * 4 + row["head_b"]
        expected = np.mean([jensenshannon(p, q) ** 2 for p, q in zip(whole[a], whole[b], strict=True)])
        assert row["value"] == pytest.approx(expected, abs=2e-5)


def test_layers_are_means_of_pairs_and_all_tables_agree() -> None:
    texts = TEXTS + [Document.from_text(f"The farmer offered {n} apples.") for n in range(5)]
    result = clusters(twin("bert"), texts, seed=1, twins=3)
    pairs = {(r["layer"], r["head"], r["layer_b"], r["head_b"]): r for r in rows(result, "pairs")}
    assert len(pairs) == 12 * 11 // 2
    for row in rows(result, "layer_pairs"):
        ends = {row["layer"], row["layer_b"]}
        kept = [r for (a, _, b, _), r in pairs.items() if {a, b} == ends]
        assert row["value"] == pytest.approx(np.mean([r["value"] for r in kept]))
        assert row["twin"] == pytest.approx(np.mean([r["twin"] for r in kept]))
        assert 0 <= row["low"] < row["value"] < row["high"] <= math.log(2)
        assert row["twin_low"] < row["twin"] < row["twin_high"]
        assert row["twins"] == 3
    assert [row["draw"] for row in rows(result, "togetherness")] == [None, 1, 2, 3]
    for who, column in (("model", "value"), ("twin", "twin")):
        of_who = [row for row in rows(result, "togetherness") if row["who"] == who]
        within = np.mean([r[column] for (a, _, b, _), r in pairs.items() if a == b])
        between = np.mean([r[column] for (a, _, b, _), r in pairs.items() if a != b])
        assert np.mean([row["within"] for row in of_who]) == pytest.approx(within)
        assert np.mean([row["between"] for row in of_who]) == pytest.approx(between)
        for row in of_who:
            assert row["ratio"] == pytest.approx(row["within"] / row["between"])
            assert row["within_low"] < row["within"] < row["within_high"]
            assert 0 < row["p"] <= 1
    heads = rows(result, "clusters")
    assert sorted(row["leaf"] for row in heads) == list(range(12))
    for row in heads:
        place = (row["layer"], row["head"])
        mine = {key: r["value"] for key, r in pairs.items() if place in (key[:2], key[2:])}
        assert row["nearest"] == pytest.approx(min(mine.values()))
        assert row["mean"] == pytest.approx(np.mean(list(mine.values())))
        assert (row["nearest_layer"], row["nearest_head"]) in {end for key in mine for end in (key[:2], key[2:])}
    joins = rows(result, "joins")
    assert [row["heads"] for row in joins if row["join"] == 10] == [12, 12]
    assert {row["who"] for row in joins} == {"model", "twin"}


def test_a_document_is_never_in_both_halves() -> None:
    """Its windows resemble each other; the nearest pair is chosen on one half and told from the other."""
    texts = tuple(Document.from_text(f"The farmer offered {n // 3} apples.") for n in range(48))
    corpus = Corpus(texts, "documents", "corpus", "", tuple(n // 3 for n in range(48)))
    subject = twin("bert")
    halved = rows(clusters(subject, corpus, twins=1), "pairs")
    for column, half in (("first_half", 1), ("second_half", 2)):
        part = [text for n, text in enumerate(texts) if half_of(n // 3, 0) == half]
        assert len(part) == 24
        alone = rows(clusters(subject, part, twins=1), "pairs")
        assert [row[column] for row in halved] == pytest.approx([row["value"] for row in alone], abs=1e-6)


def test_halves_make_the_whole() -> None:
    documents = [Document.from_text(f"The farmer offered {n} apples.") for n in range(12)]
    for row in rows(clusters(twin("bert"), documents), "pairs"):
        first, second = sorted((row["first_half"], row["second_half"]))
        assert first - 1e-12 <= row["value"] <= second + 1e-12


def test_neither_batches_nor_merging_matter() -> None:
    subject = twin("llama")
    alone, together = (rows(clusters(subject, TEXTS, budget=b), "pairs") for b in (1, 4096))
    for one, other in zip(alone, together, strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=1e-6)
    study = Clusters(subject)
    examples = subject.pieces.encode_all([Passage(document) for document in TEXTS])
    bundles = [study.empty() for _ in range(3)]
    study.update(bundles[0], examples)
    study.update(bundles[1], examples[:1])
    study.update(bundles[2], examples[1:])
    bundles[1].merge(Bundle.from_state(bundles[2].state()))
    for name in bundles[0]:
        one, other = bundles[0][name].result(), bundles[1][name].result()
        assert np.allclose(one.value, other.value, atol=1e-6, equal_nan=True), name


def test_beside_the_survey_in_one_pass() -> None:
    subject = twin("bert")
    examples = subject.pieces.encode_all([Passage(document) for document in TEXTS])
    studies = (Survey(subject), Clusters(subject))
    both = Together("heads", studies)
    bundle = both.empty()
    both.update(bundle, examples)
    for study in studies:
        alone = study.empty()
        study.update(alone, examples)
        for name in alone:
            found = part(bundle, study.name)[name].result()
            assert np.allclose(found.value, alone[name].result().value, atol=1e-6, equal_nan=True), name
    seen = seen_of(studies[1], part(bundle, "clusters"))
    tables = cluster_tables(studies[1], seen, [seen], {})
    assert list(tables) == ["clusters", "pairs", "joins", "layer_pairs", "togetherness"]
    assert tables["pairs"]["twin"] == tables["pairs"]["value"]
    assert len(tables["pairs"]["twin"]) == 66


def test_translations_are_needed_for_the_decoder() -> None:
    alone = clusters(twin("marian"), [Document.from_words(["the", "cat"]), Document.from_words(["a", "dog"])])
    assert {row["stream"] for row in rows(alone, "clusters")} == {"encoder"}
    assert "without a translation, so that the encoder alone was read" in alone.manifest.skipped
    both = rows(clusters(twin("marian"), BITEXT), "clusters")
    assert {row["stream"] for row in both} == {"encoder", "decoder", "cross"}
    assert all(row["previous"] is None for row in both if row["stream"] == "cross")
    assert all(row["next"] is None for row in both if row["stream"] == "decoder")


def test_bars_of_behaviour() -> None:
    even = math.log(128)
    assert BROAD * even == pytest.approx(3.8)
    assert behaviour({"next": 0.51, "previous": 0.2, "special": 0.9, "entropy": 1.0, "even": even}) == "next piece"
    assert behaviour({"next": 0.49, "sep": 0.61, "special": 0.7, "entropy": 1.0, "even": even}) == "[SEP]"
    assert behaviour({"sep": 0.59, "punctuation": 0.1, "special": 0.69, "entropy": 1.0, "even": even}) == (
        "special pieces"
    )
    assert behaviour({"special": 0.1, "entropy": 2.0, "even": math.log(12)}) == "broad", (
        "2 nats are much of 12 pieces"
    )
    assert behaviour({"special": 0.1, "entropy": 3.7, "even": even}) == "other"


RELATIONS = [
    {"relation": "det", "best": True, "layer": 1, "head": 2, "value": 0.9, "baseline": 0.5, "p_corrected": 0.001},
    {"relation": "amod", "best": True, "layer": 1, "head": 2, "value": 0.8, "baseline": 0.7, "p_corrected": 0.001},
    {"relation": "nsubj", "best": True, "layer": 0, "head": 0, "value": 0.6, "baseline": 0.5, "p_corrected": 0.2},
    {"relation": "obj", "best": True, "layer": 0, "head": 1, "value": 0.4, "baseline": 0.5, "p_corrected": 0.001},
    {"relation": "aux", "best": False, "layer": 0, "head": 3, "value": 0.9, "baseline": 0.5, "p_corrected": 0.001},
    {"relation": "all", "best": True, "layer": 2, "head": 3, "value": 0.9, "baseline": 0.5, "p_corrected": 0.001},
    {"relation": "case", "best": True, "layer": 2, "head": 1, "value": 0.9, "baseline": 0.5, "p_corrected": None},
]


def of_relations(model: dict[str, Any], **without: Any) -> Result:
    columns = {name: [row[name] for row in RELATIONS] for name in RELATIONS[0] if name not in without}
    return Result(Manifest("relations", model=model), {"relations": columns})


def test_best_heads_go_by_their_relation(tmp_path: Path) -> None:
    assert relation_heads(RELATIONS, "encoder") == {("encoder", 1, 2): ["det", "amod"]}
    subject = twin("bert")
    folder = of_relations(subject.describe()).save(tmp_path / "relations")
    result = clusters(subject, TEXTS, relations=folder)
    named = {
        (r["layer"], r["head"]): r["relations"] for r in rows(result, "clusters") if r["behaviour"] == "relation"
    }
    assert named == {(1, 2): "det, amod"}
    assert result.manifest.plan["options"]["relations"] == [["encoder", 1, 2, "det", "amod"]]


def test_relations_that_are_of_no_use(tmp_path: Path) -> None:
    subject = twin("bert")
    with pytest.raises(StoreError, match=r"its relations are of llama .* give a result of the same model"):
        clusters(subject, TEXTS, relations=of_relations(twin("llama").describe()))
    with pytest.raises(StoreError, match="a table of relations without baseline"):
        clusters(subject, TEXTS, relations=of_relations(subject.describe(), baseline=None))
    with pytest.raises(StoreError, match="no table of relations; give the folder of a run of attlas relations"):
        clusters(subject, TEXTS, relations=Result(Manifest("survey"), {"heads": {"layer": [0]}}))


def test_memory_is_bounded_by_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = twin("bert")
    assert fitting_budget(subject, 128) == 4096
    monkeypatch.setattr(subject, "grid", lambda stream: np.ones((32, 32), bool))
    assert fitting_budget(subject, 128) == 1024
    assert fitting_budget(subject, 2048) == 2048, "one text must fit"
    with pytest.raises(TextError, match=r"1,024 heads on a text of 2,048 pieces take 16 GiB.*fewer pieces"):
        require_room(subject, 2048)
    monkeypatch.setattr(subject, "grid", lambda stream: np.ones((1, 1), bool))
    with pytest.raises(CapabilityError, match="a single head"):
        require_room(subject, 8)


def test_nan_stops_with_its_place() -> None:
    made = twins.model("bert")
    with torch.no_grad():
        made.encoder.layer[2].attention.self.key.weight[0, 0] = float("inf")
    with pytest.raises(NumberError, match="encoder layer 2"):
        clusters(Subject.of(made, twins.tokenizer(False)), TEXTS)


@pytest.mark.real
def test_layers_of_the_bundled_model_lie_together_and_the_twins_do_not() -> None:
    model, *others = rows(clusters(None, "sample", limit=6, twins=2), "togetherness")
    assert model["ratio"] < 0.9
    assert model["p"] <= 0.001
    assert [row["who"] for row in others] == ["twin", "twin"]
    for row in others:
        assert abs(row["ratio"] - 1) < 0.02
        assert row["p"] > 0.01
        assert model["between"] > 10 * row["between"]


@pytest.mark.shared
def test_wikipedia_on_e5_small(shared_data: Path) -> None:
    try:
        subject = load("e5-small")
    except ModelError:
        pytest.skip("e5-small is not in the models folder")
    from attlas.capture.reading import read_documents
    from attlas.corpora import read

    texts = read(shared_data / "wikitext2" / "wiki.test.raw.gz").documents[:20]
    reading = read_documents(subject, texts, limit=128)
    study, example = Clusters(subject), reading.examples[0]
    bundle = study.empty()
    study.update(bundle, [example])
    (half,) = (h for h in (1, 2) if bundle[f"encoder-pairs-{h}"].result().n[0] > 0)
    found = bundle[f"encoder-pairs-{half}"].result().value
    weights = eager_weights(subject, subject.pieces.batch([example]))
    whole = np.concatenate([layer[0].double().numpy() for layer in weights.values()])
    first, second = np.triu_indices(144, 1)
    for pair in np.random.default_rng(0).choice(len(found), 12, replace=False):
        roots = [jensenshannon(p, q) for p, q in zip(whole[first[pair]], whole[second[pair]], strict=True)]
        assert found[pair] == pytest.approx(np.mean(np.square(roots)), abs=2e-6)
