"""The survey: fast against slow, against naive loops over eager weights, and on corpora of every kind."""

from __future__ import annotations

import gzip
import itertools
import math

import numpy as np
import pytest
import torch

import twins
from attlas.capture import Fold, Subject, load
from attlas.capture.check import eager_weights
from attlas.capture.reading import read_documents
from attlas.corpora import Corpus
from attlas.errors import ModelError, NumberError
from attlas.ids import Stream
from attlas.measures.even import even_statistics
from attlas.measures.quantities import QUANTITIES
from attlas.measures.rows import RowStatistics
from attlas.models import AttentionCall
from attlas.studies.shared.piece_classes import draw_pairs, half_of, tags_of, word_ranks
from attlas.studies.survey import passes
from attlas.studies.survey.call import survey
from attlas.studies.survey.passes import Survey
from attlas.studies.survey.portraits import portrait
from attlas.text import ROOT, Document, Passage

TREES = [
    Document.from_words(
        ["The", "farmer", "offered", "apples", ",", "because", "he", "slept", "."],
        upos=["DET", "NOUN", "VERB", "NOUN", "PUNCT", "SCONJ", "PRON", "VERB", "PUNCT"],
        governors=[1, 2, ROOT, 2, 7, 7, 7, 2, 2],
        relations=["det", "nsubj", "root", "obj", "punct", "mark", "nsubj", "advcl", "punct"],
    ),
    Document.from_words(
        ["Nobody", "noticed", "."],
        upos=["PRON", "VERB", "PUNCT"],
        governors=[1, ROOT, 1],
        relations=["nsubj", "root", "punct"],
    ),
]
TRANSLATED = [
    Document.from_words(["the", "cat"], translation=Document.from_words(["le", "chat", "."])),
    Document.from_words(["a", "dog", "slept"], translation=Document.from_words(["un", "chien"])),
]


