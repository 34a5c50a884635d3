"""Pieces and words: segmentation with every kind of tokenizer, in many scripts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import twins
from attlas.capture import Subject, load
from attlas.errors import ModelError, TextError
from attlas.text import Document, Passage

TEXTS = [
    "The farmer offered apples, because he had too many.",
    "naïve café — “quoted” … don't 3.5 km!",
    "猫は寝る。 你好，世界！",
    "Привет, мир! Как дела?",
    "שלום עולם, مرحبا بالعالم",
    "🙂👍🏽 emoji 👩‍👩‍👧 family",
    "नमस्ते दुनिया",
    "tabs\tand\n\nnew   lines",
    "́combining é marks",
]


def unigram() -> object:
    import transformers

    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(twins.SENTENCES + TEXTS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=128
    )


@pytest.fixture(scope="module", params=["wordpiece", "byte-level", "unigram"])
def subject(request: pytest.FixtureRequest) -> Subject:
    family = "gpt2" if request.param == "byte-level" else "bert"
    tokenizer = unigram() if request.param == "unigram" else twins.tokenizer(request.param == "byte-level")
    return Subject.of(twins.model(family), tokenizer, request.param)


@pytest.mark.parametrize("text", TEXTS)
def test_every_piece_of_text_has_a_word_and_every_word_a_piece(subject: Subject, text: str) -> None:
    document = Document.from_text(text)
    segmentation = subject.pieces.encode(Passage(document)).source.segmentation
    assert len(segmentation.pieces) == len(segmentation.words)
    for word, document_of in zip(segmentation.words, segmentation.documents, strict=True):
        assert (word >= 0) == (document_of >= 0)
    owners = [word for word in segmentation.words if word >= 0]
    assert owners == sorted(owners), "pieces of words come in the order of the words"
    if subject.name == "byte-level":  # no normalisation, so nothing of the text is lost
        assert not segmentation.wordless


def test_words_given_one_by_one_keep_their_bounds(subject: Subject) -> None:
    words = ["do", "n't", "New", "York", "-", "based", "?!"]
    segmentation = subject.pieces.encode(Passage(Document.from_words(words))).source.segmentation
    assert segmentation.word_count == len(words)
    assert not segmentation.wordless


def test_glued_words_share_pieces_by_most_characters(subject: Subject) -> None:
    document = Document.from_words(["can", "not"], space_after=[False, False])
    segmentation = subject.pieces.encode(Passage(document)).source.segmentation
    assert {word for word in segmentation.words if word >= 0} | set(segmentation.wordless) == {0, 1}


def test_both_paddings_mark_the_same_pieces(subject: Subject) -> None:
    right = subject.batch(["One two three.", "One."])
    left = subject.batch(["One two three.", "One."], pad_left=True)
    assert right.source.starts == (0, 0)
    assert left.source.starts[1] == int((~left.source.real[1]).sum())
    kept_right = right.inputs["input_ids"][right.source.real]
    assert kept_right.tolist() == left.inputs["input_ids"][left.source.real].tolist()


def test_a_document_without_words_is_refused(subject: Subject) -> None:
    with pytest.raises(TextError, match="no words"):
        subject.pieces.encode(Passage(Document("   ", (), name="blank")))


def test_text_longer_than_the_window_is_refused(subject: Subject) -> None:
    with pytest.raises(TextError, match="window"):
        subject.look("word " * 400)


@pytest.mark.shared
def with_types() -> Any:
    """A tokenizer that tells the types of pieces, as that of the bundled model does."""
    tokenizer = copy.deepcopy(twins.tokenizer(False))
    tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    return tokenizer


@pytest.mark.parametrize(("family", "read"), [("llama", False), ("bert", True)])
def test_types_of_pieces_go_to_models_that_read_them(family: str, read: bool) -> None:
    """A decoder would only hand them on to its attention, which refuses what it does not know."""
    subject = Subject.of(twins.model(family), with_types(), family)
    batch = subject.batch([("It rained.", "We slept.")] if read else ["It rained."])
    assert ("token_type_ids" in batch.inputs) == read
    assert not read or set(batch.inputs["token_type_ids"].flatten().tolist()) == {0, 1}
    assert subject.run(batch).last_hidden_state.shape[0] == 1


def test_an_encoder_with_adapters_keeps_its_types() -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    adapter = peft.LoraConfig(target_modules=["query"], r=2, task_type="FEATURE_EXTRACTION")
    model = peft.get_peft_model(twins.model("bert"), adapter).eval()
    subject = Subject.of(model, with_types(), "with adapters")
    assert "token_type_ids" in subject.batch([("It rained.", "We slept.")]).inputs


def test_marian_pieces_are_those_of_its_own_tokenizer() -> None:
    try:
        subject = load("opus-mt-en-fr")
    except ModelError:
        pytest.skip("opus-mt-en-fr is not in the models folder")
    tokenizer = subject.pieces.tokenizer
    for text in TEXTS:
        document = Document.from_text(text)
        example = subject.pieces.encode(Passage(document, document))
        assert list(example.source.ids) == tokenizer(text)["input_ids"]
        assert list(example.target.ids) == [subject.pieces.start_id, *tokenizer(text_target=text)["input_ids"][:-1]]
        assert example.source.segmentation.word_count == len(document.words)


def test_line_ends_and_tabs_are_seen_and_told_from_blanks() -> None:
    subject = Subject.of(twins.model("llama"), twins.tokenizer(True), "llama")
    text = "The farmer slept.\n\nThe\tfarmer  slept."
    pieces = list(subject.look(text).source.pieces)
    assert pieces.count("⏎") == 2
    assert pieces.count("⇥") == 1
    assert pieces.count("␣") == 1
    assert not {"Ċ", "ĉ", "Ġ"} & set(pieces)
