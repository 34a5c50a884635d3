"""BertViz's calls, as they stand in people's notebooks: each gives a page here, and each mistake a sentence."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from benchmarks import peers

from attlas.errors import AttlasError, CapabilityError, NumberError, TextError
from attlas.views import familiar, head_view, model_view, notebook
from attlas.views.payload import decode

if TYPE_CHECKING:
    from playwright.sync_api import Page

# The parameters of BertViz 1.4.1 with their defaults, in order.
HEAD_VIEW = [
    ("attention", None), ("tokens", None), ("sentence_b_start", None), ("prettify_tokens", True), ("layer", None),
    ("heads", None), ("encoder_attention", None), ("decoder_attention", None), ("cross_attention", None),
    ("encoder_tokens", None), ("decoder_tokens", None), ("include_layers", None), ("html_action", "view"),
]  # fmt: skip
MODEL_VIEW = [
    ("attention", None), ("tokens", None), ("sentence_b_start", None), ("prettify_tokens", True),
    ("display_mode", "dark"), ("encoder_attention", None), ("decoder_attention", None), ("cross_attention", None),
    ("encoder_tokens", None), ("decoder_tokens", None), ("include_layers", None), ("include_heads", None),
    ("html_action", "view"),
]  # fmt: skip
VIEWS: dict[str, Callable[..., Any]] = {"head_view": head_view, "model_view": model_view}

SIX = ["[CLS]", "The", "play", "##ing", "cat", "[SEP]"]
FOUR = ["<pad>", "▁Le", "▁ch", "at"]


def weights(queries: int = 6, keys: int = 6, *, layers: int = 3, heads: int = 4, seed: int = 0) -> list[np.ndarray]:
    draw = np.random.default_rng(seed).exponential(size=(layers, 1, heads, queries, keys))
    return list((draw / draw.sum(-1, keepdims=True)).astype(np.float32))


def look_into(html: str) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """The strands of a page (with their weights unpacked), its selection, and its header."""
    found = re.search(r'id="attlas-header">(.*?)</script>', html)
    chosen = re.search(r"mountPage\((.*?)\);\n</script>", html)
    assert found is not None
    assert chosen is not None
    header = json.loads(found[1])
    blocks = [b64decode(text) for text in re.findall(r'id="attlas-block-\d+">([^<]*)<', html)]
    strands = header["scenes"][0]["strands"]
    for strand in strands:
        spec = strand["weights"]
        count = len(strand["layers"]) * len(strand["heads"])
        grids = [
            decode(block, spec["code"], spec["columns"]) for block in blocks[spec["first"] : spec["first"] + count]
        ]
        strand["grids"] = np.stack(grids).reshape(len(strand["layers"]), len(strand["heads"]), *grids[0].shape)
    return strands, json.loads(chosen[1]), header


def returned(view: Callable[..., Any] = head_view, *args: Any, **options: Any) -> str:
    data = view(*args, **options, html_action="return").data
    assert isinstance(data, str)
    return data


@pytest.mark.parametrize(("name", "parameters"), [("head_view", HEAD_VIEW), ("model_view", MODEL_VIEW)])
def test_the_parameters_are_bertviz_s(name: str, parameters: list[tuple[str, Any]]) -> None:
    ours = inspect.signature(VIEWS[name]).parameters.values()
    assert [(each.name, each.default) for each in ours] == parameters
    assert all(each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for each in ours)


@pytest.mark.parametrize("kind", ["tuple", "bfloat16", "gradient", "float64", "nested", "stacked"])
def test_weights_of_any_make_arrive_as_they_are(kind: str) -> None:
    arrays = weights()
    stacked = torch.from_numpy(np.stack(arrays))
    given: Any = {
        "tuple": tuple(stacked),
        "bfloat16": tuple(stacked.bfloat16()),
        "gradient": tuple(stacked.clone().requires_grad_()),
        "float64": [array.astype(np.float64) for array in arrays],
        "nested": [array.tolist() for array in arrays],
        "stacked": stacked,
    }[kind]
    [strand], _, _ = look_into(returned(head_view, given, SIX))
    expected = stacked.bfloat16().float().numpy() if kind == "bfloat16" else np.stack(arrays)
    assert np.array_equal(strand["grids"], expected[:, 0])
    assert strand["stream"] == "encoder"


def test_weights_that_never_look_ahead_are_a_decoder_s() -> None:
    causal = [np.tril(array) / np.tril(array).sum(-1, keepdims=True) for array in weights()]
    assert look_into(returned(head_view, causal, SIX))[0][0]["stream"] == "decoder"
    causal[-1][0, -1, 0, 1] = 0.25
    assert look_into(returned(head_view, causal, SIX))[0][0]["stream"] == "encoder"


def test_where_it_starts_and_what_is_left_out() -> None:
    arrays = weights(layers=5)
    [strand], selection, _ = look_into(returned(head_view, arrays, SIX, layer=3, heads=[0, 2], include_layers=[1, 3]))
    assert selection == {"view": "head", "layer": 3, "heads": [0, 2]}
    assert strand["layers"] == [1, 3]
    assert np.array_equal(strand["grids"], np.stack(arrays)[[1, 3], 0])
    html = returned(model_view, arrays, SIX, include_layers=(4, 0), include_heads=np.array([3, 1]))
    [strand], selection, _ = look_into(html)
    assert selection == {"view": "model", "theme": "dark"}
    assert (strand["layers"], strand["heads"]) == ([4, 0], [3, 1])
    assert np.array_equal(strand["grids"], np.stack(arrays)[[4, 0], 0][:, [3, 1]])
    assert look_into(returned(model_view, arrays, SIX, display_mode="light"))[1]["theme"] == "light"


def test_an_encoder_and_a_decoder_may_differ_in_layers() -> None:
    encoder, decoder, cross = weights(layers=2), weights(4, 4, layers=3), weights(4, 6, layers=3)
    html = returned(
        head_view, encoder_attention=encoder, decoder_attention=decoder, cross_attention=cross,
        encoder_tokens=SIX, decoder_tokens=FOUR,
    )  # fmt: skip
    strands, _, _ = look_into(html)
    assert [strand["stream"] for strand in strands] == ["encoder", "decoder", "cross"]
    assert [len(strand["layers"]) for strand in strands] == [2, 3, 3]
    assert strands[2]["queries"]["pieces"] == ["<pad>", "Le", "ch", "at"]
    assert strands[2]["keys"]["pieces"] == SIX
    assert np.array_equal(strands[2]["grids"], np.stack(cross)[:, 0])
    alone, _, _ = look_into(returned(model_view, cross_attention=cross, encoder_tokens=SIX, decoder_tokens=FOUR))
    assert [strand["stream"] for strand in alone] == ["cross"]


@pytest.mark.parametrize(
    ("pieces", "words", "spelled"),
    [
        (["[CLS]", "play", "##ing", ".", "[SEP]"], [-1, 0, 0, 1, -1], ["playing", "."]),
        (
            ["<s>", "The", "Ġfar", "mer", "Ġslept", ".", "</s>"],
            [-1, 0, 1, 1, 2, 3, -1],
            ["The", "farmer", "slept", "."],
        ),
        (["▁", "1", "2", "▁don", "'", "t", "</s>"], [0, 0, 0, 1, 2, 3, -1], ["12", "don", "'", "t"]),
        (["far", "mer</w>", "slept</w>", ".</w>"], [0, 0, 1, 2], ["farmer", "slept", "."]),
        (["a", "b", "<|endoftext|>", "[MASK]", "<unk>"], [0, 1, -1, 2, 3], ["a", "b", "[MASK]", "<unk>"]),
    ],
)
def test_words_and_special_pieces_are_known_by_their_marks(
    pieces: list[str], words: list[int], spelled: list[str]
) -> None:
    count = len(pieces)
    [strand], _, _ = look_into(returned(head_view, weights(count, count), pieces))
    assert strand["queries"]["words"] == words
    assert strand["queries"]["spelled"] == spelled
    assert strand["queries"]["documents"] == [-1 if word < 0 else 0 for word in words]


def test_marks_stay_where_they_are_wanted() -> None:
    pieces = ["ĠThe", "▁cat", "sat</w>", "##s", "▁", "Ċ"]
    assert look_into(returned(head_view, weights(), pieces))[0][0]["queries"]["pieces"] == [
        "The", "cat", "sat", "##s", "␣", "Ċ",
    ]  # fmt: skip
    kept = look_into(returned(head_view, weights(), pieces, prettify_tokens=False))[0][0]["queries"]["pieces"]
    assert kept == pieces


def test_a_second_sentence_begins_where_it_is_said_to() -> None:
    pieces = ["[CLS]", "It", "rained", "[SEP]", "We", "[SEP]"]
    [strand], _, _ = look_into(returned(head_view, weights(), pieces, sentence_b_start=4))
    assert strand["queries"]["documents"] == [-1, 0, 0, -1, 1, -1]


NO_WEIGHTS = 'attn_implementation="eager".*attlas.load'


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({}, CapabilityError, "there is nothing to show; give attention and tokens"),
        ({"tokens": SIX}, CapabilityError, NO_WEIGHTS),
        ({"attention": (), "tokens": SIX}, CapabilityError, NO_WEIGHTS),
        ({"attention": (None,) * 3, "tokens": SIX}, CapabilityError, NO_WEIGHTS),
        ({"attention": (*weights(), None), "tokens": SIX}, CapabilityError, "layer 3 of attention is None"),
        ({"encoder_tokens": SIX, "encoder_attention": ()}, CapabilityError, NO_WEIGHTS),
        ({"attention": weights()}, TextError, "tokens is missing; give the pieces"),
        ({"attention": weights(), "tokens": SIX[:5]}, TextError, "attention is of 6 x 6 pieces .* tokens has 5;"),
        ({"attention": weights(), "tokens": "The cat"}, TextError, "must be a list of pieces and has 'The cat'"),
        ({"attention": weights(), "tokens": [101, 5, 6, 7, 8, 102]}, TextError, "has 101; use tokenizer.convert"),
        ({"attention": weights()[0], "tokens": SIX}, TextError, r"has the shape \(4, 6, 6\) where \(1, heads"),
        ({"attention": [a[0] for a in weights()], "tokens": SIX}, TextError, r"layer 0 .* shape \(4, 6, 6\)"),
        ({"attention": [np.repeat(a, 2, 0) for a in weights()], "tokens": SIX}, TextError, "a batch of 2 texts"),
        ({"attention": [*weights(), *weights(5, 5)], "tokens": SIX}, TextError, "layer 3 has"),
        ({"attention": 3.5, "tokens": SIX}, TextError, "must be a tuple with one tensor for each layer"),
        ({"attention": ["a"], "tokens": SIX}, TextError, "layer 0 of attention is no tensor"),
        ({"attention": [a * np.nan for a in weights()], "tokens": SIX}, NumberError, "NaN"),
        ({"attention": [a - 1 for a in weights()], "tokens": SIX}, NumberError, "below 0"),
        ({"attention": [a + np.inf for a in weights()], "tokens": SIX}, NumberError, "infinite"),
        ({"attention": weights(), "tokens": SIX, "encoder_tokens": SIX}, CapabilityError, "one or the other"),
        ({"encoder_attention": weights()}, TextError, "encoder_tokens is missing"),
        ({"cross_attention": weights(4, 6), "decoder_tokens": FOUR}, TextError, "encoder_tokens is missing"),
        (
            {"cross_attention": weights(6, 4), "decoder_tokens": FOUR, "encoder_tokens": SIX},
            TextError,
            "of 6 x 4 pieces .* decoder_tokens has 4 and encoder_tokens 6;",
        ),
        ({"attention": weights(), "tokens": SIX, "sentence_b_start": 6}, TextError, "6 pieces allow 1 to 5"),
        ({"attention": weights(), "tokens": SIX, "include_layers": [3]}, CapabilityError, "asks for 3, .* 0 to 2"),
        ({"attention": weights(), "tokens": SIX, "include_layers": []}, CapabilityError, "include_layers is empty"),
        ({"attention": weights(), "tokens": SIX, "include_layers": 2}, CapabilityError, "must be a list of numbers"),
        ({"attention": weights(), "tokens": SIX, "html_action": "save"}, CapabilityError, "choose 'view'.*'return'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["head_view", "model_view"])
def test_mistakes_get_one_sentence(
    name: str, options: dict[str, Any], error: type[AttlasError], sentence: str
) -> None:
    with pytest.raises(error, match=sentence) as caught:
        VIEWS[name](**{"html_action": "return", **options})
    assert "\n" not in str(caught.value)


def test_mistakes_of_one_view_alone() -> None:
    with pytest.raises(CapabilityError, match="layer asks for 1, and there are 0, 2"):
        returned(head_view, weights(), SIX, include_layers=[0, 2], layer=1)
    with pytest.raises(CapabilityError, match="heads asks for 4, and there are 0 to 3"):
        returned(head_view, weights(), SIX, heads=[4])
    with pytest.raises(CapabilityError, match="display_mode is 'blue'"):
        returned(model_view, weights(), SIX, display_mode="blue")


def test_what_a_model_returns_by_default_is_explained() -> None:
    from transformers import BertConfig, BertModel

    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "vocab_size": 9,
    }
    ids = torch.arange(6)[None]
    plain = BertModel(BertConfig(**sizes))
    plain.set_attn_implementation("sdpa")
    with pytest.raises(CapabilityError, match=NO_WEIGHTS):
        head_view(plain(ids, output_attentions=True).attentions, SIX)
    plain.set_attn_implementation("eager")
    given = plain.eval()(ids, output_attentions=True).attentions
    [strand], _, _ = look_into(returned(head_view, given, SIX))
    assert np.array_equal(strand["grids"][0], given[0][0].detach().numpy())


def test_view_displays_and_returns_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display", reason="the package IPython is not installed")
    shown: list[Any] = []
    monkeypatch.setattr(display, "display", shown.append)
    monkeypatch.setattr(notebook, "_viewer_class", lambda: None)
    assert head_view(weights(), SIX) is None
    assert model_view(weights(), SIX, html_action="view") is None
    assert [look_into(each.data)[1]["view"] for each in shown] == ["head", "model"]


def test_what_is_returned_shows_itself_in_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    display = pytest.importorskip("IPython.display", reason="the package IPython is not installed")
    made = head_view(weights(), SIX, html_action="return")
    assert isinstance(made, display.HTML)
    assert made.data.startswith("<!doctype html>")
    assert made._repr_html_() == notebook.Frame(made.data)._repr_html_()

    def refuse(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(familiar, "import_module", refuse)
    assert head_view(weights(), SIX, html_action="return").data == made.data
    with pytest.raises(AttlasError, match="html_action='return'"):
        head_view(weights(), SIX)


@pytest.mark.browser
def test_the_pages_draw_and_the_sentence_filter_works(open_page: Callable[..., Page]) -> None:
    shown = open_page(returned(head_view, weights(), SIX, sentence_b_start=4, layer=1, heads=[2]))
    assert shown.locator("select[data-name=layer]").input_value() == "1"
    shown.locator("select[data-name=pair]").select_option(value="0-1")
    shown.locator("button[data-action=table]").click()
    shown.wait_for_timeout(150)
    table = shown.locator(".attlas-table").inner_text()
    assert "cat" in table
    assert "[CLS]" not in table
    other = open_page(returned(model_view, weights(), SIX))
    assert other.locator(".attlas[data-theme=dark][data-view=model]").count() == 1


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("head_view", {"attention": weights(), "tokens": SIX}),
    "pair": ("head_view", {"attention": weights(), "tokens": SIX, "sentence_b_start": 4}),
    "start": ("head_view", {"attention": weights(), "tokens": SIX, "layer": 1, "heads": [0, 2]}),
    "layers": ("head_view", {"attention": weights(), "tokens": SIX, "include_layers": [0, 2]}),
    "marks": ("head_view", {"attention": weights(4, 4), "tokens": FOUR, "prettify_tokens": False}),
    "no marks": ("head_view", {"attention": weights(4, 4), "tokens": FOUR}),
    "model": ("model_view", {"attention": weights(), "tokens": SIX, "display_mode": "light"}),
    "some": ("model_view", {"attention": weights(), "tokens": SIX, "include_layers": [2], "include_heads": [1, 3]}),
    "translation": (
        "head_view",
        {
            "encoder_attention": weights(), "decoder_attention": weights(4, 4), "cross_attention": weights(4, 6),
            "encoder_tokens": SIX, "decoder_tokens": FOUR,
        },
    ),
    "no tokens": ("head_view", {"attention": weights()}),
    "too few tokens": ("model_view", {"attention": weights(), "tokens": SIX[:4]}),
    "nothing": ("model_view", {}),
    "both kinds": ("head_view", {"attention": weights(), "tokens": SIX, "decoder_tokens": FOUR}),
    "no such layer": ("head_view", {"attention": weights(), "tokens": SIX, "layer": 7}),
    "no batch": ("head_view", {"attention": [a[0] for a in weights()], "tokens": SIX}),
    "no such action": ("head_view", {"attention": weights(), "tokens": SIX, "html_action": "save"}),
}  # fmt: skip

# Runs where BertViz is: makes each call and tells what its page was given.
THEIRS = """
import json, re, sys
import torch, bertviz
found = {}
for name, (view, options) in json.load(open(sys.argv[1])).items():
    given = {k: [torch.tensor(a) for a in v] if k.endswith("attention") else v for k, v in options.items()}
    try:
        data = getattr(bertviz, view)(**{"html_action": "return", **given}).data
        found[name] = json.loads(re.search(r"const params = (\\{.*?\\}); //", data)[1])
    except Exception as error:
        found[name] = {"error": f"{type(error).__name__}: {error}"}
