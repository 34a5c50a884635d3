"""Untrained twins beside the model, after it was let go of, or none: the same tables, the memory of one model, and
pages that claim no baseline where there is none."""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from rich.console import Console

import bitexts
import twins
from attlas.capture import Subject, load
from attlas.errors import CapabilityError, PlanError
from attlas.pages import Tables
from attlas.pages.html import html_page
from attlas.pages.markdown import markdown_page
from attlas.pages.terminal import as_json, print_page
from attlas.run.session import Run, begin
from attlas.run.setting import as_corpus
from attlas.store import Result
from attlas.studies.align.call import align
from attlas.studies.clusters.call import clusters
from attlas.studies.coref.call import coref
from attlas.studies.heads.call import heads
from attlas.studies.keywords_study.call import keywords_study
from attlas.studies.layers.call import layers
from attlas.studies.noop.call import noop
from attlas.studies.norms.call import norms
from attlas.studies.parse.call import parse
from attlas.studies.relations.call import relations
from attlas.studies.reporting import command_line, study_of

MISSING = "no random-weights baseline"
SPOKEN = ("twin", "untrained", "random weights")


def bert() -> Subject:
    return Subject.of(twins.model("bert"), twins.tokenizer(False), "bert")


def writing() -> Subject:
    torch.manual_seed(0)
    return Subject.of(transformers.BertForMaskedLM(twins.config("bert")), twins.tokenizer(False), "bert")


def tagged(subject: Any, **how: Any) -> Result:
    return noop(subject, "sample", "tagging:upos", limit=12, **how)


SMALL: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "relations": (bert, lambda subject, **how: relations(subject, "sample", limit=20, **how)),
    "norms": (bert, lambda subject, **how: norms(subject, "sample", limit=6, **how)),
    "clusters": (bert, lambda subject, **how: clusters(subject, "sample", limit=6, **how)),
    "coref": (bert, lambda subject, **how: coref(subject, as_corpus("sample").documents[:8], **how)),
    "noop": (writing, lambda subject, **how: noop(subject, "sample", "masked-lm", limit=6, **how)),
    "noop with a head": (bert, tagged),
    "parse": (bert, lambda subject, **how: parse(subject, "sample", limit=20, epochs=1, **how)),
    "layers": (bert, lambda subject, **how: layers(subject, "sample", "pos", limit=20, epochs=1, **how)),
    "layers over heads": (
        bert, lambda subject, **how: layers(subject, "sample", "pos", over="heads", limit=20, epochs=1, **how)
    ),
    "keywords-study": (bert, lambda subject, **how: keywords_study(subject, limit=12, folds=2, steps=[1], **how)),
    "heads": (bert, lambda subject, **how: heads(subject, "sample", limit=20, **how)),
    "align": (
        lambda: bitexts.subject("marian"),
        lambda subject, **how: align(
            subject, bitexts.documents(), back=bitexts.subject("marian", 1), aligners=["diagonal"], **how
        ),
    ),
}  # fmt: skip


def results(given: Any) -> list[Result]:
    """The results of a study; of several together those that have twins."""
    many = given.values() if isinstance(given, dict) else [given]
    return [result for result in many if result.manifest.study != "survey"]


def told(result: Result) -> tuple[Tables, list[str]]:
    page = study_of(result.manifest).load_page()
    tables = Tables(result, page.schemas, page.derived)
    return tables, [str(finding.text) for finding in page.found(tables)]


def bits(subject: Subject) -> dict[str, bytes]:
    return {name: weight.detach().numpy().tobytes() for name, weight in subject.model.named_parameters()}


@pytest.mark.parametrize("study", list(SMALL))
def test_tables_are_the_same_after_the_model_and_claim_nothing_without_twins(study: str) -> None:
    make, run = SMALL[study]
    subject = make()
    before = bits(subject)
    count = 2 if study in ("relations", "layers") else 1
    beside = results(run(subject, twins=count))
    after = results(run(subject, twins=count, twin="after"))
    none = results(run(subject, twins=count, twin="none"))
    assert bits(subject) == before, "the model has come back as it was"
    for one, same, without in zip(beside, after, none, strict=True):
        assert one.manifest.plan == same.manifest.plan
        for name, table in one.tables.items():
            for column in table.column_names:
                if column != "seconds":
                    ours, theirs = (result.tables[name].column(column).to_pylist() for result in (one, same))
                    assert repr(ours) == repr(theirs), f"{name}, {column}"  # to the last digit, NaN like NaN
        assert without.manifest.plan is not None
        assert (without.manifest.plan["options"]["twins"], without.manifest.plan["options"]["twin"]) == (0, "none")
        _claims_no_twin(without)
        _claims_twins(one)
        if study != "heads":  # whose results were not made by commands of their own
            assert "--twin none" in command_line(without.manifest)
            assert "--twins 0" not in command_line(without.manifest)
            assert "--twin " not in command_line(one.manifest)


