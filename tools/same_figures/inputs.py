"""Fixed small inputs for the same-figures check: texts of every kind as files, and tiny models with random weights.

Nothing here uses attlas, so that a change of its calls cannot change what the calls are given. All texts are made by
one small grammar: tales of three sentences, with their trees, chunks, entities, mentions, translations and key
phrases. Models are made by the model library from configurations, with a fixed seed.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

PEOPLE = ("farmer", "designer", "engineer", "housekeeper")
THINGS = ("bridge", "station", "storm", "apple", "school")
ADJECTIVES = ("old", "unbelievable", "small")
VERBS = ("repaired", "forgot", "offered", "noticed")
GERMAN = {
    "the": "die", "farmer": "Bäuerin", "designer": "Zeichnerin", "engineer": "Ingenieurin", "housekeeper": "Köchin",
    "bridge": "Brücke", "station": "Haltestelle", "storm": "Böe", "apple": "Birne", "school": "Schule", "old": "alte",
    "unbelievable": "unglaubliche", "small": "kleine", "repaired": "reparierte", "forgot": "vergaß",
    "offered": "bot", "noticed": "bemerkte", "near": "bei", ".": ".",
}  # fmt: skip
TALES, CORPORA = 16, ("one", "two", "three")
SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
SEQUENCES = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 128,
}  # fmt: skip
SHARP = 1.3  # random weights are spread so wide that attention is far from even

Token = tuple[str, str, str, int, str, str]  # form, upos, xpos, governor (from 1; 0 is the root), relation, entity


@dataclass(frozen=True)
class Tale:
    """Three sentences with their trees, and the translation and links of the first."""

    name: str
    sentences: tuple[tuple[Token, ...], ...]
    person: str
    thing: str
    phrase: str

    @property
    def words(self) -> list[list[str]]:
        return [[token[0] for token in sentence] for sentence in self.sentences]

    @property
    def text(self) -> str:
        return " ".join(" ".join(words) for words in self.words).replace(" .", ".").replace(" ,", ",")


@dataclass(frozen=True)
class Inputs:
    """A folder with all files and models: ``inputs["treebank one"]`` is a path, as text."""

    folder: Path

    def __getitem__(self, name: str) -> str:
        path = self.folder / NAMES[name]
        assert path.exists(), path
        return str(path)


NAMES = {
    f"{kind} {number}": f"{number}/{file}"
    for number in CORPORA
    for kind, file in {
        "treebank": "treebank.conllu", "plain": "plain.txt", "bitext": "bitext.txt", "swapped": "swapped.txt",
        "gold": "gold.pharaoh", "labelled": "labelled.tsv", "similar": "similar.tsv", "chunked": "chunked.txt",
        "entities": "entities.txt", "keyphrases": "keyphrases.jsonl", "spans": "spans.jsonl",
        "paired": "paired.jsonl",
        "columns": "columns.conll", "nominals": "nominals.txt", "propbank": "propbank.jsonl",
        "properties": "properties.jsonl",
    }.items()
} | {
    name: f"models/{name}"
    for name in ("bert", "classifier", "classifier two", "tagger", "llama", "masked", "marian", "marian back")
}  # fmt: skip


def make_inputs(folder: Path) -> Inputs:
    """Write all files and models into a folder."""
    for seed, number in enumerate(CORPORA):
        place = folder / number
        place.mkdir(parents=True)
        _write_texts(place, [_tale(f"{number}-{n}", random.Random(f"{seed} {n}")) for n in range(TALES)])
    _write_models(folder / "models")
    return Inputs(folder)


def _tale(name: str, draw: random.Random) -> Tale:
    who, (what, where), how = draw.choice(PEOPLE), draw.sample(THINGS, 2), draw.choice(ADJECTIVES)
    did, then = draw.choice(VERBS), draw.choice(VERBS)
    pronoun, late = draw.choice(("He", "She")), draw.choice(ADJECTIVES)
    first: tuple[Token, ...] = (
        ("The", "DET", "DT", 3, "det", "(e1-person-1"),
        (how, "ADJ", "JJ", 3, "amod", ""),
        (who, "NOUN", "NN", 4, "nsubj", "e1)"),
        (did, "VERB", "VBD", 0, "root", ""),
        ("the", "DET", "DT", 6, "det", "(e2-thing-1"),
        (what, "NOUN", "NN", 4, "obj", "e2)"),
        ("near", "ADP", "IN", 9, "case", ""),
        ("the", "DET", "DT", 9, "det", "(e3-place-1"),
        (where, "NOUN", "NN", 6, "nmod", "e3)"),
        (".", "PUNCT", ".", 4, "punct", ""),
    )
    second: tuple[Token, ...] = (
        (pronoun, "PRON", "PRP", 2, "nsubj", "(e1-person-1)"),
        (then, "VERB", "VBD", 0, "root", ""),
        ("it", "PRON", "PRP", 2, "obj", "(e2-thing-1)"),
        (",", "PUNCT", ",", 6, "punct", ""),
        ("nobody", "PRON", "NN", 6, "nsubj", ""),
        ("slept", "VERB", "VBD", 2, "conj", ""),
        (".", "PUNCT", ".", 2, "punct", ""),
    )
    third: tuple[Token, ...] = (
        ("Emma", "PROPN", "NNP", 2, "nsubj", "(e4-person-1)"),
        ("asked", "VERB", "VBD", 0, "root", ""),
        ("the", "DET", "DT", 4, "det", "(e1-person-1"),
        (who, "NOUN", "NN", 2, "obj", "e1)"),
        ("about", "ADP", "IN", 8, "case", ""),
        ("the", "DET", "DT", 8, "det", "(e2-thing-1"),
        (late, "ADJ", "JJ", 8, "amod", ""),
        (what, "NOUN", "NN", 2, "obl", "e2)"),
        (".", "PUNCT", ".", 2, "punct", ""),
    )
    order = (first, second, third) if draw.random() < 0.7 else (first, third, second)
    return Tale(name, order, who, what, f"{how} {who}s")


def _write_texts(place: Path, tales: list[Tale]) -> None:
    draw = random.Random(place.name)
    sentences = [sentence for tale in tales for sentence in tale.sentences]

    def write(name: str, lines: list[str], between: str = "\n") -> None:
        (place / name).write_text(between.join(lines) + "\n", encoding="utf-8")

    def as_lines(name: str, rows: list[dict[str, Any]]) -> None:
        write(name, [json.dumps(row, ensure_ascii=False) for row in rows])

    write("treebank.conllu", [_conllu(tale) for tale in tales], "\n\n")
    write("columns.conll", [_columns(tale, number) for number, tale in enumerate(tales)])
    write("plain.txt", [tale.text for tale in tales], "\n\n")
    pairs = [_translated([token[0] for token in tale.sentences[0]]) for tale in tales]
    write("bitext.txt", [f"{' '.join(source)} ||| {' '.join(target)}" for source, target, _ in pairs])
    write("swapped.txt", [f"{' '.join(target)} ||| {' '.join(source)}" for source, target, _ in pairs])
    write("gold.pharaoh", [links for *_, links in pairs])
    labels = [("good" if tale.person in PEOPLE[:2] else "bad") for tale in tales]
    labels = [draw.choice(("good", "bad")) if draw.random() < 0.2 else label for label in labels]
    shown = [" ".join(tale.words[0]) for tale in tales]
    write(
        "labelled.tsv", ["sentence\tlabel", *(f"{text}\t{label}" for text, label in zip(shown, labels, strict=True))]
    )
    rows = [f"{one}\t{two}\t{draw.randint(0, 20) / 4}" for one, two in zip(shown, shown[3:] + shown[:3], strict=True)]
    write("similar.tsv", ["sentence1\tsentence2\tscore", *rows])
    write("chunked.txt", ["\n".join(_chunked(sentence)) for sentence in sentences], "\n\n")
    named = {"Emma": "B-person", **dict.fromkeys(PEOPLE, "B-job"), **dict.fromkeys(THINGS, "B-thing")}
    write("entities.txt", ["\n".join(f"{t[0]}\t{named.get(t[0], 'O')}" for t in one) for one in sentences], "\n\n")
    as_lines(
        "keyphrases.jsonl",
        [{"id": t.name, "text": t.text, "keyphrases": [t.phrase, t.thing, "moon"]} for t in tales],
    )
    write("nominals.txt", [_nominals(tale, number) for number, tale in enumerate(tales, start=1)], "\n\n")
    as_lines("propbank.jsonl", [_propbank(tale) for tale in tales])
    as_lines("properties.jsonl", [row for tale in tales for row in _properties(tale)])
    as_lines("spans.jsonl", [_spans(sentence) for sentence in sentences])
    as_lines("paired.jsonl", [_paired(sentence) for sentence in sentences])


def _conllu(tale: Tale) -> str:
    made = [f"# newdoc id = {tale.name}"]
    for number, sentence in enumerate(tale.sentences, start=1):
        made += [f"# sent_id = {tale.name}-{number}", f"# text = {' '.join(token[0] for token in sentence)}"]
        for at, (form, upos, xpos, governor, relation, entity) in enumerate(sentence, start=1):
            misc = f"Entity={entity}" if entity else "_"
            made.append(f"{at}\t{form}\t{form.lower()}\t{upos}\t{xpos}\t_\t{governor}\t{relation}\t_\t{misc}")
        made.append("")
    return "\n".join(made[:-1])


def _columns(tale: Tale, number: int) -> str:
    """The three columns of OntoGUM: index, word, chains by their numbers."""
    made = [f"# begin document {tale.name}".replace("# ", "#")]
    for sentence in tale.sentences:
        for at, token in enumerate(sentence):
            chain = "".join(letter for letter in token[5] if letter.isdigit())[:1]
            opens, closes = token[5].startswith("("), token[5].endswith(")")
            mark = f"{'(' * opens}{chain}{')' * closes}" if token[5] else "_"
            made.append(f"{at}\t{token[0]}\t{mark}")
        made.append("")
    return "\n".join([*made[:-1], "#end document", ""])


def _translated(words: list[str]) -> tuple[list[str], list[str], str]:
    """Word by word, but for the verb, which goes to the end; an article is only possibly linked."""
    places = [*range(3), *range(4, 9), 3, 9]
    target = [GERMAN.get(words[at].lower(), words[at]) for at in places]
    links = [f"{at}{'p' if words[at].lower() == 'the' else '-'}{to}" for to, at in enumerate(places)]
    return words, target, " ".join(sorted(links))


def _chunked(sentence: tuple[Token, ...]) -> list[str]:
    made, inside = [], ""
    for form, upos, xpos, *_ in sentence:
        kind = {"VERB": "VP", "ADP": "PP", "PUNCT": ""}.get(upos, "NP")
        starts = kind != inside or upos in ("DET", "PRON")
        made.append(f"{form} {xpos} {'O' if not kind else ('B-' if starts else 'I-') + kind}")
        inside = kind
    return made


def _spans(sentence: tuple[Token, ...]) -> dict[str, Any]:
    targets = [{"span1": [at, at + 1], "label": token[1]} for at, token in enumerate(sentence)]
    return {"text": " ".join(token[0] for token in sentence), "targets": targets}


def _paired(sentence: tuple[Token, ...]) -> dict[str, Any]:
    targets = [
        {"span1": [at, at + 1], "span2": [token[3] - 1, token[3]], "label": token[4]}
        for at, token in enumerate(sentence)
        if token[3]
    ]
    return {"text": " ".join(token[0] for token in sentence), "targets": targets}


def _nominals(tale: Tale, number: int) -> str:
    """The first sentence with two nominals marked, in the way of SemEval-2010."""
    words = list(tale.words[0])
    words[2], words[5] = f"<e1>{words[2]}</e1>", f"<e2>{words[5]}</e2>"
    kind = "Product-Producer(e2,e1)" if words[3] in ("repaired", "offered") else "Other"
    return f'{number}\t"{" ".join(words)}"\n{kind}\nComment:'


def _propbank(tale: Tale) -> dict[str, Any]:
    """The first sentence with its constituents, and the roles of its verb."""
    tokens = tale.sentences[0]
    spans = [["S", 0, 10], ["NP", 0, 3], ["VP", 3, 9], ["NP", 4, 9], ["NP", 4, 6], ["PP", 6, 9], ["NP", 7, 9]]
    roles = [["ARG0", 0, 3], ["ARG1", 4, 6], ["ARGM-LOC", 6, 9]]
    return {
        "id": f"{tale.name}-1", "tokens": [token[0] for token in tokens], "xpos": [token[2] for token in tokens],
        "constituents": spans, "srl": [{"frame": f"{tokens[3][0]}.01", "i": 3, "args": roles}],
    }  # fmt: skip


def _properties(tale: Tale) -> list[dict[str, Any]]:
    """Of the first sentence, what holds of the two arguments of its verb."""
    words = tale.words[0]
    changed = 1 if words[3] == "repaired" else -1
    return [
        {"id": tale.name, "pred": 4, "arg": 3, "tokens": words, "props": {"awareness": 1, "was_used": -1}},
        {"id": tale.name, "pred": 4, "arg": 6, "props": {"awareness": -1, "change_of_state": changed}},
    ]


def _write_models(folder: Path) -> None:
    import torch
    import transformers

    words = " ".join(
        [*PEOPLE, *THINGS, *ADJECTIVES, *VERBS, *GERMAN.values()] + ["the near about slept asked it"] * 3
    )
    pieces, bytes_ = _word_pieces(words), _byte_pairs(words)
    labels = {"classifier": ("bad", "good"), "classifier two": ("bad", "good")}
    labels["tagger"] = ("ADJ", "ADP", "DET", "NOUN", "PRON", "PROPN", "PUNCT", "VERB")
    rotary = {**SMALL, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 128}
    bert = {**SMALL, "max_position_embeddings": 128}
    for seed, (name, family, kind, options) in enumerate((
        ("bert", "Bert", "BertModel", bert),
        ("classifier", "Bert", "BertForSequenceClassification", bert),
        ("classifier two", "Bert", "BertForSequenceClassification", bert),
        ("tagger", "Bert", "BertForTokenClassification", bert),
        ("masked", "Bert", "BertForMaskedLM", bert),
        ("llama", "Llama", "LlamaForCausalLM", rotary),
        ("marian", "Marian", "MarianMTModel", SEQUENCES),
        ("marian back", "Marian", "MarianMTModel", SEQUENCES),
    )):  # fmt: skip
        tokenizer = bytes_ if family == "Llama" else pieces
        end = tokenizer.eos_token_id if family == "Llama" else tokenizer.sep_token_id
        ids = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "eos_token_id": end}
        ids["bos_token_id"] = tokenizer.bos_token_id if family == "Llama" else tokenizer.sep_token_id
        if family == "Marian":
            ids["decoder_start_token_id"] = tokenizer.pad_token_id
        config = getattr(transformers, f"{family}Config")(**ids, **options)
        if name in labels:
            config.id2label = dict(enumerate(labels[name]))
            config.label2id = {label: number for number, label in config.id2label.items()}
        torch.manual_seed(seed)
        model = getattr(transformers, kind)(config).eval()
        _spread(model)
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)


def _spread(model: Any) -> None:
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "embed" not in name and "shared" not in name:
                parameter.normal_(0, SHARP / parameter.shape[1] ** 0.5)
            elif "bias" in name:
                parameter.normal_(0, 0.1)


def _word_pieces(text: str) -> Any:
    """A fast WordPiece tokenizer with [CLS] and [SEP], whose vocabulary is worked out here: the trainers of the
    library break ties differently in every process."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    normal = normalizers.BertNormalizer()
    words = normal.normalize_str(text).split()
    cut = [(word[0], *(f"##{letter}" for letter in word[1:])) for word in words]
    alphabet = "abcdefghijklmnopqrstuvwxyzäöüß0123456789.,;:!?'-"
    letters = [*normal.normalize_str(alphabet), *(f"##{letter}" for letter in normal.normalize_str(alphabet))]
    joined = _merges(cut, 150)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = dict.fromkeys([*special, *letters, *(one + other.removeprefix("##") for one, other in joined)])
    made = Tokenizer(models.WordPiece({piece: n for n, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normal, pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=128,
    )  # fmt: skip


def _byte_pairs(text: str) -> Any:
    """A fast byte-level tokenizer that begins a text with <s>."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    before = pre_tokenizers.ByteLevel(add_prefix_space=False)
    joined = _merges([tuple(word) for word, _ in before.pre_tokenize_str(text)], 120)
    alphabet = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces = dict.fromkeys([*alphabet, *(one + other for one, other in joined)])
    made = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, joined))
    made.pre_tokenizer, made.decoder = before, decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", bos_token="<s>", eos_token="</s>", model_max_length=128
    )


def _merges(words: list[tuple[str, ...]], most: int) -> list[tuple[str, str]]:
    """Neighbours joined one pair after the other, the most frequent first; of equals the first in the alphabet."""
    made: list[tuple[str, str]] = []
    while len(made) < most:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        made.append(best)
        words = [_joined(word, best) for word in words]
    return made


def _joined(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    whole: list[str] = []
    for piece in word:
        if whole and (whole[-1], piece) == pair:
            whole[-1] += piece.removeprefix("##")
        else:
            whole.append(piece)
    return tuple(whole)
