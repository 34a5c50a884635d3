"""The page on relations: what its sentences say is so, on invented figures and on those of a small model."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import twins
from attlas.capture import Subject
from attlas.corpora import read
from attlas.pages import Tables, holds
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.relations.call import relations
from attlas.studies.relations.examples import _sentence, examples
from attlas.studies.relations.page import PAGE
from attlas.studies.reporting import command_line, page_of

LABELS = {"all": 0.45, "det": 0.9, "nsubj": 0.6, "obj": 0.7, "amod": 0.4, "orphan": 0.5}
HOSTILE = "</script><script>window.broken = true</script>"


def columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def invented(name: str = "tiny", word: str = "farmer") -> Result:
    """A model with a head that is best for three relations; amod is no better than its offset, orphan is rare."""
    rows = []
    for (label, value), direction in product(LABELS.items(), ("to", "from")):
        sure = label in ("det", "nsubj", "obj") and direction == "to"
        rows.append(
            {
                "relation": label, "direction": direction, "best": direction == "to", "stream": "encoder", "layer": 1,
                "head": 2, "measure": "weight", "value": value, "low": value - 0.05, "high": value + 0.05,
                "n": 3 if label == "orphan" else 200, "chosen_value": value, "offset": -1, "baseline": 0.35,
                "baseline_low": 0.3, "baseline_high": 0.4, "margin": value - 0.35, "margin_low": value - 0.45,
                "margin_high": value - 0.25, "p": 1e-5 if sure else 0.5, "p_corrected": 1e-4 if sure else 1.0,
                "twin_layer": 0, "twin_head": 0, "twin": 0.1, "twin_low": 0.05, "twin_high": 0.15,
                "published_relation": label if label == "det" else None, "published_head": "8-11",
                "published": 0.943 if label == "det" else None, "published_baseline": 0.517,
                "published_note": "turned round" if label == "det" else "",
            }
        )  # fmt: skip
    heads = [
        {
            "stream": "encoder", "layer": layer, "head": head, "direction": direction, "relation": label,
            "value": (layer + head) / 10, "n": 200, "low": 0.0, "high": 1.0, "margin": 0.1,
            "p_corrected": 1e-4 if head == 2 and label == "det" else 1.0, "twin": 0.1,
            "everywhere_p_corrected": 1e-3 if head == 2 and label == "det" else 1.0,
        }
        for layer, head, direction, label in product(range(2), range(3), ("to", "from"), LABELS)
    ]  # fmt: skip
    example = {
        "relation": "det", "direction": "to", "stream": "encoder", "layer": 1, "head": 2, "verdict": "wrong",
        "value": 0.7, "name": "s1", "text": f"The {word} slept", "words": ["The", word, "slept"], "dependent": 0,
        "governor": 1, "predicted": 2, "pieces": ["The", word, "slept"], "piece_words": [0, 1, 2],
        "piece_documents": [0, 0, 0], "weights": np.full((3, 3), 1 / 3, "<f4").tobytes(), "lengths": None,
    }  # fmt: skip
    offsets = [
        {"relation": label, "offset": -1 - step, "value": 0.35 - 0.1 * step, "n": 200, "low": 0.1, "high": 0.4}
        for label, step in product(LABELS, range(3))
    ]
    corpus = {"name": "tree", "chosen_on": 1200, "scored_on": 40}
    manifest = Manifest("relations", plan={"options": {"measure": "weight"}}, model={"name": name}, corpus=corpus)
    tables = {"relations": rows, "relation_heads": heads, "offsets": offsets, "examples": [example]}
    return Result(manifest, {table: columns(made) for table, made in tables.items()})


def test_findings_are_computed_from_the_tables() -> None:
    result = invented()
    check_page(PAGE, result)
    found = [str(finding.text) for finding in PAGE.found(Tables(result, PAGE.schemas, PAGE.derived))]
    answer, better, first, second, _, popular, many = found
    assert answer == (
        "The single head that was best on other texts, 2-3 (dependent to governor), finds 45.0 % of all governors "
        "(40.0 to 50.0 %); the best fixed offset (1 word back) finds 35.0 %, the heads that were best on other texts "
        "of untrained twins (random weights) 10.0 %."
    )
    assert better.startswith("For 3 of 4 relations with at least 20 cases")
    assert first == "Surely furthest above its offset is 2-3 for det: 90.0 % against 35.0 % (untrained: 10.0 %)."
    assert second.startswith("Then 2-3 for obj")
    assert popular == "One head, 2-3, was the best on other texts for 3 of these relations."
    assert many.startswith("2 of 6 heads beat the offset")


@pytest.mark.parametrize(
    ("table", "column"), [("relations", "value"), ("relations", "p_corrected"), ("relations", "margin_low")]
)
def test_claims_fail_where_the_tables_are_turned_round(table: str, column: str) -> None:
    result = invented()
    tables = {name: result.tables[name].to_pydict() for name in result.tables}
    tables[table][column] = [1 - value for value in tables[table][column]]
    turned = Tables(Result(result.manifest, tables), PAGE.schemas, PAGE.derived)
    assert not all(holds(claim, turned) for claim in claims_of(PAGE, result) if claim.column == column)


def test_the_page_marks_examples_and_escapes_words() -> None:
    page = page_of(invented(name="<b>bold", word=HOSTILE))
    assert "Which governors do the heads of &lt;b&gt;bold find?" in page
    assert "<mark>The</mark> <b>&lt;/script&gt;" in page
    assert "<s>slept</s>" in page
    assert HOSTILE not in page
    assert "Heads were chosen on 1,200 sentences and scored on 40 others." in page
    assert "Of the published figures: det: turned round." in page
    assert "det, head 8-11 of BERT-base, 94.3 % against 51.7 %." in page


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_the_page_fits_a_real_result(family: str) -> None:
    subject = Subject.of(twins.model(family), twins.tokenizer(family == "llama"), "twin")
    few = read("sample").sentences().documents[:40]
    result = relations(subject, few[:20], choose_on=few[20:], seed=3)
    check_page(PAGE, result)
    assert command_line(result.manifest) == (
        "attlas relations documents --model twin --choose-on documents --max-pieces 128 --seed 3"
    )


def test_examples_of_three_relations_are_unfolded() -> None:
    result = invented()
    tables = {name: result.tables[name].to_pylist() for name in result.tables}
    (example,) = tables["examples"]
    tables["examples"] = [{**example, "relation": label} for label in ("det", "nsubj", "obj", "amod")]
    several = Result(result.manifest, {name: columns(made) for name, made in tables.items()})
    html = str(examples(Tables(several, PAGE.schemas, PAGE.derived)))
    assert (html.count("<details"), len(re.findall(r"<details[^>]* open", html))) == (4, 3)


def test_an_example_shows_a_dozen_words_to_each_side() -> None:
    words = [f"w{number}" for number in range(40)]
    row = {"words": words, "dependent": 18, "governor": 16, "predicted": 20, "verdict": "wrong"}
    shown = re.sub(r"<[^>]+>", "", str(_sentence(row))).split()
    assert shown == ["…", *words[4:33], "…"]
    row |= {"dependent": 2, "governor": 38, "verdict": "right"}
    sentence = str(_sentence(row))
    assert re.sub(r"<[^>]+>", "", sentence).split() == words
    assert "<mark>w2</mark>" in sentence
    assert "<b>w38</b>" in sentence
    assert "<s>" not in sentence