def _claims_twins(result: Result) -> None:
    """What the other test looks for is there where there are twins."""
    rows = [row for table in result.tables.values() for row in table.to_pylist()]
    assert any(row.get("who") == "twin" or any(name.startswith("twin") and row[name] for name in row) for row in rows)
    assert any(word in sentence for sentence in told(result)[1] for word in SPOKEN) or result.manifest.study in (
        "layers", "keywords-study", "parse"
    )  # which may have found nothing to say in so few texts  # fmt: skip
    assert MISSING not in html_page(study_of(result.manifest).load_page(), result)


def _claims_no_twin(result: Result) -> None:
    page = study_of(result.manifest).load_page()
    tables, findings = told(result)
    for name in {**result.tables, **page.derived}:
        for row in tables[name]:
            assert row.get("who") != "twin", name
            filled = {column: row[column] for column in row if column.startswith("twin")}
            assert all(value in (None, 0) or value != value for value in filled.values()), (name, filled)
    assert not [sentence for sentence in findings if any(word in sentence for word in SPOKEN[:2]) and
                "not known without untrained twins" not in sentence]  # fmt: skip
    assert not [sentence for sentence in findings if "unknown" in sentence]
    console = Console(file=io.StringIO(), width=200)
    print_page(page, result, console)
    assert MISSING in console.file.getvalue()  # type: ignore[attr-defined]
    assert MISSING in html_page(page, result)
    assert MISSING in markdown_page(page, [(result, "")], title="Results")
    assert json.loads(json.dumps(as_json(page, result), default=str))["baseline"] is None


