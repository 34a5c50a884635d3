"""Coreference by head: against naive loops on every kind of model, and the rules against examples worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.capture.check import eager_weights
from attlas.corpora import read
from attlas.errors import CapabilityError, CorpusError
from attlas.run.setting import as_corpus
from attlas.studies.coref.call import Cut, coref, cut, whole_documents
from attlas.studies.coref.mentions import CANDIDATES, KINDS, known_mentions, question_of
from attlas.studies.coref.passes import DIRECTIONS, Choice, Coref, Window, choose_heads
from attlas.studies.coref.sieves import BASELINES, choose
from attlas.studies.coref.tables import _told
from attlas.text import Document, Mention


def tale(text: str, name: str, **chains: str) -> Document:
    """A document whose mentions are given as chain="first mention / second mention / ...", in order of the text."""
    words = text.split()
    mentions = []
    for chain, told in chains.items():
        start = 0
        for mention in told.split(" / "):
            wanted = mention.split()
            start = next(at for at in range(start, len(words)) if words[at : at + len(wanted)] == wanted)
            mentions.append(Mention(start, start + len(wanted), chain))
            start += 1
    return Document.from_words(words, name=name, mentions=tuple(mentions))


TALES = [
    tale(
        "The farmer offered apples to the housekeeper , because he had too many of them . She thanked him .", "one",
        f="The farmer / he / him", h="the housekeeper / She", a="apples / them",
    ),
    tale(
        "The designer repaired the old bridge . Nobody noticed it , but the unbelievable designer slept . She slept",
        "two", d="The designer / the unbelievable designer / She", b="the old bridge / it",
    ),
    tale(
        "Playing outside , the children forgot the storm . They forgot it because their storm slept .",
        "three", c="the children / They / their", s="the storm / it / their storm",
    ),
    tale("The farmer asked the designer what she was working on .", "four", d="the designer / she"),
]  # fmt: skip
FAMILIES = ["bert", "mpnet", "llama", "mistral", "gpt_neo", "t5", "bart"]


def subject_of(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def naive(subject: Subject, windows: Sequence[Window], study: Coref) -> tuple[np.ndarray, np.ndarray]:
    """Sums and counts for every cell, by loops over weights of the eager model, one text at a time."""
    sums, counts = np.zeros(study.cells), np.zeros(study.cells)
    for window in windows:
        batch = subject.pieces.batch([window])
        words = window.source.segmentation.words
        pieces = [[p for p, w in enumerate(words) if w == word] for word in range(len(window.question.present))]
        for site, weights in eager_weights(subject, batch).items():
            if site.stream is not study.stream:
                continue
            for head in range(weights.shape[1]):
                matrix = weights[0, head].double().numpy()
                between = np.array(
                    [
                        [sum(matrix[i, j] for i in a for j in b) / len(a) if a and b else -1.0 for b in pieces]
                        for a in pieces
                    ]
                )
                for d, direction in enumerate(study.directions):
                    tell(sums, counts, window, between if direction == "to" else between.T, (site.layer, head, d))
    return sums, counts


def tell(sums: np.ndarray, counts: np.ndarray, window: Window, between: np.ndarray, at: tuple[int, int, int]) -> None:
    """Score one head in one direction on one window."""
    mentions = window.question.mentions
    for mention in mentions:
        right = {m.head for m in mentions if m.chain == mention.chain and m.head < mention.head}
        if not right:
            continue
        others = {m.head for m in mentions} - {mention.head}
        everything = set(range(len(between))) - {mention.head}
        for c, candidates in enumerate([others, {o for o in others if o < mention.head}, everything]):
            best = max(sorted(candidates), key=lambda word: between[mention.head, word])
            hit = best in right and between[mention.head, best] > 0
            for k, kind in enumerate(KINDS):
                if kind in ("all", mention.kind):
                    sums[(*at, c, k)] += hit
                    counts[(*at, c, k)] += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_every_head_against_naive_loops(family: str) -> None:
    """Exactly: a head's choice is right or wrong, and nothing between."""
    subject = subject_of(family)
    windows = cut(subject, TALES, 64).windows
    study = Coref(subject)
    assert study.directions == (DIRECTIONS[:1] if family in twins.CAUSAL else DIRECTIONS)
    bundle = study.empty()
    study.update(bundle, windows[:3])
    study.update(bundle, windows[3:])
    found = bundle["heads"].result()
    sums, counts = naive(subject, windows, study)
    np.testing.assert_array_equal(found.n, counts)
    np.testing.assert_array_equal(np.rint(np.nan_to_num(found.value) * found.n), sums)
    assert 0 < sums[..., 0, 0].sum() < counts[..., 0, 0].sum()


