"""A translator from nothing: it learns, resumes to the same weights, and its folder is a model like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import attlas
from attlas.corpora import joined
from attlas.errors import CorpusError, PlanError, StoreError
from attlas.ids import Stream
from attlas.run.progress import Silent
from attlas.run.setting import as_corpus
from attlas.studies.translate_train import passes
from attlas.studies.translate_train.call import Translator, _hold_out, translate_train
from attlas.text import Document, Passage

WHO = {"Der Bauer": "The farmer", "Die Köchin": "The cook", "Niemand": "Nobody", "Das Kind": "The child"}
DOES = {"sieht": "sees", "repariert": "repairs", "vergisst": "forgets", "mag": "likes", "kauft": "buys"}
WHAT = {"die alte Brücke": "the old bridge", "den Apfel des Kindes": "the child's apple"}
TINY: dict[str, Any] = {"layers": 1, "heads": 2, "width": 32, "ffn": 64, "vocabulary": 200, "dropout": 0.1}
QUICK: dict[str, Any] = {
    **TINY,
    "epochs": 40,
    "learning_rate": 5e-3,
    "warmup": 0.2,
    "batch_pieces": 100,
    "patience": 40,
}


def pair(source: str, target: str) -> Document:
    return replace(Document.from_text(source), translation=Document.from_text(target))


PAIRS = [
    pair(f"{a} {b} {c}.", f"{x} {y} {z}.") for a, x in WHO.items() for b, y in DOES.items() for c, z in WHAT.items()
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("models") / "translator"
    return translate_train(PAIRS, validation=PAIRS[::2], test=[PAIRS[1::4], PAIRS[3::4]], **QUICK, out=out)


def test_forty_pairs_are_learned(learned: Translator) -> None:
    rows = learned.record["bleu"]
    assert [(row["set"], row["pairs"]) for row in rows] == [("validation", 20), ("test", 10), ("test", 10)]
    assert all(row["bleu"] > 90 and row["how"] == "greedy" for row in rows)
    assert all(row["references_cut_and_joined"] == pytest.approx(100) for row in rows)
    assert rows[0]["examples"][0] == {
        "source": "Der Bauer sieht die alte Brücke.",
        "written": "The farmer sees the old bridge.",
        "reference": "The farmer sees the old bridge.",
    }
    curve = [row["held_loss"] for row in learned.record["curve"]]
    assert curve[-1] < 0.5 < 4 < curve[0]


def test_bleu_is_that_of_sacrebleu(learned: Translator) -> None:
    import sacrebleu

    from attlas.studies.translate_train.passes import translations
    from attlas.tasks import Translation
    from attlas.text import Passage

    untrained = learned.subject.twin()
    mixed = PAIRS[:6] + [replace(one, translation=Document.from_text("The old farmer sees.")) for one in PAIRS[6:12]]
    examples = learned.subject.pieces.encode_bare([Passage(one, one.translation) for one in mixed])
    for subject in (learned.subject, untrained):
        task = Translation(subject)
        written = translations(task, examples)
        ours = float(task.metric.score(task.mark(examples, written).numpy()))
        references = [one.translation.text for one in mixed if one.translation is not None]
        assert ours == pytest.approx(sacrebleu.corpus_bleu(written, [references]).score, abs=1e-6)


def test_any_program_loads_the_folder(learned: Translator) -> None:
    assert learned.folder is not None
    names = {path.name for path in learned.folder.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "training.json"}
    assert not any(name.endswith((".bin", ".pt", ".pkl")) or name.startswith("checkpoint") for name in names)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(learned.folder).eval()
    words = transformers.AutoTokenizer.from_pretrained(learned.folder)
    ids = model.generate(**words("Das Kind mag den Apfel des Kindes .", return_tensors="pt"), num_beams=1)
    assert words.decode(ids[0], skip_special_tokens=True) == "The child likes the child's apple."

    subject = attlas.load(learned.folder, task_head="seq2seq")
    assert (subject.fingerprint, subject.missing) == (learned.record["fingerprint"], ())
    assert subject.streams == (Stream.ENCODER, Stream.DECODER, Stream.CROSS)
    assert subject.has_norms
    capture = subject.look("Niemand mag die alte Brücke.", "Nobody likes the old bridge.")
    assert capture.words(Stream.CROSS).shape == (1, 2, 7, 7)  # with start and end
    survey = attlas.survey(subject, PAIRS[:4])
    assert "heads" in survey.tables


class Stop(Exception):
    pass


class Breaking(Silent):
    """Interrupts the run after so many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def advance(self, pieces: int) -> None:
        self.left -= 1
        if not self.left:
            raise Stop


