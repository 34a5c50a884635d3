"""Real models under the doctor: their answers and times, for ``real.jsonl``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date
from typing import Any

NAMES = ("minilm", "e5-small", "smollm2", "opus-mt-en-fr", "gemma3-270m", "qwen2.5-1.5b")


def examined(names: tuple[str, ...] = NAMES) -> Iterator[dict[str, Any]]:
    """A row for each of the models that is in the models folder."""
    import attlas
    from attlas.capture import examine
    from attlas.models.bundled import models_folder

    for name in names:
        if not (models_folder() / name).is_dir():
            print(f"{name}: not in the models folder, left out", flush=True)
            continue
        started = time.perf_counter()
        subject = attlas.load(name)
        loaded = time.perf_counter()
        findings = examine(subject)
        ended = time.perf_counter()
        streams = ", ".join("{} {}x{}".format(stream.value, *subject.shape(stream)) for stream in subject.streams)
        answers = [{"name": f.name, "passed": f.passed, "error": f.error, "note": f.note} for f in findings]
        failed = [answer["name"] for answer in answers if answer["passed"] is False]
        times = f"opened in {loaded - started:.1f} s, examined in {ended - loaded:.1f} s"
        print(f"{name}: {times}, {failed or 'all yes'}", flush=True)
        yield {
            "model": name, "class": type(subject.model).__name__, "streams": streams, "findings": answers,
            "load_seconds": loaded - started, "doctor_seconds": ended - loaded, "date": str(date.today()),
        }  # fmt: skip
