"""The aligners: which way is forward, what is refused, and that nothing is printed."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest

from attlas.corpora import read_bitext
from attlas.errors import PlanError
from attlas.stats import METRICS
from attlas.studies.align import aligners
from attlas.studies.align.aligners import ALIGNERS, DIRECTIONS, align_with, missing
from attlas.text.links import Pairs, marks, symmetrise

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "word_alignment"
learning = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(missing(name) is not None, reason=str(missing(name))))
        for name in ("eflomal", "fast_align")
    ],
)


def lopsided(count: int = 200) -> list[tuple[list[str], list[str]]]:
    """Sentences of invented words, of which three are translated by two words each."""
    draw = random.Random(4)
    pairs = []
    for _ in range(count):
        source = draw.sample([letter * 3 for letter in "abcdefghijkl"], draw.randint(3, 6))
        target = [form for word in source for form in ([word.upper() + "1", word.upper() + "2"][: 1 + (word < "d")])]
        pairs.append((source, target))
    return pairs


@learning
def test_forward_gives_each_target_word_at_most_one_source_word(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pairs = lopsided()
    links = align_with(name, pairs[:40], more=pairs[40:])
    assert tuple(links) == DIRECTIONS
    assert all(len(found) == 40 for found in links.values())
    right = total = 0
    for (source, target), forward, backward in zip(pairs, links["forward"], links["backward"], strict=False):
        assert len({j for _, j in forward}) == len(forward)
        assert len({i for i, _ in backward}) == len(backward)
        right += sum(source[i].upper() == target[j][:3] for i, j in forward)
        total += len(forward)
    assert right / total > 0.9
    for how in DIRECTIONS[2:]:
        sizes = [(len(source), len(target)) for source, target in pairs[:40]]
        both = zip(links["forward"], links["backward"], sizes, strict=True)
        assert links[how] == [symmetrise(how, *pair) for pair in both]
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


@learning
def test_forward_links_a_source_word_to_both_its_translations(name: str) -> None:
    # eflomal draws afresh in every run and often gives such a word one link only: one run of several has to show it
    pairs = lopsided()
    runs = (align_with(name, pairs[:40], more=pairs[40:])["forward"] for _ in range(8))
    assert any(len({i for i, _ in found}) < len(found) for links in runs for found in links)


@learning
def test_odd_words_and_pairs_that_cannot_be_used(name: str) -> None:
    pairs: list[tuple[list[str], list[str]]] = [(["a|||b", "|||", "c d"], ["\u2028", "x"]), ([], ["y"]), (["z"], [])]
    links = align_with(name, [*pairs, *lopsided(20)], more=[([], ["y"]), *lopsided(20)])
    assert [bool(found) for found in links["forward"]][1:3] == [False, False]
    assert all(i < 3 and j < 2 for i, j in links["forward"][0] | links["backward"][0])
    assert align_with(name, []) == {direction: [] for direction in DIRECTIONS}


@pytest.mark.skipif(missing("fast_align") is not None, reason=str(missing("fast_align")))
def test_fast_align_is_decoded_as_its_own_aligner_does(tmp_path: Path) -> None:
    """At its fixed tension of 4 it lies between our intersection and our union; its own growing visits otherwise."""
    import systran_align  # type: ignore[import-not-found, unused-ignore]

    pairs = lopsided(60)
    text = tmp_path / "text"
    text.write_text("".join(f"{' '.join(ours)} ||| {' '.join(theirs)}\n" for ours, theirs in pairs))
    tables = [tmp_path / "forward", tmp_path / "backward"]
    systran_align.generate_alignment_probabilities(str(text), *map(str, tables), favor_diagonal=True)
    theirs = systran_align.Aligner(*map(str, tables))
    forward, backward = (aligners._Table(table) for table in tables)
    differ = 0
    for source, target in pairs:
        there: Pairs = frozenset(map(tuple, theirs.align(source, target)["alignments"]))
        ours = aligners._best_partners(forward.between(source, target), 4.0)
        other = aligners._turned(aligners._best_partners(backward.between(target, source), 4.0))
        assert ours & other <= there <= ours | other
        differ += ours != other
    assert differ > 10


def test_diagonal_and_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    links = align_with("diagonal", [(["a", "b"], ["x", "y", "z", "w"])])
    assert links["forward"] == [frozenset({(0, 0), (0, 1), (1, 2), (1, 3)})]
    assert links["backward"] == [frozenset({(0, 1), (1, 3)})]
    assert ALIGNERS == ("eflomal", "fast_align", "diagonal")
    with pytest.raises(PlanError, match=r"there is no aligner 'giza'; there are eflomal, fast_align, diagonal"):
        align_with("giza", [])
    monkeypatch.setattr(aligners, "find_spec", lambda name: None)
    with pytest.raises(
        PlanError, match=r"^fast_align needs the package systran-align: pip install 'attlas\[align\]'$"
    ):
        align_with("fast_align", [])


def test_an_aligner_that_fails_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligners, "missing", lambda name: None)
    monkeypatch.setattr(aligners, "_EFLOMAL", "raise SystemExit('no memory')")
    with pytest.raises(PlanError, match=r"^eflomal stopped with status 1 and no links: no memory$"):
        align_with("eflomal", [(["a"], ["b"])])


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.exists(), reason="the gold alignments are not there")
@pytest.mark.skipif(missing("fast_align") is not None, reason=str(missing("fast_align")))
def test_on_gold_alignments_both_directions_beat_the_diagonal() -> None:
    """Links turned the wrong way would be no better than it."""
    texts = read_bitext(SHARED / "deen_europarl000117.src-tgt", SHARED / "deen_europarl000117.gold")
    pairs = [(text.forms, text.translation.forms) for text in texts if text.translation is not None]
    rates = {
        name: {
            direction: METRICS["aer"].score(
                [marks(links, text.links) for links, text in zip(found, texts, strict=True) if text.links is not None]
            )
            for direction, found in align_with(name, pairs).items()
        }
        for name in ("diagonal", "fast_align")
    }
    assert all(rates["fast_align"][way] < rates["diagonal"][way] - 0.1 for way in DIRECTIONS)
