"""Alignment as one call: directions put together, choices with and without gold, baselines, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attlas.corpora import Corpus, read_bitext
from attlas.errors import AttlasError, CapabilityError, CorpusError, StoreError
from attlas.run.setting import as_corpus
from attlas.stats.metrics import METRICS
from attlas.store import Result
from attlas.studies.align import baselines as beside
from attlas.studies.align.baselines import add_baselines
from attlas.studies.align.call import align
from attlas.studies.align.handed import pair_rows, sample
from attlas.studies.align.passes import Alignment
from attlas.studies.align.tables import BY_NORM, HALVES, ORACLE, Evidence, Method, Read, halves
from attlas.studies.reporting import command_line
from attlas.text import Passage
from attlas.text.links import Pairs, grow_diag_final_and, intersection, marks
from bitexts import PAIRS, document, documents, subject


def rows(result: Result, table: str, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in result.tables[table].to_pylist() if all(row[name] == wanted[name] for name in wanted)]


def links(written: str) -> Pairs:
    return frozenset((int(i), int(j)) for i, j in (link.split("-") for link in written.split()))


def handed(result: Result) -> list[Pairs]:
    return [links(row["predicted"]) for row in result.tables["links"].to_pylist()]


def aer(found: list[Pairs], gold: list[Any]) -> float:
    sums = np.sum([marks(one, text.links) for one, text in zip(found, gold, strict=True)], axis=0)
    return METRICS["aer"].of(sums).item()


@pytest.fixture(scope="module")
def both() -> Result:
    return align(subject("marian"), documents(), back=subject("marian", 1), aligners=["diagonal"])


def test_two_directions_are_put_together(both: Result) -> None:
    texts = documents()
    swapped = [document(b, a) for a, b, _ in PAIRS]
    for side in ("output", "input"):
        for layer in (0, 1):
            options: dict[str, Any] = {"layer": str(layer + 1), "side": side, "aligners": ()}
            forward = handed(align(subject("marian"), documents(gold=False), **options))
            turned = handed(align(subject("marian", 1), swapped, **options))
            backward = [frozenset((j, i) for i, j in one) for one in turned]
            sizes = [(len(text.words), len(text.translation.words)) for text in texts if text.translation]
            grown = [grow_diag_final_and(*three) for three in zip(forward, backward, sizes, strict=True)]
            common = [intersection(*two) for two in zip(forward, backward, strict=True)]
            place = {"side": side, "layer": layer, "measure": "norm", "head": None, "score": "AER"}
            ways = {"forward": forward, "backward": backward, "intersection": common, "grow-diag-final-and": grown}
            for direction, found in ways.items():
                (row,) = rows(both, "scores", direction=direction, **place)
                assert row["value"] == pytest.approx(aer(found, texts)), (direction, place)
                assert row["links"] == sum(len(one) for one in found)
                assert row["low"] is row["high"] is None  # five pairs are too few
                assert row["twin_low"] <= row["twin"] <= row["twin_high"]
                assert row["twins"] == 5
    assert {row["aligner"] for row in both.tables["scores"].to_pylist()} == {"attention", "diagonal"}


def test_what_is_handed_out_is_chosen_by_mean_norms(both: Result, tmp_path: Path) -> None:
    ways = {way: rows(both, "choices", direction=way, side="input", measure="norm", unit="layer", how=BY_NORM)[0]
            for way in ("forward", "backward", "grow-diag-final-and")}  # fmt: skip
    for way in ("forward", "backward"):
        norms = {
            row["layer"]: row["value"] for row in rows(both, "mean_norms", direction=way, side="input", head=None)
        }
        assert ways[way]["layer"] == max(norms, key=lambda layer: norms[layer])
        assert ways[way]["mean_norm"] == max(norms.values())
    together = ways["grow-diag-final-and"]
    assert (together["layer"], together["back_layer"]) == (ways["forward"]["layer"], ways["backward"]["layer"])
    assert together["value"] == pytest.approx(aer(handed(both), documents()))
    for direction, way in (("forward", ways["forward"]), ("backward", ways["backward"])):
        file = tmp_path / f"{direction}.pharaoh"
        result = align(
            subject("marian"), documents(), back=subject("marian", 1), aligners=(), direction=direction, pharaoh=file
        )
        assert aer(handed(result), documents()) == pytest.approx(way["value"])
        bitext = tmp_path / "a.txt"
        bitext.write_text("".join(f"{a} ||| {b}\n" for a, b, _ in PAIRS), encoding="utf-8")
        again = [text.links.sure for text in read_bitext(bitext, file) if text.links]
        assert again == handed(result)


def test_pairs_are_shown_with_their_own_error_rates() -> None:
    """A = {0-0, 1-0}, S = {0-0}, P = {0-0, 1-1}: 1 - (1 + 1) / (2 + 1); and no figure for a pair without gold."""
    texts = [document("a b", "x y", "0-0 1p1"), document("a b", "x y")]
    shown = list(pair_rows(texts, [0, 1], [7, 8], {"mine": [links("0-0 1-0")] * 2}))
    assert [row["aer"] for row in shown] == [pytest.approx(1 / 3), None]
    assert [(row["pair"], row["sure"], row["possible"], row["predicted"]) for row in shown] == [
        (7, "0-0", "1-1", "0-0 1-0"),
        (8, None, None, "0-0 1-0"),
    ]


def test_of_many_pairs_the_best_the_worst_and_some_between_are_shown() -> None:
    """Of 70 pairs the first ten have the right link, the last ten the wrong one, those between both."""
    texts = [document("a b", "x y", "0-0")] * 70
    good, bad = links("0-0"), links("1-1")
    found = [good] * 10 + [good | bad] * 50 + [bad] * 10
    chosen = sample(texts, found, 3)
    assert set(chosen) >= {*range(10), *range(60, 70)}
    assert len(chosen) == 40
    assert chosen == sorted(set(chosen))
    assert sample(texts, found, 3) == chosen != sample(texts, found, 4)
    assert sample(texts[:40], found[:40], 3) == list(range(40))
    assert len(sample([document("a b", "x y")] * 70, found, 3)) == 40


def test_a_head_can_be_handed_out() -> None:
    texts = documents()
    result = align(subject("bert"), texts, head="2-3", measure="weight", aligners=())
    (row,) = rows(result, "scores", measure="weight", side="to source", layer=1, head=2, score="AER")
    assert aer(handed(result), texts) == pytest.approx(row["value"])
    assert result.tables["links"].column("method")[0].as_py() == "weight, to source, head 2-3"


def test_an_encoder_gives_both_directions_itself() -> None:
    texts = documents()
    result = align(subject("bert"), texts, aligners=())
    found = {(row["direction"], row["side"]) for row in result.tables["scores"].to_pylist()}
    both = {("intersection", ""), ("grow-diag-final-and", "")}
    assert found == {("forward", "to source"), ("backward", "to target")} | both
    (row,) = rows(result, "choices", direction="grow-diag-final-and", measure="norm")
    assert aer(handed(result), texts) == pytest.approx(row["value"])
    assert "grow-diag-final-and" in result.tables["links"].column("method")[0].as_py()


def test_the_oracle_and_the_honest_choice() -> None:
    texts, model = documents() * 6, subject("marian")
    study = Alignment(model, texts)
    items = list(enumerate(model.pieces.encode_all([Passage(text, text.translation) for text in texts])))
    bundle = study.empty()
    study.update(bundle, items)
    result = align(model, texts, aligners=())
    counts = study.marks(bundle)
    first = halves(len(texts), 0)
    assert first.sum() == 15
    for side in ("output", "input"):
        methods = [study.number(Method("norm", side, layer)) for layer in (0, 1)]
        scores = METRICS["aer"].of(counts.sum(0)[methods])
        (oracle,) = rows(result, "choices", side=side, measure="norm", unit="layer", how=ORACLE)
        assert (oracle["layer"], oracle["value"]) == (int(scores.argmin()), pytest.approx(scores.min()))
        sums = np.zeros(4)
        for chosen_on in (first, ~first):
            on_half = METRICS["aer"].of(counts[chosen_on].sum(0)[methods])
            sums += counts[~chosen_on][:, methods[int(on_half.argmin())]].sum(0)
        (honest,) = rows(result, "choices", side=side, measure="norm", unit="layer", how=HALVES)
        assert honest["value"] == pytest.approx(METRICS["aer"].of(sums).item())
        assert honest["value"] >= oracle["value"] - 1e-9
    gained = rows(result, "gains", side="input", layer=0)[0]
    assert gained["change"] == pytest.approx(gained["norm"] - gained["weight"])
    known = Evidence(texts, Read(study, [bundle, bundle]))
    assert [view.direction for view in known.views] == ["forward", "forward"]
    assert known.couples == []


def test_without_gold_there_are_links_and_norms() -> None:
    result = align(subject("marian"), documents(gold=False), back=subject("marian", 1), aligners=["diagonal"])
    assert list(result.tables) == ["scores", "choices", "mean_norms", "pairs", "links"]
    assert {row["score"] for row in result.tables["scores"].to_pylist()} == {"linked"}
    (row,) = rows(result, "scores", direction="forward", side="input", layer=0, head=None, measure="norm")
    target = sum(len(b.split()) for _, b, _ in PAIRS)
    assert row["value"] == pytest.approx(row["links"] / target)
    assert {row["value"] for row in result.tables["choices"].to_pylist()} == {None}
    assert set(result.tables["pairs"].column("aer").to_pylist()) == {None}


def test_pairs_that_do_not_fit_are_left_out_with_their_gold() -> None:
    texts = documents()
    long = document("many " * 140, "many", " ".join(f"{n}-0" for n in range(140)), "a long one")
    result = align(subject("marian"), [texts[0], long, *texts[1:]], aligners=["diagonal"])
    alone = align(subject("marian"), texts, aligners=["diagonal"])
    assert result.manifest.corpus["left_out"] == [2]
    assert result.manifest.skipped == {"pair of sentences longer than 128 pieces of marian 0": 1}
    assert result.tables["scores"].to_pydict() == alone.tables["scores"].to_pydict()
    assert handed(result) == [handed(alone)[0], frozenset(), *handed(alone)[1:]]
    assert set(result.tables["pairs"].column("pair").to_pylist()) == {1, 3, 4, 5, 6}
    with pytest.raises(CorpusError, match="nothing is left of the bitext to align"):
        align(subject("marian"), [long])


def test_a_stopped_run_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    class Stopping:
        def __init__(self, after: int) -> None:
            self.left, self.said = after, [""]

        def start(self, name: str, total: int, done: int) -> None:
            self.said.append(name)

        def advance(self, pieces: int) -> None:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

        def note(self, text: str) -> None:
            self.said.append(text)

        def finish(self) -> None:
            pass

    def run(after: int, **more: Any) -> Result:
        progress: Any = Stopping(after)
        return align(
            subject("marian"), documents(), back=subject("marian", 1), aligners=["diagonal"], budget=20,
            out=tmp_path / "out", progress=progress, **more,
        )  # fmt: skip

    for number, after in enumerate((2, 7, 3)):
        with pytest.raises(KeyboardInterrupt):
            run(after, resume=number > 0)
    result = run(0, resume=True)
    alone = align(subject("marian"), documents(), back=subject("marian", 1), aligners=["diagonal"], budget=20)
    for name, table in alone.tables.items():
        assert Result.open(tmp_path / "out").tables[name].to_pydict() == table.to_pydict()
    assert result.manifest.plan == alone.manifest.plan


def test_baselines_can_be_added_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = as_corpus(documents())
    with monkeypatch.context() as patch:
        patch.setattr(beside, "missing", lambda name: "diagonal needs a ruler" if name == "diagonal" else None)
        bare = align(subject("marian"), texts, aligners=["diagonal"])
    assert bare.manifest.skipped == {"baseline left out: diagonal needs a ruler": 1}
    whole = align(subject("marian"), texts, aligners=["diagonal"])
    added = add_baselines(bare, texts, names=["diagonal"])
    assert added.manifest.skipped == {}
    assert added.tables["scores"].to_pydict() == whole.tables["scores"].to_pydict()
    order = [("pair", "ascending"), ("method", "ascending")]
    plain = [t.tables["pairs"].to_pandas().astype(str).sort_values([c for c, _ in order]) for t in (added, whole)]
    assert plain[0].to_numpy().tolist() == plain[1].to_numpy().tolist()
    twice = add_baselines(added, texts, names=["diagonal"])
    assert twice.tables["scores"].to_pydict() == whole.tables["scores"].to_pydict()
    with pytest.raises(StoreError, match="this is no alignment of documents"):
        add_baselines(bare, documents(gold=False)[:2])


def test_more_text_for_baselines_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def fake(name: str, pairs: Any, *, more: Any = ()) -> dict[str, list[Pairs]]:
        asked.append(len(list(more)))
        found: list[Pairs] = [frozenset({(0, 0)}) for _ in pairs]
        return dict.fromkeys(("forward", "backward", "intersection", "grow-diag-final-and"), found)

    monkeypatch.setattr(beside, "align_with", fake)
    monkeypatch.setattr(beside, "missing", lambda name: None)
    more = Corpus(tuple(documents(gold=False)[:3]), "bitext", "more.txt", "", (0, 1, 2))
    result = align(subject("marian"), documents(), aligners=["eflomal"], more=more)
    assert asked == [0, 3]
    found = {row["trained_on"] for row in rows(result, "scores", aligner="eflomal")}
    assert found == {"these pairs", "these pairs and more.txt"}
    assert result.manifest.plan["corpus"]["more"]["name"] == "more.txt"
    assert result.manifest.corpus["more_pairs"] == 3


@pytest.mark.parametrize(
    ("family", "options", "reason"),
    [
        ("marian", {"direction": "backward"}, "backward links need the model of the other direction"),
        ("marian", {"direction": "sideways"}, "there is no direction 'sideways'; choose forward, backward"),
        ("marian", {"side": "to source"}, "no side 'to source' in cross attention; choose output or input"),
        ("marian", {"measure": "weights"}, "there is no measure 'weights'"),
        ("marian", {"layer": "3"}, "there is no layer 3 in the cross attention of marian 0; it has 2"),
        ("marian", {"layer": 1}, "layers are named by label counted from 1: give '2' instead of the number 1"),
        ("marian", {"head": 3}, "heads are named by label counted from 1"),
        ("marian", {"one_indexed": True}, "one_indexed says how the file of gold links counts, and none is given"),
        ("marian", {"head": "1-9"}, "there is no head cross 1-9 in marian 0"),
        ("marian", {"head": "encoder 1-1"}, "encoder layer 0, head 0 is not in the cross attention"),
        ("marian", {"head": "1-1", "layer": "1"}, "leave out the layer and the direction"),
        ("marian", {"aligners": ["giza"]}, "there is no aligner 'giza'"),
        ("marian", {"pharaoh": "no such folder/a"}, "no such folder: there is no such folder for the file of links"),
        ("marian", {"max_pieces": 500}, "500 pieces are asked for and the window of marian 0 holds 128"),
        ("bert", {"back": "twin"}, "bert 0 reads both sentences at once and gives both directions itself"),
        ("llama", {}, "reads a single text from left to right"),
        ("bert", {"stream": "cross"}, "bert 0 has no cross attention; it reads two sentences at once"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(family: str, options: dict[str, Any], reason: str) -> None:
    if options.get("back"):
        options = {**options, "back": subject("marian", 1)}
    with pytest.raises(AttlasError, match=reason):
        align(subject(family), documents(), **{"aligners": (), **options})


def test_back_must_be_another_translation_model() -> None:
    model = subject("marian")
    with pytest.raises(CapabilityError, match="marian 0 is the model itself; --back wants one that translates"):
        align(model, documents(), back=model)
    with pytest.raises(CapabilityError, match="bert 0 has no cross attention"):
        align(model, documents(), back=subject("bert"))


def test_gold_without_a_link_is_refused() -> None:
    empty = [document(a, b, "") for a, b, _ in PAIRS]
    with pytest.raises(CorpusError, match="the gold has no link at all"):
        align(subject("marian"), empty)
    with pytest.raises(CorpusError, match="there is no translation here to align with"):
        align(subject("marian"), "sample")


def test_the_line_that_repeats_a_run(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("".join(f"{gold}\n" for *_, gold in PAIRS), encoding="utf-8")
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{a} ||| {b}\n" for a, b, _ in PAIRS), encoding="utf-8")
    result = align(
        subject("marian"), tmp_path / "a", gold=tmp_path / "gold", back=subject("marian", 1), aligners=(),
        more=[tmp_path / "a", tmp_path / "b"], layer="2",
    )  # fmt: skip
    assert command_line(result.manifest) == (
        "attlas align a --model 'marian 0' --gold gold --back 'marian 1' --stream cross --aligners none --more a "
        "--more b --layer 2"
    )