@pytest.mark.parametrize("steps", [1, 7, 14])
def test_an_interrupted_run_goes_on_to_the_same_weights(steps: int, tmp_path: Path) -> None:
    asked: dict[str, Any] = {
        **TINY,
        "epochs": 3,
        "batch_pieces": 100,
        "learning_rate": 3e-3,
        "validation": PAIRS[:6],
        "seed": 3,
    }
    whole = translate_train(PAIRS[6:], **asked, out=tmp_path / "whole")
    with pytest.raises(Stop):
        translate_train(PAIRS[6:], **asked, out=tmp_path / "torn", checkpoint_every=0, progress=Breaking(steps))
    assert not (tmp_path / "torn" / "training.json").exists()
    if steps > 1:
        with pytest.raises(PlanError, match="an earlier run was interrupted here"):
            translate_train(PAIRS[6:], **asked, out=tmp_path / "torn")
        with pytest.raises(PlanError, match="seed: was 3, is now 4"):
            translate_train(PAIRS[6:], **{**asked, "seed": 4}, out=tmp_path / "torn", resume=True)
    torn = translate_train(PAIRS[6:], **asked, out=tmp_path / "torn", resume=True)
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "torn")]
    assert files[0] == files[1]
    assert torn.record["curve"] == whole.record["curve"]
    again = translate_train(PAIRS[6:], **asked, out=tmp_path / "torn", resume=True)
    assert again.record["fingerprint"] == torn.record["fingerprint"]
    with pytest.raises(StoreError, match="another plan"):
        translate_train(PAIRS[6:], **{**asked, "learning_rate": 1e-3}, out=tmp_path / "torn")


def test_the_other_direction(tmp_path: Path) -> None:
    made = translate_train(PAIRS, validation=PAIRS[:4], swap=True, **{**QUICK, "epochs": 2}, out=tmp_path / "out")
    assert made.record["bleu"][0]["examples"][0]["source"] == "The farmer sees the old bridge."
    assert json.loads((tmp_path / "out" / "training.json").read_text())["plan"]["options"]["swap"] is True


def test_what_is_held_out_is_not_learned_and_long_pairs_are_counted() -> None:
    long = pair("Der Bauer " * 30, "The farmer " * 30)
    made = translate_train([*PAIRS, long], **{**QUICK, "epochs": 1}, max_pieces=20)
    texts = made.record["texts"]
    assert texts["learned"] + texts["held_out"] == 40
    assert sum(made.record["skipped"].values()) == 1
    assert made.record["bleu"][0]["name"] == "held out of documents"
    few = translate_train(PAIRS, validation=PAIRS[:4], limit=10, **{**QUICK, "epochs": 1})
    assert few.record["texts"] == {"learned": 10, "held_out": 4}


@pytest.mark.parametrize(("pairs", "held"), [(2, 1), (20, 1), (40, 2)])
def test_a_twentieth_of_the_pairs_is_held_out_and_of_two_one(pairs: int, held: int) -> None:
    rest, apart = _hold_out(PAIRS[:pairs], as_corpus(PAIRS[:pairs]), 0)
    assert (len(rest), len(apart.documents)) == (pairs - held, held)
    assert {pair.text for pair in (*rest, *apart.documents)} == {pair.text for pair in PAIRS[:pairs]}