class Census:
    """The bytes of all weights of models that are in memory, whoever has them, when a twin is to be made and
    after."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.before, self.after = list[int](), list[int]()
        make = Subject.twin

        def twin(subject: Subject, seed: int = 0) -> Subject:
            self.before.append(live())
            made = make(subject, seed)
            self.after.append(live())
            return made

        patch.setattr(Subject, "twin", twin)


def live() -> int:
    gc.collect()
    seen = {}
    for known in gc.get_objects():
        if (
            isinstance(known, torch.Tensor)
            and known.dim() == 2
            and known.dtype == torch.float32
            and not known.is_meta
        ):
            storage = known.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
    return sum(size for size in seen.values() if size > 2**20)  # those of the matrix of pieces, which is most of it


@pytest.mark.parametrize("study", ["relations", "layers", "keywords-study"])
def test_after_the_model_there_is_one_model_in_memory(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    gc.freeze()  # what was there before need not be counted
    config = twins.config("bert")
    config.vocab_size = 20_000
    torch.manual_seed(0)
    subject = Subject.of(transformers.BertModel(config), twins.tokenizer(False), "wide")
    size = subject.model.embeddings.word_embeddings.weight.numel() * 4
    others = live() - size
    run = SMALL[study][1]
    for how, most in (("beside", 2), ("after", 1)):
        with monkeypatch.context() as patch:
            census = Census(patch)
            run(subject, twins=2, twin=how)
        assert len(census.before) == 2
        held = [(count - others) / size for count in census.before + census.after]
        assert max(held) == most if how == "after" else max(held) >= most, (how, held)
        assert how != "after" or max(held[:2]) == 0, (
            "the model is gone when its twin is made, and so is the first one"
        )


def test_a_run_that_was_begun_beside_is_finished_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = bert()
    whole = relations(subject, "sample", limit=20, twins=2)

    def full(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Subject, "twin", full)
        with pytest.raises(PlanError, match="--twin after"):
            relations(subject, "sample", limit=20, twins=2, out=tmp_path / "run")
    with pytest.raises(PlanError, match="twin"):
        relations(subject, "sample", limit=20, twins=2, out=tmp_path / "run", resume=True, twin="none")
    resumed = relations(subject, "sample", limit=20, twins=2, out=tmp_path / "run", resume=True, twin="after")
    assert resumed.table.to_pydict() == whole.table.to_pydict()


def test_a_model_comes_back_when_the_work_on_its_twins_fails() -> None:
    subject, plain = bert(), bert()
    with begin("toy", subject, as_corpus("sample"), {}, twin="after") as run:
        work: Run = run

        def fail() -> None:
            with work.baseline(1):
                with pytest.raises(CapabilityError, match="let go"):
                    subject.run(plain.batch(["Hello."]))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
    batch = subject.batch(["Hello there."])
    with torch.no_grad():
        assert torch.equal(subject.run(batch).last_hidden_state, plain.run(batch).last_hidden_state)


def test_no_other_thread_reads_what_was_let_go_of() -> None:
    """Nor any part of the model by itself, such as the encoder of a translator; both would give NaN."""
    subject = Subject.of(twins.model("marian"), twins.tokenizer(False), "marian")
    batch = subject.batch(["Hello there."])
    ways: list[Callable[[], Any]] = [lambda: subject.run(batch), lambda: subject.model.get_encoder()(**batch.inputs)]
    with begin("toy", subject, as_corpus("sample"), {}, twin="after") as run, ThreadPoolExecutor(1) as others:
        before = others.submit(lambda: subject.run(batch).last_hidden_state).result()
        with run.baseline(1):
            for way in ways:
                with pytest.raises(CapabilityError, match="wait for the run of these"):
                    others.submit(way).result()
        assert torch.equal(others.submit(lambda: subject.run(batch).last_hidden_state).result(), before)


def test_tied_and_frozen_weights_come_back_tied_and_frozen() -> None:
    subject = writing()
    model: Any = subject.model
    tied = model.get_output_embeddings().weight
    assert tied is model.get_input_embeddings().weight
    tied.requires_grad_(False)
    before = bits(subject)
    with begin("toy", subject, as_corpus("sample"), {}, twin="after") as run, run.baseline(1):
        assert model.get_output_embeddings().weight.isnan().all()
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert bits(subject) == before
    assert not tied.requires_grad


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"twin": "later"}, "beside, after or none"),
        ({"twin": False}, "beside, after or none"),
        ({"twin": "after", "engine": "ray"}, "leave out --engine"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_work(how: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        relations(bert(), "sample", limit=4, **how)


def test_a_model_that_others_look_after_is_not_let_go_of() -> None:
    subject = bert()
    subject.model.hf_device_map = {"": "cpu"}
    with pytest.raises(CapabilityError, match="--twin none"):
        relations(subject, "sample", limit=4, twin="after")


def test_there_is_room_for_what_is_put_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=10))
    with pytest.raises(PlanError, match="the disk has"):
        relations(bert(), "sample", limit=8, twin="after")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_a_device_draws_the_same_twin_every_time_and_another_than_the_host() -> None:
    subject = load(device="cuda")
    one, same, other = (subject.twin(seed).fingerprint for seed in (1, 1, 2))
    assert one == same != other
    assert subject.twin(1).device.type == "cuda"
    assert load().twin(1).fingerprint != one


def test_charts_offer_no_twins_where_there_are_none() -> None:
    """No line, dot, legend or tooltip of one; where there are some, the same charts have them."""
    from attlas.studies.relations.page import PAGE

    drawn = {}
    for how in ("beside", "none"):
        result = relations(bert(), "sample", limit=20, twins=1, twin=how)
        tables = Tables(result, PAGE.schemas, PAGE.derived)
        charts = [chart for chart in PAGE.charts() if chart.fits(tables)]
        drawn[how] = json.dumps([chart.draw(tables, tables[chart.table]) for chart in charts], default=str)
    assert "untrained twins" in drawn["beside"]
    assert "untrained" not in drawn["none"]
    result = clusters(bert(), "sample", limit=6, twin="none")
    page = study_of(result.manifest).load_page()
    tables = Tables(result, page.schemas, page.derived)
    assert any("twin_x" in chart.columns for chart in page.charts())
    assert not [chart for chart in page.charts() if "twin_x" in chart.columns and chart.fits(tables)]
