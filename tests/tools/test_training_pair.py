"""The pair of trainings: the models are the library's, bigrams are all that is left, figures are those of attlas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

import attlas
from attlas import Recorder, Site, Stream
from tools.training_pair.__main__ import main
from tools.training_pair.model import Shape, forward, fresh, losses, write_checkpoint
from tools.training_pair.text import documents_in, resampled, write_data
from tools.training_pair.watch import (
    COPY,
    Texts,
    induction_score,
    measured,
    previous_score,
    random_heads,
    repeated_texts,
    top_heads,
)

SHAPE = Shape(400, width=32, layers=4, heads=4, hidden=48, window=160)
SYLLABLES = [one + vowel for one in "bdfghjklmnprstvwz" for vowel in "aeiou"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of invented documents, read."""
    folder = tmp_path_factory.mktemp("texts")
    generator = np.random.default_rng(0)
    for at in range(60):
        sentences = [" ".join(map("".join, generator.choice(SYLLABLES, (9, 2)))) + "." for _ in range(60)]
        (folder / f"{at:02d}.txt").write_text("\n\n".join(f"{sentence} {at}" for sentence in sentences))
    written = write_data([folder], folder / "data", 400)
    assert written["documents"] == 60
    assert written["held"] < written["train"] / 20
    return folder / "data"


@pytest.fixture(scope="module")
def wide() -> dict[str, torch.Tensor]:
    """Parameters wide enough that attention is far from even."""
    return {name: value * (8 if "norm" not in name else 1) for name, value in fresh(SHAPE, [0, 1]).items()}


def test_checkpoint_is_the_librarys_model(data: Path, wide: dict[str, torch.Tensor], tmp_path: Path) -> None:
    halved = {name: value.to(torch.bfloat16).float() for name, value in wide.items()}
    ids = torch.randint(400, (2, 3, 40), generator=torch.Generator().manual_seed(0))
    ours = forward(halved, SHAPE, ids)
    for model in range(2):
        write_checkpoint(wide, SHAPE, model, data / "tokenizer.json", tmp_path / str(model))
        theirs = AutoModelForCausalLM.from_pretrained(tmp_path / str(model), dtype=torch.float32)
        assert torch.allclose(ours[model], theirs(ids[model]).logits, atol=1e-4)
    assert not torch.allclose(ours[0], ours[1], atol=0.1)


def test_attlas_reads_the_same_weights_and_closes_the_same_heads(
    data: Path, wide: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    write_checkpoint(wide, SHAPE, 1, data / "tokenizer.json", tmp_path)
    subject = attlas.load(tmp_path)
    assert subject.look("farmer").queries_of(Stream.DECODER).pieces[0] == "<begin>"
    halved = {name: value.to(torch.bfloat16).float() for name, value in wide.items()}
    texts = repeated_texts(np.arange(4000) % 400, begin=0)
    maps: list[torch.Tensor] = []
    ours = losses(halved, SHAPE, texts.expand(2, -1, -1), weights=maps)
    recorder = Recorder()
    with torch.no_grad(), subject.use(recorder):
        subject.model(texts)
    for layer in range(SHAPE.layers):
        seen = recorder.get(Site(Stream.DECODER, layer))
        assert torch.allclose(seen, maps[layer][1], atol=1e-5)
    gates = torch.ones(2, SHAPE.layers, SHAPE.heads)
    gates[1, 2, 3] = gates[1, 0, 1] = 0
    ours = losses(halved, SHAPE, texts.expand(2, -1, -1), gates)[1]
    with torch.no_grad(), subject.gated(["3-4", "1-2"]):
        logits = subject.model(texts).logits
    theirs = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), texts[:, 1:], reduction="none")
    assert torch.allclose(ours, theirs, atol=1e-3)


def test_scores_are_those_of_a_loop() -> None:
    weights = torch.rand(2, 3, 2 * COPY + 1, 2 * COPY + 1)
    induction, previous = induction_score(weights), previous_score(weights)
    for text in range(2):
        for head in range(3):
            one = [float(weights[text, head, query, query - COPY + 1]) for query in range(COPY + 1, 2 * COPY + 1)]
            assert abs(float(induction[text, head]) - np.mean(one)) < 1e-5
            one = [float(weights[text, head, query, query - 1]) for query in range(2, 2 * COPY + 1)]
            assert abs(float(previous[text, head]) - np.mean(one)) < 1e-5


