"""The sample corpus is held to what a linguist would check, and to what an English treebank attests."""

from __future__ import annotations

import gzip
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from attlas.corpora.sample import FILE, read_sample
from attlas.text import ROOT, Document, Mention
from tools.sample import sample_documents
from tools.sample.worlds import MEN, WOMEN
from tools.sample.writing import packed

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TREEBANK = SHARED / "ud_english_ewt"
CHUNKING = SHARED / "conll2000" / "conll2000.zip"
SEEDS = (0, 1, 2)

UNIVERSAL = {
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop",
    "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "mark",
    "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "root", "vocative",
    "xcomp",
}  # fmt: skip
SUBTYPES = {
    "acl:relcl", "aux:pass", "compound:prt", "det:predet", "nmod:poss", "nsubj:pass", "obl:agent", "obl:unmarked",
}  # fmt: skip
IMPORTANT = (
    "acl:relcl", "advcl", "advmod", "amod", "appos", "aux", "aux:pass", "case", "cc", "ccomp", "compound",
    "compound:prt", "conj", "cop", "det", "expl", "iobj", "mark", "nmod", "nmod:poss", "nsubj", "nsubj:pass",
    "nummod", "obj", "obl", "obl:agent", "obl:unmarked", "punct", "root", "vocative", "xcomp",
)  # fmt: skip
UPOS_OF = {
    "amod": {"ADJ", "VERB"},
    "advmod": {"ADV", "PART"},
    "aux": {"AUX"},
    "aux:pass": {"AUX"},
    "case": {"ADP", "PART"},
    "cc": {"CCONJ"},
    "compound": {"NOUN"},
    "compound:prt": {"ADP"},
    "cop": {"AUX"},
    "det": {"DET"},
    "det:predet": {"DET"},
    "discourse": {"INTJ"},
    "expl": {"PRON"},
    "flat": {"PROPN"},
    "iobj": {"NOUN", "PRON", "PROPN"},
    "mark": {"SCONJ", "PART", "ADP"},
    "nmod:poss": {"NOUN", "PRON", "PROPN"},
    "nsubj": {"NOUN", "PRON", "PROPN"},
    "nsubj:pass": {"NOUN", "PRON", "PROPN"},
    "nummod": {"NUM"},
    "obj": {"NOUN", "PRON", "PROPN", "NUM"},
    "obl": {"NOUN", "PRON", "PROPN"},
    "obl:agent": {"NOUN", "PRON", "PROPN"},
    "punct": {"PUNCT"},
    "vocative": {"PROPN"},
}
XPOS_OF = {
    "ADJ": {"JJ", "JJR", "JJS"},
    "ADP": {"IN", "RP"},
    "ADV": {"RB", "RBR", "WRB"},
    "AUX": {"MD", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"},
    "CCONJ": {"CC"},
    "DET": {"DT", "PDT"},
    "INTJ": {"UH"},
    "NOUN": {"NN", "NNS"},
    "NUM": {"CD"},
    "PART": {"POS", "RB", "TO"},
    "PRON": {"DT", "EX", "NN", "PRP", "PRP$", "WDT", "WP"},
    "PROPN": {"NNP", "NNPS"},
    "PUNCT": {",", ".", "``", "''"},
    "SCONJ": {"IN"},
    "VERB": {"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"},
}
IN_CHUNK = {
    "ADJP": {"ADJ", "ADV", "CCONJ"},
    "ADVP": {"ADV"},
    "INTJ": {"INTJ"},
    "NP": {"ADJ", "ADV", "CCONJ", "DET", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "VERB"},
    "PP": {"ADP"},
    "PRT": {"ADP"},
    "SBAR": {"SCONJ"},
    "VP": {"ADV", "AUX", "CCONJ", "PART", "VERB"},
}
TWINS = {tag: twins for twins in ({"VBD", "VBN"}, {"VB", "VBP"}) for tag in twins}  # spelled alike
THIRD = {"he", "she", "it", "they", "his", "her", "its", "their"}


@pytest.fixture(scope="module", params=SEEDS)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    return sample_documents(request.param)


def rows(document: Document) -> Iterator[tuple[int, str, str, str, int, str]]:
    """Index, form, UPOS, XPOS, governor and relation of every word."""
    assert document.upos is not None
    assert document.xpos is not None
    assert document.governors is not None
    assert document.relations is not None
    layers = zip(document.forms, document.upos, document.xpos, document.governors, document.relations, strict=True)
    for index, (form, upos, xpos, governor, relation) in enumerate(layers):
        assert governor is not None
        yield index, form, upos, xpos, governor, relation


def children(document: Document, index: int) -> list[int]:
    assert document.governors is not None
    return [child for child, governor in enumerate(document.governors) if governor == index]


def test_size_and_names(documents: list[Document]) -> None:
    assert [d.name for d in documents] == [f"sample paragraph {n}" for n in range(1, 121)]
    assert all(2 <= len(d.sentences) <= 5 for d in documents)
    lengths = [b - a for d in documents for a, b in d.sentences]
    assert 380 <= len(lengths) <= 560
    assert min(lengths) <= 7
    assert 25 <= max(lengths) <= 36
    assert all(length >= 3 for length in lengths)


def test_every_layer_is_there(documents: list[Document]) -> None:
    for d in documents:
        for layer in (
            "lemmas",
            "upos",
            "xpos",
            "governors",
            "relations",
            "chunks",
            "mentions",
            "keyphrases",
            "label",
        ):
            assert getattr(d, layer) is not None, (d.name, layer)
        assert d.chunks
        assert d.mentions
        assert d.keyphrases
        assert [a for a, _ in d.sentences] == [0, *(b for _, b in d.sentences[:-1])]
        assert d.sentences[-1][1] == len(d.words)


def test_same_seed_same_corpus_other_seed_other_corpus() -> None:
    assert sample_documents(5) == sample_documents(5)
    assert [d.text for d in sample_documents(0)] != [d.text for d in sample_documents(1)]


def test_no_sentence_twice(documents: list[Document]) -> None:
    texts = Counter(d.text[d.words[a].start : d.words[b - 1].stop] for d in documents for a, b in d.sentences)
    assert texts.most_common(1)[0][1] == 1


def test_one_root_per_sentence_and_everything_hangs_on_it(documents: list[Document]) -> None:
    for d in documents:
        assert d.governors is not None
        assert d.relations is not None
        for start, stop in d.sentences:
            roots = [i for i in range(start, stop) if d.governors[i] == ROOT]
            assert len(roots) == 1, d.text
            assert d.relations[roots[0]] == "root"
            for index in range(start, stop):
                at, steps = index, 0
                while at != roots[0]:
                    following = d.governors[at]
                    assert following is not None
                    assert start <= following < stop, d.text
                    at, steps = following, steps + 1
                    assert steps <= stop - start
        assert d.relations.count("root") == len(d.sentences)


def test_projective(documents: list[Document]) -> None:
    for d in documents:
        arcs = [(min(i, g), max(i, g)) for i, _, _, _, g, _ in rows(d) if g != ROOT]
        for a, b in arcs:
            for c, e in arcs:
                assert not a < c < b < e, (d.text, a, b, c, e)


def test_relations_are_universal(documents: list[Document]) -> None:
    for d in documents:
        for _, form, _, _, _, relation in rows(d):
            assert relation in SUBTYPES or relation in UNIVERSAL, (form, relation)


def test_tags_fit_relations_and_each_other(documents: list[Document]) -> None:
    for d in documents:
        assert d.upos is not None
        for index, form, upos, xpos, governor, relation in rows(d):
            assert upos in UPOS_OF.get(relation, {upos}), (d.text, form, upos, relation)
            assert xpos in XPOS_OF[upos], (form, upos, xpos)
            if upos == "PUNCT":
                assert relation == "punct"
                assert not children(d, index)
            if relation.startswith(("nsubj", "obj", "iobj", "obl")):
                assert d.upos[governor] not in ("DET", "ADP", "PUNCT"), (d.text, form)
            if relation.startswith("aux"):
                assert d.upos[governor] in ("VERB", "ADJ", "NOUN", "ADV"), (d.text, form)
            if relation in ("det", "det:predet", "amod", "nummod", "compound"):
                assert governor > index
            if relation in ("conj", "appos", "flat"):
                assert governor < index
            if relation == "case" and form in ("'s", "'"):
                assert governor == index - 1


def test_each_word_has_at_most_one_subject_and_object(documents: list[Document]) -> None:
    for d in documents:
        assert d.relations is not None
        for index in range(len(d.words)):
            mine = Counter(d.relations[child].split(":")[0] for child in children(d, index))
            assert mine["nsubj"] <= 1, d.text
            assert mine["obj"] <= 1
            assert mine["iobj"] <= 1
            assert mine["cop"] <= 1


def test_conjunctions_hang_on_the_conjunct_that_follows(documents: list[Document]) -> None:
    for d in documents:
        assert d.relations is not None
        for index, _, _, _, governor, relation in rows(d):
            if relation == "cc":
                assert d.relations[governor] == "conj"
                assert governor > index


def test_the_label_is_the_tense_of_most_main_clauses(documents: list[Document]) -> None:
    for d in documents:
        assert d.xpos is not None
        assert d.relations is not None
        tenses = []
        for index, _, _, _, _, relation in rows(d):
            if relation == "root":
                verbs = [c for c in children(d, index) if d.relations[c] in ("aux", "aux:pass", "cop")] or [index]
                tenses.append({"VBD": "past", "VBZ": "present", "VBP": "present"}.get(d.xpos[verbs[0]]))
        past, present = tenses.count("past"), tenses.count("present")
        if past != present:
            assert d.label == ("past" if past > present else "present"), d.text
    assert min(Counter(d.label for d in documents).values()) > 30


def test_passives_are_complete(documents: list[Document]) -> None:
    for d in documents:
        assert d.relations is not None
        assert d.xpos is not None
        for _, _, _, _, governor, relation in rows(d):
            if relation in ("nsubj:pass", "aux:pass"):
                mine = {d.relations[child] for child in children(d, governor)}
                assert "aux:pass" in mine
                assert d.xpos[governor] == "VBN"


def test_articles(documents: list[Document]) -> None:
    for d in documents:
        forms = d.forms
        for form, following in pairwise(forms):
            if form.lower() in ("a", "an"):
                vowel = following[0].lower() in "aeiou" and not following.startswith(("uni", "use", "eu", "one"))
                assert (form.lower() == "an") == (vowel or following.startswith("hour")), (form, following)


def _is_plural_subject(d: Document, index: int) -> bool:
    assert d.xpos is not None
    assert d.relations is not None
    if d.xpos[index] in ("WP", "WDT") and d.relations[index].startswith("nsubj"):
        assert d.governors is not None
        verb = d.governors[index]
        assert verb is not None
        if d.relations[verb] == "acl:relcl":
            antecedent = d.governors[verb]
            assert antecedent is not None
            return d.xpos[antecedent] == "NNS"
        return False
    joined = any(d.relations[child] == "conj" for child in children(d, index))
    return joined or d.xpos[index] in ("NNS", "NNPS") or d.forms[index].lower() in ("they", "we", "you")


def test_subjects_agree_with_verbs(documents: list[Document]) -> None:
    checked = 0
    for d in documents:
        assert d.xpos is not None
        assert d.relations is not None
        for index, form, _, _, governor, relation in rows(d):
            if not relation.startswith("nsubj"):
                continue
            helpers = [c for c in children(d, governor) if d.relations[c] in ("aux", "aux:pass", "cop")]
            finite = (helpers or [governor])[0]
            tag, verb = d.xpos[finite], d.forms[finite].lower()
            plural = _is_plural_subject(d, index)
            if tag == "VBZ":
                assert not plural, (d.text, form, verb)
                assert form.lower() != "i"
            elif tag == "VBP" and form.lower() != "i":
                assert plural, (d.text, form, verb)
            elif verb == "was":
                assert not plural, (d.text, form)
            elif verb == "were":
                assert plural, (d.text, form)
            else:
                assert tag in ("MD", "VBD", "VBP"), (d.text, form, verb, tag)
                continue
            checked += 1
    assert checked > 250


def test_spacing_and_capitals(documents: list[Document]) -> None:
    for d in documents:
        assert not re.search(r"\s[,.?!]|\s\s|\s'|\sn't|\" [,.]", d.text), d.text
        assert d.text.count('"') % 2 == 0
        assert not re.search(r"(?<!\w)[.?!]\"?(?=\w)", d.text)
        for start, stop in d.sentences:
            first = next(f for f in d.forms[start:stop] if f != '"')
            assert first[0].isupper(), d.text
            assert d.forms[stop - 1] in (".", "?", "!", '"')
        for index, form, upos, _, _, _ in rows(d):
            starts = index in {a for a, _ in d.sentences} or d.forms[index - 1] == '"'
            if form[0].isupper() and not starts:
                assert upos == "PROPN" or form in ("I", "Roman", "Persian", "Greek", "Gothic", "French"), form


def test_clitics_are_words_of_their_own(documents: list[Document]) -> None:
    found = Counter(f for d in documents for f in d.forms if "'" in f)
    assert set(found) <= {"n't", "'s", "'", "'m", "'re", "'ll", "'ve"}
    assert found["n't"] >= 15
    for d in documents:
        for index, form in enumerate(d.forms):
            if "'" in form:
                assert d.words[index - 1].stop == d.words[index].start, d.text


def test_negation_follows_an_auxiliary_or_be(documents: list[Document]) -> None:
    for d in documents:
        assert d.upos is not None
        assert d.lemmas is not None
        for index, form in enumerate(d.forms):
            if form in ("n't", "not"):
                assert d.upos[index - 1] == "AUX" or d.lemmas[index - 1] == "be", d.text


def test_chunks(documents: list[Document]) -> None:
    seen: Counter[str] = Counter()
    for d in documents:
        assert d.chunks is not None
        assert d.upos is not None
        assert d.xpos is not None
        end = 0
        covered: set[int] = set()
        for chunk in d.chunks:
            assert chunk.start >= end, (d.text, chunk)
            end = chunk.stop
            covered |= set(range(chunk.start, chunk.stop))
            words = range(chunk.start, chunk.stop)
            seen[chunk.label] += 1
            assert {d.upos[w] for w in words} <= IN_CHUNK[chunk.label], (d.text, chunk)
            assert any(a <= chunk.start and chunk.stop <= b for a, b in d.sentences)
            if chunk.label == "VP":
                assert d.upos[chunk.stop - 1] in ("VERB", "AUX")
            if chunk.label == "NP":
                assert d.upos[chunk.stop - 1] in ("NOUN", "PROPN", "PRON", "NUM"), (d.text, chunk)
            assert all(d.xpos[w] != "POS" for w in words[1:])
        for index, form, upos, _, _, relation in rows(d):
            free = upos in ("PUNCT", "CCONJ") or relation in ("aux", "aux:pass", "cop") or form in ("n't", "not")
            assert index in covered or free, (d.text, form)
    assert set(seen) >= {"NP", "VP", "PP", "ADVP", "SBAR", "PRT", "ADJP"}
    assert min(seen[label] for label in ("NP", "VP", "PP", "ADVP", "SBAR", "PRT", "ADJP")) >= 15


def _chunk_texts(document: Document) -> list[tuple[str, str]]:
    assert document.chunks is not None
    return [(c.label, " ".join(document.forms[c.start : c.stop])) for c in document.chunks]


def test_chunks_look_as_in_the_chunking_data() -> None:
    everything = {pair for d in sample_documents() for pair in _chunk_texts(d)}
    labels = defaultdict(set)
    for label, text in everything:
        labels[text.lower()].add(label)
    assert labels["who"] == {"NP"}
    assert labels["because"] == {"SBAR"}
    assert labels["when"] == {"ADVP"}
    assert not labels["very"]
    assert any(label == "ADJP" and text.startswith("very ") for label, text in everything)
    assert labels["there"] <= {"NP", "ADVP"}
    assert any(label == "VP" and re.fullmatch(r"wants to \w+", text) for label, text in everything)
    assert any(label == "VP" and re.fullmatch(r"(was|were) \w+ed", text) for label, text in everything)
    assert any(label == "NP" and text.startswith("'s ") for label, text in everything)
    assert any(label == "NP" and re.fullmatch(r"[A-Z]\w+ and [A-Z]\w+", text) for label, text in everything)


def test_mentions(documents: list[Document]) -> None:
    nested = 0
    for d in documents:
        assert d.mentions is not None
        assert d.upos is not None
        assert d.governors is not None
        chains = Counter(m.chain for m in d.mentions)
        assert all(count >= 2 for count in chains.values())
        assert len({(m.start, m.stop) for m in d.mentions}) == len(d.mentions), d.text
        for m in d.mentions:
            assert m.head is not None
            assert m.start <= m.head < m.stop
            assert d.upos[m.head] in ("NOUN", "PROPN", "PRON"), (d.text, m)
            assert d.upos[m.start] in ("ADJ", "DET", "NOUN", "NUM", "PRON", "PROPN", "VERB"), (d.text, m)
            assert d.upos[m.stop - 1] not in ("PUNCT", "ADP")
            outward = d.governors[m.head]
            assert outward is None or not m.start <= outward < m.stop
            nested += any(o != m and o.start >= m.start and o.stop <= m.stop for o in d.mentions)
        spans = [(m.start, m.stop) for m in d.mentions]
        assert not any(a < c < b < e for a, b in spans for c, e in spans), d.text
    assert nested >= 40


def test_pronouns_agree_with_their_chains(documents: list[Document]) -> None:
    kinds = {"he": "he", "him": "he", "his": "he", "she": "she", "her": "she", "it": "it", "its": "it"}
    kinds |= {"they": "they", "them": "they", "their": "they"}
    checked = 0
    for d in documents:
        assert d.mentions is not None
        assert d.xpos is not None
        by_chain = defaultdict(list)
        for m in d.mentions:
            by_chain[m.chain].append(m)
        for chain in by_chain.values():
            found = {
                kinds[d.forms[m.start].lower()]
                for m in chain
                if m.stop - m.start == 1 and d.forms[m.start].lower() in kinds
            }
            assert len(found) <= 1, (d.text, found)
            kind = next(iter(found), None)
            heads = [m.head for m in chain if m.head is not None and d.xpos[m.head] in ("NN", "NNS", "NNP")]
            for head in heads:
                name, tag = d.forms[head], d.xpos[head]
                joined = any(d.relations is not None and d.relations[c] == "conj" for c in children(d, head))
                if kind == "they":
                    assert tag == "NNS" or joined, (d.text, name)
                elif kind is not None:
                    assert tag in ("NN", "NNP"), (d.text, name)
                if tag == "NNP" and not joined and kind is not None:
                    assert kind == ("she" if name in WOMEN else "he"), (d.text, name)
                    assert name in WOMEN or name in MEN
                checked += kind is not None
    assert checked > 200


def test_no_pronoun_dangles(documents: list[Document]) -> None:
    for d in documents:
        assert d.mentions is not None
        assert d.lemmas is not None
        starts = {m.start: m.chain for m in d.mentions if m.stop - m.start == 1}
        first: dict[str, Mention] = {}
        for m in sorted(d.mentions):
            first.setdefault(m.chain, m)
        for m in first.values():
            assert m.stop - m.start > 1 or d.forms[m.start].lower() not in THIRD, (d.text, m)
        for index, form, _, xpos, governor, _ in rows(d):
            if xpos in ("PRP", "PRP$") and d.lemmas[index] in THIRD:
                weather = d.lemmas[governor] in ("rain", "snow")
                assert (index in starts) != weather, (d.text, form)


def test_third_person_pronouns_have_one_reading_among_people(documents: list[Document]) -> None:
    """No paragraph has two people of the same gender who are both referred to by a pronoun."""
    for d in documents:
        assert d.mentions is not None
        for pronoun in ("he", "she"):
            chains = {m.chain for m in d.mentions if m.stop - m.start == 1 and d.forms[m.start].lower() == pronoun}
            assert len(chains) <= 1, d.text


def test_key_phrases_occur_in_the_text(documents: list[Document]) -> None:
    for d in documents:
        assert d.keyphrases
        for phrase in d.keyphrases:
            assert re.search(rf"\b{re.escape(phrase)}\b", d.text, re.IGNORECASE), (phrase, d.text)
        assert len(set(d.keyphrases)) == len(d.keyphrases)


def test_one_tense_per_paragraph_outside_quotations(documents: list[Document]) -> None:
    for d in documents:
        assert d.governors is not None
        assert d.relations is not None
        assert d.xpos is not None
        tenses = set()
        for index in [i for i, g in enumerate(d.governors) if g == ROOT]:
            helpers = [c for c in children(d, index) if d.relations[c] in ("aux", "aux:pass", "cop")]
            tag = d.xpos[(helpers or [index])[0]]
            around = {d.forms[c].lower() for c in children(d, index)}
            if not around & {"ago", "today", "now"}:
                tenses.add({"VBD": "past", "VBZ": "present", "VBP": "present"}.get(tag, ""))
        assert len(tenses - {""}) <= 1, d.text


def test_diversity(documents: list[Document]) -> None:
    forms = {form.lower() for d in documents for form in d.forms}
    assert len(forms) >= 900
    relations = Counter(r for d in documents for *_, r in rows(d))
    assert len(relations) >= 33
    thin = {relation: relations[relation] for relation in IMPORTANT if relations[relation] < 10}
    assert not thin
    assert {"acl", "discourse", "fixed", "flat", "det:predet"} <= set(relations)
    ends = Counter(form for d in documents for form in d.forms if form in ("?", "!"))
    assert ends["?"] >= 15
    assert ends["!"] >= 2


def test_the_default_corpus_has_enough_of_every_important_relation() -> None:
    relations = Counter(r for d in sample_documents() for *_, r in rows(d))
    assert {r: relations[r] for r in IMPORTANT if relations[r] < 15} == {}


def _treebank() -> Iterator[list[list[str]]]:
    for part in ("train", "dev", "test"):
        sentence: list[list[str]] = []
        with gzip.open(TREEBANK / f"en_ewt-ud-{part}.conllu.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                columns = line.rstrip("\n").split("\t")
                if len(columns) == 10 and columns[0].isdigit():
                    sentence.append(columns)
                elif line == "\n" and sentence:
                    yield sentence
                    sentence = []


@pytest.fixture(scope="module")
def attested() -> tuple[Counter[tuple[str, str, str]], dict[tuple[str, str], Counter[tuple[str, str]]]]:
    if not TREEBANK.exists():
        pytest.skip("the treebank that the samples are compared with is not here")
    triples: Counter[tuple[str, str, str]] = Counter()
    readings: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for sentence in _treebank():
        upos = {columns[0]: columns[3] for columns in sentence} | {"0": "ROOT"}
        for columns in sentence:
            triples[columns[3], columns[7], upos[columns[6]]] += 1
            readings[columns[1].lower(), columns[3]][columns[2].lower(), columns[4]] += 1
    return triples, readings


@pytest.mark.shared
def test_every_dependency_is_of_an_attested_kind(
    attested: tuple[Counter[tuple[str, str, str]], dict[tuple[str, str], Counter[tuple[str, str]]]],
    documents: list[Document],
) -> None:
    triples, _ = attested
    rare: Counter[tuple[str, str, str]] = Counter()
    for d in documents:
        assert d.upos is not None
        for _, _, upos, _, governor, relation in rows(d):
            kind = (upos, relation, "ROOT" if governor == ROOT else d.upos[governor])
            if triples[kind] < 5:
                rare[kind] += 1
    assert not rare


@pytest.mark.shared
def test_lemmas_and_tags_agree_with_the_treebank(
    attested: tuple[Counter[tuple[str, str, str]], dict[tuple[str, str], Counter[tuple[str, str]]]],
    documents: list[Document],
) -> None:
    _, readings = attested
    wrong = set()
    for d in documents:
        assert d.lemmas is not None
        for index, form, upos, xpos, _, _ in rows(d):
            known = readings.get((form.lower(), upos))
            if known and sum(known.values()) >= 5:
                lemma, tags = d.lemmas[index].lower(), {tag for _, tag in known}
                if lemma not in {lemma for lemma, _ in known} or not tags & TWINS.get(xpos, {xpos}):
                    wrong.add((form.lower(), d.lemmas[index], xpos))
    assert not wrong


# Chunks whose tags the newspaper text of the chunking data has no example of: questions, orders, one verb in another.
UNSEEN_CHUNKS = {
    ("NP", ("WRB", "JJ", "NNS")),
    ("NP", ("WRB", "JJ", "NN", "NNS")),
    ("NP", ("WRB", "JJ", "JJ", "NNS")),
    ("VP", ("VB", "RB", "VB", "TO", "VB")),
    ("VP", ("VBZ", "TO", "VB", "TO", "VB")),
}


@pytest.mark.shared
def test_chunks_have_the_tags_of_chunks_in_the_chunking_data(documents: list[Document]) -> None:
    if not CHUNKING.exists():
        pytest.skip("the chunking data that the samples are compared with is not here")
    seen: set[tuple[str, tuple[str, ...]]] = set()
    with zipfile.ZipFile(CHUNKING) as archive:
        label, tags = "", list[str]()
        for line in archive.read("conll2000/train.txt").decode().splitlines():
            _, tag, mark = line.split() or ("", "", "O")
            if not mark.startswith("I-") and tags:
                seen.add((label, tuple(tags)))
                tags = []
            if mark != "O":
                label = mark[2:]
                tags.append(tag)
    new = set()
    for d in documents:
        assert d.chunks is not None
        assert d.xpos is not None
        for start, stop, label in d.chunks:
            kind = (label, d.xpos[start:stop])
            if label not in ("PP", "PRT") and kind not in seen:
                new.add(kind)
    assert new <= UNSEEN_CHUNKS


def test_the_file_in_the_package_is_what_the_grammar_writes() -> None:
    file = (files("attlas.corpora") / FILE).read_bytes()
    assert gzip.decompress(file) == gzip.decompress(packed(sample_documents())), "run `make sample`"
    assert read_sample() == sample_documents()
    assert file[4:8] == bytes(4), "the file carries a time, so that it differs whenever it is written"
    assert len(file) < 200_000
