"""attlas serve: type a text, pick a model, and see its attention in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attlas.cli.commands import LookLimits, with_shared_options
from attlas.run.parameters import Help
from attlas.run.setting import Opening

if TYPE_CHECKING:
    from attlas.views.question import Question
    from attlas.views.scene import Scene


@with_shared_options
def command(
    model: Annotated[
        list[str] | None, Help("A model to offer, the first as the default; can be given several times.", short="-m")
    ] = None,
    models: Annotated[
        list[str] | None,
        Help(
            "A model, or a folder of models, that may be opened beside those that are offered; can be given several "
            "times. Without it, those of the cache may be."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="A port; 0 takes any that is free.")] = 0,
    card: Annotated[
        Path | None, Help("A folder of attlas faith: its card is shown above the pictures of its model.")
    ] = None,
    survey: Annotated[
        Path | None, Help("A folder of attlas survey: heads of its model are sorted by its figures, and told of.")
    ] = None,
    atlas: Annotated[
        Path | None, Help("An atlas: what it says of a head of its models stands beside the head's number.")
    ] = None,
    open: Annotated[bool, Help("Open the page in the browser.")] = False,
    *,
    limits: LookLimits = None,
    opening: Opening,
) -> None:
    """Look at the attention of texts in the browser, at an address that only this machine and you can open.

    Ends with Ctrl-C.
    """
    from contextlib import suppress
    from functools import partial

    from attlas.capture import load
    from attlas.capture.answering import Shelf, check_card, look, room_told, scene_of
    from attlas.cli.allowed import Allowed
    from attlas.corpora.limits import limited, look_limits
    from attlas.models import bundled
    from attlas.views.card import read_card
    from attlas.views.figures import read_atlas, read_survey
    from attlas.views.server import Server
    from attlas.views.writing import Writing

    opening.check()
    kept = look_limits(limits)
    held = None if card is None else read_card(card)
    known = [read(place) for read, place in ((read_survey, survey), (read_atlas, atlas)) if place]
    shelf = Shelf(partial(load, **opening.options))
    allowed = Allowed(model or (), models or None)
    cached = () if models else bundled.listed()
    named = [name for name in models or () if not Path(name).is_dir() or (Path(name) / "config.json").exists()]
    offered = list(dict.fromkeys([*(model or ()), bundled.resolve(None)[0], *named, *cached]))
    for each in (*known, *([held] if held is not None else [])):
        each.require([bundled.resolve(name)[0] for name in offered])

    writing = Writing()

    def answer(question: Question) -> Scene:
        allowed.require(question.model)
        if held is not None and held.is_of(bundled.resolve(question.model)[0]):
            check_card(shelf, held, [question.model])
        with limited(kept):
            return scene_of(shelf, question, look(shelf, question, writing=writing))

    def room(question: Question) -> str:
        allowed.require(question.model)
        return room_told(shelf, question)

    sizes = {name: size for name in offered if (size := _size(bundled.resolve(name)[1]))}
    server = Server(answer, offered, port=port, card=held, known=known, writing=writing, room=room, sizes=sizes)
    try:
        if model:
            shelf.get(model[0])  # what is misspelled shall be said at once
        typer.echo(f"attlas is at {server.address}")
        typer.echo("The address is for you alone: whoever knows it can use it. Ctrl-C ends this.", err=True)
        if open:
            _open(server.address)
        with suppress(KeyboardInterrupt), limited(kept):
            server.run()
        typer.echo("stopped", err=True)
    finally:
        server.close()
    if server.busy:
        _leave()


def _size(folder: Path | None) -> str:
    """How large the weights in a folder are, in words; nothing where there is none."""
    if folder is None:
        return ""
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB" if size else ""


def _open(address: str) -> None:
    """Open the page; in a thread, for some browsers come back only when they are closed."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _leave() -> None:
    """End although a model is still reading, which nothing can interrupt and nobody waits for any more."""
    import os
    import sys

    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
