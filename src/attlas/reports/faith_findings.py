"""What the study of attention as explanation found, in sentences computed from its tables.

An explanation is named by what it is, and for attention by the layers and heads it was read from. What others have
published stands beside the sentences, marked as such: most of it is of recurrent models with one attention.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import PurePath
from statistics import median
from typing import Any

from attlas.ids import paper_label
from attlas.reports.ablate_findings import signed
from attlas.reports.findings import Finding, is_number, number
from attlas.reports.tables import share
from attlas.studies.shared.published import TAU_MODEL, TAUS

Row = Mapping[str, Any]
Named = tuple[str, str, str]

LN2 = math.log(2)
LEVEL = 0.01
ATTENTION = ("weight", "norm", "rollout")
REFERENCES = ("gradient", "integrated gradients", "leave-one-out")
BASELINES = ("position", "uniform", "random")
WORDS = {
    "weight": "weights",
    "norm": "norms",
    "rollout": "rollout",
    "gradient": "gradients",
    "integrated gradients": "integrated gradients",
    "leave-one-out": "leave-one-out",
    "random": "random order",
    "own": "own weights",
    "adversary": "adversary’s weights",
}
INTERVENTIONS = {
    "uniform": "uniform",
    "permuted": "shuffled",
    "frozen": "frozen",
    "adversary": "adversary",
    "other model": "other model",
    "evened model": "evened model",
}
PUBLISHED = {
    "agreement": f"{escape(TAU_MODEL)}: with gradients and with leave-one-out "
    + ", ".join(f"{data} {share(tau.gradient)} and {share(tau.left_out)}" for data, tau in TAUS.items()),
    "adversary": f"such attention was found for most texts ({escape(TAU_MODEL)})",
    "needed": """models trained with uniform attention lose nothing that matters on AG News and 20 Newsgroups
    (Wiegreffe &amp; Pinter 2019, as Yang retells it)""",
    "seeds": """how far attention goes from one training to the next is what an adversary must be measured against
    (Wiegreffe &amp; Pinter 2019)""",
}


@dataclass(frozen=True)
class Picture:
    """The tables of a run as rows, and what several parts of its page ask of them.

    >>> Picture({"whole": [{"metric": "accuracy", "score": 0.9}]}).metric
    'accuracy'
    """

    tables: Mapping[str, Sequence[Row]]

    def rows(self, name: str) -> Sequence[Row]:
        """The rows of a table; none where there is no such table.

        >>> Picture({}).rows("erasure")
        ()
        """
        return self.tables.get(name, ())

    @cached_property
    def whole(self) -> Row:
        """The one row of the table ``whole``: the task, its score, and which attention is meant.

        >>> Picture({}).whole
        {}
        """
        return next(iter(self.rows("whole")), {})

    @property
    def metric(self) -> str:
        """The name of the task's score.

        >>> Picture({}).metric
        'score'
        """
        return str(self.whole.get("metric", "score"))

    @cached_property
    def explanations(self) -> list[Named]:
        """All explanations, attention first, then the references, then what chance gives.

        >>> rows = [{"explanation": name, "layers": "", "heads": ""} for name in ("random", "gradient", "weight")]
        >>> [name for name, _, _ in Picture({"agreement": rows}).explanations]
        ['weight', 'gradient', 'random']
        """
        order = [*ATTENTION, *REFERENCES]
        found = dict.fromkeys(named(row) for name in ("agreement", "erasure") for row in self.rows(name))
        last = {"last": 0, "all": 2}

        def place(one: Named) -> tuple[int, int]:
            kind = (
                order.index(one[0])
                if one[0] in order
                else len(order) + list(BASELINES).index(one[0]) * (one[0] in BASELINES)
            )
            return (0 if one[0] in ATTENTION else 1 + kind, last.get(one[1], 1))

        return sorted(found, key=place)

    @cached_property
    def stated(self) -> Named | None:
        """The attention that the card speaks of: that of the row ``whole``, else the first.

        >>> Picture({}).stated is None
        True
        """
        weights = [one for one in self.explanations if one[0] == "weight"]
        asked = tuple(str(self.whole.get(key, "")) for key in ("layers", "heads"))
        return next((one for one in weights if one[1:] == asked), next(iter(weights), None))

    def tau(self, one: Named | str, against: str) -> Row | None:
        """How an explanation agrees with one of the three references.

        >>> row = {"explanation": "gradient", "layers": "", "heads": "", "against": "leave-one-out", "tau": 0.3}
        >>> Picture({"agreement": [row]}).tau("gradient", "leave-one-out")["tau"]
        0.3
        """
        return next(
            (
                row
                for row in self.rows("agreement")
                if row["against"] == against and is_number(row["tau"])
                and (named(row) == one or row["explanation"] == one)
            ),
            None,
        )  # fmt: skip

    def erased(self, one: Named | str) -> Row | None:
        """What erasing by an explanation does.

        >>> Picture({}).erased("random") is None
        True
        """
        rows = self.rows("erasure")
        return next((row for row in rows if named(row) == one or row["explanation"] == one), None)

    def intervention(self, kind: str, layers: str | None = None) -> Row | None:
        """The first row of an intervention at some layers.

        >>> rows = [{"intervention": "uniform", "layers": "all"}]
        >>> Picture({"interventions": rows}).intervention("uniform")["layers"]
        'all'
        """
        return next(
            (
                row
                for row in self.rows("interventions")
                if row["intervention"] == kind and layers in (None, row["layers"])
            ),
            None,
        )


def named(row: Row) -> Named:
    """An explanation with its layers and heads.

    >>> named({"explanation": "weight", "layers": "last", "heads": "mean"})
    ('weight', 'last', 'mean')
    """
    return str(row["explanation"]), str(row["layers"] or ""), str(row["heads"] or "")


def title(one: Named) -> str:
    """An explanation to read; layers and heads count from 1 here, and from 0 in the tables.

    >>> title(("weight", "last", "mean")), title(("norm", "5", "3")), title(("gradient", "", ""))
    ('weights, last layer', 'norms, head 6-4', 'gradients')
    """
    explanation, layers, heads = one
    name = WORDS.get(explanation, explanation)
    if explanation == "rollout" or not layers:
        return name
    if layers.isdigit() and heads.isdigit():
        return f"{name}, head {paper_label(int(layers), int(heads))}"
    return f"{name}, {_layers(layers)}" + (f", head {int(heads) + 1}" if heads.isdigit() else "")


def _layers(layers: str) -> str:
    if layers.isdigit():
        return f"layer {int(layers) + 1}"
    return f"{layers} layer{'' if layers == 'last' else 's'}"


def called(row: Row) -> str:
    """An intervention to read: what was done, where, and with what.

    >>> called({"intervention": "uniform", "layers": "all", "name": ""})
    'uniform, all layers'
    >>> called({"intervention": "other model", "layers": "all", "name": "seed 1"})
    'other model seed 1'
    """
    kind = str(row["intervention"])
    word = INTERVENTIONS.get(kind, kind)
    if row["name"]:
        return f"{word} {PurePath(str(row['name'])).name.removesuffix('.safetensors')}"
    layers = str(row["layers"] or "")
    return f"{word}, {_layers(layers)}" if layers else word


def findings(picture: Picture) -> list[Finding]:
    """Everything there is to say, the main answers first.

    >>> findings(Picture({}))
    []
    """
    makers = (_agreement, _erasing, _permuted, _adversary, _needed, _elsewhere)
    return [found for maker in makers if (found := maker(picture)) is not None]


def _agreement(picture: Picture) -> Finding | None:
    one = picture.stated
    gradient, left_out = (None if one is None else picture.tau(one, name) for name in ("gradient", "leave-one-out"))
    if one is None or gradient is None:
        return None
    text = f"<b>{title(one).capitalize()}</b> rank the words of a text as gradients do with τ = {_tau(gradient)}"
    text += "" if left_out is None else f", and as leave-one-out does with {_tau(left_out)}"
    other = picture.tau("gradient", "leave-one-out")
    text += "" if other is None else f"; gradients and leave-one-out agree with each other by {share(other['tau'])}"
    sure = gradient["significant"]
    text += "." + (
        f" In {100 * sure:.0f} % of texts the agreement with gradients is more than luck (p &lt; .05)."
        if is_number(sure)
        else ""
    )
    rest = [(row["tau"], found) for found in picture.explanations if found[0] in ATTENTION and found != one
            and (row := picture.tau(found, "gradient")) is not None]  # fmt: skip
    if rest:
        best, name = max(rest)
        side = "No reading of attention agrees more" if best <= gradient["tau"] else (
            f"<b>{title(name).capitalize()}</b> agree more with gradients" if name[0] != "rollout" else
            "Rollout agrees more with gradients"
        )  # fmt: skip
        text += f" {side}" + (f" ({share(best)})." if best > gradient["tau"] else ".")
    return Finding(text, PUBLISHED["agreement"])


def _erasing(picture: Picture) -> Finding | None:
    one, chance = picture.stated, picture.erased("random")
    row = None if one is None else picture.erased(one)
    if one is None or row is None or chance is None:
        return None
    known = [found for found in picture.rows("erasure") if is_number(found["comprehensiveness"])]
    ranked = sorted(known, key=lambda found: -found["comprehensiveness"])
    if row not in ranked:
        return None
    verdict = "more than" if (row["over_random_low"] or 0) > 0 else (
        "less than" if (row["over_random_high"] or 0) < 0 else "no more than"
    )  # fmt: skip
    place = 1 + [named(found) for found in ranked].index(one)
    text = (
        f"Erasing the words to which most attention goes ({title(one)}) takes "
        f"<b>{share(row['comprehensiveness'])}</b> from the "
        f"probability of the predicted label: {verdict} erasing random words ({signed(row['over_random'])}, "
        f"{_ends(row, 'over_random', signed)}). By <b>{title(named(ranked[0]))}</b> it is most, "
        f"{share(ranked[0]['comprehensiveness'])}; this attention is number {place} of {len(ranked)}."
    )
    return Finding(text)


def _permuted(picture: Picture) -> Finding | None:
    row = picture.intervention("permuted", "last") or picture.intervention("permuted")
    if row is None:
        return None
    text = (
        "With the weights of the last layer shuffled among the keys, the output of the median instance moves by "
        f"<b>{number(row['tvd_median'])}</b> (TVD; mean {number(row['tvd'])}), and {100 * row['flipped']:.0f} % of "
        "labels change."
    )
    if is_number(row["change"]):
        text += f" {picture.metric[:1].upper()}{picture.metric[1:]} {_changed(row)}."
    everywhere = picture.intervention("permuted", "all")
    if everywhere is not None and everywhere is not row:
        text += f" Shuffled in all layers, the median is {number(everywhere['tvd_median'])}"
        text += f", and {picture.metric} {_changed(everywhere)}." if is_number(everywhere["change"]) else "."
    return Finding(text)


def _adversary(picture: Picture) -> Finding | None:
    found = [row for row in picture.rows("instances") if is_number(row.get("adversary_jsd"))]
    if not found:
        return None
    middle = median(row["adversary_jsd"] for row in found)
    half = sum(row["adversary_jsd"] >= LN2 / 2 for row in found)
    outside = sum(row.get("adversary_within") is False for row in found)
    bound = max((row["adversary_tvd"] for row in found if row.get("adversary_within") is not False), default=0.0)
    text = (
        f"Attention was found that gives every instance the same output to within {number(bound)} (TVD) and "
        f"diverges from the model’s own by <b>{share(middle)}</b> nats in the median, "
        f"<b>{100 * middle / LN2:.0f} %</b> of ln 2, which is the most there is; for {half} of {len(found)} "
        "instances it is at least half of that."
    )
    text += f" In {outside} instances the bound was not kept." if outside else ""
    return Finding(text, PUBLISHED["adversary"])


def _needed(picture: Picture) -> Finding | None:
    evened, uniform = picture.intervention("evened model"), picture.intervention("uniform", "all")
    last = picture.intervention("uniform", "last")
    parts = []
    if last is not None:
        parts.append(f"with uniform weights in the last layer {picture.metric} {_changed(last)}")
    if uniform is not None:
        parts.append(f"with uniform weights everywhere it {_changed(uniform)}")
    text = f"W{'; '.join(parts)[1:]}." if parts else ""
    if evened is not None:
        told = next((str(row["says"]) for row in picture.rows("card") if row["figure"] == "uniform"), "")
        needs = (
            f"<b>{escape(told)}</b>" if told else "compare that with what always giving the most frequent label has"
        )
        text += (
            f" A model that was trained with uniform attention has {picture.metric} <b>{number(evened['score'])}</b> "
        )
        text += f"({_changed(evened)}): {needs}."
    elif parts:
        text += " Whether the task needs attention at all would take a model that was trained with uniform attention."
    return Finding(text.strip(), " ".join(PUBLISHED["needed"].split())) if text else None


def _elsewhere(picture: Picture) -> Finding | None:
    others = [row for row in picture.rows("interventions") if row["intervention"] == "other model"]
    adversary = picture.intervention("adversary")
    if not others:
        return None
    jsd, tvd = (sum(row[key] for row in others) / len(others) for key in ("jsd", "tvd"))
    many = f"{len(others)} other models" if len(others) > 1 else f"The other model ({escape(str(others[0]['name']))})"
    text = (
        f"{many} of the same task {'have' if len(others) > 1 else 'has'} attention that diverges by "
        f"{number(jsd)} nats and output that moves by {number(tvd)} (TVD)"
    )
    if adversary is not None and jsd > 0:
        text += f"; the adversaries' attention is {adversary['jsd'] / jsd:.1f} times as far"
    return Finding(text + ".", " ".join(PUBLISHED["seeds"].split()))


def _changed(row: Row) -> str:
    """What happened to the score, in a clause."""
    change = row["change"]
    if not is_number(change):
        return "is not known"
    if change == 0:
        return "stays as it is"
    luck = "" if _sure(row) else f", p {share(row['p'])}"
    return f"changes by {signed(change)} ({_ends(row, 'change', signed)}{luck})"


def _sure(row: Row) -> bool:
    return is_number(row["p"]) and row["p"] < LEVEL


def _tau(row: Row) -> str:
    return f"<b>{share(row['tau'])}</b> ({share(row['low'])} to {share(row['high'])})"


def _ends(row: Row, key: str, write: Any) -> str:
    return f"{write(row[f'{key}_low'])} to {write(row[f'{key}_high'])}"
