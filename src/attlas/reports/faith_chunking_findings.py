"""What the chunking study found, in sentences computed from its tables, with what Yang published beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from statistics import fmean, median
from typing import Any

from attlas.reports.ablate_findings import signed
from attlas.reports.faith_findings import LN2
from attlas.reports.findings import Finding, is_number, number
from attlas.reports.tables import ends, share
from attlas.studies.shared.published import CHUNKING_BEND, CHUNKING_MODEL

Row = Mapping[str, Any]

FORMS = ("attention kept", "none left")
_GUIDES = ("original", "adversary", "uniform", "random")
POINT = 0.01  # of F1: what an adversary may lose and still count as tagging the same
CLEAR = 0.5  # a second piece that saves less than half of the squared error is no bend to speak of
PUBLISHED = {
    "f1": f"original .90, λ = .2 .90, λ = 3 .75 ({CHUNKING_MODEL})",
    "bend": f"the loss turns up at KL {share(CHUNKING_BEND)}, read off the curve ({CHUNKING_MODEL})",
    "guided": f"guided by the original .90, by the adversary of λ = .2 .90, of λ = 3 .89, attention kept "
    f"({CHUNKING_MODEL})",
    "ranks": "asked for as further work by Yang; no figures",
}


@dataclass(frozen=True)
class Picture:
    """The tables of a run as rows, and what several parts of its page ask of them.

    >>> Picture({"summary": [{"kind": "adversary", "weight": 3.0}, {"kind": "adversary", "weight": 0.2}]}).weights
    [0.2, 3.0]
    """

    tables: Mapping[str, Sequence[Row]]

    def rows(self, name: str, **wanted: object) -> list[Row]:
        """The rows of a table whose columns have the wanted values.

        >>> Picture({"seeds": [{"kind": "seed"}, {"kind": "uniform"}]}).rows("seeds", kind="uniform")
        [{'kind': 'uniform'}]
        """
        return [
            row for row in self.tables.get(name, ()) if all(row.get(key) == value for key, value in wanted.items())
        ]

    def one(self, name: str, **wanted: object) -> Row | None:
        """The first of such rows.

        >>> Picture({}).one("bend") is None
        True
        """
        return next(iter(self.rows(name, **wanted)), None)

    @cached_property
    def original(self) -> Row | None:
        """The original models together.

        >>> Picture({}).original is None
        True
        """
        return self.one("summary", kind="original")

    @cached_property
    def adversaries(self) -> list[Row]:
        """The adversaries, one row for each weight, by weight.

        >>> Picture({}).adversaries
        []
        """
        return sorted(self.rows("summary", kind="adversary"), key=lambda row: float(row["weight"]))

    @property
    def weights(self) -> list[float]:
        """The weights lambda that were tried."""
        return [float(row["weight"]) for row in self.adversaries]

    @cached_property
    def guides(self) -> list[str]:
        """The attentions that guide: the original's, the adversaries' by weight, uniform, random.

        >>> names = ("uniform", "adversary 3", "adversary 0.2", "original")
        >>> Picture({"summary": [{"kind": "guided", "attention": name} for name in names]}).guides
        ['original', 'adversary 0.2', 'adversary 3', 'uniform']
        """
        found = dict.fromkeys(str(row["attention"]) for row in self.rows("summary", kind="guided"))

        def place(name: str) -> tuple[int, float]:
            kind, _, weight = name.partition(" ")
            known = _GUIDES.index(kind) if kind in _GUIDES else len(_GUIDES)
            return known, float(weight) if kind == "adversary" and weight else 0.0

        return sorted(found, key=place)

    def guided(self, attention: str, form: str) -> Row | None:
        """The guided models of one kind of attention in one form.

        >>> Picture({}).guided("original", "none left") is None
        True
        """
        return self.one("summary", kind="guided", attention=attention, form=form)

    def interval(self, row: Row) -> tuple[float | None, float | None]:
        """The interval of F1: over seeds, or where there is one, over sentences of that model.

        >>> Picture({}).interval({"kind": "original", "f1_low": 0.89, "f1_high": 0.91})
        (0.89, 0.91)
        """
        if not is_number(row["f1_low"]):
            keys = ("kind", "attention", "form", "weight")
            alone = self.one("models", **{key: row.get(key) for key in keys})
            row = alone if alone is not None else row
        return row["f1_low"], row["f1_high"]


def called(row: Row) -> str:
    """A model of the study, to read.

    >>> called({"kind": "adversary", "weight": 0.2}), called({"kind": "original"})
    ('adversary, λ = .2', 'original')
    >>> called({"kind": "guided", "attention": "adversary 3", "form": "none left"})
    'guided by adversary λ = 3, none left'
    """
    if row["kind"] == "adversary":
        return f"adversary, λ = {lam(row['weight'])}"
    if row["kind"] == "guided":
        return f"guided by {guide(row['attention'])}" + (f", {row['form']}" if row["form"] else "")
    return str(row["kind"])


def guide(attention: str) -> str:
    """An attention that guides, to read.

    >>> guide("adversary 0.2"), guide("uniform")
    ('adversary λ = .2', 'uniform')
    """
    kind, _, weight = attention.partition(" ")
    try:
        return f"{kind} λ = {lam(float(weight))}"
    except ValueError:
        return attention


def lam(weight: float) -> str:
    """A weight lambda as the paper writes it.

    >>> lam(0.2), lam(3.0), lam(1.5)
    ('.2', '3', '1.5')
    """
    text = f"{weight:g}"
    return text[1:] if text.startswith("0.") else text


def findings(picture: Picture) -> list[Finding]:
    """Everything there is to say.

    >>> findings(Picture({}))
    []
    """
    makers = (_scores, _bend, _seeds, _instances, _guided, _ranks)
    return [found for maker in makers if (found := maker(picture)) is not None]


def _scores(picture: Picture) -> Finding | None:
    original, adversaries = picture.original, picture.adversaries
    if original is None or not adversaries:
        return None
    kept = list(takewhile(lambda row: row["f1"] >= original["f1"] - POINT, adversaries))
    last = adversaries[-1]
    text = f"The original tagger has F1 <b>{number(original['f1'])}</b>{_interval(picture, original)}. "
    if kept:
        text += (
            f"Adversaries stay within a point of it up to λ = <b>{lam(kept[-1]['weight'])}</b> "
            f"({number(kept[-1]['f1'])}, attention {number(kept[-1]['kl'])} nats off in KL)"
        )
    else:
        first = adversaries[0]
        text += f"No adversary stays within a point of it (λ = {lam(first['weight'])}: {number(first['f1'])})"
    if last not in kept:
        text += (
            f"; at λ = {lam(last['weight'])} it is <b>{number(last['f1'])}</b>{_interval(picture, last)}, with "
            f"attention {number(last['kl'])} nats off"
        )
    return Finding(f"{text}.", PUBLISHED["f1"])


def _bend(picture: Picture) -> Finding | None:
    row = picture.one("bend", attention="kl", prediction="nll") or picture.one("bend")
    if row is None or not is_number(row["at"]):
        return None
    names = {"kl": "KL", "jsd": "JSD", "nll": "loss against the original’s predictions", "tvd": "TVD of predictions"}
    between = ends(number(row["at_low"]), number(row["at_high"])) if is_number(row["at_low"]) else ""
    text = (
        f"The {names[row['prediction']]} changes by {signed(row['slope_before'])} for each nat of "
        f"{names[row['attention']]} at first and by {signed(row['slope_after'])} later; the two lines meet at "
        f"{names[row['attention']]} <b>{number(row['at'])}</b>{f' ({between} over seeds)' if between else ''}, and "
        f"the second saves {100 * row['gain']:.0f} % of the squared error of a single line"
    )
    if row["gain"] < CLEAR:
        return Finding(f"{text}: <b>hardly a bend</b>, the curve is as good as straight.", PUBLISHED["bend"])
    if row["slope_after"] <= row["slope_before"]:
        return Finding(f"{text}. The curve gets <b>flatter</b> there, not steeper.", PUBLISHED["bend"])
    before = [found for found in picture.adversaries if found[row["attention"]] < row["at"]]
    text += f". Up to λ = {lam(before[-1]['weight'])} adversaries lie before it" if before else ""
    return Finding(f"{text}.", PUBLISHED["bend"])


def _seeds(picture: Picture) -> Finding | None:
    seeds, uniform = picture.rows("seeds", kind="seed"), picture.one("seeds", kind="uniform")
    if not seeds:
        return None
    jsd, tvd = (fmean(row[key] for row in seeds) for key in ("jsd", "tvd"))
    text = (
        f"Two trainings of the original, alike but for their seed, differ by <b>{number(jsd)}</b> (JSD) "
        f"in attention and {number(tvd)} (TVD) in predictions. "
    )
    beyond = [row for row in picture.adversaries if row["jsd"] > jsd and row["tvd"] <= tvd]
    if beyond:
        text += (
            f"The adversary of λ = {lam(beyond[-1]['weight'])} has attention farther off "
            f"({number(beyond[-1]['jsd'])}) and predictions no farther "
            f"({number(beyond[-1]['tvd'])}): attention other than the seeds’ does as well"
        )
    else:
        text += "No adversary goes farther in attention without going farther in its predictions, too"
    text += "." if uniform is None else (
        f"; a model with uniform attention has F1 {number(uniform['f1'])} and lies at JSD {number(uniform['jsd'])}, "
        f"TVD {number(uniform['tvd'])}."
    )  # fmt: skip
    return Finding(text)


def _instances(picture: Picture) -> Finding | None:
    rows = [row for row in picture.rows("per_instance") if is_number(row["jsd"])]
    if not rows:
        return None
    middle, bound = median(row["jsd"] for row in rows), rows[0]["bound"]
    text = (
        f"Attention that is free for one word at a time gets much farther: <b>{number(middle)}</b> in the "
        f"median ({100 * middle / LN2:.0f} % of ln 2) "
        f"with the output within {number(bound)}, on {len(rows):,} words"
    )
    near = [row for row in picture.adversaries if row["tvd"] <= bound]
    text += (
        f"; a trained adversary within the same bound gets to {number(near[-1]['jsd'])}."
        if near
        else "; no trained adversary stays within that bound."
    )
    return Finding(text)


def _guided(picture: Picture) -> Finding | None:
    parts = []
    for form in FORMS:
        known = {name: row["f1"] for name in picture.guides if (row := picture.guided(name, form)) is not None}
        if "original" not in known:
            continue
        rest = [
            f"{guide(name)} {number(value)} ({signed(value - known['original'])})"
            for name, value in known.items()
            if name != "original"
        ]
        label = {"attention kept": "with the parameters of attention kept", "none left": "with none left"}[form]
        others = f" (other guides: {'; '.join(rest)})" if rest else ""
        parts.append(f"<b>{number(known['original'])}</b> {label}{others}")
    if not parts:
        return None
    return Finding(f"Guided by the original’s attention, F1 is {', and '.join(parts)}.", PUBLISHED["guided"])


def _ranks(picture: Picture) -> Finding | None:
    sides = {side: picture.rows("ranks", side=side) for side in ("before", "after")}
    if not any(sides.values()):
        return None
    said = [
        f"{side} the bend they agree with the original’s by τ = "
        f"<b>{share(fmean(row['kendall'] for row in rows))}</b>, and "
        f"{100 * fmean(row['first'] for row in rows):.0f} % of rows have the same most attended word"
        for side, rows in sides.items()
        if rows
    ]
    told = "; ".join(said)
    return Finding(
        f"Do adversaries reorder the words, or only stretch the weights? {told[:1].upper()}{told[1:]}.",
        PUBLISHED["ranks"],
    )


def _interval(picture: Picture, row: Row) -> str:
    low, high = picture.interval(row)
    return f" ({ends(number(low), number(high))})" if is_number(low) else ""
