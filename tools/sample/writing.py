"""The sample corpus as the bytes of a file: a line of JSON for each paragraph, packed; the same bytes every time."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable
from dataclasses import fields

from attlas.text import Document


def packed(documents: Iterable[Document]) -> bytes:
    """Documents as compressed JSON lines for :mod:`attlas.corpora.sample`; what a document has not is left out.

    >>> gzip.decompress(packed([Document.from_words(["It", "rained"], upos=["PRON", "VERB"])]))
    b'{"text":"It rained","words":[[0,2],[3,9]],"sentences":[[0,2]],"name":"","upos":["PRON","VERB"]}\\n'
    """
    lines = "".join(f"{_written(document)}\n" for document in documents)
    data = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=data, mode="wb", mtime=0) as file:
        file.write(lines.encode())
    return data.getvalue()


def _written(document: Document) -> str:
    values = ((field.name, getattr(document, field.name)) for field in fields(document))
    entry = {name: value for name, value in values if value is not None}
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