json.dump(found, open(sys.argv[2], "w"))
"""


def test_each_call_gives_a_page_here_as_in_bertviz(tmp_path: Path) -> None:
    try:
        python = peers.interpreter()  # an environment of its own, which the benchmarks use as well
    except peers.NotMeasured as problem:
        pytest.skip(str(problem))
    asked, answered = tmp_path / "asked.json", tmp_path / "answered.json"
    asked.write_text(json.dumps(CALLS, default=lambda array: array.tolist()))
    subprocess.run([python, "-c", THEIRS, str(asked), str(answered)], check=True, timeout=300)
    theirs = json.loads(answered.read_text())
    assert sum("error" in each for each in theirs.values()) == 7
    for name, (view, options) in CALLS.items():
        if "error" in theirs[name]:
            with pytest.raises(AttlasError):
                VIEWS[view](**{"html_action": "return", **options})
            continue
        strands, selection, _ = look_into(returned(VIEWS[view], **options))
        whole = [each for each in theirs[name]["attention"] if "Sentence" not in (each["name"] or "")]
        assert len(whole) == len(strands), name
        for ours, other in zip(strands, whole, strict=True):
            assert np.allclose(ours["grids"], other["attn"], atol=0), name
            assert ours["layers"] == theirs[name]["include_layers"], name
            assert ours["queries"]["pieces"] == [piece.strip() for piece in other["left_text"]], name
            keys = ours["keys"] or ours["queries"]
            assert keys["pieces"] == [piece.strip() for piece in other["right_text"]], name
        for field in ("layer", "heads"):
            assert selection.get(field) == theirs[name].get(field), name
        assert selection.get("theme") == theirs[name].get("display_mode"), name
        if "include_heads" in theirs[name]:
            assert strands[0]["heads"] == theirs[name]["include_heads"]


def test_layers_may_differ_in_their_heads() -> None:
    uneven = [*weights(), *weights(heads=2)]
    [strand], _, _ = look_into(returned(model_view, uneven, SIX))
    assert strand["own"] == [[0, 1, 2, 3]] * 3 + [[0, 1]] * 3
    assert all(
        np.array_equal(strand["grids"][layer, : given.shape[1]], given[0]) for layer, given in enumerate(uneven)
    )
    causal = [np.tril(array) / np.tril(array).sum(-1, keepdims=True) for array in uneven]
    assert look_into(returned(model_view, causal, SIX))[0][0]["stream"] == "decoder"