def test_a_head_that_may_see_no_candidate_is_wrong() -> None:
    """Mistral's twin sees six pieces back; far candidates get exactly nothing, even if they are the first of all."""
    far = tale(
        "The farmer slept . " + "Nobody noticed the old bridge near the station ; " * 3 + "he slept .", "far",
        f="The farmer / he",
    )  # fmt: skip
    subject = subject_of("mistral")
    study = Coref(subject)
    bundle = study.empty()
    study.update(bundle, cut(subject, [far], 128).windows)
    found = bundle["heads"].result()
    assert found.n[0, 0, 0, 0, 0] == 1
    assert (found.value[..., 0] == 0).all()


def test_chance_is_a_blind_choice_among_what_may_be_seen() -> None:
    chosen = {cell: Choice(0, 0, 0) for cell in np.ndindex(len(CANDIDATES), len(KINDS))}
    for family in ("bert", "llama"):
        subject = subject_of(family)
        study = Coref(subject, chosen=chosen)
        bundle = study.empty()
        study.update(bundle, cut(subject, TALES[3:], 64).windows)  # "the designer" and then "she", word 6 of 11
        others = 10 if family == "bert" else 6
        np.testing.assert_allclose(bundle["chance"].result().value[:, 0], [1, 1, 1 / others], atol=1e-7)


def test_norms_are_weights_times_lengths_as_shares() -> None:
    subject = subject_of("bert")
    windows = cut(subject, TALES, 64).windows
    study = Coref(subject, measure="norm")
    bundle = study.empty()
    study.update(bundle, windows)
    sums = np.zeros(study.cells)
    counts = np.zeros(study.cells)
    for window in windows:
        capture = subject.look(window.passage.first)
        norms = capture.norms[study.stream].double().numpy()
        norms /= norms.sum(-1, keepdims=True)
        words = window.source.segmentation.words
        members = np.array([[w == word for w in words] for word in range(len(window.question.present))], float)
        between = (members / members.sum(-1, keepdims=True)) @ norms @ members.T
        for layer, head in np.ndindex(*study.grid.shape):
            for d in range(2):
                matrix = between[layer, head]
                tell(sums, counts, window, matrix.T if d else matrix, (layer, head, d))
    found = bundle["heads"].result()
    np.testing.assert_array_equal(np.rint(np.nan_to_num(found.value) * found.n), sums)


def test_the_order_of_windows_and_batches_changes_nothing() -> None:
    subject = subject_of("bert")
    windows = cut(subject, TALES, 64).windows
    chosen = {cell: Choice(1, 2, 1) for cell in np.ndindex(len(CANDIDATES), len(KINDS))}
    study = Coref(subject, chosen=chosen)
    one, other = study.empty(), study.empty()
    study.update(one, windows)
    for window in reversed(windows):
        study.update(other, [window])
    for name in one:
        if name == "cases":
            kept = [[place for _, place in cell] for cell in one[name].result()]
            assert kept == [[place for _, place in cell] for cell in other[name].result()]
            assert sum(map(len, kept)) == sum(len(window.question.asked) for window in windows)
        else:
            np.testing.assert_allclose(one[name].result().value, other[name].result().value, atol=1e-12)


