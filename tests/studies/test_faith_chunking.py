"""The chunking study: what is written down against loops, the bend against curves with a known one, a small run."""

from __future__ import annotations

import inspect
import json
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau
from seqeval.metrics import f1_score

from attlas.capture import Recorder, Subject
from attlas.corpora.conll2000 import chunks_of
from attlas.errors import CorpusError, PlanError
from attlas.ids import Site, Stream
from attlas.models.tagger import TaggerSizes, make_tagger, make_word_tokenizer
from attlas.pages.laws import check_page
from attlas.stats import METRICS
from attlas.studies.faith_chunking.bend import FEWEST, LEAST_SEEDS, bend_of_seeds, fit_bend
from attlas.studies.faith_chunking.call import _keep_models, faith_chunking
from attlas.studies.faith_chunking.page import PAGE
from attlas.studies.faith_chunking.passes import Workshop
from attlas.studies.faith_chunking.tables import WITHIN, Trained, f1, per_word, tables_of
from attlas.studies.faith_chunking.taggers import COLUMNS, write_down
from attlas.studies.faith_chunking.trainings import ENDS, WEIGHTS, Training, trainings
from attlas.studies.reporting import command_line
from attlas.tasks.guided import Guided, guided_by
from attlas.tasks.tagging import Tagging, labels_of
from attlas.text import Document, Passage

SITE = Site(Stream.ENCODER, 0)
WORDS = ["the", "a", "dog", "cat", "bird", "saw", "heard", "of", "and", "old"]
LABELS = ["B-NP", "B-PP", "B-VP", "I-NP", "I-VP", "O"]
SMALL = {
    "width": 16,
    "ffn": 16,
    "epochs": 2,
    "seeds": 2,
    "middle": 1,
    "guided": 1,
    "instances": 6,
    "learning_rate": 3e-3,
}


def sentences(count, seed):
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        length = int(draw.integers(3, 9))
        tags = [str(tag) for tag in draw.choice(LABELS, length)]
        words = [str(word) for word in draw.choice(WORDS, length)]
        made.append(Document.from_words(words, chunks=chunks_of(tags), name=f"sentence {number}"))
    return made


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faith") / "run"
    return faith_chunking(sentences(20, 0), sentences(12, 1), weights=[0.2, 1, 3], out=folder, **SMALL), folder


def test_what_is_written_down_is_what_loops_find():
    texts = sentences(5, 2)
    words = make_word_tokenizer([document.text for document in texts] * 2)
    original, model = (Subject(make_tagger(words, LABELS, TaggerSizes(width=16, ffn=16), seed=s)) for s in (0, 1))
    examples = model.pieces.encode_all([Passage(document) for document in texts])
    rows = write_down(Tagging(model, "chunks"), examples, original)
    for row, (document, example) in zip(rows, zip(texts, examples, strict=True), strict=True):
        seen = {}
        for name, subject in (("own", model), ("other", original)):
            recorder = Recorder({"weights"})
            with torch.no_grad(), subject.use(recorder):
                logits = subject.run(subject.pieces.batch([example], subject.device)).logits[0]
            seen[name] = logits.softmax(-1).double().numpy(), recorder.get(SITE)[0].double().numpy()
        (own, here), (other, there) = seen["own"], seen["other"]
        found = dict(zip(COLUMNS, row, strict=True))
        count = len(document.words)
        assert found["words"] == count
        assert found["tvd"] == pytest.approx(np.abs(own - other).sum() / 2, abs=1e-4)
        nll = -sum(np.log(own[word, other[word].argmax()]) for word in range(count))
        assert found["nll"] == pytest.approx(nll, abs=1e-4)
        assert found["kl"] == pytest.approx((there * np.log(there / here)).sum() / 4, abs=1e-4)
        pairs = [(there[head, word], here[head, word]) for head in range(4) for word in range(count)]
        assert found["kendall"] == pytest.approx(sum(kendalltau(a, b).statistic for a, b in pairs) / 4, abs=1e-4)
        assert found["first"] == pytest.approx(sum(a.argmax() == b.argmax() for a, b in pairs) / 4, abs=1e-6)
        tags = [LABELS[number] for number in own.argmax(-1)]
        gold = list(labels_of(document, "chunks"))
        expected = f1_score([gold], [tags], zero_division=0)
        assert METRICS["f1"].score(row[None, :3]) == pytest.approx(expected, abs=1e-9)