def twin(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def values(result, table: str = "heads") -> dict:
    rows = result.tables[table].to_pylist()
    numbers = ("value", "chance", "n", "low", "high", "first_half", "second_half", "sentence")
    names = [n for n in rows[0] if n not in numbers]
    return {tuple(row[n] for n in names): row for row in rows}


@pytest.mark.parametrize("family", [f for f in twins.TWINS if f not in twins.TRANSLATING])
def test_fast_equals_matrix_on_every_figure(family: str) -> None:
    subject = twin(family)
    fast, slow = survey(subject, TREES, budget=64), survey(subject, TREES, matrix=True, budget=64)
    for table in ("heads", "pos", "spearman", "frequency"):
        one, other = values(fast, table), values(slow, table)
        assert one.keys() == other.keys()
        for key, row in one.items():
            assert row["value"] == pytest.approx(other[key]["value"], abs=1e-4), (table, key)
            assert row["n"] == pytest.approx(other[key]["n"], abs=1e-3)


@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
@pytest.mark.parametrize("layers", [2, 100])
def test_rows_that_wait_for_those_of_other_layers_give_the_same(
    family: str, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = twin(family)
    if family == "bert":
        subject = subject.pruned(["1-2"])  # layers of unlike width
    documents = TRANSLATED if family in twins.TRANSLATING else TREES
    at_once, reduced = survey(subject, documents, budget=64), []
    plain = passes.reduce_rows

    def seen(rows: RowStatistics, lengths: torch.Tensor | None, marks: passes.StreamMarks) -> passes.Reduced:
        reduced.append(rows.total.shape[1])
        return plain(rows, lengths, marks)

    monkeypatch.setattr(passes, "reduce_rows", seen)
    monkeypatch.setattr(RowStatistics, "size", 1)
    monkeypatch.setattr(passes, "room_for_rows", lambda call: layers)
    waited = survey(subject, documents, budget=64)
    assert max(reduced) > max(subject.heads(site) for site in subject.sites), "none has waited"
    assert at_once.tables.keys() == waited.tables.keys()
    for table in at_once.tables.keys() - {"portraits"}:
        one, other = values(at_once, table), values(waited, table)
        assert one.keys() == other.keys()
        for key, row in one.items():
            for name, value in row.items():
                if isinstance(value, float):
                    assert other[key][name] == pytest.approx(value, abs=1e-6, nan_ok=True), (table, key, name)


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_what_even_attention_gives_is_computed_once_for_all_layers(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def counted(call: AttentionCall, *given: torch.Tensor) -> RowStatistics:
        asked.append(call.site)
        return even_statistics(call, *given)

    monkeypatch.setattr(passes, "even_statistics", counted)
    subject = twin(family)
    study = Survey(subject, tags=tags_of(TREES), edges=True)
    study.update(study.empty(), read_documents(subject, TREES).examples)
    assert (len(asked), len(subject.sites)) == (1, 3)


@pytest.mark.parametrize("family", sorted(twins.TRANSLATING))
def test_translation_models_have_all_three_streams(family: str) -> None:
    fast, slow = survey(twin(family), TRANSLATED), survey(twin(family), TRANSLATED, matrix=True)
    one, other = values(fast), values(slow)
    assert {key[0] for key in one} == {"encoder", "decoder", "cross"}
    assert not [
        key for key in one if key[0] == "cross" and key[4] in ("previous", "next", "self", "distance", "within")
    ]
    assert all(row["value"] == pytest.approx(other[key]["value"], abs=1e-4) for key, row in one.items())
    alone = survey(twin(family), [Document.from_words(["the", "cat"])])
    assert {key[0] for key in values(alone)} == {"encoder"}


@pytest.mark.parametrize("family", ["bert", "gpt2", "gpt_oss"])
def test_against_naive_loops_over_the_eager_weights(family: str) -> None:
    """Every figure of weights once more, in plain Python, from what the model library itself reports."""
    subject = twin(family)
    result = values(survey(subject, TREES))
    sums: dict = {}

    def add(site, head, quantity, value, cases=1.0):
        total = sums.setdefault((site.stream.value, site.layer, head, "weight", quantity), [0.0, 0.0])
        total[0] += value
        total[1] += cases

    for document in TREES:
        example = subject.pieces.encode(Passage(document))
        segmentation, roles = example.source.segmentation, example.source.roles
        batch = subject.pieces.batch([example])
        n = example.length
        word = segmentation.words
        kind = ["punctuation" if piece in ".," else "other" for piece in segmentation.pieces]
        kind = ["first" if i == 0 else k for i, k in enumerate(kind)]
        kind = [role or k for role, k in zip(roles, kind, strict=True)]
        calls = {}
        with torch.no_grad(), subject.use(Fold(lambda call, calls=calls: calls.update({call.site: call}))):
            subject.read(batch)
        for site, weights in eager_weights(subject, batch).items():
            for head, w in enumerate(weights[0].double().numpy()):
                on_edges = on_words = 0.0
                q, k = (calls[site].query[0, head].double().numpy(), calls[site].keys[0, head].double().numpy())
                add(site, head, "most_received", max(sum(w[i, j] for i in range(n)) for j in range(n)), n)
                received = [sum(w[i, j] for i in range(n)) for j in range(n)]
                add(site, head, "sink_away", sum(j * got for j, got in enumerate(received)), n)
                if site.stream is Stream.ENCODER:
                    add(site, head, "sink_rate", received[0] / n > 0.3)
                ids = example.source.ids
                for i in [i for i in range(n) if not segmentation.special[i]]:
                    before = [j for j in range(i) if ids[j] == ids[i] and not segmentation.special[j]]
                    followed = [j + 1 for j in before if j + 1 < i]
                    if before:
                        add(site, head, "same_piece", sum(w[i, j] for j in before))
                    if followed and site.stream is Stream.DECODER:
                        add(site, head, "after_same_piece", sum(w[i, j] for j in followed))
                        paired = [j for j in followed if j > 1 and ids[j - 2] == ids[i - 1]]
                        if paired:
                            add(site, head, "after_same_pair", sum(w[i, j] for j in paired))
                for i in range(n):
                    scores = [calls[site].scaling * (q[i] @ k[j]) for j in range(n) if w[i, j] > 0]
                    add(site, head, "top_score", max(scores))
                    add(site, head, "within", sum(w[i, j] for j in range(n) if abs(i - j) <= 8))
                    for quantity, j in (("previous", i - 1), ("self", i), ("next", i + 1)):
                        if 0 <= j < n and not (quantity == "next" and site.stream is Stream.DECODER):
                            add(site, head, quantity, w[i, j])
                    for name in set(kind):
                        add(site, head, name, sum(w[i, j] for j in range(n) if kind[j] == name))
                    entropy = -sum(x * math.log(x) for x in w[i] if x > 0)
                    add(site, head, "entropy", entropy)
                    if kind[i] == "cls":
                        add(site, head, "entropy_cls", entropy)
                    if kind[i] == "sep":
                        add(site, head, "sep_to_sep", sum(w[i, j] for j in range(n) if kind[j] == "sep"))
                    add(site, head, "distance", sum(w[i, j] * abs(i - j) for j in range(n)))
                    if word[i] < 0:
                        continue
                    governor = document.governors[word[i]]
                    others = [j for j in range(1, n) if word[j] >= 0]
                    up = sum(w[i, j] for j in others if word[j] == governor)
                    down = sum(w[i, j] for j in others if document.governors[word[j]] == word[i])
                    if governor != ROOT:
                        add(site, head, "to_governor", up)
                    if word[i] in document.governors:
                        add(site, head, "to_dependent", down)
                    on_edges += up + down
                    if i:
                        on_words += sum(w[i, j] for j in others)
                add(site, head, "edges", on_edges, on_words)
    ours = {key: row for key, row in result.items() if key[3] == "weight"}
    assert set(ours) == {key for key, (_, cases) in sums.items() if cases > 0}
    for key, (total, cases) in sums.items():
        if cases > 0:
            assert ours[key]["value"] == pytest.approx(total / cases, abs=1e-4), key


def test_parts_of_speech_against_loops() -> None:
    subject = twin("bert")
    rows = values(survey(subject, TREES), "pos")
    to: dict = {}
    away: dict = {}
    whole = 0.0
    for document in TREES:
        example = subject.pieces.encode(Passage(document))
        weights = eager_weights(subject, subject.pieces.batch([example]))[subject.sites[1]][0, 2].double().numpy()
        word = example.source.segmentation.words
        for i, j in np.ndindex(*weights.shape):
            if i and j and word[i] >= 0 and word[j] >= 0:
                whole += weights[i, j]
                to[document.upos[word[j]]] = to.get(document.upos[word[j]], 0) + weights[i, j]
                away[document.upos[word[i]]] = away.get(document.upos[word[i]], 0) + weights[i, j]
    for direction, found in (("to", to), ("from", away)):
        for tag, total in found.items():
            key = ("encoder", 1, 2, "weight", direction, tag)
            assert rows[key]["value"] == pytest.approx(total / whole, abs=1e-4)
        shares = [row["value"] for key, row in rows.items() if key[:5] == ("encoder", 1, 2, "weight", direction)]
        assert sum(shares) == pytest.approx(1, abs=1e-5)


def test_norm_shares_against_vectors() -> None:
    subject = twin("bert")
    rows = values(survey(subject, TREES[:1]))
    capture = subject.look(TREES[0])
    norms = capture.norms[Stream.ENCODER][0, 1].double().numpy()
    shares = norms / norms.sum(-1, keepdims=True)
    n = len(shares)
    expected = np.mean([shares[i, i - 1] for i in range(1, n)])
    assert rows["encoder", 0, 1, "norm", "previous"]["value"] == pytest.approx(expected, abs=1e-4)
    entropy = np.mean([-(row * np.log(row)).sum() for row in shares])
    assert rows["encoder", 0, 1, "norm", "entropy"]["value"] == pytest.approx(entropy, abs=1e-4)
    distance = np.mean([sum(shares[i, j] * abs(i - j) for j in range(n)) for i in range(n)])
    assert rows["encoder", 0, 1, "norm", "distance"]["value"] == pytest.approx(distance, abs=1e-3)


def test_chance_is_what_uniform_attention_gives() -> None:
    from attlas.capture import Override

    subject = twin("bert")
    with subject.use(Override.uniform()):
        rows = values(survey(subject, TREES))
    for key, row in rows.items():
        if key[3] == "weight":
            assert row["value"] == pytest.approx(row["chance"], abs=1e-4), key


def test_the_answer_does_not_depend_on_batches() -> None:
    subject = twin("llama")
    alone, together = survey(subject, TREES, budget=1), survey(subject, TREES, budget=4096)
    for table in ("heads", "spearman"):
        other = values(together, table)
        for key, row in values(alone, table).items():
            assert row["value"] == pytest.approx(other[key]["value"], abs=1e-5)


def test_classes_add_up_to_one() -> None:
    rows = values(survey(twin("bert"), TREES))
    for measure in ("weight", "norm"):
        shares = [rows["encoder", 0, 0, measure, name]["value"] for name in ("cls", "sep", "punctuation", "other")]
        assert sum(shares) == pytest.approx(1, abs=1e-4)


def test_drawn_pairs_depend_on_the_text_alone_and_can_be_seen() -> None:
    subject = twin("gpt2")
    examples = subject.pieces.encode_all([Passage(document) for document in TREES])
    whole = subject.pieces.batch(examples).source
    single = subject.pieces.batch(examples[1:]).source
    passages = [e.passage for e in examples]
    both, real = draw_pairs(whole, whole, passages, causal=True, seed=3)
    alone, _ = draw_pairs(single, single, passages[1:], causal=True, seed=3)
    assert both[1][real[1]].tolist() == alone[0].tolist()
    assert bool((both[..., 0] >= both[..., 1]).all())
    assert sorted(both[0][real[0]][:, 1].tolist()) == list(range(examples[0].length))


def test_halves_are_of_different_texts_and_make_the_whole() -> None:
    subject = twin("bert")
    documents = [Document.from_text(f"The farmer offered {n} apples.") for n in range(20)]
    row = values(survey(subject, documents))["encoder", 1, 1, "weight", "entropy"]
    parts = [[d for unit, d in enumerate(documents) if half_of(unit, 0) == half] for half in (1, 2)]
    assert [len(part) for part in parts] == [10, 10]
    for column, part in zip(("first_half", "second_half"), parts, strict=True):
        alone = values(survey(subject, part))["encoder", 1, 1, "weight", "entropy"]
        assert row[column] == pytest.approx(alone["value"], abs=1e-6)
    assert min(row["first_half"], row["second_half"]) <= row["value"] <= max(row["first_half"], row["second_half"])


def test_a_document_is_never_in_both_halves() -> None:
    """Windows of one document resemble each other: to choose on one and score on the next would be to peek."""
    subject = twin("bert")
    texts = tuple(Document.from_text(f"The farmer offered {n // 3} apples.") for n in range(48))
    corpus = Corpus(texts, "documents", "corpus", "", tuple(n // 3 for n in range(48)))
    row = values(survey(subject, corpus))["encoder", 1, 1, "weight", "entropy"]
    parts = [[d for n, d in enumerate(texts) if half_of(n // 3, 0) == half] for half in (1, 2)]
    assert [len(part) for part in parts] == [24, 24]
    for column, part in zip(("first_half", "second_half"), parts, strict=True):
        alone = values(survey(subject, part))["encoder", 1, 1, "weight", "entropy"]
        assert row[column] == pytest.approx(alone["value"], abs=1e-6)


def test_no_interval_leaves_the_range_of_its_quantity() -> None:
    texts = [Document.from_text(f"The old farmer near the bridge offered {n} apples.") for n in range(8)]
    result = survey(twin("bert"), texts)
    kinds = {quantity.name: quantity.kind for quantity in QUANTITIES}
    for table, most in (("heads", 1), ("spearman", 1), ("frequency", np.inf)):
        rows = [row for row in result.rows(table) if row["low"] is not None]
        assert rows
        for row in rows:
            kind = kinds.get(row.get("quantity"), "share")
            least = -np.inf if kind == "signed" else -1 if table == "spearman" else 0
            high = most if kind == "share" else np.inf
            assert least <= row["low"] <= row["value"] + 1e-6, row
            assert row["value"] - 1e-6 <= row["high"] <= high, row


def test_marks_of_a_corpus() -> None:
    assert tags_of(TREES) == ("DET", "NOUN", "PRON", "PUNCT", "SCONJ", "VERB")
    assert word_ranks(TREES)["."] == 1


def test_nan_stops_the_survey_with_its_place() -> None:
    made = twins.model("bert")
    with torch.no_grad():
        made.encoder.layer[2].attention.self.key.weight[0, 0] = float("inf")
    with pytest.raises(NumberError, match="encoder layer 2"):
        survey(Subject.of(made, twins.tokenizer(False)), TREES)


def test_portraits_say_what_stands_out() -> None:
    assert (
        portrait({"sep": (0.8, 0.1), "previous": (0.2, 0.05), "entropy": (1, 3)})
        == "puts .80 on [SEP], .20 on the previous piece"
    )
    assert portrait({"sep": (0.3, 0.1), "entropy": (1, 3)}).startswith("mixes: .30 on [SEP]")
    assert "nearby" in portrait({"self": (0.05, 0.1), "entropy": (2, 3), "distance": (2, 30)})
    assert "no single place" in portrait({"self": (0.05, 0.1), "entropy": (2, 3), "distance": (29, 30)})


def test_a_head_that_acts_on_copies_is_not_said_to_rest_alone() -> None:
    resting = {"first": (0.9, 0.1), "entropy": (1, 3)}
    assert portrait(resting) == "puts .90 on the first piece"
    acting = portrait(resting | {"after_same_piece": (0.6, 0.05), "same_piece": (0.04, 0.05)})
    assert acting == "rests on the first piece (.90); where a piece occurred before, puts .60 on what followed it"
    assert "occurred" not in portrait(resting | {"after_same_piece": (0.09, 0.05)})  # within twice chance


def test_sink_rates_of_decoders_are_those_of_the_first_64_pieces() -> None:
    words = [word for text in twins.SENTENCES[:4] for word in text.split()]
    long, short = Document.from_words(words), Document.from_words(words[:8])
    subject = twin("llama")
    example = subject.pieces.encode(Passage(long))
    assert example.length > 64 > subject.pieces.encode(Passage(short)).length
    result = values(survey(subject, [long, short]))
    for site, weights in eager_weights(subject, subject.pieces.batch([example])).items():
        for head, w in enumerate(weights[0].double().numpy()):
            row = result[site.stream.value, site.layer, head, "weight", "sink_rate"]
            assert (row["value"], row["n"]) == (float(w[:64, 0].mean() > 0.3), 1)


@pytest.mark.real
def test_the_bundled_model_has_a_previous_piece_head() -> None:
    rows = values(survey(load(), "sample", limit=40))
    best = max((key for key in rows if key[3:] == ("weight", "previous")), key=lambda key: rows[key]["value"])
    row = rows[best]
    assert row["value"] > 0.5 > 3 * row["chance"]
    assert row["low"] < row["value"] < row["high"]
    assert len(QUANTITIES) == 23


@pytest.mark.shared
def test_wikipedia_on_e5_small_fast_equals_matrix(shared_data, tmp_path) -> None:
    try:
        subject = load("e5-small")
    except ModelError:
        pytest.skip("e5-small is not in the models folder")
    corpus = tmp_path / "wiki.raw"  # its first articles; all of a corpus is cut into passages before any are drawn
    with gzip.open(shared_data / "wikitext2" / "wiki.test.raw.gz", "rt", encoding="utf-8") as whole:
        corpus.write_text("".join(itertools.islice(whole, 150)), encoding="utf-8")
    fast, slow = survey(subject, corpus, limit=3), survey(subject, corpus, limit=3, matrix=True)
    assert fast.manifest.plan["options"]["pairs"]
    for table in ("heads", "spearman", "frequency"):
        other = values(slow, table)
        for key, row in values(fast, table).items():
            # with few texts, two weights that swap their ranks are seen in a correlation
            near = 1e-3 if table == "spearman" else 1e-4
            assert row["value"] == pytest.approx(other[key]["value"], abs=near), key
    previous = [row["value"] for key, row in values(fast).items() if key[3:] == ("weight", "previous")]
    following = [row["value"] for key, row in values(fast).items() if key[3:] == ("weight", "next")]
    assert max(previous) > 0.9
    assert max(following) > 0.8


def test_readings_keep_annotation() -> None:
    subject = twin("bert")
    reading = read_documents(subject, TREES)
    study = Survey(subject, tags=tags_of(TREES), edges=True)
    bundle = study.empty()
    study.update(bundle, reading.examples)
    halves = [bundle[f"encoder-figures-{half}"].result().n for half in (1, 2)]
    n = sum(half[0, 0, 0, [quantity.name for quantity in QUANTITIES].index("to_governor")] for half in halves)
    governed = sum(
        e.passage.first.governors[w] != ROOT for e in reading.examples for w in e.source.segmentation.words if w >= 0
    )
    assert n == governed
