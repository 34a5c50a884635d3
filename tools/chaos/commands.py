"""A tiny run of every command that resumes; which commands those are is asked of the studies.

Words in braces are files and models of :mod:`tools.same_figures.inputs`, or the result of another of these runs. A
command with several ways through its files has several runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

from attlas.cli.atlas import MAKE, MANY
from attlas.studies import Study, studies

# every run by the name of its study, and what sets it apart where there are several
COMMANDS: dict[str, str] = {
    "atlas": "{treebank one} --model {bert} --only survey,relations,clusters,norms --limit 8 --twins 1 --budget 120",
    "atlas-many": "{list of models} {plain one} --only survey --limit 3 --twins 1 --budget 160",
    "ablate": "{labelled one} --model {classifier} --task classification --limit 6 --budget 128",
    "align": "{bitext one} --model {marian} --gold {gold one} --limit 4 --twins 1 --aligners diagonal --budget 100",
    "clusters": "{plain one} --model {bert} --single --limit 4 --twins 1 --budget 160",
    "coref": "{treebank one} --model {bert} --twins 1 --budget 400",
    "faith": "{labelled one} --model {classifier} --task classification --limit 4 --budget 128 --permutations 2"
    " --adversary-steps 2 --steps 2",
    "faith-chunking": "{chunked one} --test {chunked two} --limit 12 --epochs 1 --weights 1 --seeds 1 --middle 1"
    " --guided 1 --instances 1 --width 16 --ffn 16 --heads 2",
    "heads": "{treebank one} --model {bert} --limit 8 --twins 1 --budget 400",
    "importance": "{labelled one} --model {classifier} --task classification --limit 6 --budget 128",
    "keywords": "{keyphrases one} --model {bert} --heads 1-2 --top 3",
    "keywords-compare": "{keyphrases one} --model {bert} --limit 4 --methods attention,tf-idf,textrank",
    "keywords-study": "{keyphrases one} --model {bert} --limit 6 --folds 2 --steps 1,4 --twins 1 --budget 500",
    "keywords-tune": "{keyphrases one} --validation {keyphrases two} --test {keyphrases three} --model {bert}"
    " --limit 6 --epochs 1 --steps 2 --batch-size 6",
    "keywords-tune again": "{keyphrases one} --validation {keyphrases two} --test {keyphrases three} --model {bert}"
    " --limit 4 --epochs 1 --steps 1 --batch-size 4 --keep .5 --retune",
    "layers": "{spans one} --task spans --model {bert} --limit 10 --epochs 2 --step-pieces 64 --twins 1 --no-control",
    "noop": "{labelled one} --model {classifier} --task classification --limit 4 --twins 1 --budget 128",
    "norms": "{plain one} --model {bert} --single --limit 3 --twins 1 --budget 160",
    "parse": "{treebank one} --model {bert} --limit 8 --epochs 1 --rank 4 --twins 1 --budget 600",
    "parse kept": "{treebank one} --model {bert} --limit 8 --epochs 1 --no-structural --keep-features --budget 600",
    "prune": "{labelled one} --model {classifier} --task classification --limit 6 --steps 2 --keep .5 --save"
    " --no-speed --by importance",
    "prune retuned": "{labelled one} --model {classifier} --task classification --limit 6 --steps 1 --keep .5 --save"
    " --no-speed --by importance --retune {labelled two}",
    "relations": "{treebank one} --model {bert} --limit 6 --twins 1 --budget 240",
    "relations after": "{treebank one} --model {bert} --limit 4 --twins 1 --twin after --budget 240",
    "roles": "{plain one} --model {llama} --definitions prefix_matching,duplicate,first_key --texts 12 --budget 600",
    "roles-through": "{classifier} {classifier two} --definitions duplicate,first_key --corpus {plain one} --texts 12"
    " --budget 600",
    "survey": "{plain one} --model {bert} --single --limit 6 --budget 128",
    "translate-train": "{bitext one} --validation {bitext two} --layers 1 --heads 2 --width 16 --ffn 16"
    " --vocabulary 120 --epochs 2 --batch-pieces 200 --limit 10",
    "tune": "{labelled one} --validation {labelled two} --model {bert} --task classification --limit 8 --epochs 2"
    " --batch-size 4",
}  # fmt: skip


def resuming() -> list[str]:
    """The studies whose commands take ``--resume``, and the commands that run several of them."""
    return [name for name, study in known().items() if "resume" in inspect.signature(study.load_call()).parameters]


def known() -> dict[str, Study]:
    """All studies, and the atlas of one model and of many."""
    return {**studies(), "atlas": MAKE, "atlas-many": MANY}


def chosen(names: list[str]) -> list[str]:
    """The runs of these studies, or of all; each study that resumes must have one."""
    missing = [study for study in resuming() if study not in COMMANDS]
    if missing:
        raise KeyError(f"there is no tiny run of {', '.join(missing)}; write one into COMMANDS")
    return [run for run in COMMANDS if not names or run in names or run.split()[0] in names]


def arguments_of(run: str, inputs: Callable[[str], str]) -> list[str]:
    """The words of a run, but for where it writes."""
    study = known()[run.split()[0]]
    taken = inspect.signature(study.load_call()).parameters
    often = ["--checkpoint-every", "0"] if "checkpoint_every" in taken else []
    words = [re.sub(r"\{(.+?)\}", lambda match: inputs(match[1]), word) for word in _words(COMMANDS[run])]
    return [*study.words, *words, *often, "--quiet"]


def _words(command: str) -> list[str]:
    return re.findall(r"\{[^}]*\}|\S+", command)