def test_of_a_tagger_that_guides_itself_the_same_is_written_down():
    texts = sentences(5, 2)
    words = make_word_tokenizer([document.text for document in texts] * 2)
    original, model = (Subject(make_tagger(words, LABELS, TaggerSizes(width=16, ffn=16), seed=s)) for s in (0, 1))
    examples = model.pieces.encode_all([Passage(document) for document in texts])
    plain, guided = Tagging(model, "chunks"), Guided(model, "chunks", guided_by(model))
    ours, theirs = (write_down(task, examples, original) for task in (guided, plain))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_bend_is_found_where_it_was_made():
    draw = np.random.default_rng(0)
    x = np.tile(np.linspace(0, 1, 12), 5)
    for at in (0.3, 0.6):
        y = 0.1 * x + np.maximum(x - at, 0) * 3 + draw.normal(0, 0.02, len(x))
        found = fit_bend(x, y)
        assert found.at == pytest.approx(at, abs=0.05)
        assert found.slope_after == pytest.approx(3.1, abs=0.3)
        assert found.gain > 0.9


def test_a_straight_line_has_no_bend_worth_the_name():
    x = np.linspace(0, 1, 30)
    y = 2 * x + np.random.default_rng(1).normal(0, 0.1, 30)
    assert fit_bend(x, y).gain < 0.3
    assert fit_bend([0, 1, 1], [0, 1, 1]) is None


def test_the_interval_of_a_bend_is_over_seeds():
    x = np.linspace(0, 1, 12)
    curves = [(x, np.maximum(x - at, 0)) for at in (0.4, 0.5, 0.6)]
    bend, (low, high), seeds = bend_of_seeds(curves)
    assert seeds == 3
    assert bend.at == pytest.approx(0.5, abs=0.01)
    reach = 4.3027 * 0.1 / 3**0.5  # Student's
    assert (low, high) == pytest.approx((0.5 - reach, 0.5 + reach), abs=0.01)
    assert bend_of_seeds([*curves[:1], ([0, 1], [0, 1])])[1:] == (None, 1)
    assert bend_of_seeds(curves[:2])[1:] == (None, 2)
    assert bend_of_seeds([([0, 1], [0, 1])]) == (None, None, 0)


def test_intervals_over_two_seeds_stay_within_what_there_can_be():
    rows = np.ones((2, 3, len(COLUMNS)))
    rows[1, :, COLUMNS.index("found")] = 3  # F1 of a half
    for place in map(COLUMNS.index, WITHIN.keys() - {"f1"}):
        rows[1, :, place] = 0.3
    every = [Trained(Training("adversary", weight=0.2, seed=seed), rows[seed], 1.0) for seed in (0, 1)]
    summary = tables_of(every, {}, epochs=1)["summary"]
    for name, (least, most) in WITHIN.items():
        (low,), (high,) = summary[f"{name}_low"], summary[f"{name}_high"]
        assert low == least, name
        assert high <= most, name


@pytest.mark.parametrize("at", [1.0, 1.5, 4.25, 6.5, 7.0])
def test_a_bend_may_lie_between_any_two_points_within(at: float) -> None:
    x = np.arange(9.0)
    bend = fit_bend(x, 3 + np.maximum(x - at, 0))
    assert bend is not None
    assert bend.at == pytest.approx(at, abs=0.02)  # half a step of the grid
    assert (bend.slope_before, bend.slope_after, bend.gain) == pytest.approx((0, 1, 1), abs=0.02)


def test_a_curve_that_only_flattens_has_no_bend_worth_the_name():
    x = np.linspace(0, 1, 12)
    found = fit_bend(x, np.sqrt(x))
    assert found is None or found.gain < 0.2


def test_trainings_come_after_what_they_need():
    every = trainings([0.2, 1, 3], [0.2, 3], 3, 2, 2)
    for place, training in enumerate(every):
        assert all(needed in every[:place] for needed in training.needs)
    assert len(every) == 3 + 3 + 2 + 3 + 2 * 5 * 2
    assert len({training.name for training in every}) == len(every)


def test_a_run_has_all_tables_and_keeps_some_models(result):
    made, folder = result
    assert set(made.tables) - {"bend"} == {
        "models", "summary", "seeds", "ranks", "per_instance", "examples", "sentences"
    }  # fmt: skip
    models = made.table.to_pylist()
    assert len(models) == 2 + 2 + 1 + 2 + 10
    assert {row["kl"] for row in models if row["kind"] == "original"} == {0.0}
    assert all(row["within"] for row in made.tables["per_instance"].to_pylist())
    assert {path.name for path in (folder / "models").iterdir()} == {"original-0", "adversary-0.2-0", "adversary-3-0"}


