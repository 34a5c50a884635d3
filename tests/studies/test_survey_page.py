"""The page of a survey: what it says is so, numbers lie in it once, and a new quantity appears by itself."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from invented_survey import PARTS, PREVIOUS, survey

import twins
from attlas.capture import Subject
from attlas.capture.reading import read_documents
from attlas.measures.quantities import QUANTITIES, WITHIN, Quantity
from attlas.pages import Tables, holds
from attlas.pages.html import html_page
from attlas.pages.laws import check_page, claims_of
from attlas.store import Manifest, Result
from attlas.studies.reporting import write_report
from attlas.studies.survey.findings import lengths, resting_place
from attlas.studies.survey.page import PAGE, survey_page
from attlas.studies.survey.passes import Survey
from attlas.text import ROOT, Document

HOSTILE = "</script><script>alert(1)</script>\u2028<img src=x onerror=alert(2)>"


def written(result: Result, folder: Path) -> str:
    result.save(folder)
    return write_report(folder).read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    loaded: dict[str, Any] = json.loads(found[0])
    return loaded


class Outline(HTMLParser):
    """Tags that are open at the end, attributes by tag, and the text outside scripts and styles."""

    VOID = frozenset({"meta", "input", "br", "img", "link", "path", "circle"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not set(self.open) & {"script", "style"}:
            self.text += data


def told(rows: dict[str, list[dict[str, Any]]]) -> Tables:
    """Tables of these rows alone."""
    columns = {name: {key: [row[key] for row in table] for key in table[0]} for name, table in rows.items()}
    return Tables(Result(Manifest("survey"), columns))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(survey(), tmp_path_factory.mktemp("bert") / "out")


def test_the_page_is_whole_small_and_alone(bert: str) -> None:
    outline = Outline(bert)
    assert outline.open == []
    assert len(bert.encode()) < 3_000_000
    assert "Content-Security-Policy" in bert
    linked = [
        attrs.get("src") or attrs.get("href") for tag, attrs in outline.seen if tag in ("script", "link", "img")
    ]
    assert not any(linked)
    ids = [attrs["id"] for _, attrs in outline.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    anchors = [attrs["href"] for tag, attrs in outline.seen if tag == "a"]
    assert {str(anchor)[1:] for anchor in anchors} <= set(ids)


def test_findings_say_what_the_tables_say(bert: str) -> None:
    named = [f"{layer + 1}-{head + 1} ({share:.2f})" for (layer, head), share in PREVIOUS.items()]
    sentence = (
        f"3 heads put more than half of the weight on the previous piece: {', '.join(named[:2])} and {named[2]}"
    )
    text = Outline(bert).text
    assert sentence in text
    assert "bert-base-uncased, Clark et al. 2019: 4 heads over half on the previous piece" in text
    assert re.search(
        r"\d+ of 144 heads put more than half of their weight on one place: .* 3 on the previous piece", text
    )
    table = survey().tables["heads"].to_pylist()
    edges = [row for row in table if row["quantity"] == "edges" and row["measure"] == "weight"]
    best = max(edges, key=lambda row: row["value"])
    assert f"Head {best['layer'] + 1}-{best['head'] + 1} follows dependency edges most" in text
    assert f"{sum(row['value'] > 2 * row['chance'] for row in edges)} of 144 heads put more than twice chance" in text
    below = sum(row["value"] < 0 for row in survey().tables["spearman"].to_pylist())
    assert f"In {below} of 144 heads, weight and ‖f(x)‖ are negatively related" in text
    last = [row["value"] for row in table if row["quantity"] == "entropy_cls" and row["layer"] == 11]
    assert f"From [CLS], the last layer's entropy is {sum(last) / len(last):.2f} nats." in text


def test_the_resting_place_is_told_from_the_layers_where_it_takes_over_half(bert: str) -> None:
    table = survey().tables["heads"].to_pylist()

    def mean(layer: int, measure: str) -> float:
        wanted = ("sep", measure, layer)
        return fmean(row["value"] for row in table if (row["quantity"], row["measure"], row["layer"]) == wanted)

    over = [layer for layer in range(12) if mean(layer, "weight") > 0.5]
    assert over == list(range(over[0], over[-1] + 1))
    weight = f"{sum(mean(layer, 'weight') for layer in over) / len(over):.2f}"
    norm = f"{sum(mean(layer, 'norm') for layer in over) / len(over):.2f}"
    sentence = (
        f"[SEP] takes {weight} of the weight in layers {over[0] + 1}–{over[-1] + 1}, but only {norm} of the norm"
    )
    assert sentence in Outline(bert).text


@pytest.mark.parametrize(("place", "name"), [("cls", "[CLS]"), ("sep", "[SEP]"), ("first", "The first piece")])
def test_the_resting_place_is_the_one_that_takes_most(place: str, name: str) -> None:
    rows = [
        {"stream": "encoder", "layer": layer, "head": 0, "measure": "weight", "quantity": quantity, "value": value}
        for quantity in ("first", "cls", "sep")
        for layer, value in enumerate([0.1, 0.8 if quantity == place else 0.2, 0.3])
    ]
    [finding] = resting_place(told({"heads": rows}))
    assert str(finding.text) == f"{name} takes 0.80 of the weight in layer 2."


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([-0.5, -0.4, 0.1], "In 2 of 3 heads, .* what gets much weight tends to have a short vector"),
        ([-0.2, -0.1, 0.1], "In 2 of 3 heads, .* what gets much weight tends, weakly, to have"),
        ([-0.1, 0.1, 0.2], "In 1 of 3 heads, .* much weight does not go with short vectors"),
    ],
)
def test_a_weak_relation_is_not_told_as_a_strong_one(values: list[float], said: str) -> None:
    rows = [{"stream": "decoder", "layer": 0, "head": head, "value": value} for head, value in enumerate(values)]
    [finding] = lengths(told({"spearman": rows}))
    assert re.search(said, str(finding.text))
    assert finding.published == ""


def test_numbers_lie_in_the_page_once_and_come_back_as_they_were(bert: str) -> None:
    data = data_of(bert)
    table = survey().tables["heads"]
    packed = data["tables"]["heads"]
    assert packed["rows"] == table.num_rows
    for column, values in packed["columns"].items():
        plain = values if isinstance(values, list) else [values["of"][place] for place in values["at"]]
        expected = table.column(column).to_pylist()
        if isinstance(expected[0], float):
            assert [value is None for value in plain] == [value is None for value in expected]
            known = [value for value in expected if value is not None]
            assert [value for value in plain if value is not None] == pytest.approx(known, rel=6e-4)
        else:
            assert plain == expected
    for figure in data["figures"].values():
        assert "datasets" not in figure["spec"]
        assert figure["table"] in data["tables"]
        assert "values" not in json.dumps(figure["spec"].get("data"))


def test_the_list_of_quantities_and_measures_is_one_chart(bert: str) -> None:
    spec = data_of(bert)["figures"]["map"]["spec"]
    options = {param["name"]: param["bind"]["options"] for param in spec["params"] if "bind" in param}
    assert options["measure"] == ["weight", "norm"]
    assert set(options["quantity"]) == set(survey().tables["heads"].column("quantity").to_pylist())


def test_a_causal_model_without_annotation_has_no_section_on_what_it_lacks(tmp_path: Path) -> None:
    result = survey({"decoder": (6, 8)}, sep=False, annotated=False, model="gpt2")
    page = written(result, tmp_path / "out")
    outline = Outline(page)
    assert "The first piece takes" in outline.text
    assert "[CLS]" not in outline.text.split("What was found")[1].split("How far")[0]
    assert "Clark" not in outline.text
    shown = [part.key for part in PAGE.sections if part.present(Tables(result, PAGE.schemas, PAGE.derived))]
    assert shown == ["where", "map", "entropy", "distance", "norms", "heads"]
    assert not {"cls", "sep", "pos", "edges"} & set(data_of(page)["figures"])


def test_three_streams_are_each_told_of(tmp_path: Path) -> None:
    page = written(survey({"encoder": (3, 4), "decoder": (3, 4), "cross": (3, 4)}), tmp_path / "out")
    assert data_of(page)["streams"] == ["encoder", "decoder", "cross"]
    text = Outline(page).text
    for stream in ("encoder", "decoder", "cross attention"):
        assert f"heads of the {stream} put more than half of their weight on one place" in text
        assert f"heads of the {stream}, weight and ‖f(x)‖" in text


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    result = survey({"encoder": (2, 2)}, model=HOSTILE, corpus=HOSTILE, parts=[HOSTILE, *PARTS])
    page = written(result, tmp_path / "out")
    outline = Outline(page)
    assert outline.open == []
    assert [tag for tag, _ in outline.seen].count("script") == 3
    assert "img" not in [tag for tag, _ in outline.seen]
    assert "<script>alert" not in page
    assert HOSTILE in outline.text
    drawn = HOSTILE.replace("\u2028", " ")  # at which the charts' own language would end a line
    assert drawn in data_of(page)["tables"]["parts"]["columns"]["pos"]["of"]


def test_missing_numbers_do_not_break_the_page(tmp_path: Path) -> None:
    row = {"stream": "encoder", "layer": 0, "measure": "weight", "quantity": "previous", "n": 3, "low": None}
    rows = [
        {**row, "head": head, "value": value, "chance": None} for head, value in enumerate([0.4, float("nan"), None])
    ]
    table = {key: [entry[key] for entry in rows] for key in rows[0]}
    page = written(Result(Manifest("survey"), {"heads": table}), tmp_path / "out")
    assert "No head puts more than half of the weight on the previous piece; the most is 1-1 (0.40)." in (
        Outline(page).text
    )
    assert data_of(page)["tables"]["heads"]["columns"]["value"] == [0.4, None, None]


def test_the_page_goes_where_it_is_asked_to(tmp_path: Path) -> None:
    survey({"encoder": (1, 2)}, annotated=False).save(tmp_path / "out")
    assert write_report(tmp_path / "out") == tmp_path / "out" / "report.html"
    assert write_report(tmp_path / "out", tmp_path / "new" / "page.html") == tmp_path / "new" / "page.html"
    assert write_report(tmp_path / "out", tmp_path / "new") == tmp_path / "new" / "report.html"
    assert (tmp_path / "new" / "report.html").read_bytes() == (tmp_path / "new" / "page.html").read_bytes()


STREAMS = ({"encoder": (3, 4)}, {"decoder": (3, 4)}, {"encoder": (3, 4), "decoder": (2, 4), "cross": (2, 4)})


@pytest.mark.parametrize("streams", STREAMS)
@pytest.mark.parametrize("annotated", [True, False])
def test_page_and_invented_results_fit(streams: dict[str, tuple[int, int]], annotated: bool) -> None:
    check_page(PAGE, survey(streams, sep="decoder" not in streams, annotated=annotated))


def test_claims_fail_when_the_tables_are_turned_round() -> None:
    result = survey({"encoder": (3, 4)})
    columns = {name: table.to_pydict() for name, table in result.tables.items()}
    columns["heads"]["value"] = [1 - value for value in columns["heads"]["value"]]
    columns["spearman"]["value"] = [-value for value in columns["spearman"]["value"]]
    turned = Tables(Result(result.manifest, columns), PAGE.schemas, PAGE.derived)
    claims = claims_of(PAGE, result)
    assert sum(not holds(claim, turned) for claim in claims) > len(claims) / 2
    assert not holds(claims[0], turned)


TOY = Quantity(
    "next_from_sep", "next piece, seen from [SEP]", keys="next", queries="sep", streams=WITHIN, column="toy"
)


def test_a_new_quantity_is_in_the_tables_and_on_the_page() -> None:
    """A record is enough: no other line has to be written."""
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "twin")
    words = ["The", "farmer", "slept"]
    document = Document.from_words(words, upos=["DET", "NOUN", "VERB"], governors=[1, 2, ROOT])
    asked = (*QUANTITIES, TOY)
    study = Survey(subject, edges=True, quantities=asked)
    bundle = study.empty()
    study.update(bundle, read_documents(subject, [document]).examples)
    result = Result(Manifest("survey", model={"name": "twin"}), study.tables(bundle))
    own = [row for row in result.tables["heads"].to_pylist() if row["quantity"] == TOY.name]
    assert len(own) == 2 * 12
    assert all(row["value"] == 0.0 for row in own)  # [SEP] is the last piece: none comes after it
    page = survey_page(asked)
    check_page(page, result)
    text = html_page(page, result)
    assert f'id="figure-{TOY.name}"' in text
    assert '<button type="button">toy</button>' in text
    assert TOY.title in text
    assert TOY.name not in html_page(PAGE, Result(result.manifest, survey({"encoder": (2, 2)}).tables))
