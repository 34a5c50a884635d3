"""Opening models from folders: what works, and the one sentence for everything that does not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

import twins
from attlas.capture import Subject, load
from attlas.capture.pruned import keeping
from attlas.errors import CapabilityError, ModelError, NumberError
from attlas.ids import Site
from attlas.models import adopt, bundled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    twins.model("bert").save_pretrained(tmp_path)
    twins.tokenizer(False).save_pretrained(tmp_path)
    return tmp_path


def one_sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert "Traceback" not in text
    return text


def test_a_folder_opens_and_keeps_its_weights(folder: Path) -> None:
    subject = load(folder)
    assert subject.name == folder.name
    assert subject.fingerprint == adopt("x", twins.model("bert"), None).fingerprint
    assert subject.shape(subject.streams[0]) == (3, 4)


@pytest.mark.parametrize("head", [None, "classification"])
def test_weights_that_a_checkpoint_does_not_hold_are_no_part_of_its_fingerprint(
    head: str | None, tmp_path: Path
) -> None:
    """A pooler or a task head that is drawn at every load leaves the model what it is; any other weight does not."""
    torch.manual_seed(0)
    made = transformers.BertForMaskedLM(twins.config("bert"))
    twins.tokenizer(False).save_pretrained(tmp_path)
    made.save_pretrained(tmp_path)
    loads = [load(tmp_path, task_head=head) for _ in range(2)]
    drawn = next(name for name in loads[0].missing if name.endswith("weight"))
    assert not torch.equal(*(subject.model.state_dict()[drawn] for subject in loads))
    assert loads[0].fingerprint == loads[1].fingerprint
    smaller = [keeping(subject, {Site("encoder", 0): [0, 2]}).fingerprint for subject in loads]
    assert smaller[0] == smaller[1] != loads[0].fingerprint
    with torch.no_grad():
        made.bert.encoder.layer[1].attention.self.query.weight[0, 0] += 1
    made.save_pretrained(tmp_path)
    assert load(tmp_path, task_head=head).fingerprint != loads[0].fingerprint


def test_a_short_name_is_looked_up_in_the_models_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTLAS_MODELS", str(folder.parent))
    assert load(folder.name).name == folder.name


def test_unknown_model() -> None:
    with pytest.raises(ModelError) as error:
        load("nobody/knows-this")
    assert "nobody/knows-this" in one_sentence(error)
    assert "check the spelling" in str(error.value)


def test_a_folder_without_a_tokenizer(folder: Path) -> None:
    for file in folder.iterdir():
        if "token" in file.name:
            file.unlink()
    with pytest.raises(ModelError, match="tokenizer") as error:
        load(folder)
    one_sentence(error)


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no config\.json") as error:
        load(tmp_path)
    one_sentence(error)


def test_a_broken_config(folder: Path) -> None:
    (folder / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"config\.json cannot be read") as error:
        load(folder)
    one_sentence(error)


def test_pickled_weights_are_read_only_when_allowed(folder: Path) -> None:
    torch.save(twins.model("bert").state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="--allow-pickle") as error:
        load(folder)
    one_sentence(error)
    assert load(folder, allow_pickle=True).shape is not None


def test_remote_code_is_run_only_when_allowed(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "strange"
    config["auto_map"] = {"AutoConfig": "strange.StrangeConfig", "AutoModel": "strange.StrangeModel"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="--remote-code") as error:
        load(folder)
    one_sentence(error)


def test_a_slow_tokenizer_is_refused() -> None:
    from transformers import ByT5Tokenizer

    with pytest.raises(CapabilityError, match="slow tokenizer") as error:
        Subject.of(twins.model("bert"), ByT5Tokenizer())
    one_sentence(error)


def test_task_heads_by_name(folder: Path) -> None:
    from attlas.models import HEADS

    for head, expected in {
        "masked-lm": "BertForMaskedLM",
        "classification": "BertForSequenceClassification",
        "tagging": "BertForTokenClassification",
    }.items():
        subject = load(folder, task_head=head)
        assert type(subject.model).__name__ == expected
        assert subject.run(subject.batch(["Hello."])).logits is not None
    with pytest.raises(CapabilityError, match="no seq2seq head"):
        load(folder, task_head="seq2seq")
    with pytest.raises(ModelError, match="choose one of"):
        load(folder, task_head="poetry")
    assert set(HEADS) == {"masked-lm", "causal-lm", "seq2seq", "classification", "tagging"}


def test_nan_in_weights_is_named(folder: Path) -> None:
    made = twins.model("bert")
    with torch.no_grad():
        made.encoder.layer[1].attention.self.query.weight[0, 0] = float("nan")
    before = made.config._attn_implementation
    with pytest.raises(NumberError, match="encoder layer 1") as error:
        Subject.of(made, twins.tokenizer(False))
    one_sentence(error)
    assert made.config._attn_implementation == before, "a model that cannot be taken is given back as it was"


def test_an_unknown_number_format(folder: Path) -> None:
    with pytest.raises(CapabilityError, match="float32"):
        load(folder, dtype="float1")


def test_a_device_that_is_not_there(folder: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(ModelError, match="cannot be used") as error:
        load(folder, device="cuda")
    one_sentence(error)


@pytest.mark.real
def test_the_bundled_model_is_not_padded_or_truncated() -> None:
    if bundled.bundled_folder() is None:
        pytest.skip("the bundled model is not installed (extra demo)")
    subject = load()
    assert subject.name == "all-MiniLM-L6-v2"
    assert subject.pieces.window == 512
    assert len(subject.look("word " * 300).source.pieces) == 302
    assert len(subject.look("word").source.pieces) == 3


def test_half_precision_proves_itself(folder: Path) -> None:
    """In a process of its own: some virtual processors claim bfloat16 products and then cannot do them."""
    code = f"import attlas; s = attlas.load({str(folder)!r}, dtype='bfloat16'); "
    code += "print(s.look('Hello.').model, s.model.dtype)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGILL:
        pytest.skip("this processor cannot do the bfloat16 products that it claims")
    assert done.stdout.split() == [folder.name, "torch.bfloat16"], done.stderr
