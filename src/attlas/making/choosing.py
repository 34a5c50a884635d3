"""The examples of one model, chosen once its studies are done, and kept beside their results.

They are a result of their own (of the "study" examples), so that joining atlases brings them along; the pages of the
viewer lie beside it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.errors import AttlasError
from attlas.ids import Site, Stream
from attlas.making.examples import choose, example_tables, figures_by_text, pool_of, write_viewer
from attlas.making.places import EXAMPLES, TEXTS
from attlas.making.planning import Step, corpus_of
from attlas.run.progress import Progress
from attlas.store import Manifest, Result, versions_here
from attlas.store.folder import MANIFEST, finish_up, locate, read_manifest
from attlas.studies import Study, studies
from attlas.studies.joining import gathered

if TYPE_CHECKING:
    from attlas.capture import Capture, Subject
    from attlas.corpora import Corpus
    from attlas.making.given import Models


def keep_examples(models: Models, steps: Sequence[Step], folder: Path, seed: int, progress: Progress) -> None:
    """Choose the examples of a model's heads, by what its studies have found, and keep them in its folder, unless
    they are there already."""
    done = {
        name: step for step in steps for name in step.gives if locate(folder / name, MANIFEST).is_file()
    }  # fmt: skip
    sources = [Result.open(folder / name).fingerprint for name in sorted(done)]
    plan = {"study": EXAMPLES, "options": {"seed": seed}, "sources": sources}
    if not done:
        return
    if _is_kept(folder / EXAMPLES, plan):
        finish_up(folder / EXAMPLES)
        return
    progress.note("choosing examples")
    try:
        told = gathered([folder / name for name in sorted(done)]).tables["portraits"].to_pylist()
    except AttlasError:  # no study gives figures of heads
        return
    subject = models.plain
    told = [{**row, "own": _own_number(subject, row)} for row in told]
    spoken = {row["study"] for row in told}
    figures, corpora = {}, {}
    for name, step in done.items():
        if name in spoken and step.texts is not None:
            study = studies()[name]
            corpus = _short(study, corpus_of(study, step.texts).beginning)
            figures[name] = figures_by_text(study, subject, pool_of(corpus, subject, seed), seed)
            corpora[name] = corpus.name
    for place in (EXAMPLES, TEXTS):
        shutil.rmtree(folder / place, ignore_errors=True)

    def write(number: int, capture: Capture) -> str:
        page = f"{TEXTS}/text-{number + 1}.html"
        write_viewer(capture, folder / page)
        return page

    examples, texts = example_tables(subject, choose(told, figures), corpora, write)
    if not examples:
        return
    named = {"name": ", ".join(dict.fromkeys(corpora.values()))}
    manifest = Manifest(EXAMPLES, plan, versions_here(), subject.describe(), named, seed)
    Result(manifest, {"examples": examples, "texts": texts}).save(folder / EXAMPLES)


def _own_number(subject: Subject, row: Mapping[str, Any]) -> int:
    """The number that a head has in the model itself: of a pruned one, sentences name heads as they were before."""
    numbers = subject.kept.get(Site(Stream(row["stream"]), row["layer"]), ())
    return numbers.index(row["head"]) if row["head"] in numbers else int(row["head"])


def _short(study: Study, corpus: Corpus) -> Corpus:
    """A treebank by its sentences, unless the study asks for what goes beyond them."""
    beyond = study.fits is not None and "coreference" in study.fits.needs
    return corpus if beyond or "governors" not in corpus.annotations else corpus.sentences()


def _is_kept(folder: Path, plan: dict[str, Any]) -> bool:
    """Whether the examples of this plan are there."""
    try:
        return read_manifest(folder).plan == plan
    except AttlasError:
        return False
