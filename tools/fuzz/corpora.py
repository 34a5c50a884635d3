"""Mutated corpora: each is read as a user would, and must give a corpus or one sentence.

The seeds are small files of every format, and folders, archives and bitexts with gold links made of them. Mutant k of
a seed is always the same. What is at fault: a traceback, a sentence that is none (of several lines, or endless), a
text that cannot be encoded, more than 2 seconds of processor time, more than 500 MB.
"""

from __future__ import annotations

import io
import random
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from attlas.corpora import EDGE_TASKS, read, read_bitexts, read_edge_parts, read_edges
from attlas.corpora.formats import formats
from attlas.errors import AttlasError
from tools.fuzz.forked import Outcome, forked
from tools.fuzz.mutants import flip, mutated

_LONGEST = 2000  # characters of a sentence
_MORE = {
    "conllu": "# newdoc id = a\n# sent_id = a-1\n# text = du pain\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tde\tde\tADP\tIN\t_\t3\tcase\t_\tEntity=(e1-x\n2\tle\tle\tDET\tDT\t_\t3\tdet\t_\tEntity=(e2-y)\n"
    "3\tpain\tpain\tNOUN\tNN\t_\t0\troot\t_\tEntity=e1)\n3.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
    "conll2012": "#begin document (b); part 000\nb 0 0 Emma NNP (S* - - - - * (1)\nb 0 1 slept VBD *) - - - - * -\n\n"
    "b 0 0 She PRP * - - - - * (1)\n#end document\n",
    "labelled": "gj04\t1\t\tIt rained.\ngj04\t0\t*\tRained it.\n",
    "spans": '{"text": "He ran", "words": [[0, 2], [3, 6]], "article": 1, '
    '"targets": [{"span1": [0, 1], "span2": [1, 2], "label": ["a"], "among": ["a", "b"]}]}\n',
    "keyphrases": '{"id": "1", "title": "Solar cells", "abstract": "They age.", "uncontrolled": ["cells"]}\n',
    "propbank": '{"id": "a-1", "tokens": ["He", "ran"], "xpos": ["PRP", "VBD"], '
    '"constituents": [["NP", 0, 1], ["S", 0, 2]]}\n',
    "plain": " = Frogs = \n\nThey leap . It is 3 @.@ 5 cm .\n\n = = Food = = \n\nFlies .\n",
    "conll2000": "-DOCSTART- -X- O\n\nLima NNP B-LOC\n_ _ _\n",
}
_ENDINGS = {"conllu": ".conllu", "conll2012": ".conll", "csv": ".csv"}
_GOLD = (b"0-0 1p1\n0-0\n", b"1 1 1 S\n1 2 2 P\n2 1 1\n")


@dataclass(frozen=True)
class Case:
    """Files to write, and how the first of them is read."""

    files: dict[str, bytes]
    entry: str = "read"
    options: dict[str, Any] = field(default_factory=dict)


@cache
def seeds() -> tuple[Case, ...]:
    """Small files of every format, alone and together."""
    cases: list[Case] = []
    texts: dict[str, bytes] = {}
    for name, record in formats().items():
        texts[name] = (record.example + _MORE.get(name, "")).encode()
        json_lines = record.example.startswith("{")
        file = f"a{_ENDINGS.get(name, '.jsonl' if json_lines else '.txt')}"
        for data in dict.fromkeys((record.example.encode() * 3, texts[name], _MORE.get(name, "").encode())):
            if data and not record.needs:
                cases += [Case({file: data}), Case({"b.txt": data}, options={"format": name})]
        for option, value in (
            ("unit", "document"),
            ("unit", "line"),
            ("label", "five"),
            ("label", "label"),
            ("which", "controlled"),
        ):
            if option in record.options:
                cases.append(Case({file: texts[name]}, options={"format": name, option: value}))
    for task in EDGE_TASKS:
        for name in ("conllu", "conll2000", "conll2012", "spans", "propbank", "uds", "semeval"):
            cases.append(Case({"a.txt": texts[name]}, "edges", {"task": task, "format": name}))
    pairs = formats()["bitext"].example.encode()
    for gold in _GOLD:
        cases += [
            Case({"a.txt": pairs, "gold": gold}, options={"gold": "gold", "one_indexed": odd})
            for odd in (False, True)
        ]
    cases.append(
        Case({"a.txt": b"Ein Mann.\nEs regnet.\n", "b.txt": b"A man.\nIt rains.\n"}, options={"target": "b.txt"})
    )
    cases.append(Case({"a.txt": pairs, "b.txt": formats()["tsv"].example.encode()}, "bitexts"))
    for name in ("conllu", "conll2012"):
        ending = _ENDINGS[name]
        members = {
            f"train{ending}": texts[name],
            f"dev{ending}": texts[name],
            "README": b"hello\n",
            "splits.tsv": b"train\ta\ndev\tb\n",
        }
        cases += [Case({"a.zip": zipped(members, method)}) for method in (0, 8, 12, 14)]
        cases += [Case({f"{name}/{file}": data for file, data in members.items()}, options={"folder": name})]
        cases += [Case({"a.zip": zipped(members, 8)}, "parts", {"task": "coreference"})]
    cases.append(Case({"a.zip": zipped({"only.txt": texts["plain"]}, 8)}))
    return tuple(cases)


