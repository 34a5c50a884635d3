"""Invented results of the four commands on key words, with numbers that are easy to check in the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attlas.store import Manifest, Result
from attlas.text import Document

TEXT = "Solar cells age.\nA solar cell ages in the sun, and no <b>cell</b> does not."
WEIGHTS = {"solar": 3.0, "cell": 4.0, "cells": 4.0, "age": 1.0, "sun": 1.5}


def keywords_result(texts: Sequence[str] = (TEXT,), *, name: str = "tiny", repeat: int = 1) -> Result:
    """Weighed texts: "solar cell" stands twice, "sun" once."""
    documents, words, phrases = [], [], []
    for index, text in enumerate(texts):
        document = Document.from_text(" ".join([text] * repeat))
        count = len(document.words)
        documents.append(
            {"document": index, "name": f"text<{index}>", "text": document.text, "words": count, "windows": 1,
             "seconds": 0.01}
        )  # fmt: skip
        for at, (start, stop) in enumerate(document.words):
            weight = WEIGHTS.get(document.word(at).lower(), 0.2)
            words.append(
                {"document": index, "word": at, "spelled": document.word(at), "weight": weight, "start": start,
                 "stop": stop}
            )  # fmt: skip
        starts = [at for at in range(count) if document.word(at).lower() == "solar"]
        suns = [at for at in range(count) if document.word(at) == "sun"]
        for rank, (phrase, score, places, size) in enumerate(
            (("Solar cells", 14.0, starts, 2), ("sun", 1.5, suns, 1)), start=1
        ):
            phrases.append(
                {"document": index, "rank": rank, "phrase": phrase, "score": score, "places": len(places),
                 "starts": places, "stops": [at + size for at in places]}
            )  # fmt: skip
    options = {"measure": "norm", "over": "mean", "heads": [[5, 9], [5, 2]], "why": "chosen by a study"}
    tables = {"documents": columns(documents), "words": columns(words), "phrases": columns(phrases)}
    return Result(manifest("keywords", name, options), tables)


def manifest(study: str, name: str, options: Mapping[str, Any]) -> Manifest:
    return Manifest(
        study, {"study": study, "options": dict(options)}, {"attlas": "0"}, {"name": name, "fingerprint": "f" * 16},
        {"name": "abstracts", "documents": 40, "sha256": "0" * 64}, 0, {}, "2025-01-02T00:00:00+00:00", 3.0,
    )  # fmt: skip


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def keywords_study_result(*, layers: int = 3, heads: int = 4, name: str = "tiny", twin: bool = True) -> Result:
    """Heads whose AUC rises from the first to the last; the last three of the kind "norm, mean" are chosen."""
    kinds = [(measure, over) for measure in ("weight", "norm") for over in ("mean", "max")]
    count = layers * heads
    places = [{"stream": "encoder", "layer": at // heads, "head": at % heads} for at in range(count)]
    rows = []
    for number, (measure, over) in enumerate(kinds):
        best = (measure, over) == ("norm", "mean")
        for at, place in enumerate(places):
            auc = 0.4 + 0.45 * at / (count - 1) - (0 if best else 0.02 * (number + 1))
            relative = 0.02 * (auc - 0.5)
            rows.append(
                {**place, "measure": measure, "over": over, "key": 0.01 + relative, "other": 0.01,
                 "relative": relative, "low": relative - 0.001, "high": relative + 0.001, "p": 0.0001,
                 "p_corrected": 0.0005 if abs(auc - 0.5) > 0.1 else 0.4, "cross_entropy": 5 - auc, "saved": auc - 0.5,
                 "saved_low": auc - 0.55, "saved_high": auc - 0.45, "auc": auc, "auc_low": auc - 0.03,
                 "auc_high": auc + 0.03, "choosing_auc": auc + 0.01, "choosing_relative": relative,
                 "choosing_saved": auc - 0.49, "twin_auc": 0.55 if twin else None, "chosen": best and at >= count - 3,
                 "n": 40}
            )  # fmt: skip
    choice = [
        {
            **places[count - 1 - rank],
            "measure": "norm",
            "over": "mean",
            "rank": rank,
            "choosing_auc": 0.86 - rank / 20,
        }
        for rank in range(3)
    ]
    steps = [step for step in (1, 2, 3, 5, 8) if step < count] + [count]
    regression = [
        {"part": part, "heads": step, "f1": f1, "low": f1 - 0.02, "high": f1 + 0.02, "precision": f1, "recall": f1,
         "auc": f1 + 0.2, "c": 0.1, "n": 40}
        for part, lift in (("cross-validated", 0.01), ("scored on", 0.0))
        for step in steps
        for f1 in [0.6 + lift - 0.1 / step]
    ]  # fmt: skip
    weights = [
        {**place, "weight": weight, "least": weight - 0.1, "most": weight + 0.1, "order": at + 1}
        for at, place in enumerate(places)
        for weight in [0.5 - at / count]
    ]
    mix = [{**place, "share": 2 * (at + 1) / (count * (count + 1))} for at, place in enumerate(places)]
    guesses = {
        "all heads": 0.6, "scalar mix of all heads": 0.55, "best head": 0.5, "length, place and frequency": 0.45,
        "all heads of the untrained twin": 0.42, "every word": 0.3,
    }  # fmt: skip
    predictors = [
        {"predictor": guess, "f1": f1, "low": f1 - 0.02, "high": f1 + 0.02, "precision": f1, "recall": f1,
         "auc": f1 + 0.2, "auc_low": f1 + 0.18, "auc_high": f1 + 0.22, "n": 40}
        for guess, f1 in guesses.items()
        if twin or "twin" not in guess
    ]  # fmt: skip
    sets = [("3 best heads", 3, 0.39, True), ("best head", 1, 0.33, False)]
    sets.append(("all heads of the last layer", heads, 0.38, False))
    phrases = [
        {"part": part, "selection": selection, "measure": "norm", "over": "mean", "heads": size, "chosen": chosen,
         "n": 40} | _score(at, gold, f1 + (0.02 if part == "chosen on" else 0))
        for part in ("chosen on", "scored on")
        for selection, size, f1, chosen in sets
        for at in ("5", "10", "M")
        for gold in ("all", "present")
    ]  # fmt: skip
    whole = [
        {"part": part, "documents": 40, "words": 5000, "key_words": 1200, "share": 0.24, "given": 400, "present": 310,
         "windows": 41, "language": "english", "kind": "norm, mean"}
        for part in ("chosen on", "scored on")
    ]  # fmt: skip
    tables = {
        "heads": rows, "choice": choice, "phrases": phrases, "regression": regression, "regression_weights": weights,
        "mix": mix, "predictors": predictors, "whole": whole,
    }  # fmt: skip
    options = {"folds": 5, "language": "english"}
    made = manifest("keywords-study", name, options)
    return Result(made, {table: columns(of) for table, of in tables.items()})


def _score(at: str, gold: str, f1: float) -> dict[str, Any]:
    lift = {"5": -0.05, "10": 0.0, "M": 0.01}[at] + (0.06 if gold == "present" else 0)
    value = f1 + lift
    return {
        "at": at, "gold": gold, "f1": value, "low": value - 0.02, "high": value + 0.02, "precision": value,
        "recall": value, "macro": value - 0.01, "macro_low": value - 0.03, "macro_high": value + 0.01,
    }  # fmt: skip


def keywords_compare_result(*, name: str = "tiny", better: bool = True) -> Result:
    """Eight methods; the chosen heads' attention leads, or TF-IDF does."""
    methods = [
        ("attention", "chosen heads", "model", 0.38), ("attention", "all heads of the last layer", "model", 0.36),
        ("tf-idf", "our phrases", "corpus", 0.35 if better else 0.44), ("textrank", "", "nothing", 0.30),
        ("keybert", "", "model", 0.25), ("yake", "", "nothing", 0.24), ("random", "", "nothing", 0.10),
        ("first", "attention's candidates", "model", 0.31),
    ]  # fmt: skip
    rows = []
    for method, form, needs, f1 in methods:
        for gold in ("all", "present"):
            for at in ("5", "10", "M"):
                first = (method, form) == methods[0][:2]
                change = None if first or at == "M" else f1 - methods[0][3]
                sure = change is not None and abs(change) > 0.03
                rows.append(
                    {"method": method, "form": form, "needs": needs} | _score(at, gold, f1)
                    | {"change": change, "change_low": None if change is None else change - 0.02,
                       "change_high": None if change is None else change + 0.02,
                       "change_p": None if change is None else 0.0001 if sure else 0.2,
                       "change_p_corrected": None if change is None else 0.0005 if sure else 0.4,
                       "seconds": 0.4 if method == "attention" else 2.0 if method == "keybert" else 0.1, "n": 40}
                )  # fmt: skip
    examples = [
        {"document": document, "name": f"<{document}>", "text": TEXT, "method": method, "form": "",
         "rank": rank,
         "phrase": phrase, "right": phrase == "solar cell"}
        for document in range(2)
        for method in ("attention", "yake")
        for rank, phrase in enumerate(("solar cell", "<i>sun</i>", "age"), start=1)
    ]  # fmt: skip
    whole = [
        {"documents": 40, "words": 5000, "given": 400, "present": 310, "choice": "10 heads, chosen by a study",
         "heads": 10, "names": "6-1, 6-2", "measure": "norm", "over": "mean", "language": "english", "corpus": 40,
         "single": 0.7, "longest": 5}
    ]  # fmt: skip
    lengths = [
        {"method": method, "form": form, "length": length, "recall": f1 / (2 if length == "single" else 1),
         "low": None, "high": None, "shown": 0.5, "n": 200}
        for method, form, _, f1 in methods
        for length in ("single", "several")
    ]  # fmt: skip
    given = [
        {"document": document, "phrase": phrase, "present": phrase == "solar cell"}
        for document in range(2)
        for phrase in ("solar cell", "photovoltaics")
    ]
    tables = {"methods": rows, "lengths": lengths, "examples": examples, "given": given, "whole": whole}
    made = manifest("keywords-compare", name, {"methods": None})
    return Result(made, {table: columns(of) for table, of in tables.items()})


