"""Models of images, sound, series of numbers and the like: a sentence about what they read, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers

from attlas.capture import Subject, load
from attlas.errors import CapabilityError
from tools.sweep.building import build
from tools.sweep.families import Family
from tools.sweep.questions import tokenizer

IMAGES = (
    "beit", "convnext", "deit", "dinov2", "dinov3_vit", "dpt", "efficientnet", "ijepa", "levit", "mask2former",
    "resnet", "sam", "segformer", "swin", "swinv2", "timesformer", "videomae", "vit", "vitdet", "yolos",
)  # fmt: skip
SOUND = (
    "audio-spectrogram-transformer", "encodec", "hubert", "sew", "speecht5", "unispeech", "wav2vec2", "wavlm",
    "whisper",
)  # fmt: skip
SERIES = ("autoformer", "informer", "patchtsmixer", "patchtst", "time_series_transformer", "timesfm")
READING = {**dict.fromkeys(IMAGES, "images"), **dict.fromkeys(SOUND, "sound"), **dict.fromkeys(SERIES, "series of")}
BESIDE_TEXT = {
    "clip": ("CLIPModel", "it wants images, too: pixel_values"),
    "siglip": ("SiglipModel", "it wants images, too: pixel_values"),
    "vilt": ("ViltModel", "it wants images, too: pixel_values"),
    "clap": ("ClapModel", "it wants sound, too: input_features"),
    "bark": ("BarkModel", "it is several models"),
}


@pytest.mark.parametrize("kind", READING)
def test_a_model_of_other_inputs_is_refused_before_its_weights_are_read(kind: str, tmp_path: Path) -> None:
    needed = {"prediction_length": 4} if kind in ("autoformer", "informer", "time_series_transformer") else {}
    transformers.AutoConfig.for_model(kind, **needed).save_pretrained(tmp_path / kind)
    with pytest.raises(CapabilityError, match=rf"^{kind} \(\w+\) reads {READING[kind]}.* and no text; "):
        load(tmp_path / kind)


@pytest.mark.parametrize("kind", BESIDE_TEXT)
def test_a_model_that_wants_more_than_text_says_what(kind: str) -> None:
    model, reason = BESIDE_TEXT[kind]
    with pytest.raises(CapabilityError, match=rf"^{kind} \({model}\) cannot read a text by itself \({reason}"):
        Subject.of(build(Family(kind, model)), tokenizer(), kind)


def test_other_names_of_inputs_are_said(tmp_path: Path) -> None:
    transformers.PerceiverConfig().save_pretrained(tmp_path)
    with pytest.raises(CapabilityError, match="takes inputs instead of input_ids"):
        load(tmp_path)
