"""What is written: data that say what the tables say, read back without the browser; and what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.invented_atlas import ROLES, Shape, invented
from made_up_sites import FOUR

from attlas.errors import StoreError
from attlas.evidence.roles import ROLES as KNOWN_ROLES
from attlas.website import address, write_site
from attlas.website.packing import unpacked
from attlas.website.searching import words_of

SMALL = Shape(models=2, layers=2, heads=3, figures=9)


def data(folder: Path, name: str) -> Any:
    """A file of data, by its name."""
    text = (folder / "site" / "data" / f"{name}.js").read_text(encoding="utf-8")
    lead = f'$attlas("{name}",'
    assert text.startswith(lead)
    return json.loads(text[len(lead) : -3])


def rows(table: Any) -> list[dict[str, Any]]:
    table = table if isinstance(table, pa.Table) else pa.table(table)
    listed: list[dict[str, Any]] = table.to_pylist()
    return listed


def test_every_value_is_where_it_belongs(four: Path, four_tables: dict[str, Any]) -> None:
    """All figures of all heads, each looked up by hand."""
    index = data(four, "index")
    opened = {}
    for number, model in enumerate(index["models"]):
        whole, values = data(four, f"{number}/model"), data(four, f"{number}/values")
        grid = unpacked(values["values"]).reshape(values["figures"], values["heads"])
        streams = [one["stream"] for one in model["streams"]]
        heads = {
            (streams[stream], layer, head): at
            for at, (stream, layer, head) in enumerate(
                zip(whole["heads"]["stream"], whole["heads"]["layer"], whole["heads"]["head"], strict=True)
            )
        }
        figures = {(one["study"], one["quantity"], one["corpus"]): at for at, one in enumerate(whole["figures"])}
        sure = np.frombuffer(base64.b64decode(values["sure"]), np.uint8).reshape(grid.shape)
        details = {name: unpacked(text).reshape(values["figures"], -1)
                   for name, text in data(four, f"{number}/rows-0")["columns"].items()}  # fmt: skip
        opened[model["name"]] = grid, heads, figures, sure, details
    seen = 0
    for row in rows(four_tables["heads"]):
        grid, heads, figures, sure, details = opened[row["model"]]
        figure = figures[row["study"], row["quantity"], row["corpus"]]
        at = heads[row["stream"], row["layer"], row["head"]]
        assert grid[figure, at] == pytest.approx(row["value"], rel=2e-5, abs=1e-30)
        above = row["chance"] is not None and row["low"] > row["chance"]
        below = row["chance"] is not None and row["high"] < row["chance"]
        assert sure[figure, at] == (1 if above else 2 if below else 0)
        for name in ("low", "high", "chance", "twin", "p", "n", "first_half"):
            there = details[name][figure, at] if name in details else np.nan
            assert (row[name] is None) == bool(np.isnan(there))
            if row[name] is not None:
                assert there == pytest.approx(row[name], rel=2e-5, abs=1e-30)
        seen += 1
    assert seen == sum(grid.size for grid, *_ in opened.values())


def test_a_head_s_role_is_that_of_its_first_sentence(four: Path, four_tables: dict[str, Any]) -> None:
    index = data(four, "index")
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(rows(four_tables["portraits"]), key=lambda row: row["order"]):
        key = row["model"], row["stream"], row["layer"], row["head"]
        if row["part"] in ("does", "rests") and (
            key not in first or (row["part"] == "does" and first[key]["part"] == "rests")
        ):
            first[key] = row
    for number, model in enumerate(index["models"]):
        whole, roles = data(four, f"{number}/model"), base64.b64decode(model["roles"])
        place = zip(whole["heads"]["stream"], whole["heads"]["layer"], whole["heads"]["head"], strict=True)
        for at, (stream, layer, head) in enumerate(place):
            told = first.get((model["name"], model["streams"][stream]["stream"], layer, head))
            assert index["roles"][roles[at]]["role"] == (told["role"] if told else "other")
            assert whole["first"][at] == (told["sentence"] if told else "")


def test_what_does_comes_before_what_rests(tmp_path: Path) -> None:
    """A head that rests more surely than it does is called by what it does."""
    tables = invented(SMALL)
    place = {"model": "tiny", "stream": "encoder", "layer": 0, "head": 0, "study": "survey", "strength": 0.5}
    told = [
        place | {"order": 0, "role": "sep", "part": "rests", "sentence": "rests on [SEP]"},
        place | {"order": 1, "role": "previous", "part": "does", "sentence": "looks at the previous piece"},
        place | {"order": 2, "role": "induction", "part": "does", "sentence": "does induction"},
        place | {"head": 1, "order": 0, "role": "sep", "part": "rests", "sentence": "rests on [SEP]"},
        place | {"head": 2, "order": 0, "role": "needed", "part": "without", "sentence": "without it nothing goes"},
    ]
    tables["portraits"] = {name: [row[name] for row in told] for name in told[0]}
    write_site(tables, tmp_path)
    names = [role["role"] for role in data(tmp_path, "index")["roles"]]
    roles = [names[code] for code in base64.b64decode(data(tmp_path, "index")["models"][0]["roles"])]
    assert roles[:3] == ["previous", "sep", "other"]
    assert data(tmp_path, "0/model")["first"][:3] == ["looks at the previous piece", "rests on [SEP]", ""]


def test_shelves_hold_every_sentence_by_strength(four: Path, four_tables: dict[str, Any]) -> None:
    index, search = data(four, "index"), data(four, "search/index")
    shelves: dict[int, Any] = {}
    told = []
    for group in search["groups"]:
        own = []
        for shelf, start, count, strength in group["lying"]:
            lying = shelves.setdefault(shelf, data(four, f"search/shelf-{shelf}"))[start : start + count]
            assert lying[0][2] == strength
            own += lying
        assert len(own) == group["count"]
        assert [entry[2] for entry in own] == sorted((entry[2] for entry in own), reverse=True)
        told += [(index["models"][model]["name"], sentence) for model, _, _, sentence in own]
    assert sorted(told) == sorted((row["model"], row["sentence"]) for row in rows(four_tables["portraits"]))


def test_words_of_single_sentences_lead_to_them(four: Path, four_tables: dict[str, Any]) -> None:
    """Every sentence can be found by every word of it: by its group, or by itself."""
    search = data(four, "search/index")
    pages = [data(four, f"search/page-{number}") for number in range(len(search["pages"]))]
    assert [page["words"][0][0] for page in pages] == search["pages"] == sorted(search["pages"])
    single = {
        word: {page["sentences"][row][3] for row in found} for page in pages for word, _, found in page["words"]
    }
    assert {"object", "determiner"} <= set(single)
    for row in rows(four_tables["portraits"]):
        group = next(
            group for group in search["groups"]
            if (group["study"], group["quantity"]) == (row["study"], row["quantity"])
            and search["parts"][group["part"]] == row["part"]
            and data(four, "index")["roles"][group["role"]]["role"] == row["role"]
        )  # fmt: skip
        for word in words_of(row["sentence"]):
            assert word in group["words"] or row["sentence"] in single[word]


def test_the_answer_counts_what_the_map_shows(four: Path) -> None:
    index = data(four, "index")
    for model in index["models"]:
        codes = np.frombuffer(base64.b64decode(model["roles"]), np.uint8)
        counts = {role["title"]: int((codes == at).sum()) for at, role in enumerate(index["roles"])}
        found = len(codes) - counts.pop("other")
        assert model["answer"].startswith(f"{found} of the {len(codes)} heads of {model['name']} have a role")
        most = sorted(counts.values(), reverse=True)[:3]
        for title, count in counts.items():
            assert (f"{title} ({count})" in model["answer"]) <= (count >= most[-1])


@pytest.mark.parametrize("missing", ["models", "heads"])
def test_without_heads_there_is_no_site(missing: str, tmp_path: Path) -> None:
    tables = invented(SMALL)
    del tables[missing]
    with pytest.raises(StoreError, match=f"no table '{missing}'"):
        write_site(tables, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_the_least_that_makes_a_site(tmp_path: Path) -> None:
    """Two tables are enough; of the others nothing is said."""
    tables = invented(SMALL)
    write_site({name: tables[name] for name in ("models", "heads")}, tmp_path)
    index = data(tmp_path, "index")
    assert [role["role"] for role in index["roles"]] == ["other"]
    assert "nothing has been put into words" in index["models"][0]["answer"]
    assert data(tmp_path, "search/index")["groups"] == []


def test_bad_tables_are_refused_and_leave_the_old_site(tmp_path: Path) -> None:
    tables = invented(SMALL)
    page = write_site(tables, tmp_path)
    before = {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    heads = tables["heads"]
    twice = {**tables, "heads": pa.concat_tables([heads, heads.slice(0, 1)])}
    with pytest.raises(StoreError, match="head 1-1 of tiny the figure 'previous' of 'survey' 2 times"):
        write_site(twice, tmp_path)
    with pytest.raises(StoreError, match="heads of 'tiny', which is not in the table 'models'"):
        write_site({**tables, "models": {k: v[1:] for k, v in tables["models"].items()}}, tmp_path)
    with pytest.raises(StoreError, match="no column 'value'"):
        write_site({**tables, "heads": heads.drop(["value"])}, tmp_path)
    below = heads.set_column(heads.column_names.index("layer"), "layer", pa.array([-1] * heads.num_rows))
    with pytest.raises(StoreError, match="count from 0"):
        write_site({**tables, "heads": below}, tmp_path)
    assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()} == before
    assert page.exists()


def test_a_site_is_written_anew_whole(tmp_path: Path) -> None:
    """Nothing of a larger site stays behind, and the stamp of its files changes."""
    write_site(invented(FOUR), tmp_path)
    (tmp_path / "kept.txt").write_text("the reader's own")
    before = (tmp_path / "index.html").read_text()
    write_site(invented(SMALL), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "kept.txt", "site"]
    assert not (tmp_path / "site" / "data" / "2").exists()
    assert (tmp_path / "index.html").read_text() != before
    again = (tmp_path / "index.html").read_text()
    write_site(invented(SMALL), tmp_path)
    assert (tmp_path / "index.html").read_text() == again


def test_addresses_name_heads_as_people_do() -> None:
    assert address("a/b c", "cross", 0, 11) == "#head/a%2Fb%20c/cross/1-12"
    assert address("a", "cross") == "#model/a/cross"


def test_roles_of_the_made_up_atlas_are_all_used(one_tables: dict[str, Any]) -> None:
    assert {row["role"] for row in rows(one_tables["portraits"])} >= {role for role, *_ in ROLES}


def test_what_does_nothing_is_not_found_as_what_matters(tmp_path: Path) -> None:
    """Both are told of a head that was cut; each is asked for by the words of its own role."""
    place = {"model": "tiny", "stream": "encoder", "layer": 0, "study": "cutting", "corpus": "", "part": "without"}
    told = [{**place, "head": head, "order": 0, "role": role, "strength": 0.5, "quantity": role,
             "sentence": f"sentence {head}"} for head, role in enumerate(("needed", "dormant"))]  # fmt: skip
    figures = [{**row, "title": row["quantity"], "kind": "share", "value": 0.5} for row in told]
    roles = [{"role": role.key, "title": role.title, "meaning": role.meaning, "terms": role.terms, "order": order}
             for order, role in enumerate(KNOWN_ROLES.values())]  # fmt: skip
    models = {"model": ["tiny"], "stream": ["encoder"], "layers": [1], "heads": [2]}
    listed = {"heads": figures, "portraits": told, "roles": roles}
    write_site({"models": models, **{name: pa.Table.from_pylist(own) for name, own in listed.items()}}, tmp_path)
    groups = data(tmp_path, "search/index")["groups"]
    terms = {group["quantity"]: {*group["terms"], *group["words"]} for group in groups}
    assert "matters" in terms["needed"] - terms["dormant"]
    assert "nothing" in terms["dormant"] - terms["needed"]
