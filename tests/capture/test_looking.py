"""Looking at single texts, at generation, and reading documents into examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import twins
from attlas.capture import Subject, load
from attlas.capture.instruments import Recorder
from attlas.capture.look import gather
from attlas.capture.reading import read_documents
from attlas.corpora import limited
from attlas.errors import CapabilityError, CorpusError, TextError
from attlas.ids import HeadId, Site, Stream
from attlas.text import Document, cut_windows, regroup


def twin(family: str, auto: str | None = None) -> Subject:
    torch.manual_seed(0)
    if auto is None:
        made = twins.model(family)
    else:
        made = getattr(transformers, auto).from_config(twins.config(family)).eval()
        twins.spread(made)
    return Subject.of(made, twins.tokenizer(family in twins.CAUSAL), family)


@pytest.mark.real
def test_words_against_a_naive_loop() -> None:
    capture = load().look("Unbelievably, the housekeeper's children misbehaved.")
    weights = capture.weights[Stream.ENCODER][2, 5].double().numpy()
    segmentation = capture.source
    groups = segmentation.groups
    count = groups.max() + 1
    naive = np.zeros((count, count))
    for r in range(count):
        rows = [q for q in range(len(groups)) if groups[q] == r]
        for c in range(count):
            naive[r, c] = np.mean([sum(weights[q, k] for k in range(len(groups)) if groups[k] == c) for q in rows])
    assert np.allclose(capture.words(Stream.ENCODER)[2, 5], naive, atol=1e-6)
    assert count < len(groups), "some word has several pieces"


def test_regrouping_refuses_what_does_not_fit() -> None:
    capture = twin("bert").look("Hello there.")
    with pytest.raises(TextError, match="cannot be regrouped"):
        regroup(np.ones((2, 2)), capture.source)


def test_what_can_be_looked_at() -> None:
    subject = twin("bert")
    words = subject.look(["The", "farmer", "slept"])
    assert words.source.word_count == 3
    for bad in ("", "  ", [], ("a", "b", "c"), 7):
        with pytest.raises(TextError):
            subject.look(bad)
    with pytest.raises(CapabilityError, match="no measure"):
        words.words(Stream.ENCODER, "colour")
    with pytest.raises(CapabilityError, match="nothing was captured"):
        words.queries_of(Stream.DECODER)


def test_a_translation_has_three_streams_and_a_source_alone_has_one() -> None:
    subject = twin("marian")
    both = subject.look("The farmer slept.", "Le fermier dormait.")
    assert set(both.weights) == set(Stream)
    assert both.weights[Stream.CROSS].shape[-2:] == (len(both.target.pieces), len(both.source.pieces))
    assert both.words(Stream.CROSS).shape[-1] == both.source.groups.max() + 1
    assert both.target.words[0] == -1, "the start piece is no word"
    alone = subject.look("The farmer slept.")
    assert set(alone.weights) == {Stream.ENCODER}


@pytest.mark.parametrize("family", ["gpt2", "llama", "mistral", "gpt_neo"])
def test_generation_is_stitched_into_the_map_of_one_pass(family: str) -> None:
    subject = twin(family, "AutoModelForCausalLM")
    stitched = subject.look_generating("The farmer", max_new_pieces=9, min_new_tokens=9)
    text = stitched.weights[Stream.DECODER]
    ids = None
    with torch.no_grad():
        batch = subject.batch(["The farmer"])
        written = subject.model.generate(**batch.inputs, do_sample=False, max_new_tokens=9, min_new_tokens=9)
        ids = written[:, :-1]
        from attlas.capture import Recorder

        recorder = Recorder(["weights"])
        with subject.use(recorder):
            subject.model(input_ids=ids)
    for layer, site in enumerate(subject.sites):
        assert torch.allclose(text[layer], recorder.get(site)[0], atol=1e-5)
    assert len(stitched.source.pieces) == ids.shape[1]
    assert stitched.norms[Stream.DECODER].shape == text.shape


def test_generation_of_a_translation() -> None:
    subject = twin("marian", "AutoModelForSeq2SeqLM")
    capture = subject.look_generating("The farmer slept.", max_new_pieces=6, min_new_tokens=6)
    queries = len(capture.target.pieces)
    assert capture.weights[Stream.DECODER].shape[-2:] == (queries, queries)
    assert capture.weights[Stream.CROSS].shape[-2:] == (queries, len(capture.source.pieces))
    assert torch.allclose(capture.weights[Stream.CROSS].sum(-1), torch.ones(2, 4, queries), atol=1e-4)


def test_a_model_without_a_head_cannot_write() -> None:
    with pytest.raises(CapabilityError, match="task_head='causal-lm'"):
        twin("llama").look_generating("Hello")


LONG = "One two three four. Five six seven. Eight nine ten eleven twelve. Thirteen."


def test_long_documents_are_cut_refused_or_skipped_as_asked() -> None:
    subject, document = twin("bert"), Document.from_text(LONG, name="long")
    whole = subject.pieces.length(document)
    cut = read_documents(subject, [document], limit=whole // 2)
    assert " ".join(e.passage.first.text for e in cut.examples) == LONG
    assert all(e.length <= whole // 2 for e in cut.examples)
    assert sum(cut.skipped.values()) > 0
    with pytest.raises(TextError, match="long has"):
        read_documents(subject, [document], limit=whole // 2, long="refuse")
    with pytest.raises(CorpusError, match="longer than"):
        read_documents(subject, [document], limit=whole // 2, long="skip")
    with pytest.raises(TextError, match="cut, refuse, skip"):
        read_documents(subject, [document], long="shred")
    with pytest.raises(TextError, match="window"):
        read_documents(subject, [document], limit=10_000)


def test_a_word_longer_than_the_window_is_named() -> None:
    endless = Document.from_words(["x" * 500])
    with pytest.raises(CorpusError, match="longer than 20 pieces by itself"):
        read_documents(twin("gpt2"), [endless], limit=20)
    reading = read_documents(twin("gpt2"), [endless, Document.from_text("Hello.")], limit=20)
    assert len(reading.examples) == 1
    with pytest.raises(TextError, match="alone is longer"):
        cut_windows(endless, twin("gpt2").pieces.length, 20)


def test_pairs_are_neighbours_of_one_article_within_the_limit() -> None:
    subject = twin("bert")
    documents = [Document.from_text(f"Paragraph number {n} is here. {LONG}") for n in range(6)]
    reading = read_documents(subject, documents, articles=[0, 0, 0, 1, 1, 1], limit=40, pairs=True)
    parts = [d.text for e in reading.examples for d in e.passage.documents]
    assert all(e.length <= 40 for e in reading.examples)
    assert all(e.source.roles.count("sep") == 2 for e in reading.examples)
    joined = " ".join(parts)
    assert joined.index("number 0") < joined.index("number 5")
    with pytest.raises(TextError, match="--single"):
        read_documents(twin("gpt2"), documents, pairs=True)


@pytest.mark.parametrize(
    ("texts", "articles", "unit", "units"),
    [
        (16, [number % 15 for number in range(16)], "text", 16),  # too few articles for a test
        (17, [number % 16 for number in range(17)], "document", 16),
        (16, list(range(16)), "text", 16),  # an article each, so a text is all there is
        (17, None, "text", 17),
    ],
)
def test_articles_are_units_where_there_are_enough_of_them(
    texts: int, articles: list[int] | None, unit: str, units: int
) -> None:
    documents = [Document.from_text(f"Paragraph {number}.") for number in range(texts)]
    reading = read_documents(twin("bert"), documents, articles=articles)
    assert (reading.unit, reading.units) == (unit, units)
    expected = articles if unit == "document" else range(texts)
    assert expected is not None
    assert [example.unit for example in reading.examples] == list(expected)


def test_translations_are_read_with_their_target() -> None:
    subject = twin("marian")
    document = Document.from_words(["a", "b"], translation=Document.from_words(["c"]))
    assert read_documents(subject, [document]).examples[0].target is not None


def test_layers_and_heads_are_chosen_by_label() -> None:
    subject = twin("bert")
    whole = subject.look("The farmer slept.").weights[Stream.ENCODER]
    for layers, heads, part in (
        ("2", None, whole[1:2]),
        (["1", "3"], "2..3", whole[::2, 1:3]),
        (Site(Stream.ENCODER, 1), ["4"], whole[1:2, 3:]),
        (None, "3-2", whole[2:, 1:2]),
        (None, [HeadId(Stream.ENCODER, 2, 1)], whole[2:, 1:2]),
        (None, ["1-2", "1-3", "3-2", "3-3"], whole[::2, 1:3]),
    ):
        assert torch.equal(
            subject.look("The farmer slept.", layers=layers, heads=heads).weights[Stream.ENCODER], part
        )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layers": [1]}, "layers are named by label counted from 1: give '2' instead of the number 1"),
        ({"layers": 2}, "give '3' instead of the number 2"),
        ({"heads": [0]}, "heads are named by label counted from 1: give '1' instead of the number 0"),
        ({"layers": "4"}, "bert has no layer 4; its layers are 1 to 3"),
        ({"heads": "2-5"}, "bert has no head 5; its heads are 1 to 4"),
        ({"layers": ()}, "no layer was asked for"),
        ({"layers": "1", "heads": "2-1"}, "taken with the same heads"),
        ({"heads": ["2-1", "1"]}, "taken with the same heads"),
        ({"layers": Site(Stream.CROSS, 0)}, "bert has no cross; it has encoder"),
    ],
)
def test_layers_and_heads_that_are_not_there_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CapabilityError, match=sentence):
        twin("bert").look("The farmer slept.", **options)


def test_what_would_fill_the_memory_or_the_window_is_refused() -> None:
    subject = twin("llama", "AutoModelForCausalLM")
    length = len(subject.look("The farmer slept.").source.pieces)
    assert subject.look("The farmer slept.", layers="1", most_weights=4 * length**2).weights
    with pytest.raises(TextError, match=f"{length} pieces with 12 heads are .* no more than 4 heads .*most_weights"):
        subject.look("The farmer slept.", most_weights=4 * length**2)
    with pytest.raises(TextError, match=f"{length + 5} pieces with 12 heads"):
        subject.look_generating("The farmer slept.", max_new_pieces=5, most_weights=12 * length**2)
    with pytest.raises(
        TextError, match=r"12 heads are .*, with 3 beams\), .* shorten the text, write less, or allow"
    ):
        subject.look_generating("The farmer slept.", max_new_pieces=5, most_weights=12 * length**2, num_beams=3)
    with pytest.raises(TextError, match="and 500 to write do not fit into the window of llama, which holds 128"):
        subject.look_generating("The farmer slept.", max_new_pieces=500)


@pytest.mark.parametrize(
    ("family", "options", "each"),
    [
        ("llama", {}, 12),
        ("gemma2", {}, 24),  # scores beside weights, since they are capped
        ("llama", {"heads": "1-1"}, 4),  # all heads of a layer are made together
        ("gemma2", {"heads": "1-1"}, 8),
        ("llama", {"joint": "attention"}, 15),
        ("llama", {"joint": ("attention", "residual"), "layers": "2"}, 6),
    ],
)
def test_all_that_is_as_large_as_weights_counts(family: str, options: dict[str, Any], each: int) -> None:
    subject = twin(family, "AutoModelForCausalLM")
    length = len(subject.look("The farmer slept.").source.pieces)
    assert subject.look("The farmer slept.", **options, most_weights=each * length**2).weights
    with pytest.raises(TextError, match=rf"most_weights={each * length**2}, --limits weights={each * length**2}\)$"):
        subject.look("The farmer slept.", **options, most_weights=each * length**2 - 1)


def test_hidden_states_count_where_they_are_asked_for() -> None:
    subject = twin("bert")
    length = len(subject.look("The farmer slept.").source.pieces)
    states = subject.look("The farmer slept.", hidden_states=True).hidden_states[Stream.ENCODER].numel()
    enough = 12 * length**2 + states
    assert subject.look("The farmer slept.", hidden_states=True, most_weights=enough).hidden_states
    with pytest.raises(TextError, match=f", with hidden states.*most_weights={enough}"):
        subject.look("The farmer slept.", hidden_states=True, most_weights=enough - 1)


def test_the_limit_in_force_holds_for_looks() -> None:
    subject = twin("bert")
    with limited("weights=10"), pytest.raises(TextError, match="more than the limit of 10; shorten"):
        subject.look("The farmer slept.")
    assert subject.look("The farmer slept.").weights


@pytest.mark.parametrize("options", [{}, {"use_cache": False}, {"num_beams": 2}])
def test_of_each_step_of_writing_what_is_new_is_kept(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All keys of all steps would grow with the square of the text, times their width."""
    kept: list[dict[str, int]] = []

    def counting(subject: Subject, recorder: Recorder, *rest: Any) -> dict[str, Any]:
        of_site = recorder.kept[subject.sites[0]]
        kept.append({kind: sum(step.numel() for step in steps) for kind, steps in of_site.items()})
        return gather(subject, recorder, *rest)

    monkeypatch.setattr("attlas.capture.generation.gather", counting)
    subject = twin("llama", "AutoModelForCausalLM")
    settings = {"max_new_pieces": 20, "min_new_tokens": 20, **options}
    capture = subject.look_generating("The farmer slept.", **settings)
    read, beams = len(capture.source.pieces), options.get("num_beams", 1)
    assert kept[0]["keys"] == kept[0]["values"] == beams * 4 * read * 8
    assert kept[0]["weights"] <= beams * 4 * read**2


