"""attlas view: what it writes holds what the model has, and whatever is wrong ends as one sentence and no file."""

from __future__ import annotations

import io
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import attlas

import twins
from attlas import atlas as opened_atlas
from attlas.capture import load
from attlas.ids import Stream
from attlas.views.payload import decode

TEXT = "The farmer asked the designer."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of twins: an encoder, a causal model and a translator."""
    made = tmp_path_factory.mktemp("models")
    for family in ("bert", "llama", "marian"):
        import transformers

        class_name = {"llama": "AutoModelForCausalLM", "marian": "AutoModelForSeq2SeqLM"}.get(family)
        model = twins.model(family)
        if class_name is not None:
            model = getattr(transformers, class_name).from_config(twins.config(family)).eval()
            twins.spread(model)
        model.save_pretrained(made / family)
        twins.tokenizer(family in twins.CAUSAL).save_pretrained(made / family)
    return made


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def header(page: Path) -> Any:
    """What a page says of itself."""
    found = re.search(r'id="attlas-header">(.*?)</script>', page.read_text(encoding="utf-8"))
    assert found is not None
    return json.loads(found[1])


def weights(page: Path, scene: int = 0, strand: int = 0) -> np.ndarray:
    """The weights that lie in a page, (layer, head, query, key)."""
    html = page.read_text(encoding="utf-8")
    spec = header(page)["scenes"][scene]["strands"][strand]
    size = (len(spec["layers"]), len(spec["heads"]))
    how, first = spec["weights"], spec["weights"]["first"]
    found = [re.search(rf'attlas-block-{first + at}">([^<]*)<', html) for at in range(size[0] * size[1])]
    blocks = [decode(b64decode(block[1]), how["code"], how["columns"]) for block in found if block is not None]
    return np.stack(blocks).reshape(*size, *blocks[0].shape)


def test_a_text_becomes_a_page_with_its_weights(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "view", TEXT, "--model", models / "bert", "--out", "page.html", "--kind", "model")
    assert (said.status, said.err) == (0, "")
    assert re.fullmatch(r"page: page\.html \(\d\.\d MB\)", said.out.splitlines()[-1])
    seen = load(models / "bert").look(TEXT)
    assert np.allclose(weights(Path("page.html")), seen.weights[Stream.ENCODER].numpy(), atol=1e-6)
    assert 'mountPage({"view":"model"})' in Path("page.html").read_text(encoding="utf-8")


def test_a_pair_some_layers_and_a_default_name(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    some = ("--layers", "1,3", "--heads", "2..4")
    said = attlas(capfd, "view", TEXT, "--and", "She slept.", "--model", models / "bert", *some)
    assert said.status == 0, said
    (strand,) = header(Path("view-bert.html"))["scenes"][0]["strands"]
    assert (strand["layers"], strand["heads"]) == ([0, 2], [1, 2, 3])
    assert set(strand["queries"]["documents"]) == {-1, 0, 1}
    whole = load(models / "bert").look(TEXT, "She slept.").weights[Stream.ENCODER].numpy()
    assert np.allclose(weights(Path("view-bert.html")), whole[[0, 2]][:, 1:4], atol=1e-6)


def test_two_models_and_two_texts_lie_in_one_page(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attlas(capfd, "view", TEXT, "--model", models / "bert", "--against-model", models / "llama", "--out", "a.html")
    assert [scene["model"] for scene in header(Path("a.html"))["scenes"]] == ["bert", "llama"]
    attlas(capfd, "view", TEXT, "--model", models / "bert", "--against", "The farmer slept.", "--out", "b.html")
    assert [scene["texts"] for scene in header(Path("b.html"))["scenes"]] == [[TEXT], ["The farmer slept."]]


def test_what_is_missing_of_a_translation_is_written(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "view", TEXT, "--model", models / "marian", "--generate", "6", "--out", "page.html")
    assert said.status == 0, said
    streams = [strand["stream"] for strand in header(Path("page.html"))["scenes"][0]["strands"]]
    assert streams == ["encoder", "decoder", "cross"]
    assert np.allclose(weights(Path("page.html"), strand=2).sum(-1), 1, atol=1e-4)


def test_a_causal_model_goes_on(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "view", TEXT, "--model", models / "llama", "--generate", "5", "--out", "page.html")
    assert said.status == 0, said
    read = load(models / "llama").look(TEXT).weights[Stream.DECODER].numpy()
    size = read.shape[-1]
    page = weights(Path("page.html"))
    assert page.shape[-1] > size
    assert np.allclose(page[:, :, :size, :size], read, atol=1e-5)
    assert len(header(Path("page.html"))["scenes"][0]["texts"]) == 1


def test_texts_come_from_files_and_from_standard_input(
    models: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    attlas(capfd, "view", "--file", "text.txt", "--model", models / "bert", "--out", "a.html")
    monkeypatch.setattr("sys.stdin", io.StringIO(TEXT))
    attlas(capfd, "view", "-", "--model", models / "bert", "--out", "b.html")
    assert Path("a.html").read_text(encoding="utf-8") == Path("b.html").read_text(encoding="utf-8")


def test_heads_can_be_sorted_by_a_survey(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("prose.txt").write_text("The farmer slept.\n\nIt rained.\n\nWe stayed in.\n", encoding="utf-8")
    attlas(capfd, "survey", "prose.txt", "--model", models / "bert", "--out", "survey", "--quiet")
    said = attlas(capfd, "view", TEXT, "--model", models / "bert", "--survey", "survey", "--out", "page.html")
    assert said.status == 0, said
    figures = header(Path("page.html"))["scenes"][0]["figures"]
    assert np.shape(figures["weight: entropy, all queries"]["encoder"]) == (3, 4)
    attlas(capfd, "view", TEXT, "--model", models / "llama", "--survey", "survey", "--out", "b.html").refuses(
        "this survey is of bert, not of llama"
    )
    assert not Path("b.html").exists()


def test_what_an_atlas_says_of_a_head_stands_beside_its_number(
    models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("prose.txt").write_text("The farmer slept.\n\nIt rained.\n\nWe stayed in.\n", encoding="utf-8")
    attlas(capfd, "survey", "prose.txt", "--model", models / "bert", "--out", "survey", "--quiet")
    attlas(capfd, "atlas", "join", "survey", "--out", "atlas")
    said = attlas(capfd, "view", TEXT, "--model", models / "bert", "--atlas", "atlas", "--out", "page.html")
    assert said.status == 0, said
    told = header(Path("page.html"))["scenes"][0]["portraits"]["encoder"]
    assert len(told) == 12
    rows = opened_atlas("atlas").head("1-2").portrait
    assert all(row["sentence"] in told["1-2"] for row in rows[:3])
    attlas(capfd, "view", TEXT, "--model", models / "llama", "--atlas", "atlas", "--out", "b.html").refuses(
        "this atlas is of bert, not of llama"
    )
    attlas(capfd, "view", TEXT, "--model", models / "bert", "--atlas", "survey", "--out", "b.html").refuses(
        "an atlas is needed, and it holds a result of the study 'survey'"
    )
    assert not Path("b.html").exists()


def test_a_page_opens_with_the_measure_that_is_asked_for(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "view", TEXT, "--model", models / "bert", "--measure", "norm", "--out", "page.html")
    assert said.status == 0, said
    assert 'mountPage({"view":"head","measure":"norm"})' in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("step", ["attention", "residual", "normalised"])
def test_joint_norms_are_one_map_for_each_layer(models: Path, capfd: pytest.CaptureFixture[str], step: str) -> None:
    said = attlas(capfd, "view", TEXT, "--model", models / "bert", "--joint", step, "--out", "page.html")
    assert "encoder 3 layers, joint norm" in said.out
    (strand,) = header(Path("page.html"))["scenes"][0]["strands"]
    assert (strand["heads"], strand["joint"].startswith("joint norm")) == ([0], True)
    assert "lengths" not in strand
    assert "query_vectors" not in strand
    seen = load(models / "bert").look(TEXT, joint=step).joint(step)[Stream.ENCODER].numpy()
    assert np.allclose(weights(Path("page.html"))[:, 0], seen, atol=1e-6)


def test_what_a_model_writes_is_read_for_its_joint_norms(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ("--joint", "residual", "--generate", "6", "--out", "page.html")
    said = attlas(capfd, "view", TEXT, "--model", models / "marian", *options)
    assert said.status == 0, said
    scene = header(Path("page.html"))["scenes"][0]
    assert [strand["stream"] for strand in scene["strands"]] == ["encoder", "decoder", "cross"]
    whole = load(models / "marian").look(*scene["texts"], joint="residual").joint("residual")
    for place, stream in enumerate(Stream):
        assert np.allclose(weights(Path("page.html"), strand=place)[:, 0], whole[stream].numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        ((), "give either a text or --file"),
        ((TEXT, "--file", "a.txt"), "give either a text or --file"),
        (("   ",), "the text is empty"),
        ((TEXT, "--kind", "heads"), "there is no view 'heads'"),
        ((TEXT, "--measure", "norms"), "there is no measure 'norms'; choose weight or norm"),
        ((TEXT, "--joint", "norm"), "there is no step 'norm'; choose attention, residual or normalised"),
        ((TEXT, "--joint", "residual", "--kind", "neuron"), "joint norms are those of all heads together"),
        ((TEXT, "--joint", "residual", "--heads", "1"), "so it excludes --heads"),
        ((TEXT, "--joint", "residual", "--measure", "norm"), "so it excludes --measure"),
        ((TEXT, "--joint", "residual", "--survey", "out"), "so it excludes --survey"),
        ((TEXT, "--joint", "residual", "--atlas", "out"), "so it excludes --atlas"),
        ((TEXT, "--atlas", "nowhere"), "there is no such folder"),
        (("\u200b\u200d",), "the text holds nothing but marks that cannot be seen"),
        ((TEXT, "--and", " "), "the text is empty"),
        ((TEXT, "--regions", "The,Nope:"), "no part of the text begins with 'Nope:'"),
        ((TEXT, "--reckoned", "--rows", "1-3"), "'1-3' does not name rows; write places in the text counted from 1"),
        ((TEXT, "--layers", "9"), "bert has no layer 9; its layers are 1 to 3"),
        ((TEXT, "--heads", "5"), "bert has no head 5; its heads are 1 to 4"),
        ((TEXT, "--layers", "one"), "'one' does not name a layer; write its number counted from 1"),
        ((TEXT, "--layers", "0"), "'0' does not name a layer"),
        ((TEXT, "--layers", "1-3"), "'1-3' does not name a layer"),
        ((TEXT, "--heads", "1-1,2-2"), "every layer that is chosen is taken with the same heads"),
        ((TEXT, "--generate", "3"), "bert cannot write"),
        ((TEXT, "--and", "She.", "--generate", "3"), "exclude each other"),
        ((TEXT, "--survey", "nowhere"), "there is no such folder"),
        ((TEXT, "--out", "missing.txt/page.html"), "cannot be written"),
        (("--file", "nothing.txt"), "nothing.txt: there is no such file"),
        (("--file", "bytes.txt"), "bytes.txt: byte 3 is not UTF-8"),
        (("word " * 300,), "the window of bert holds 128"),
        ((TEXT, "--limits", "weights=100"), "more than the limit of 100; shorten the text"),
        ((TEXT, "--limits", "line=100"), "the limit line is for corpora, and this command reads none"),
        ((TEXT, "--limits", "wights=100"), "'wights=100' is no limit such as line=20000000; there are"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_no_page(
    models: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], phrase: str
) -> None:
    Path("missing.txt").write_text("", encoding="utf-8")
    Path("bytes.txt").write_bytes(b"abc\xff")
    attlas(capfd, "view", *arguments, "--model", models / "bert").refuses(phrase)
    assert sorted(path.name for path in Path().iterdir()) == ["bytes.txt", "missing.txt"]


def test_a_causal_model_takes_no_second_text(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(capfd, "view", TEXT, "--and", "More.", "--model", models / "llama")
    said.refuses("llama reads one text, not pairs")


def test_a_text_without_its_weights_and_with_regions(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    said = attlas(
        capfd, "view", TEXT, "--model", models / "llama", "--reckoned", "--layers", "2", "--rows", "2,last:3",
        "--regions", "asked,designer", "--out", "page.html",
    )  # fmt: skip
    assert (said.status, said.err) == (0, "")
    strand = header(Path("page.html"))["scenes"][0]["strands"][0]
    assert "weights" not in strand
    assert strand["layers"] == [1]
    count = len(strand["queries"]["pieces"])
    assert f"decoder 1 x 4 heads, {count} pieces, looked from 4 of them" in said.out
    assert strand["looked"] == [[1, 2], [count - 3, count]]
    assert [region["name"] for region in strand["queries"]["regions"]] == ["asked", "designer"]


def test_what_a_model_says_lies_in_the_page(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    attlas(capfd, "view", TEXT, "--model", models / "llama", "--out", "page.html")
    scene = header(Path("page.html"))["scenes"][0]
    saying, pieces = scene["saying"], scene["strands"][0]["queries"]["pieces"]
    assert (saying["kind"], len(saying["top"]), len(saying["actual"])) == ("next", len(pieces), len(pieces) - 1)
    assert all(len(told) == 5 for told in saying["top"])
    attlas(capfd, "view", TEXT, "--model", models / "bert", "--out", "bare.html")
    assert "saying" not in header(Path("bare.html"))["scenes"][0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--rows", "3"], "--rows belongs to --reckoned"),
        (["--reckoned", "--measure", "norm"], "it excludes --measure"),
        (["--reckoned", "--joint", "attention"], "it excludes --joint"),
        (["--reckoned", "--generate", "5"], "one text of one model"),
        (["--reckoned", "--against", "another"], "one text of one model"),
        (["--reckoned", "--rows", "900"], "this text has no row 900; its pieces are 1 to "),
        (["--reckoned", "--layers", "9", "--rows", "1"], "llama has no layer 9"),
        (["--reckoned", "--heads", "2-9", "--rows", "1"], "llama has no head 9"),
    ],
)
def test_reckoning_excludes_what_it_cannot_have(
    options: list[str], sentence: str, models: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = attlas(capfd, "view", TEXT, "--model", models / "llama", *options)
    assert said.status == 2
    assert sentence in " ".join(said.err.split())
    assert not list(Path().iterdir())
