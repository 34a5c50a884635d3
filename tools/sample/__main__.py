"""Writes the sample corpus into the package."""

from __future__ import annotations

from pathlib import Path

from attlas.corpora import sample
from tools.sample import sample_documents
from tools.sample.writing import packed

if __name__ == "__main__":
    Path(sample.__file__).with_name(sample.FILE).write_bytes(packed(sample_documents()))
