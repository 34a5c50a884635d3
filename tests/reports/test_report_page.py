from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow
import pytest
from invented_survey import PARTS, PREVIOUS, survey

from attlas.errors import StoreError
from attlas.reports import write_report
from attlas.reports.findings import Numbers, findings
from attlas.reports.page import pack, script_json
from attlas.store import Manifest, Result

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
    named = ", ".join(f"{layer + 1}-{head + 1} ({share:.2f})" for (layer, head), share in PREVIOUS.items())
    sentence = f"Three heads put more than half of their attention on the previous piece: {named.replace('(0', '(')}."
    text = Outline(bert).text
    assert sentence in text
    assert "bert-base-uncased, Clark et al. 2019: 4 heads over half on the previous piece" in text
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
    weight = f"{sum(mean(layer, 'weight') for layer in over) / len(over):.2f}".lstrip("0")
    norm = f"{sum(mean(layer, 'norm') for layer in over) / len(over):.2f}".lstrip("0")
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
    assert findings(Numbers(rows), "encoder")[0].text == f"{name} takes <b>.80</b> of the weight in layer 2."


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([-0.5, -0.4, 0.1], "In <b>2 of 3</b> heads, .* what gets much weight tends to have a short vector"),
        ([-0.2, -0.1, 0.1], "In <b>2 of 3</b> heads, .* what gets much weight tends, weakly, to have"),
        ([-0.1, 0.1, 0.2], "In <b>1 of 3</b> heads, .* much weight does not go with short vectors"),
    ],
)
def test_a_weak_relation_is_not_told_as_a_strong_one(values: list[float], said: str) -> None:
    rows = [{"stream": "decoder", "layer": 0, "head": head, "value": value} for head, value in enumerate(values)]
    [finding] = findings(Numbers([], rows), "decoder")
    assert re.search(said, finding.text)
    assert finding.published == ""


def test_numbers_lie_in_the_page_once_and_come_back_as_they_were(bert: str) -> None:
    data = data_of(bert)
    tables = survey().tables
    assert set(data["tables"]) == set(tables)
    for name, table in tables.items():
        packed = data["tables"][name]
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
        assert figure["table"] in tables
        assert "values" not in json.dumps(figure["spec"].get("data"))


def test_the_list_of_quantities_and_measures_is_one_chart(bert: str) -> None:
    spec = data_of(bert)["figures"]["map"]["spec"]
    options = {param["name"]: param["bind"]["options"] for param in spec["params"]}
    assert options["measure"] == ["weight", "norm"]
    assert set(options["quantity"]) == set(survey().tables["heads"].column("quantity").to_pylist())


def test_a_causal_model_without_annotation_has_no_section_on_what_it_lacks(tmp_path: Path) -> None:
    result = survey({"decoder": (6, 8)}, sep=False, annotated=False, model="gpt2")
    page = written(result, tmp_path / "out")
    outline = Outline(page)
    assert "The first piece takes" in outline.text
    assert "[CLS]" not in outline.text.split("How it was made")[0].split("In short")[1].split("How far")[0]
    assert "Clark" not in outline.text
    sections = {attrs["id"] for tag, attrs in outline.seen if tag == "section"}
    assert sections == {"short", "where", "map", "entropy", "distance", "norms", "heads", "made"}
    assert not {"cls", "sep", "pos", "edges"} & set(data_of(page)["figures"])


def test_three_streams_are_each_told_of(tmp_path: Path) -> None:
    page = written(survey({"encoder": (3, 4), "decoder": (3, 4), "cross": (3, 4)}), tmp_path / "out")
    assert data_of(page)["streams"] == ["encoder", "decoder", "cross"]
    headings = re.findall(r"<h3>(\w+) <small>", page)
    assert headings == ["Encoder", "Decoder", "Cross"]


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    result = survey({"encoder": (2, 2)}, model=HOSTILE, corpus=HOSTILE, parts=[HOSTILE, *PARTS])
    page = written(result, tmp_path / "out")
    outline = Outline(page)
    assert outline.open == []
    assert [tag for tag, _ in outline.seen].count("script") == 3
    assert "img" not in [tag for tag, _ in outline.seen]
    assert "<script>alert" not in page
    assert HOSTILE in outline.text
    assert HOSTILE in data_of(page)["tables"]["pos"]["columns"]["pos"]["of"]


def test_missing_numbers_do_not_break_the_page(tmp_path: Path) -> None:
    row = {"stream": "encoder", "layer": 0, "measure": "weight", "quantity": "previous", "n": 3, "low": None}
    rows = [
        {**row, "head": head, "value": value, "chance": None} for head, value in enumerate([0.4, float("nan"), None])
    ]
    table = {key: [entry[key] for entry in rows] for key in rows[0]}
    page = written(Result(Manifest("survey"), {"heads": table}), tmp_path / "out")
    assert "No head puts more than half of its attention on the previous piece; the most is 1-1 (.40)." in (
        Outline(page).text
    )
    assert data_of(page)["tables"]["heads"]["columns"]["value"] == [0.4, None, None]


def test_a_study_without_a_page_is_refused_in_one_sentence(tmp_path: Path) -> None:
    Result(Manifest("weather"), {"heads": {"layer": [0]}}).save(tmp_path / "out")
    with pytest.raises(StoreError, match=r"the study 'weather' has no report page yet .*survey"):
        write_report(tmp_path / "out")


def test_the_page_goes_where_it_is_asked_to(tmp_path: Path) -> None:
    survey({"encoder": (1, 2)}, annotated=False).save(tmp_path / "out")
    assert write_report(tmp_path / "out") == tmp_path / "out" / "report.html"
    assert write_report(tmp_path / "out", tmp_path / "new" / "page.html") == tmp_path / "new" / "page.html"
    assert write_report(tmp_path / "out", tmp_path / "new") == tmp_path / "new" / "report.html"
    assert (tmp_path / "new" / "report.html").read_bytes() == (tmp_path / "new" / "page.html").read_bytes()


def test_packing_keeps_rare_and_frequent_values() -> None:
    table = pyarrow.table({"text": ["a", "b", "a", None], "number": [1.23456789, -0.00012345, 118_204.0, 5_000.4]})
    packed = pack(table)["columns"]
    assert packed["number"] == [1.235, -0.0001234, 118_204, 5_000]
    assert packed["text"] == ["a", "b", "a", None]


def test_script_json_has_no_way_out_of_a_script() -> None:
    text = script_json(["</script>", "<!--", "\u2028\u2029", "&"])
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == ["</script>", "<!--", "\u2028\u2029", "&"]