def test_steps_that_read_all_anew_for_several_beams_end_at_the_limit() -> None:
    subject = twin("llama", "AutoModelForCausalLM")
    settings = {"max_new_pieces": 20, "min_new_tokens": 20, "num_beams": 2, "use_cache": False}
    length = len(subject.look("The farmer slept.").source.pieces) + 20
    with pytest.raises(TextError, match=r"every step reads all anew, .* write less, or allow more"):
        subject.look_generating("The farmer slept.", **settings, most_weights=2 * 12 * length**2)


def test_a_text_that_fills_the_window_is_looked_at_and_one_piece_more_is_refused() -> None:
    subject = twin("bert")
    window = subject.pieces.window
    special = len(subject.look("the").source.pieces) - 1
    full = subject.look(" ".join(["the"] * (window - special)))
    assert len(full.source.pieces) == window
    with pytest.raises(TextError, match=f"the text has {window + 1} pieces .* holds {window}"):
        subject.look(" ".join(["the"] * (window - special + 1)))


def test_two_captures_are_compared() -> None:
    from attlas.views import show

    subject = twin("bert")
    one, other = subject.look("The farmer slept."), subject.look("The designer slept.")
    assert one.view(against=other, widget=False).data == show([one.scene(), other.scene()], widget=False).data
