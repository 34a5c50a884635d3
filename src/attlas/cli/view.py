"""attlas view: the attention of one text as a page."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from attlas.cli.commands import LookLimits, with_shared_options
from attlas.corpora.limits import limited, look_limits
from attlas.errors import CapabilityError, TextError, printable
from attlas.run.parameters import Help, Model
from attlas.run.session import slug
from attlas.run.setting import Opening
from attlas.views.page import listed_kinds


@dataclass(frozen=True)
class Shown:
    """What of the attention is kept, how it is measured, and what stands beside it.

    >>> Shown(measure="norm").joint is None
    True
    """

    layers: Annotated[str | None, Help("Keep only these, counted from 1: 3 or 1,5..7. Long texts need it.")] = None
    heads: Annotated[str | None, Help("Keep only these of each layer, or one such as 6-3.")] = None
    measure: Annotated[str, Help("Measure to open with: weight, norm (of weight times vector) or both.")] = "weight"
    reckoned: Annotated[
        bool,
        Help(
            "Keep queries, keys and sums of rows instead of weights, for texts too long for these; rows are reckoned."
        ),
    ] = False
    rows: Annotated[
        str | None,
        Help(
            "With --reckoned: look only from these pieces, counted from 1, at all that they see: 5000..5200, "
            "last:200, or several."
        ),
    ] = None
    joint: Annotated[
        str | None,
        Help(
            "Show one map for each layer, the norm of what all its heads bring together: of the attention, with the "
            "residual, or normalised."
        ),
    ] = None
    regions: Annotated[
        str | None,
        Help(
            "Words with which parts of the text begin, such as Document:,Question:. Without it, the turns of a chat."
        ),
    ] = None
    survey: Annotated[Path | None, Help("A survey folder of this model, to sort heads by its figures.")] = None
    atlas: Annotated[
        Path | None, Help("An atlas with this model: what it says of a head stands beside the head's number.")
    ] = None
    card: Annotated[
        Path | None, Help("A folder of attlas faith for this model: its card is shown above the picture.")
    ] = None

    def check(self) -> None:
        """Refuse measures that do not exist, and what cannot be had together.

        >>> Shown(joint="attention", heads="3").check()
        Traceback (most recent call last):
            ...
        attlas.errors.CapabilityError: --joint shows all heads of a layer together, so it excludes --heads; ...
        """
        from attlas.capture import Selection
        from attlas.capture.chosen_rows import parse_rows
        from attlas.capture.mixing import check_step
        from attlas.measures.names import check_measure

        if self.measure != "both":
            check_measure(self.measure)
        Selection(layers=self.layers, heads=self.heads)
        if self.rows is not None:
            parse_rows(self.rows)
            if not self.reckoned:
                raise CapabilityError("--rows belongs to --reckoned; give both, or leave it out")
        if self.reckoned:
            for name, given in (("measure", self.measure != "weight"), ("joint", self.joint is not None)):
                if given:
                    raise CapabilityError(
                        f"--reckoned keeps no lengths, so it excludes --{name}; leave one of them out"
                    )
        if self.joint is None:
            return
        check_step(self.joint)
        for name, given in (
            ("measure", self.measure != "weight"),
            ("heads", self.heads is not None),
            ("survey", self.survey is not None),
            ("atlas", self.atlas is not None),
        ):
            if given:
                raise CapabilityError(
                    f"--joint shows all heads of a layer together, so it excludes --{name}; leave one of them out"
                )


@with_shared_options
def command(
    text: Annotated[str | None, Help("The text; - reads it from standard input.", argument=True)] = None,
    second: Annotated[
        str | None, Help("A second text: the other of a pair, or the target of a translation.", flag="--and")
    ] = None,
    file: Annotated[Path | None, Help("Read the text from a file instead.")] = None,
    kind: Annotated[str, Help(f"View to open with: {listed_kinds()}.")] = "head",
    model: Model = None,
    against_model: Annotated[str | None, Help("Compare with another model on the same text.")] = None,
    against: Annotated[str | None, Help("Compare with another text, read by the same model.")] = None,
    generate: Annotated[
        int | None, Help("Let the model write so many pieces. A missing translation is written anyway.", least=1)
    ] = None,
    *,
    shown: Shown,
    out: Annotated[Path | None, Help("The page to write.", short="-o")] = None,
    open_page: Annotated[bool, Help("Open the page in the browser.", flag="--open")] = False,
    limits: LookLimits = None,
    opening: Opening,
) -> None:
    """Show attention in the browser: write one page that needs nothing but itself, with all views in it."""
    from attlas.capture import load
    from attlas.capture.answering import Shelf, check_card, look, reckoned_scene, scene_of
    from attlas.models.bundled import resolve
    from attlas.views import write_page
    from attlas.views.card import read_card
    from attlas.views.figures import read_atlas, read_survey
    from attlas.views.page import check_kind, require_file
    from attlas.views.question import Question, require_seen

    check_kind(kind)
    shown.check()
    allowed = look_limits(limits)
    held = None if shown.card is None else read_card(shown.card)
    known = [read(place) for read, place in ((read_survey, shown.survey), (read_atlas, shown.atlas)) if place]
    read = _text(text, file)
    for given in (read, *(other for other in (second, against) if other is not None)):
        require_seen(given)
    if out is not None:
        require_file(out)
    shelf = Shelf(partial(load, **opening.options))
    if generate is not None and second is not None:
        raise CapabilityError("a second text and --generate exclude each other; leave one of them out")
    first = Question(str(model or resolve(None)[0]), read, second or "", generate or 0)
    questions = [first]
    if against_model is not None or against is not None:
        questions.append(replace(first, model=against_model or first.model, text=against or read))
    for each in known:
        each.require([resolve(first.model)[0]])
    if held is not None:
        check_card(shelf, held, [question.model for question in questions])
    if shown.reckoned and (second is not None or generate is not None or len(questions) > 1):
        raise CapabilityError("--reckoned looks at one text of one model; leave out --and, --generate and --against")
    with limited(allowed):
        captures = (
            []
            if shown.reckoned
            else [
                look(shelf, question, joint=shown.joint, layers=shown.layers, heads=shown.heads)
                for question in questions
            ]
        )
    if shown.measure != "weight":
        for question in questions:
            shelf.get(question.model).require("norms")
    markers = tuple(part for part in (shown.regions or "").split(",") if part.strip())
    scenes = [
        scene_of(shelf, question, capture, joint=shown.joint, markers=markers)
        for question, capture in zip(questions, captures, strict=False)
    ]
    if shown.reckoned:
        scenes = [reckoned_scene(shelf, first, shown.layers, shown.heads, markers, shown.rows)]
    for each in known:
        scenes = [each.beside(scene) if each.is_of(scene.model) else scene for scene in scenes]
    selection = {} if shown.measure == "weight" else {"measure": shown.measure}
    path = write_page(out or Path(f"view-{slug(scenes[0].model)}.html"), scenes, kind=kind, card=held, **selection)
    shapes = "; ".join(
        f"{strand.stream} {len(strand.layers)} "
        + (f"layers, {strand.joint}" if strand.joint else f"x {len(strand.heads)} heads")
        + f", {strand.queries.length} pieces"
        + (f", looked from {len(strand.asked)} of them" if strand.looked else "")
        for strand in scenes[0].strands
    )
    typer.echo(printable(f"{scenes[0].model}: {shapes}"))
    typer.echo(printable(f"page: {path} ({path.stat().st_size / 1e6:.1f} MB)"))
    if open_page:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())


def _text(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise TextError("give either a text or --file, for example: attlas view 'The farmer slept.'")
    if file is not None:
        try:
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TextError(f"{file}: there is no such file") from None
        except UnicodeDecodeError as error:
            raise TextError(f"{file}: byte {error.start} is not UTF-8; convert the file first") from None
        except OSError as error:
            raise TextError(f"{file} cannot be read: {error.strerror}") from None
    assert text is not None
    return sys.stdin.read() if text == "-" else text