def test_pieces_per_second_are_those_of_all_passes(learned: Translator) -> None:
    record = learned.record
    read = record["pieces"]["learned"] * QUICK["epochs"]
    assert record["stopped_by"] == "all passes done"
    assert record["pieces_per_second"] * record["seconds"] == pytest.approx(read, rel=0.1)


def test_a_side_that_fills_the_window_is_scored_and_a_longer_one_refused(
    learned: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attlas.tasks import Translation

    task = Translation(learned.subject)
    texts = as_corpus(PAIRS[:3])
    longest = max(
        example.length for example in task.subject.pieces.encode_bare([Passage(d, d.translation) for d in PAIRS[:3]])
    )
    monkeypatch.setattr(task.subject.pieces, "window", longest)
    assert passes.score(task, "test", texts, Silent())["pairs"] == 3
    monkeypatch.setattr(task.subject.pieces, "window", longest - 1)
    with pytest.raises(CorpusError, match=f"more than the {longest - 1} pieces"):
        passes.score(task, "test", texts, Silent())


def test_beams_and_time() -> None:
    made = translate_train(PAIRS, validation=PAIRS[:4], **{**QUICK, "epochs": 9}, beams=3, minutes=0.0)
    assert made.record["bleu"][0]["how"] == "beam of 3"
    assert (made.record["stopped_by"], len(made.record["curve"])) == ("time", 2)


def test_a_seed_decides_everything() -> None:
    found = [
        translate_train(PAIRS, validation=PAIRS[:4], **{**QUICK, "epochs": 1}, seed=seed).record["fingerprint"]
        for seed in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"validation": PAIRS}, "documents holds the very pairs of documents"),
        ({"validation": [Document.from_text("Hallo.")]}, "it has no translation"),
        ({"width": 33}, "a width of 33 cannot be shared by 2 heads"),
        ({"dropout": 1.0}, "dropout is a share"),
        ({"smoothing": -0.1}, "label smoothing is a share"),
        ({"learning_rate": 0.0}, "learning rate must be above 0"),
        ({"schedule": "sideways"}, "a rate cannot fall by 'sideways'; choose linear or root"),
        ({"vocabulary": 3}, "at least 10 pieces are needed, not 3"),
        ({"max_pieces": 4}, "every pair has a side longer than 4 pieces"),
        ({"limit": 1, "validation": None}, "a single pair cannot be"),
    ],
)
def test_what_cannot_be(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    asked = {**QUICK, "epochs": 1, "validation": PAIRS[:4], **change}
    with pytest.raises((PlanError, CorpusError), match=message):
        translate_train(PAIRS, **asked, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_bitexts_are_joined() -> None:
    corpora = [as_corpus(PAIRS[:20]), as_corpus(PAIRS[20:36])]
    made = translate_train(corpora, validation=PAIRS[36:], **{**QUICK, "epochs": 1})
    assert made.record["texts"]["learned"] == 36
    assert made.record["data"]["sha256"] == joined(corpora).sha256
    assert np.isfinite(made.record["held_out_loss"])


def test_fresh_states_of_a_sentence_differ_after_six_layers() -> None:
    """With the usual spread the pieces of a sentence are all alike before anything is learned, and stay so."""
    from attlas.capture import Subject
    from attlas.models import sizes, translator
    from attlas.models.subwords import make_tokenizer
    from attlas.studies.translate_train.passes import alikeness

    texts = [f"a{n} b{n} c{n} d{n} e{n} f{n} g{n} h{n}" for n in range(30)]
    pieces = make_tokenizer(texts, texts, 400)

    def fresh(spread: float | None = None) -> float:
        with pytest.MonkeyPatch.context() as patch:
            if spread is not None:
                patch.setattr(sizes.Sizes, "spread", spread)
            model = Subject(translator.make_translator(pieces, sizes.Sizes(width=128, ffn=256)))
        return alikeness(model, model.pieces.encode_all([Passage(Document.from_text(text)) for text in texts[:5]]))

    assert fresh(128**-0.5) > 0.9
    assert fresh() < 0.7