def zipped(members: dict[str, bytes], method: int) -> bytes:
    """An archive of these files."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return held.getvalue()


def mutant(seed: int, index: int) -> Case:
    """Mutant number ``index``: a case with one of its files changed; of an archive either the archive itself, or one
    of the files in it before it is packed."""
    draw = random.Random(f"{seed} {index}")
    case = draw.choice(seeds())
    name = draw.choice(list(case.files))
    data = case.files[name]
    if not name.endswith(".zip"):
        changed = mutated(draw, data)
    elif draw.random() < 0.5:
        changed = draw.choice((flip, mutated))(draw, data)
    else:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        inner = draw.choice(list(members))
        members[inner] = mutated(draw, members[inner])
        changed = zipped(members, draw.choice((0, 8)))
    return Case({**case.files, name: changed}, case.entry, case.options)


def attempt(case: Case, folder: Path) -> str:
    """Read a case; what is neither a corpus nor a sentence is raised."""
    for name, data in case.files.items():
        place = folder / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)
    try:
        documents = list(_ENTRIES[case.entry](case, folder))
    except AttlasError as error:
        said = str(error)
        if "\n" in said or len(said) > _LONGEST:
            raise AssertionError(f"no sentence: {said[:200]!r}") from error
        said.encode()
        return "refused"
    for document in documents:
        document.text.encode()
        document.name.encode()
    return "read"


def outcomes(seed: int, indices: Sequence[int], keep: Path | None = None) -> Iterator[Outcome]:
    """What came of each of these mutants."""
    warnings.simplefilter("ignore")
    seeds()
    with tempfile.TemporaryDirectory() as folder:
        for outcome in forked(lambda index: attempt(mutant(seed, index), Path(folder)), indices):
            yield outcome
            if outcome.at_fault and keep is not None:
                for name, data in mutant(seed, outcome.index).files.items():
                    place = keep / f"{outcome.index}" / name
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(data)


def _read(case: Case, folder: Path) -> Any:
    options = {name: value for name, value in case.options.items() if name != "folder"}
    files = {name: folder / options[name] for name in ("gold", "target") if name in options}
    place = folder / case.options.get("folder", next(iter(case.files)))
    return read(place, **{**options, **files}).documents


def _edges(case: Case, folder: Path) -> Any:
    task, format = case.options["task"], case.options["format"]
    return read_edges(task, folder / next(iter(case.files)), format=format).documents


def _parts(case: Case, folder: Path) -> Any:
    parts = read_edge_parts(case.options["task"], folder / next(iter(case.files)))
    return [document for part in parts.values() for document in part.documents]


def _bitexts(case: Case, folder: Path) -> Any:
    corpora = read_bitexts([folder / name for name in case.files], skip=True)
    return [document for corpus in corpora for document in corpus.documents]


_ENTRIES: dict[str, Callable[[Case, Path], Any]] = {
    "read": _read, "edges": _edges, "parts": _parts, "bitexts": _bitexts,
}  # fmt: skip
