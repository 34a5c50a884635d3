"""Datasets of the hub, against a hub on loopback that has no more than the library asks for."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stub_hub import Hub, serving

from attlas.corpora.naming import Dataset
from attlas.errors import CorpusError

pytest.importorskip("datasets", reason="the package datasets is not installed")

HERE = Path(__file__).resolve().parent
RAIN = [f"It rained for {day} days." for day in range(150)]
CONFIGS = b"---\nconfigs:\n- config_name: a\n  data_files: a/*\n- config_name: b\n  data_files: b/*\n---\n"
ADDRESSES = [
    "hf://owner/rain", "hf://owner/rain/test", "hf://owner/rain?revision=main&text=text", "hf://own/cats",
    "hf://own/two:a", "hf://own/two", "hf://own/two:c", "hf://owner/rain/validation", "hf://owner/rain?text=body",
    "hf://owner/secret", "hf://owner/nothing", "hf://owner/rain?revision=old", "hf://cats",
]  # fmt: skip


def parquet(texts: list[str]) -> bytes:
    to = io.BytesIO()
    pq.write_table(pa.table({"text": texts, "id": list(range(len(texts)))}), to, row_group_size=20)
    return to.getvalue()


def environment(address: str, home: Path) -> dict[str, str]:
    src = str(HERE.parents[1] / "src")
    own = {"HF_ENDPOINT": address, "HF_HOME": str(home), "PYTHONPATH": src, "OMP_NUM_THREADS": "1"}
    return {**os.environ, **own, "HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process that asks the hub was told."""
    cats = "".join(json.dumps({"text": f"We saw {n} cats.", "label": n % 2}) + "\n" for n in range(12)).encode()
    hub = Hub(
        {
            "owner/rain": {
                "data/train-00000-of-00002.parquet": parquet(RAIN[:100]),
                "data/train-00001-of-00002.parquet": parquet(RAIN[100:]),
                "data/test-00000-of-00001.parquet": parquet(RAIN[:5]),
            },
            "own/cats": {"train.jsonl": cats},
            "own/two": {
                "a/train.parquet": parquet(RAIN[:3]),
                "b/train.parquet": parquet(RAIN[:4]),
                "README.md": CONFIGS,
            },
            "owner/secret": {"train.jsonl": cats},
            "cats": {"train.jsonl": cats},
        },
        gated=("owner/secret",),
    )
    home = tmp_path_factory.mktemp("home")
    with serving(hub):
        done = subprocess.run(
            [sys.executable, str(HERE / "ask_hub.py"), str(home / "out"), *ADDRESSES], capture_output=True, text=True,
            env=environment(hub.address, home), timeout=240,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert max(line["seconds"] for line in lines) < 60
    return {line["name"]: line["answer"] for line in lines}


def test_a_dataset_streams(answers: dict[str, Any]) -> None:
    assert answers["hf://owner/rain"] == RAIN
    assert answers["hf://owner/rain?revision=main&text=text"] == RAIN
    assert answers["hf://owner/rain/test"] == RAIN[:5]
    assert answers["hf://own/two:a"] == RAIN[:3]
    assert answers["hf://own/cats"] == [f"We saw {n} cats." for n in range(12)]
    assert answers["labels"] == [str(n % 2) for n in range(12)]
    assert answers["from a place"] == RAIN[80:]
    assert answers["drawn"] == 7


def test_a_dropped_connection_is_survived(answers: dict[str, Any]) -> None:
    assert answers["dropped once"] == RAIN


def test_a_hub_that_falls_silent_is_told_and_the_run_resumed(answers: dict[str, Any]) -> None:
    told = answers["resumed"]
    assert "hf://owner/rain: reading broke off after row 1" in told["said"]
    assert "go on with --resume" in told["said"]
    assert told["same"]
    assert told["documents"] == 150


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("hf://own/two", "it has several configurations; there are a, b"),
        ("hf://own/two:c", "it has no configuration 'c'; there are a, b"),
        ("hf://owner/rain/validation", "it has no split 'validation'; there are train, test"),
        ("hf://owner/rain?text=body", "there is no column 'body' among text, id"),
        ("hf://owner/secret", "this dataset is gated: ask for access on its page"),
        ("hf://owner/nothing", "the hub has no such dataset, or it is private"),
        ("hf://owner/rain?revision=old", "there is no such revision of this dataset"),
        ("hf://cats", "the hub knows no owner of this dataset; write hf://owner/name"),
    ],
)
def test_what_is_not_there_is_one_sentence(address: str, said: str, answers: dict[str, Any]) -> None:
    assert said in answers[address]
    assert "\n" not in answers[address]


def test_without_a_network_the_command_says_so_at_once(tmp_path: Path) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        done = subprocess.run(
            [sys.executable, "-m", "attlas", "survey", "hf://owner/rain", "-o", str(tmp_path / "out")],
            capture_output=True, text=True, env=environment(address, tmp_path), timeout=60,
        )  # fmt: skip
    assert done.returncode != 0
    assert "hf://owner/rain: the hub cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("hf://", "a name is missing"),
        ("hf://a/b/c/d", "'a/b/c/d' is no name of a dataset with a split"),
        ("hf://a/b:c/d/e", "'a/b:c/d/e' is no name of a dataset with a split"),
        ("hf://a/b?column=text", "'column' is none of text, label, revision and split"),
        ("hf://a/b?text=", "nothing is said of 'text'"),
        ("hf://a/b/test?split=train", "the split is 'test' and 'train'"),
        ("hf://a/../b", "'..' is no name"),
    ],
)
def test_an_address_that_is_none_is_refused_by_what_is_wrong(address: str, said: str) -> None:
    with pytest.raises(CorpusError) as refused:
        Dataset.of(address)
    assert said in str(refused.value)
