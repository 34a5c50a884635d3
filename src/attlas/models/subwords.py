"""Making a tokenizer from nothing: the pieces of a bitext, for both of its sides together.

Text is cut at blanks and around every punctuation mark, so that raw text ("session's,") and text that was cut into
words before ("session 's ,") have the very same pieces; what is left are words, which byte pair encoding cuts on. A
piece that begins a word begins with "▁". The alphabet is the characters of the text, so that only a character that
never occurs in it is unknown. The same texts always give the same pieces.

Where the blanks were is lost by that, and has to be found again when a model writes: the tokenizer learns from the
texts of the target side to which neighbour each punctuation mark is joined there, by the word that follows it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PADDING, START, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
SPECIAL = (PADDING, START, END, UNKNOWN)
MARK = "▁"
WINDOW = 512
_UNIT = r"\w+|[^\w\s]"
_PUNCTUATED = re.compile(r"(\w?)(\s*)([^\w\s])(?=(\s*)(\w+|[^\w\s])?)")
_OFTEN = 4  # times that a word must follow a mark to have a rule of its own
_MOST = 300  # rules of words for one mark, the most frequent ones


class Joins(NamedTuple):
    """Which blanks are taken out before a mark, or after it: by default, and for the words that follow it.

    ``numbers`` is what is done between two digits.

    >>> learn_joins(["It's late, isn't it?"])["'"]
    Joins(before=True, after=True, otherwise={}, numbers=(True, True))
    """

    before: bool
    after: bool
    otherwise: dict[str, tuple[bool, bool]]
    numbers: tuple[bool, bool]


def make_tokenizer(
    source: Iterable[str], target: Iterable[str], vocabulary: int = 10_000, window: int = WINDOW
) -> PreTrainedTokenizerFast:
    """A tokenizer of so many pieces at most, made from the sentences of both sides.

    >>> pieces = make_tokenizer(["das Haus", "das alte Haus"], ["the farmer's house"] * 2, 60)
    >>> pieces.convert_ids_to_tokens(pieces("the house's")["input_ids"])
    ['▁the', '▁house', "▁'", '▁s', '</s>']
    >>> pieces("the house's")["input_ids"] == pieces("the house 's")["input_ids"]
    True
    >>> pieces.decode(pieces("the house's")["input_ids"], skip_special_tokens=True)
    "the house's"
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    here, there = list(source), list(target)
    made: Any = Tokenizer(models.BPE(unk_token=UNKNOWN))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_UNIT), behavior="removed", invert=True),
            pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=False),
        ]
    )
    made.train_from_iterator(
        (text for side in (here, there) for text in side),
        trainers.BpeTrainer(
            vocab_size=vocabulary, min_frequency=2, special_tokens=list(SPECIAL), initial_alphabet=[MARK],
            limit_alphabet=max(1, vocabulary // 2), show_progress=False,
        ),
    )  # fmt: skip
    made.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", pair=f"$A {END} $B {END}", special_tokens=[(END, SPECIAL.index(END))]
    )
    made.decoder = _decoder(learn_joins(there))
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, pad_token=PADDING, bos_token=START, eos_token=END, unk_token=UNKNOWN,
        model_max_length=window, clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def learn_joins(texts: Iterable[str]) -> dict[str, Joins]:
    """To which of its neighbours each punctuation mark is joined in raw text.

    >>> joins = learn_joins(["A so-called man (not old), 3.5 m", "Nouns- and verbs", "well-known"])
    >>> joins["("][:2], joins[","][:2], joins["."].numbers
    ((False, True), (True, False), (True, True))
    """
    seen: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    following: dict[str, dict[str, Counter[tuple[bool, bool]]]] = defaultdict(lambda: defaultdict(Counter))
    between: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    for text in texts:
        for found in _PUNCTUATED.finditer(text.strip()):
            before, blank, mark, gap, after = found.groups()
            joined = (not blank and found.start(3) > 0, not gap and after is not None)
            if before.isdigit() and after is not None and after[0].isdigit():
                between[mark][joined] += 1
                continue
            seen[mark][joined] += 1
            if after is not None:
                following[mark][after][joined] += 1
    made: dict[str, Joins] = {}
    for mark in sorted({*seen, *between}):
        usual = _most(seen[mark], (True, False))
        words = sorted(following[mark].items(), key=lambda item: (-item[1].total(), item[0]))
        own = {word: _most(counts, usual) for word, counts in words[:_MOST] if counts.total() >= _OFTEN}
        made[mark] = Joins(
            *usual, {word: one for word, one in own.items() if one != usual}, _most(between[mark], (True, True))
        )
    return made


def _most(counts: Counter[tuple[bool, bool]], otherwise: tuple[bool, bool]) -> tuple[bool, bool]:
    """What occurs more often than not, for each neighbour by itself."""
    total = counts.total()
    if not total:
        return otherwise
    before, after = (sum(count for joined, count in counts.items() if joined[side]) for side in (0, 1))
    return 2 * before > total, 2 * after > total


def _decoder(joins: dict[str, Joins]) -> Any:
    """Pieces to words, words to one text, and out with the blanks that raw text would not have."""
    from tokenizers import Regex, decoders

    steps: list[Any] = [decoders.Metaspace(replacement=MARK, prepend_scheme="always"), decoders.Fuse()]
    for blanks in (_before, _after):
        pattern = "|".join(part for mark, rule in joins.items() for part in blanks(re.escape(mark), rule))
        if pattern:
            steps.append(decoders.Replace(Regex(pattern), ""))
    return decoders.Sequence(steps)


def _before(mark: str, rule: Joins) -> list[str]:
    """Patterns for the blank before a mark, where it goes; all words and marks still stand apart."""
    words = _listed(rule, 0)
    made = [rf"(?<=\d) (?={mark} \d)"] if rule.numbers[0] else []
    if rule.before:
        rest = f"(?! {words})" if words else ""
        made += [f" (?={mark}{rest})"] if rule.numbers[0] else [
            rf"(?<!\d) (?={mark}{rest})", rf"(?<=\d) (?={mark}(?! \d){rest})"
        ]  # fmt: skip
    elif words:
        made.append(f" (?={mark} {words})")
    return made


def _after(mark: str, rule: Joins) -> list[str]:
    """Patterns for the blank between a mark and a word, where it goes; the mark may be joined to what precedes it."""
    words = _listed(rule, 1)
    number = rf"\d{mark}|\d {mark}"
    made = [rf"(?<={number}) (?=\d)"] if rule.numbers[1] else []
    if rule.after:
        rest = f"(?!{words})" if words else ""
        made += [rf"(?<={mark}) (?=\w){rest}"] if rule.numbers[1] else [
            rf"(?<={mark})(?<!{number}) (?=\w){rest}", rf"(?<={number}) (?=[^\W\d]){rest}"
        ]  # fmt: skip
    elif words:
        made.append(rf"(?<={mark}) (?={words})")
    return made


def _listed(rule: Joins, side: int) -> str:
    """The words before which a mark is joined otherwise than it usually is."""
    words = [re.escape(word) for word, joined in rule.otherwise.items() if joined[side] != rule[side]]
    return rf"(?:{'|'.join(words)})(?!\w)" if words else ""
