"""attlas serve: type a text, pick a model, and see its attention in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attlas.cli.options import AllowPickle, Device, Dtype, RemoteCode, device_or_default
from attlas.errors import CapabilityError, TextError

if TYPE_CHECKING:
    from attlas.capture import Subject
    from attlas.views import Scene
    from attlas.views.server import Question

ROOM = 2  # models that stay open
MOST_WEIGHTS = 400_000_000  # of one look, all layers and heads together: 1.6 GB, and about as much again on the way
TRANSLATED = 200  # pieces that a translation may have where nobody has said it


def command(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A model to offer, the first as the default; can be given several times."),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="A port; 0 takes any that is free.")] = 0,
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    device: Device = None,
    dtype: Dtype = None,
    remote_code: RemoteCode = False,
    allow_pickle: AllowPickle = False,
) -> None:
    """Look at the attention of texts in the browser, at an address that only this machine and you can open.

    Ends with Ctrl-C.
    """
    from contextlib import suppress
    from functools import partial

    from attlas.capture import load
    from attlas.models import bundled
    from attlas.views.server import Server

    usual = bundled.resolve(None)[0]
    opening = partial(
        load, device=device_or_default(device), dtype=dtype, remote_code=remote_code, allow_pickle=allow_pickle
    )
    shelf = Shelf(lambda name, head: opening(None if name == usual else name, head=head))
    offered = list(dict.fromkeys([*(model or ()), usual, *bundled.listed()]))
    server = Server(partial(look, shelf), offered, port=port)
    try:
        if model:
            shelf.get(model[0])  # what is misspelled shall be said at once
        typer.echo(f"attlas is at {server.address}")
        typer.echo("The address is for you alone: whoever knows it can use it. Ctrl-C ends this.", err=True)
        if open:
            _open(server.address)
        with suppress(KeyboardInterrupt):
            server.run()
        typer.echo("stopped", err=True)
    finally:
        server.close()
    if server.busy:
        _leave()


class Shelf:
    """Models that stay open: the ones used last, opened by a function of a name and a task head.

    >>> shelf = Shelf(lambda name, head: name.upper(), room=1)
    >>> shelf.get("a"), shelf.get("b"), list(shelf.held)
    ('A', 'B', ['b'])
    """

    def __init__(self, load: Callable[[str, str | None], Any], room: int = ROOM) -> None:
        self._load, self._room = load, room
        self.held: dict[str, tuple[str | None, Any]] = {}

    def get(self, name: str, head: str | None = None) -> Any:
        """The model of this name, opened if need be: with a task head where one is asked for, else as it is held.

        >>> shelf = Shelf(lambda name, head: (name, head))
        >>> shelf.get("a"), shelf.get("a", "causal-lm"), shelf.get("a")
        (('a', None), ('a', 'causal-lm'), ('a', 'causal-lm'))
        """
        held = self.held.pop(name, None)
        if held is None or head not in (None, held[0]):
            held = None  # old models go before new ones come, so that they never need room at once
            while len(self.held) >= self._room:
                del self.held[next(iter(self.held))]
            held = (head, self._load(name, head))
        self.held[name] = held
        return held[1]


def look(shelf: Shelf, question: Question) -> Scene:
    """Answer a question of the page: open the model, let it read or write, and hand over what was seen.

    >>> from attlas.capture import load
    >>> from attlas.views.server import Question
    >>> look(Shelf(lambda name, head: load(head=head)), Question("any", "The farmer slept.")).strands[0].weights.shape
    (6, 12, 6, 6)
    """
    import torch

    subject: Subject = shelf.get(question.model, _likely_head(question))
    translating = subject.pieces.translating
    write = question.write
    if translating:  # a target that is given is read, and one that is not is written
        write = 0 if question.second else min(write or TRANSLATED, subject.pieces.window - 1)
    _check(subject, question, write)
    try:
        if not write:
            return subject.look(question.text, question.second or None).scene()
        del subject  # which is opened again if it was opened without a head that writes
        subject = shelf.get(question.model, "seq2seq" if translating else "causal-lm")
        return subject.look_generating(question.text, max_new_pieces=write).scene()
    except (MemoryError, torch.OutOfMemoryError):
        raise TextError(
            f"{question.model} and its attention on this text do not fit into memory; shorten it"
        ) from None


def _likely_head(question: Question) -> str | None:
    """The task head that a question needs, as far as the model's own folder tells: it saves opening it twice."""
    import json

    from attlas.models import bundled

    folder = bundled.resolve(question.model)[1]
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8")) if folder else {}
        if config.get("is_encoder_decoder"):
            return None if question.second else "seq2seq"
        written = any(name.endswith("ForCausalLM") for name in config.get("architectures") or ())
    except (OSError, ValueError, AttributeError, TypeError):
        return None  # whoever opens the model says what is wrong with it
    return "causal-lm" if question.write and written else None


def _check(subject: Subject, question: Question, write: int) -> None:
    """Refuse what this model cannot read or write, and what would need more memory than a page is worth."""
    from attlas.ids import Stream
    from attlas.text import Document

    pieces = subject.pieces
    if write and Stream.DECODER not in subject.streams:
        raise CapabilityError(f"{subject.name} cannot write; continue by 0 pieces")
    if question.second and not (pieces.pairs or pieces.translating):
        raise CapabilityError(f"{subject.name} reads one text, not pairs; leave the second text empty")
    texts = [Document.from_text(text) for text in (question.text, question.second) if text]
    length = max(map(pieces.length, texts)) if pieces.translating else pieces.length(*texts)
    whole = max(length, write) if pieces.translating else length + write
    if write and whole > pieces.window:
        more = "" if pieces.translating else f" and {write:,} to write"
        raise TextError(
            f"{length:,} pieces of text{more} do not fit into the window of {subject.name}, which holds "
            f"{pieces.window:,}; shorten the text{', or write less' if more else ''}"
        )
    weights = sum(subject.layout.heads.values()) * whole**2
    if whole <= pieces.window and weights > MOST_WEIGHTS:
        most = int((MOST_WEIGHTS / sum(subject.layout.heads.values())) ** 0.5)
        raise TextError(
            f"the text has {whole:,} pieces, which gives {weights / 1e9:.1f} billion weights in {subject.name}; "
            f"this page takes up to {most:,} pieces of this model, and in Python look() takes only some layers"
        )


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
