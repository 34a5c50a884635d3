"""Asks a hub for datasets, in a process of its own: the libraries keep the address of the hub that they began with.

What came of every question is printed as a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import twins
from attlas.capture import Subject
from attlas.corpora import read, stream
from attlas.errors import AttlasError
from attlas.studies.survey.call import survey


def drop(count: int) -> None:
    urllib.request.urlopen(f"{os.environ['HF_ENDPOINT']}/drop/{count}").read()


def texts(address: str, place: Any = None, **how: Any) -> list[str]:
    return [
        text.text
        for buffer in stream(address, **how).buffers(place)
        if buffer.corpus
        for text in buffer.corpus.documents
    ]


def tell(name: str, ask: Any) -> None:
    began = time.monotonic()
    try:
        answer = ask()
    except AttlasError as error:
        answer = str(error)
    print(json.dumps({"name": name, "answer": answer, "seconds": time.monotonic() - began}), flush=True)


def dropped_once() -> list[str]:
    drop(1)
    return texts("hf://owner/rain", buffer=40)


def resumed(folder: Path) -> dict[str, Any]:
    """A survey whose connection breaks for good on the way, and is resumed when the hub answers again."""
    subject = Subject.of(twins.model("bert"), twins.tokenizer(False), "tiny")
    in_one_go = survey(subject, stream("hf://owner/rain", buffer=40))
    how: dict[str, Any] = {"out": folder, "checkpoint_every": 0.0}
    said = ""
    corpus = stream("hf://owner/rain", buffer=40)
    assert corpus.beginning
    carried = corpus.reel.read

    class Breaking:
        def __init__(self, place: Any) -> None:
            self.reading = carried(place)

        def __iter__(self) -> Any:
            for record in self.reading:
                if record.number == 90:
                    drop(1000)
                yield record

        def place(self) -> Any:
            return self.reading.place()

    object.__setattr__(corpus.reel, "read", Breaking)
    try:
        survey(subject, corpus, **how)
    except AttlasError as error:
        said = str(error)
    drop(0)
    again = survey(subject, stream("hf://owner/rain", buffer=40), resume=True, **how)
    same = all(in_one_go.tables[name].equals(again.tables[name]) for name in in_one_go.tables)
    return {"said": said, "same": same, "documents": again.manifest.corpus["documents"]}


def main(folder: Path) -> None:
    for address in sys.argv[2:]:
        tell(address, lambda address=address: texts(address))
    tell("labels", lambda: [text.label for text in read("hf://own/cats").documents])
    places = [json.loads(json.dumps(buffer.after)) for buffer in stream("hf://owner/rain", buffer=40).buffers()]
    tell("from a place", lambda: texts("hf://owner/rain", places[1], buffer=40))
    tell("drawn", lambda: len(stream("hf://owner/rain").draw(7, 0).documents))
    tell("dropped once", dropped_once)
    tell("resumed", lambda: resumed(folder))


if __name__ == "__main__":
    time.sleep = lambda seconds: None  # what tries again need not wait here
    main(Path(sys.argv[1]))