def keywords_tune_result(*, name: str = "tiny", stages: Sequence[str] = ("tuned", "pruned", "retuned")) -> Result:
    """Three layers of four heads; the pruned tagger is better by a point, and without 3 of 12 heads."""
    level = {"tuned": 0.40, "pruned": 0.41, "retuned": 0.42}
    published = {"tuned": 0.36, "pruned": 0.37}
    units = [("phrases", at, gold) for at in ("5", "10", "M") for gold in ("all", "present")]
    scores = []
    for stage in stages:
        for unit, at, gold in [*units, ("spans", "", ""), ("words", "", "")]:
            row = _score(at or "M", gold or "all", level[stage] + (0 if at else 0.2))
            told = published.get(stage) if (unit, at, gold) == ("phrases", "M", "all") else None
            scores.append({"stage": stage, "unit": unit, **row, "at": at, "gold": gold, "published": told, "n": 40})
    ablation = []
    for at in range(12):
        change = 0.01 * (at - 3)
        ablation.append(
            {"stream": "encoder", "layer": at // 4, "head": at % 4, "score": 0.5 - change, "change": -change,
             "low": -change - 0.01, "high": -change + 0.01, "p": 0.001, "loss": 1 + change,
             "p_corrected": 0.001 if abs(change) > 0.02 else 0.5,
             "loss_change": change, "loss_change_low": change - 0.01, "loss_change_high": change + 0.01,
             "loss_p": 0.001, "loss_p_corrected": 0.001 if abs(change) > 0.02 else 0.5, "importance": 0.1 * at,
             "n": 40, "rank": 12 - at}
        )  # fmt: skip
    falls = {"worst first": 0.1, "best first": 0.5, "importance": 0.2, "random": 0.3}
    curve = [
        {"order": order, "draw": draw, "removed": 3 * step, "share": step / 4, "score": score, "low": score - 0.02,
         "high": score + 0.02, "loss": 1 - score, "n": 40}
        for order, fall in falls.items()
        for draw in range(3 if order == "random" else 1)
        for step in range(5)
        for score in [0.5 - fall * step / 4 - 0.01 * draw * (step > 0)]
    ]  # fmt: skip
    training = [
        {"stage": "tuned", "epoch": epoch, "loss": 1 / epoch, "validation_loss": 1.1 / epoch,
         "score": 0.5 - 0.2 / epoch, "best": epoch == 4}
        for epoch in range(1, 5)
    ]  # fmt: skip
    heads = {"tuned": 12, "pruned": 9, "retuned": 9}
    whole = [
        {"stage": stage, "parameters": 1_000_000 * heads[stage], "heads": heads[stage], "kept": heads[stage] / 12,
         "metric": "chunk F1"}
        for stage in stages
    ]  # fmt: skip
    choosing = [
        {"order": "worst first", "removed": 3 * step, "share": step / 4, "score": 0.5 - 0.1 * (step > 1),
         "low": 0.4, "high": 0.6, "loss": 1.0, "chosen": step == 1}
        for step in range(5)
    ]  # fmt: skip
    tables = {
        "scores": scores, "ablation": ablation, "curve": curve, "training": training, "whole": whole,
        "choosing": choosing,
    }  # fmt: skip
    made = manifest("keywords-tune", name, {"task": "tagging:keyphrases", "keep": None})
    return Result(made, {table: columns(of) for table, of in tables.items()})