def test_a_kept_model_answers_as_it_did(result):
    from attlas.capture import load

    made, folder = result
    subject = load(folder / "models" / "original-0", task_head="tagging")
    examples = subject.pieces.encode_all([Passage(document) for document in sentences(12, 1)])
    rows = write_down(Tagging(subject, "chunks"), examples, subject)
    assert f1(rows) == pytest.approx(made.table.to_pylist()[0]["f1"])
    assert per_word(rows, "jsd") == pytest.approx(0, abs=1e-6)


@pytest.mark.campaign
def test_a_killed_run_goes_on_where_it_was(tmp_path, result):
    whole, _ = result
    folder = tmp_path / "run"
    texts, others = sentences(20, 0), sentences(12, 1)
    trained, stop = [], 5
    train = Workshop.train

    def counting(self, task, training, say, doing):
        if len(trained) == stop:
            raise KeyboardInterrupt
        trained.append(training.name)
        train(self, task, training, say, doing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workshop, "train", counting)
        with pytest.raises(KeyboardInterrupt):
            faith_chunking(texts, others, weights=[0.2, 1, 3], out=folder, **SMALL)
        with pytest.raises(PlanError, match="--resume"):
            faith_chunking(texts, others, weights=[0.2, 1, 3], out=folder, **SMALL)
        stop = 100
        again = faith_chunking(texts, others, weights=[0.2, 1, 3], out=folder, resume=True, **SMALL)
        finished = faith_chunking(texts, others, weights=[0.2, 1, 3], out=folder, resume=True, **SMALL)
    assert finished.tables["models"].equals(again.tables["models"])
    assert sorted(model.name for model in (folder / "models").iterdir()) == [
        "adversary-0.2-0", "adversary-3-0", "original-0"
    ]  # fmt: skip
    assert len(trained) == len(set(trained)) == len(whole.table)
    for name in ("models", "ranks", "seeds"):
        ours, theirs = (one.tables[name].drop_columns(_timed(one.tables[name])).to_pydict() for one in (again, whole))
        assert ours == theirs


def test_models_of_a_run_killed_late_take_their_place(tmp_path):
    for place, name in ((".models", "new"), ("models", "old"), ("checkpoint", "left")):
        (tmp_path / place / name).mkdir(parents=True)
    _keep_models(tmp_path)
    (tmp_path / "checkpoint" / "left").mkdir(parents=True)  # as a kill between the two leaves it
    _keep_models(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["models", "new"]


def _timed(table):
    return [name for name in ("seconds",) if name in table.column_names]


def test_bad_input_is_one_sentence():
    texts = sentences(4, 0)
    with pytest.raises(PlanError, match="above 0"):
        faith_chunking(texts, sentences(2, 1), weights=[0, 1])
    with pytest.raises(PlanError, match="none of the weights"):
        faith_chunking(texts, sentences(2, 1), weights=[0.2, 1], ends=[3])
    with pytest.raises(PlanError, match="divergence"):
        faith_chunking(texts, sentences(2, 1), divergence="hellinger")
    with pytest.raises(CorpusError, match="chunks"):
        faith_chunking([Document.from_words(["no", "chunks"])], texts)


def test_the_plan_is_kept(result):
    made, folder = result
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["plan"]["options"]["ends"] == [0.2, 3.0]
    assert made.manifest.corpus["unknown"] == 0


def test_the_page_of_a_real_run_keeps_its_laws_and_says_how_to_repeat_it(result):
    made, _ = result
    check_page(PAGE, made)
    line = command_line(made.manifest)
    assert "attlas faith chunking documents --test documents --weights 0.2,1.0,3.0 --ends 0.2,3.0 --seeds 2" in line
    assert "--learning-rate 0.003" in line


def test_a_run_as_it_is_by_default_has_the_seeds_that_the_interval_of_a_bend_needs() -> None:
    usual = {name: known.default for name, known in inspect.signature(faith_chunking).parameters.items()}
    every = trainings(list(WEIGHTS), list(ENDS), usual["seeds"], usual["middle"], usual["guided"])
    points = Counter(training.seed for training in every if training.kind in ("original", "adversary"))
    assert sum(count >= FEWEST for count in points.values()) == LEAST_SEEDS
    assert len(every) == 56, "as many as the help says"