def test_resampling_keeps_pairs_and_nothing_else() -> None:
    generator = np.random.default_rng(0)
    period = generator.integers(0, 12, 40)
    row = np.tile(period, 500)  # repeats itself all the time
    drawn = resampled(row, 200_000, seed=1, chains=256)
    pairs = np.zeros((2, 12, 12))
    for at, one in enumerate((row, drawn)):
        np.add.at(pairs[at], (one[:-1], one[1:]), 1)
    shares = pairs / pairs.sum((1, 2), keepdims=True)
    assert not (pairs[1][pairs[0] == 0]).sum() > 300  # none but where chains are joined
    assert np.abs(shares[0] - shares[1]).max() < 0.01
    assert (row[40:] == row[:-40]).all()
    assert (drawn[40:] == drawn[:-40]).mean() < 0.3


def test_other_heads_are_disjoint_distinct_and_near() -> None:
    chosen = [(3, 0), (3, 1)]
    drawn = random_heads(chosen, Shape(300, layers=6, heads=4), 100, seed=0)
    assert len({tuple(heads) for heads in drawn}) == 100
    for heads in drawn:
        assert len(set(heads)) == 2
        assert not set(heads) & set(chosen)
        assert all(1 <= layer <= 5 for layer, _ in heads)
    assert top_heads(np.arange(8.0).reshape(2, 2, 2), 1) == [[(1, 1)], [(1, 1)]]


def test_heads_are_chosen_on_texts_that_do_not_score(wide: dict[str, torch.Tensor]) -> None:
    texts = repeated_texts(np.arange(4000) % 400, begin=0)
    held = torch.randint(400, (48, 160), generator=torch.Generator().manual_seed(1))
    found = measured(wide, SHAPE, Texts(texts, held, held), ["natural", "bigrams"], [0, 0], 3)
    mixed = texts.clone()
    mixed[1::2] = texts[1::2].flip(1)  # texts that score, changed: what is chosen stays
    again = measured(wide, SHAPE, Texts(mixed, held, held), ["natural", "bigrams"], [0, 0], 3)
    assert again["chosen"] == found["chosen"]
    assert again["induction"] != found["induction"]


def test_trial_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = tmp_path / "figures.json"
    line = f"pair train {data} --keep {tmp_path / 'kept'} --figures {figures} --seeds 2 --steps 60 --texts 2 "
    line += "--warm 5 --width 32 --layers 4 --heads 4 --hidden 48 --window 160 --draws 2 --last-draws 3"
    monkeypatch.setattr("sys.argv", line.split())
    main()
    read = json.loads(figures.read_text())
    assert [moment["step"] for moment in read["moments"]] == [0, 50, 60]
    losses_of = [moment["loss"] for moment in read["moments"]]
    assert all(last < first - 0.5 for first, last in zip(losses_of[0], losses_of[-1], strict=True))
    assert losses_of[0][0] == pytest.approx(losses_of[0][2], abs=0.2)  # a pair begins with the same weights
    assert read["moments"][0]["induction"][0] == read["moments"][0]["induction"][2]
    out = tmp_path / "page.md"
    monkeypatch.setattr(
        "sys.argv",
        [
            "pair",
            "page",
            str(figures),
            "--out",
            str(out),
            "--picture",
            str(tmp_path / "a.png"),
            "--data",
            str(data),
            "--kept",
            str(tmp_path / "kept"),
        ],
    )
    main()
    told = out.read_text()
    assert "| 60 | " in told
    assert (tmp_path / "a.png").stat().st_size > 5000
    heads = read["moments"][-1]["chosen"][0]
    assert ", ".join(f"{layer + 1}-{head + 1}" for layer, head in heads) in told
    rows = [
        line for line in told.partition("Held against attlas")[2].splitlines() if line.startswith(("| nat", "| big"))
    ]
    assert len(rows) == 4
    assert all(float(row.split("|")[3]) < 1e-4 for row in rows)
    subject = attlas.load(tmp_path / "kept" / "bigrams-1" / "step-00060")
    assert subject.shape(Stream.DECODER) == (4, 4)


def test_prose_alone_is_read(tmp_path: Path) -> None:
    page = "<nav>Home of all the many pages there are.</nav><p>" + "The farmer had apples and gave some away. " * 20
    (tmp_path / "a.html").write_text(page + "</p><pre>for x in y: do something that is long enough to stay.</pre>")
    (tmp_path / "b.html").write_text(page)  # nothing new
    (tmp_path / "c.png").write_bytes(b"\x00" * 1000)
    documents = list(documents_in([tmp_path]))
    assert len(documents) == 1
    assert "Home" not in documents[0]
    assert "do something" not in documents[0]
