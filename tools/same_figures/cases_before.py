"""Every study of attlas once or more, by the calls as they were before the redesign (at 33c155d).

A case is a function of a folder of its own and the inputs; it gives a result, several results by name, or plain
tables. Its name is that of the study, with a dot and a variant where there are several: ``survey.pairs``. All that
belongs to attlas is imported inside the functions, so that this module can be imported whatever becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inputs import Inputs

Case = Callable[[Path, Inputs], Any]
Tables = dict[str, dict[str, list[Any]]]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    """Enter a function as a case of this name."""

    def enter(function: Case) -> Case:
        CASES[name] = function
        return function

    return enter


def tables_of(given: Any) -> Tables:
    """The tables of what a case gives: of a result, of several (as ``name/table``), or plain ones as they are.

    Beside the tables of a result stands what its manifest counts.
    """
    if isinstance(given, Mapping):
        if all(isinstance(table, Mapping) for table in given.values()):
            return {name: {column: list(values) for column, values in table.items()} for name, table in given.items()}
        return {
            f"{name}/{table}": columns for name, one in given.items() for table, columns in tables_of(one).items()
        }
    tables = {name: table.to_pydict() for name, table in given.tables.items()}
    counted = [*_numbers(given.manifest.corpus), *_numbers(given.manifest.skipped, "skipped")]
    tables["(counts)"] = {"what": [what for what, _ in counted], "count": [count for _, count in counted]}
    return tables


def _numbers(given: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in given.items():
        path = f"{before}/{name}" if before else name
        if isinstance(value, Mapping):
            found += _numbers(value, path)
        elif isinstance(value, (int, float)):
            found.append((path, value))
    return found


def record_tables(record: Mapping[str, Any]) -> Tables:
    """Tables of the record of a training: one of all single values, and one of each list of rows. Its plan is left
    out, which holds the options it was given and no figures."""
    single: dict[str, Any] = {}
    tables: Tables = {}
    for name, value in record.items():
        if name == "plan":
            continue
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            columns = dict.fromkeys(column for row in value for column in row)
            tables[name] = {column: [row.get(column) for row in value] for column in columns}
        elif isinstance(value, Mapping):
            single |= dict(_numbers(value, name))
        else:
            single[name] = value
    return {"record": {"name": list(single), "value": list(single.values())}, **tables}


def weights_in(folder: Path) -> dict[str, list[Any]]:
    """A table of the weights of a model folder: of each array its shape, its sum and the sum of its sizes."""
    from safetensors.numpy import load_file

    arrays = {
        name: array.astype("float64") for name, array in sorted(load_file(folder / "model.safetensors").items())
    }
    return {
        "name": list(arrays),
        "shape": [list(array.shape) for array in arrays.values()],
        "sum": [float(array.sum()) for array in arrays.values()],
        "size": [float(abs(array).sum()) for array in arrays.values()],
    }


# ---- heads over a corpus


@case("survey.plain")
def survey_plain(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.survey(inputs["bert"], inputs["plain one"], pairs=False, max_pieces=24)


@case("survey.bundled")
def survey_bundled(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.survey(None, inputs["plain one"], limit=2)


@case("survey.pairs")
def survey_pairs(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.survey(inputs["bert"], inputs["plain one"], pairs=True, limit=6)


@case("survey.treebank")
def survey_treebank(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.survey(inputs["llama"], inputs["treebank one"], limit=20, long="skip", seed=1)


@case("survey.translation")
def survey_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.survey(inputs["marian"], inputs["bitext one"], out=folder / "out")


@case("relations.weight")
def relations_weight(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.relations(inputs["bert"], inputs["treebank one"])


@case("relations.norm")
def relations_norm(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.relations(
        inputs["bert"], inputs["treebank one"], select=inputs["treebank two"], measure="norm", limit=20
    )


@case("relations.causal")
def relations_causal(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.relations(inputs["llama"], inputs["treebank two"], limit=12, max_pieces=40)


@case("relations.bundled")
def relations_bundled(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.relations(None, inputs["treebank one"], limit=6, seed=1)


@case("coref.halves")
def coref_halves(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.coref(inputs["bert"], inputs["treebank one"])


@case("coref.select")
def coref_select(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.coref(
        inputs["bert"], inputs["columns one"], select=inputs["columns two"], measure="norm", max_pieces=40
    )


@case("clusters.norm")
def clusters_norm(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.clusters(inputs["bert"], inputs["plain one"], pairs=True, measure="norm", limit=6)


@case("clusters.relations")
def clusters_relations(folder: Path, inputs: Inputs) -> Any:
    import attlas

    known = attlas.relations(None, inputs["treebank one"])
    return attlas.clusters(None, inputs["treebank one"], relations=known, limit=4)


@case("clusters.translation")
def clusters_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.clusters(inputs["marian"], inputs["bitext one"], limit=6)


@case("heads")
def heads(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.heads(inputs["bert"], inputs["treebank one"], limit=12, out=folder / "out")


@case("heads.norm")
def heads_norm(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.heads(inputs["bert"], inputs["treebank two"], measure="norm", limit=8, seed=1)


@case("noop.masked")
def noop_masked(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.noop(inputs["masked"], inputs["plain one"], loss="masked-lm", limit=6)


@case("noop.tagging")
def noop_tagging(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.noop(inputs["bert"], inputs["treebank one"], loss="tagging:upos", limit=8)


@case("noop.translation")
def noop_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.noop(inputs["marian"], inputs["bitext one"], loss="translation", limit=6)


@case("noop.classification")
def noop_classification(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.noop(inputs["classifier"], inputs["labelled one"], loss="classification")


@case("noop.causal")
def noop_causal(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.noop(inputs["llama"], inputs["plain one"], max_pieces=32, limit=6)


@case("norms.named")
def norms_named(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.norms(inputs["bert"], inputs["plain one"], heads=["1-2", "3-1"], pairs=False, limit=4)


@case("norms.translation")
def norms_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.norms(inputs["marian"], inputs["bitext one"], limit=2)


# ---- probes


@case("parse.weight")
def parse_weight(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.parse(
        inputs["bert"], inputs["treebank one"], dev=inputs["treebank two"], test=inputs["treebank three"], limit=12,
        epochs=2, rank=8, out=folder / "out",
    )  # fmt: skip


@case("parse.norm")
def parse_norm(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.parse(inputs["bert"], inputs["treebank one"], measure="norm", structural=False, epochs=2)


@case("parse.causal")
def parse_causal(folder: Path, inputs: Inputs) -> Any:
    import attlas

    vectors = folder / "vectors.txt"
    words = ("the", "farmer", "bridge", "storm", "slept", "offered", "near")
    rows = [
        f"{word} " + " ".join(f"{(7 * n + k) % 11 / 10 - 0.5:.2f}" for k in range(8)) for n, word in enumerate(words)
    ]
    vectors.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return attlas.parse(
        inputs["llama"], inputs["treebank one"], vectors=vectors, limit=10, epochs=2, rank=4, max_pieces=64
    )


SHORT: dict[str, Any] = {"epochs": 4, "step_pieces": 32, "rate": 5e-3}


@case("layers.pos")
def layers_pos(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers("pos", inputs["treebank one"], inputs["bert"], limit=16, out=folder / "out", **SHORT)


@case("layers.dependencies")
def layers_dependencies(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "dependencies", inputs["treebank one"], inputs["bert"], dev=inputs["treebank two"],
        test=inputs["treebank three"], lengths="own", singles=False, twin=False, seeds=2, limit=12, **SHORT,
    )  # fmt: skip


@case("layers.coreference")
def layers_coreference(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "coreference", inputs["treebank one"], inputs["bert"], control=False, twin=False, singles=False, **SHORT
    )


@case("layers.entities")
def layers_entities(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "entities", inputs["entities one"], inputs["llama"], twin=False, limit=16, mixing_rate=5e-2,
        **SHORT,
    )  # fmt: skip


@case("layers.spans")
def layers_spans(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "spans",
        inputs["spans one"],
        inputs["bert"],
        over="heads",
        twin=False,
        control=False,
        epochs=8,
        step_pieces=32,
        rate=1e-2,
    )


@case("layers.relations")
def layers_relations(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "relations", inputs["nominals one"], inputs["bert"], dev=inputs["nominals two"],
        test=inputs["nominals three"], twin=False, **SHORT,
    )  # fmt: skip


@case("layers.roles")
def layers_roles(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "roles",
        inputs["propbank one"],
        inputs["marian"],
        dev=inputs["propbank two"],
        twin=False,
        control=False,
        **SHORT,
    )


@case("layers.constituents")
def layers_constituents(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "constituents", inputs["propbank one"], inputs["bert"], over="heads", lengths="usual", singles=False,
        test=inputs["propbank two"], limit=12, **SHORT,
    )  # fmt: skip


@case("layers.proto_roles")
def layers_proto_roles(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers(
        "proto-roles", inputs["properties one"], inputs["bert"], test=inputs["properties two"], twin=False,
        control=False, seed=1, **SHORT,
    )  # fmt: skip


def finished_runs(folder: Path, inputs: Inputs) -> Path:
    """A folder with two runs of layers: one of single spans, one of pairs."""
    import attlas

    for task, file in (("pos", "spans one"), ("dependencies", "paired one")):
        attlas.layers(
            task, inputs[file], inputs["bert"], twin=False, control=False, singles=False, limit=12,
            out=folder / "runs" / task, **SHORT,
        )  # fmt: skip
    return folder / "runs"


@case("layers_case")
def layers_case(folder: Path, inputs: Inputs) -> Any:
    import attlas

    runs = finished_runs(folder, inputs)
    return attlas.layers_case("The old farmer slept.", ["1:3", "2:3,3:4"], [runs], subject=inputs["bert"])


@case("layers_together")
def layers_together(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.layers_together([finished_runs(folder, inputs)], out=folder / "out")


# ---- training


@case("tune.classification")
def tune_classification(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["bert"], inputs["labelled one"], task="classification", dev=inputs["labelled two"], epochs=2,
        rate=3e-3, batch_size=4, out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("tune.tagging")
def tune_tagging(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["bert"], inputs["chunked one"], task="tagging:chunks", only_head=True, epochs=2, limit=20,
        out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("tune.causal")
def tune_causal(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["llama"], inputs["plain one"], task="causal-lm", dev=inputs["plain two"], epochs=1, rate=1e-3,
        attention="uniform", max_pieces=32, out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("tune.masked")
def tune_masked(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["masked"], inputs["plain one"], task="masked-lm", dev=inputs["plain two"], epochs=1, rate=1e-3,
        batch_size=4, limit=10, seed=1, out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("tune.similarity")
def tune_similarity(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["bert"], inputs["similar one"], task="similarity", dev=inputs["similar two"], epochs=1, rate=1e-3,
        batch_size=4, limit=10, seed=1, out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("tune.translation")
def tune_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["marian"], inputs["bitext one"], task="translation", dev=inputs["bitext two"], epochs=1, rate=1e-3,
        batch_size=4, limit=10, seed=1, out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("tune.keyphrases")
def tune_keyphrases(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = attlas.tune(
        inputs["bert"], inputs["keyphrases one"], task="tagging:keyphrases", dev=inputs["keyphrases two"], epochs=1,
        rate=1e-3, batch_size=4, limit=10, seed=1, out=folder / "out",
    )  # fmt: skip
    return record_tables(tuned.record) | {"weights": weights_in(folder / "out")}


@case("translate_train")
def translate_train(folder: Path, inputs: Inputs) -> Any:
    import attlas

    made = attlas.translate_train(
        inputs["bitext one"], dev=inputs["bitext two"], test=inputs["bitext three"], layers=1, heads=2, width=32,
        ffn=32, vocabulary=120, epochs=20, rate=5e-3, batch_pieces=100, out=folder / "out",
    )  # fmt: skip
    return record_tables(made.record) | {"weights": weights_in(folder / "out")}


@case("translate_train.swapped")
def translate_train_swapped(folder: Path, inputs: Inputs) -> Any:
    import attlas

    made = attlas.translate_train(
        inputs["bitext one"], dev=inputs["bitext two"], swap=True, layers=1, heads=2, width=16, ffn=16,
        vocabulary=120, epochs=2, rate=5e-3, falling="root", beams=2, limit=10, seed=1, out=folder / "out",
    )  # fmt: skip
    return record_tables(made.record) | {"weights": weights_in(folder / "out")}


# ---- cutting heads


@case("ablate.survivors")
def ablate_survivors(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(inputs["classifier"], inputs["labelled one"], "classification", out=folder / "out")


@case("ablate.means")
def ablate_means(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(
        inputs["tagger"], inputs["treebank one"], "tagging:upos", other=inputs["treebank two"],
        choose_on=inputs["treebank three"], means=True, limit=10,
    )  # fmt: skip


@case("ablate.named")
def ablate_named(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(
        None, inputs["similar one"], "similarity", survivors=False, heads=["1-1", "6-12"], importance=False
    )


@case("ablate.loss")
def ablate_loss(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(inputs["llama"], inputs["plain one"], "causal-lm", score="loss", survivors=False, limit=6)


@case("ablate.translation")
def ablate_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(
        inputs["marian"], inputs["bitext one"], "translation", score="perplexity", survivors=False, limit=6
    )


@case("ablate.matthews")
def ablate_matthews(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(
        inputs["classifier"], inputs["labelled one"], "classification", score="matthews", means=True, seed=1,
        choose_on=inputs["labelled two"], other=inputs["labelled three"],
    )  # fmt: skip


@case("ablate.chrf")
def ablate_chrf(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.ablate(
        inputs["marian"], inputs["bitext one"], "translation", score="chrf", survivors=False, importance=False,
        heads=["encoder 1-1", "cross 2-3", "decoder 1-4"], limit=4,
    )  # fmt: skip


@case("importance.ablation")
def importance_ablation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    measured = attlas.ablate(
        inputs["classifier"], inputs["labelled one"], "classification", survivors=False, importance=False
    )
    return attlas.importance(inputs["classifier"], inputs["labelled one"], "classification", ablation=measured)


@case("importance.masked")
def importance_masked(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.importance(inputs["masked"], inputs["plain one"], "masked-lm", limit=6)


@case("prune.both")
def prune_both(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.prune(
        inputs["classifier"], inputs["labelled one"], "classification", steps=3, keep=0.5, reverse=True,
        retune=inputs["labelled two"], speed=False, out=folder / "out",
    )  # fmt: skip


@case("prune.score")
def prune_score(folder: Path, inputs: Inputs) -> Any:
    import attlas

    measured = attlas.ablate(inputs["tagger"], inputs["treebank one"], "tagging:upos", survivors=False, limit=8)
    return attlas.prune(
        inputs["tagger"], inputs["treebank two"], "tagging:upos", by="score", ablation=measured,
        order_on=inputs["treebank one"], steps=3, even=True, keep=0.75, speed=False, limit=8,
    )  # fmt: skip


@case("prune.named")
def prune_named(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.prune(
        inputs["llama"], inputs["plain one"], "causal-lm", heads=["1-1", "1-2", "2-3", "2-4"], speed=False, limit=6
    )


@case("prune.translation")
def prune_translation(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.prune(
        inputs["marian"], inputs["bitext one"], "translation", by="loss", score="perplexity", steps=2, limit=4,
        order_on=inputs["bitext two"],
    )  # fmt: skip


# ---- alignment


@case("align.gold")
def align_gold(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.align(
        inputs["marian"], inputs["bitext one"], gold=inputs["gold one"], back=inputs["marian back"],
        aligners=["fast_align", "diagonal"], more=inputs["bitext two"], limit=8,
    )  # fmt: skip


@case("align.encoder")
def align_encoder(folder: Path, inputs: Inputs) -> Any:
    import attlas

    result = attlas.align(
        inputs["bert"], inputs["bitext one"], gold=inputs["gold one"], measure="weight", head="2-3", compete=False,
        aligners=["diagonal"], pharaoh=folder / "links.txt", limit=5,
    )  # fmt: skip
    lines = (folder / "links.txt").read_text(encoding="utf-8").splitlines()
    return tables_of(result) | {"(pharaoh)": {"line": lines}}


@case("align.layer")
def align_layer(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.align(
        inputs["marian"],
        inputs["bitext one"],
        setting="output",
        layer=1,
        aligners=(),
        gold=inputs["gold one"],
        limit=4,
    )


# ---- faithfulness


def frozen_file(folder: Path, inputs: Inputs, *, last: bool = False) -> Path:
    """The attention of the second classifier on the labelled texts, as ``attlas faith freeze`` keeps it."""
    from attlas.capture.frozen import freeze, self_attention
    from attlas.corpora import read
    from attlas.run.tasks import open_for_task, read_for_task, task_for

    texts = read(inputs["labelled one"])
    subject = open_for_task(inputs["classifier two"], "classification", texts)
    task = task_for(subject, "classification", texts, seed=0)
    reading = read_for_task(task, texts, limit=3 if last else None, seed=0)
    sites = list(self_attention(subject))
    kept = freeze(subject, reading.examples, sites[-1:] if last else sites, run=lambda some: task.run(task.ask(some)))
    kept.save(folder / "frozen.safetensors")
    return folder / "frozen.safetensors"


@case("faith_freeze")
def faith_freeze(folder: Path, inputs: Inputs) -> Any:
    from safetensors.numpy import load_file

    arrays = load_file(frozen_file(folder, inputs, last=True))
    return {name: {"value": array.ravel().tolist()} for name, array in sorted(arrays.items())}


FEW: dict[str, Any] = {"adversary_steps": 4, "permutations": 4, "steps": 3}


@case("faith.classification")
def faith_classification(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.faith(
        inputs["classifier"], inputs["labelled one"], frozen=[frozen_file(folder, inputs)],
        others=[inputs["classifier two"]], evened=inputs["classifier two"], limit=6, out=folder / "out", **FEW,
    )  # fmt: skip


@case("faith.tagging")
def faith_tagging(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.faith(
        inputs["tagger"], inputs["treebank one"], "tagging:upos", layers="1", head=2, erase="mask", per_text=2,
        limit=5, **FEW,
    )  # fmt: skip


@case("faith.chunks")
def faith_chunks(folder: Path, inputs: Inputs) -> Any:
    import attlas

    tuned = folder / "tuned"
    attlas.tune(inputs["llama"], inputs["chunked one"], task="tagging:chunks", epochs=1, limit=6, out=tuned)
    return attlas.faith(str(tuned), inputs["chunked two"], "tagging:chunks", layers="all", limit=2, **FEW)


@case("faith_chunking")
def faith_chunking(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.faith_chunking(
        inputs["chunked one"], inputs["chunked two"], weights=[0.2, 1, 3], width=8, ffn=8, epochs=3, seeds=2,
        middle=1, guided=1, instances=4, limit=24, out=folder / "out",
    )  # fmt: skip


@case("faith_chunking.row")
def faith_chunking_row(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.faith_chunking(
        inputs["chunked one"], inputs["chunked two"], weights=[0.5], divergence="jsd", per="row", width=8, ffn=8,
        heads=2, epochs=6, rate=1e-2, batch_size=8, seeds=1, guided=0, instances=2, limit=16,
    )  # fmt: skip


# ---- key phrases


@case("keywords.bundled")
def keywords_bundled(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords(inputs["keyphrases one"], top=3)


@case("keywords.named")
def keywords_named(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords(
        inputs["plain one"], inputs["bert"], heads=["1-2", "3-1"], measure="norm", over="max", top=4, bar=0.8,
        longest=2,
    )  # fmt: skip


@case("keywords.text")
def keywords_text(folder: Path, inputs: Inputs) -> Any:
    import attlas

    text = "Alan Turing put forward the imitation game as a test of whether machines can think."
    return attlas.keywords(text, measure="weight", top=5)


@case("keywords.study")
def keywords_by_study(folder: Path, inputs: Inputs) -> Any:
    import attlas

    study = attlas.keywords_study(inputs["bert"], inputs["keyphrases one"], folds=2, twin=False)
    return attlas.keywords(inputs["keyphrases two"], inputs["bert"], study=study, top=3)


@case("keywords_study.halves")
def keywords_study_halves(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_study(inputs["bert"], inputs["keyphrases one"], folds=2, out=folder / "out")


@case("keywords_study.test")
def keywords_study_test(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_study(
        inputs["bert"], inputs["keyphrases one"], test=inputs["keyphrases two"], kind="norm-max", folds=3,
        steps=[2, 5], limit=10, twin=False,
    )  # fmt: skip


@case("keywords_compare.bundled")
def keywords_compare_bundled(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_compare(None, inputs["keyphrases one"], methods=OWN_METHODS, limit=8)


@case("keywords_compare.study")
def keywords_compare_study(folder: Path, inputs: Inputs) -> Any:
    import attlas

    study = attlas.keywords_study(inputs["bert"], inputs["keyphrases one"], folds=2, twin=False)
    return attlas.keywords_compare(
        inputs["bert"], inputs["keyphrases two"], study=study, methods=["tf-idf", "first", "random"]
    )


# those that need no further package, which another machine may have in another version
OWN_METHODS = ["attention", "attention weights", "embedding", "tf-idf", "textrank", "first", "random"]


@case("keywords_tune")
def keywords_tune(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_tune(
        inputs["bert"], inputs["keyphrases one"], dev=inputs["keyphrases two"], test=inputs["keyphrases three"],
        epochs=8, rate=3e-3, batch_size=2, patience=8, steps=3, out=folder / "out",
    )  # fmt: skip


@case("keywords_tune.keep")
def keywords_tune_keep(folder: Path, inputs: Inputs) -> Any:
    import attlas

    return attlas.keywords_tune(
        inputs["bert"], inputs["keyphrases one"], dev=inputs["keyphrases two"], test=inputs["keyphrases three"],
        epochs=8, rate=3e-3, batch_size=2, patience=8, steps=2, keep=0.5, retune=True,
    )  # fmt: skip