def test_the_unit_is_a_document_and_not_a_window() -> None:
    subject = subject_of("bert")
    words = ["Emma", "said", "she", "slept", "."] * 3
    mentions = [Mention(at, at + 1, str(at // 5)) for at, word in enumerate(words) if word in ("Emma", "she")]
    long = sentences(Document.from_words(words, name="long", mentions=mentions))
    windows = cut(subject, [TALES[0], long, TALES[1]], 20).windows
    assert [window.unit for window in windows] == [0, 1, 1, 1, 2]
    study = Coref(subject, chosen=dict.fromkeys(np.ndindex(len(CANDIDATES), len(KINDS)), Choice(1, 2, 1)))
    study.update(bundle := study.empty(), windows)
    for part, cell in (("heads", (0, 0, 0, 0, 0)), ("baselines", (0, 0)), ("chance", (0, 0))):
        assert (bundle[part].rows()[1][:, *cell] > 0).sum() == 3


def test_cases_are_of_the_head_that_is_best_for_all_kinds_among_all_mentions() -> None:
    subject = subject_of("bert")
    windows = cut(subject, TALES, 64).windows
    cells, best = list(np.ndindex(len(CANDIDATES), len(KINDS))), Choice(1, 2, 1)
    kept = []
    for others in (best, Choice(0, 0, 0)):
        study = Coref(subject, chosen=dict.fromkeys(cells, others) | {(0, 0): best})
        study.update(bundle := study.empty(), windows)
        kept.append(bundle["cases"].result())
    assert kept[0] == kept[1]
    study = Coref(subject, chosen=dict.fromkeys(cells, Choice(0, 0, 0)))
    study.update(bundle := study.empty(), windows)
    assert bundle["cases"].result() != kept[0]


def test_a_treebank_is_read_by_document_and_refused_by_sentence(tmp_path: Path) -> None:
    rows = "1\tEmma\t_\t_\t_\t_\t0\troot\t_\tEntity=(e1)\n\n1\tShe\t_\t_\t_\t_\t0\troot\t_\tEntity=(e1)\n\n"
    (tmp_path / "a.conllu").write_text(f"# newdoc id = a\n{rows}# newdoc id = b\n{rows}", encoding="utf-8")
    by_document = whole_documents(tmp_path / "a.conllu")
    assert [len(document.words) for document in by_document.documents] == [2, 2]
    assert whole_documents(by_document) is by_document
    assert len(whole_documents(as_corpus(TALES)).documents) == len(TALES)
    with pytest.raises(CorpusError, match="read sentence by sentence"):
        whole_documents(read(tmp_path / "a.conllu"))


def test_a_case_is_told_with_eight_words_to_each_side() -> None:
    """The antecedent is word 30, the mention word 32, and the words chosen stand before, between and far behind."""
    words = [f"w{number}" for number in range(90)]
    document = Document.from_words(words, name="long", mentions=(Mention(30, 31, "c"), Mention(32, 33, "c")))
    window = SimpleNamespace(question=question_of(document), passage=SimpleNamespace(first=document))
    for word, first, last in ((30, 22, 40), (20, 12, 40), (35, 22, 43), (80, 22, 64)):
        told = _told(window, 1, word)  # type: ignore[arg-type]
        assert (told["mention"], told["antecedent"], told["chose"]) == ("w32", "w30", f"w{word}")
        assert told["before"].split() == ["…", *words[first:32]]
        assert told["after"].split() == [*words[33 : last + 1], "…"]


def test_the_best_head_is_chosen_by_kind_and_candidates() -> None:
    study = Coref(subject_of("bert"))
    sums, counts = np.zeros((1, *study.cells)), np.ones((1, *study.cells))
    sums[0, 2, 1, 1, 0, 0] = sums[0, 0, 3, 0, 2, 1] = 1
    counts[..., 3] = 0
    bundle = study.empty()
    bundle["heads"].update(sums, counts)
    chosen = choose_heads(study, bundle)
    assert chosen[0, 0] == Choice(2, 1, 1)
    assert chosen[2, 1] == Choice(0, 3, 0)
    assert chosen[0, 3] == chosen[0, 0]  # no nominal to choose on


BY_HAND = tale(
    "Mr Lee met his aunt near the old bridge . She told Lee that the bridge fell . The workers slept . They saw her",
    "by hand", l="Mr Lee / his / Lee", a="his aunt / She / her", b="the old bridge / the bridge",
    w="The workers / They",
)  # fmt: skip


@pytest.mark.parametrize(
    ("place", "nearest", "head_match", "sieve"),
    [
        ("his", "Lee", "Lee", "Lee"),
        ("She", "bridge", "bridge", "bridge"),  # a bridge may be a she, for all that the lists know
        ("Lee 2", "She", "Lee", "Lee"),
        ("bridge 2", "Lee 2", "bridge", "bridge"),
        ("They", "workers", "workers", "workers"),
        ("her", "They", "They", "bridge 2"),
    ],
)
def test_rules_by_hand(place: str, nearest: str, head_match: str, sieve: str) -> None:
    forms = BY_HAND.forms

    def at(told: str) -> int:
        word, _, which = told.partition(" ")
        return [index for index, form in enumerate(forms) if form == word][int(which or 1) - 1]

    mentions = known_mentions(BY_HAND)
    mention = next(mention for mention in mentions if mention.head == at(place))
    found = [choose(mention, mentions, sieves) for sieves in BASELINES.values()]
    assert found == [at(nearest), at(head_match), at(sieve)]


def test_full_strings_come_before_head_words() -> None:
    text = "The old bridge fell . The new bridge stood . The old bridge slept ."
    mentions = known_mentions(tale(text, "", o="The old bridge / The old bridge", n="The new bridge"))
    assert [choose(mentions[-1], mentions, sieves) for sieves in BASELINES.values()] == [7, 7, 2]


def test_head_words_from_corpus_tree_and_rule() -> None:
    words = ["the", "farmer", "near", "it"]
    told = Document.from_words(words, mentions=(Mention(0, 4, "a", 3),))
    tree = Document.from_words(words, mentions=(Mention(0, 4, "a"),), governors=[1, -1, 3, 1])
    rule = Document.from_words(words, mentions=(Mention(0, 4, "a"),))
    assert [known_mentions(document)[0].head for document in (told, tree, rule)] == [3, 1, 1]


def test_a_name_at_the_beginning_of_a_sentence_is_known_by_its_capital_elsewhere() -> None:
    document = sentences(tale("Emma slept . Farmers saw Emma .", "", e="Emma / Emma", f="Farmers"))
    assert [mention.kind for mention in known_mentions(document)] == ["proper", "nominal", "proper"]


def test_an_underscore_is_no_tag() -> None:
    """A file without tags has underscores in their stead; kinds then come from words, as where there is no column."""
    words = ["Mr", "Lee", "met", "the", "farmer", ".", "Lee", "saw", "him", "."]
    mentions = (Mention(0, 2, "l"), Mention(3, 5, "f"), Mention(6, 7, "l"), Mention(8, 9, "f"))
    tags = ("NNP", "NNP", "VBD", "DT", "NN", ".", "NNP", "VBD", "PRP", ".")
    kinds = [
        [mention.kind for mention in known_mentions(Document.from_words(words, mentions=mentions, xpos=given))]
        for given in (None, ("_",) * len(tags), tags)
    ]
    assert kinds[0] == kinds[1] == kinds[2] == ["proper", "nominal", "proper", "pronoun"]


def test_mentions_that_share_head_word_and_chain_are_one() -> None:
    document = Document.from_words(
        ["Emma", "'s", "cat", "saw", "her"],
        mentions=(Mention(0, 2, "e"), Mention(0, 1, "e"), Mention(0, 3, "c"), Mention(4, 5, "e")),
    )
    question = question_of(document)
    assert [(m.start, m.stop, m.chain) for m in question.mentions] == [(0, 2, "e"), (0, 3, "c"), (4, 5, "e")]
    assert question_of(document, wordless=[0]).asked == ()


def test_windows_count_what_they_leave_out() -> None:
    subject = subject_of("bert")
    whole = cut(subject, TALES[:2], 64)
    assert (whole.asked, whole.whole, dict(whole.skipped)) == (7, 7, {})
    short = cut(subject, [sentences(document) for document in TALES[:2]], 20)
    assert (short.documents, short.whole) == (2, 7)
    assert short.skipped["mentions whose antecedents are all outside their window"] == 7 - short.asked > 0
    assert [window.number for window in short.windows] == list(range(len(short.windows)))


def sentences(document: Document) -> Document:
    """The same document, cut into sentences at its full stops."""
    ends = [place + 1 for place, form in enumerate(document.forms) if form == "."]
    spans = zip([0, *ends], ends, strict=False)
    return Document.from_words(document.forms, name=document.name, sentences=spans, mentions=document.mentions)


def test_the_whole_study(tmp_path: Path) -> None:
    result = coref(subject_of("bert"), TALES, out=tmp_path / "out")
    assert list(result.tables) == ["coref", "coref_heads", "cases"]
    rows = result.table.to_pylist()
    assert {row["who"] for row in rows} == {"best head", "best for its kind", "twin", "chance", *BASELINES}
    heads = [row for row in result.tables["coref_heads"].to_pylist() if row["who"] == "model"]
    names = ("kind", "candidates", "layer", "head", "direction")
    by_place = {tuple(row[name] for name in names): row for row in heads}
    overall = {row["candidates"]: row for row in rows if row["who"] == "best head" and row["kind"] == "all"}
    for row in rows:
        if row["who"] not in ("best head", "best for its kind"):
            continue
        assert by_place[tuple(row[name] for name in names)]["value"] == row["value"]
        if row["who"] == "best head":
            assert (row["layer"], row["head"]) == tuple(
                overall[row["candidates"]][name] for name in ("layer", "head")
            )
        elif row["when_chosen"] is not None:
            rivals = [
                head["when_chosen"] for head in heads if [head[n] for n in names[:2]] == [row[n] for n in names[:2]]
            ]
            assert row["when_chosen"] == max(rivals)
    again = coref(subject_of("bert"), TALES)
    assert again.table.equals(result.table)
    case = result.tables["cases"].to_pylist()[0]
    assert case["text"] in next(d.text for d in TALES if d.name == case["document"])


def test_refusals() -> None:
    subject = subject_of("bert")
    with pytest.raises(CorpusError, match="no mention with an antecedent in its window to choose heads on"):
        coref(subject, TALES, choose_on=[tale("Nobody slept .", "", n="Nobody")])
    with pytest.raises(CorpusError, match="cannot be divided into 2 parts"):
        coref(subject, TALES[:1])
    with pytest.raises(CapabilityError, match="no measure 'weights'"):
        coref(subject, TALES, measure="weights")
    with pytest.raises(CorpusError, match="to score heads on"):
        Cut().require("score heads on")
    closed = subject_of("bert")
    closed.layout.projections.clear()
    with pytest.raises(CapabilityError, match="no matrix W_O takes the heads"):
        coref(closed, TALES, measure="norm")
