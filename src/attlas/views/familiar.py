"""For people who come from BertViz: ``head_view`` and ``model_view`` that take the same arguments.

Only the import line of a notebook need change. What goes in is what the model library gives out: a tuple with one
tensor (1, head, query, key) for each layer, and the pieces as the tokenizer writes them. What comes out is the
viewer, with what it can do beyond: words, special pieces set aside, tables, pictures to save. Norms and neurons need
more than weights; for those there is :func:`attlas.load`. Words are guessed from the marks that tokenizers leave.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections import abc
from collections.abc import Iterable
from importlib import import_module
from typing import Any, TypedDict, Unpack

import numpy as np

from attlas.errors import AttlasError, CapabilityError, NumberError, TextError
from attlas.ids import Stream
from attlas.views.notebook import Frame, show
from attlas.views.page import page
from attlas.views.scene import Array, Scene, Sequence, Strand

_SPECIAL = re.compile(r"\[(?!MASK\]|UNK\])[A-Z]+\]|</?(?!mask>|unk>)[a-z_]+>|<\|[^|]+\|>|<｜[^｜]+｜>")
_NO_WEIGHTS = (
    'the model has given no attention weights; load it with attn_implementation="eager" and call it with '
    "output_attentions=True, or let attlas.load(...).look(text).view() do all of it"
)


class Streams(TypedDict, total=False):
    """What a model with an encoder and a decoder gives in place of ``attention`` and ``tokens``.

    >>> len(Streams.__annotations__)
    5
    """

    encoder_attention: Any
    decoder_attention: Any
    cross_attention: Any
    encoder_tokens: abc.Sequence[str] | None
    decoder_tokens: abc.Sequence[str] | None


def as_in_bertviz(view: abc.Callable[..., Any]) -> abc.Callable[..., Any]:
    """A view that takes its :class:`Streams` one by one, by name or place, before ``include_layers``, as there.

    >>> list(inspect.signature(head_view).parameters)[5:8]
    ['heads', 'encoder_attention', 'decoder_attention']
    >>> head_view(head=3)
    Traceback (most recent call last):
        ...
    TypeError: head_view() got an unexpected keyword argument 'head'
    """
    *own, _ = inspect.signature(view).parameters.values()
    place = [parameter.name for parameter in own].index("include_layers")
    streams = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=hint)
        for name, hint in Streams.__annotations__.items()
    ]
    signature = inspect.Signature([*own[:place], *streams, *own[place:]])

    @functools.wraps(view)
    def called(*args: Any, **given: Any) -> Any:
        try:
            bound = signature.bind(*args, **given)
        except TypeError as error:
            raise TypeError(f"{view.__name__}() {error}") from None
        return view(**bound.arguments)

    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


@as_in_bertviz
def head_view(
    attention: Any = None,
    tokens: abc.Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: abc.Sequence[int] | None = None,
    include_layers: abc.Sequence[int] | None = None,
    html_action: str = "view",
    **streams: Unpack[Streams],
) -> Any:
    """Show lines from each piece to the pieces it attends to, starting at ``layer`` and ``heads``.

    ``html_action`` "view" displays it in the notebook, "return" returns an object whose ``data`` is the whole page.

    >>> weights = [np.full((1, 2, 3, 3), 1 / 3)] * 4
    >>> shown = head_view(weights, ["[CLS]", "Hi", "[SEP]"], layer=3, html_action="return")
    >>> shown.data.startswith("<!doctype html>")
    True
    """
    scene = _scene(attention, tokens, sentence_b_start, prettify_tokens, streams, include_layers, None)
    selection: dict[str, Any] = {}
    if layer is not None:
        held = sorted({number for strand in scene.strands for number in strand.layers})
        selection["layer"] = _chosen("layer", [layer], held)[0]
    if heads is not None:
        held = sorted({number for strand in scene.strands for number in strand.heads})
        selection["heads"] = _chosen("heads", heads, held)
    return _deliver(scene, html_action, "head", selection)


@as_in_bertviz
def model_view(
    attention: Any = None,
    tokens: abc.Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    include_layers: abc.Sequence[int] | None = None,
    include_heads: abc.Sequence[int] | None = None,
    html_action: str = "view",
    **streams: Unpack[Streams],
) -> Any:
    """Show all heads of all layers at once; ``display_mode`` is dark or light.

    >>> model_view([np.ones((1, 2, 1, 1))], ["Hi", "there"], html_action="return")
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: attention is of 1 x 1 pieces (query, key) and tokens has 2; both must come from one call
    """
    if display_mode not in ("dark", "light"):
        raise CapabilityError(f"display_mode is {display_mode!r}; choose 'dark' or 'light'")
    scene = _scene(attention, tokens, sentence_b_start, prettify_tokens, streams, include_layers, include_heads)
    return _deliver(scene, html_action, "model", {"theme": display_mode})


def _scene(
    attention: Any, tokens: Any, second: int | None, pretty: bool, given_streams: Streams,
    layers: abc.Sequence[int] | None, heads: abc.Sequence[int] | None,
) -> Scene:  # fmt: skip
    """One strand of a single model, or up to three of an encoder and a decoder."""
    encoder, decoder, cross, encoder_tokens, decoder_tokens = map(given_streams.get, Streams.__annotations__)
    if attention is not None:
        if any(given is not None for given in given_streams.values()):
            raise CapabilityError(
                "attention is for models with one stream, and the arguments with encoder, decoder and cross are for "
                "those with two; give one or the other"
            )
        weights = _weights("attention", attention, layers, heads)
        read = _reading("tokens", tokens, pretty, second)
        _fits("attention", weights[0], "tokens", read, "tokens", read)
        stream = Stream.DECODER if _is_causal(weights[0]) else Stream.ENCODER
        return Scene("a model", (), (Strand(stream, read, read, *weights),))
    if all(given is None for given in (encoder, decoder, cross)):
        if any(given is not None for given in (tokens, encoder_tokens, decoder_tokens)):
            raise CapabilityError(_NO_WEIGHTS)
        raise CapabilityError("there is nothing to show; give attention and tokens, as head_view(attention, tokens)")
    if second is not None:
        raise CapabilityError("sentence_b_start is for models with one stream; leave it out here")
    streams = (
        (Stream.ENCODER, encoder, ("encoder_tokens", encoder_tokens), ("encoder_tokens", encoder_tokens)),
        (Stream.DECODER, decoder, ("decoder_tokens", decoder_tokens), ("decoder_tokens", decoder_tokens)),
        (Stream.CROSS, cross, ("decoder_tokens", decoder_tokens), ("encoder_tokens", encoder_tokens)),
    )
    strands = []
    for stream, given, asking, asked in streams:
        if given is None:
            continue
        name = f"{stream}_attention"
        weights = _weights(name, given, layers, heads)
        queries = _reading(*asking, pretty, None)
        keys = queries if asking is asked or asking == asked else _reading(*asked, pretty, None)
        _fits(name, weights[0], asking[0], queries, asked[0], keys)
        strands.append(Strand(stream, queries, keys, *weights))
    return Scene("a model", (), tuple(strands))


def _weights(
    name: str, attention: Any, layers: abc.Sequence[int] | None, heads: abc.Sequence[int] | None
) -> tuple[Array, tuple[int, ...], tuple[int, ...]]:
    """Weights as (layer, head, query, key) with the numbers of their layers and heads, of those asked for."""
    if not isinstance(attention, Iterable) or isinstance(attention, (str, dict)):
        raise TextError(
            f"{name} must be a tuple with one tensor for each layer, and it is {type(attention).__name__}"
        )
    held = list(attention)
    if not held or all(layer is None for layer in held):
        raise CapabilityError(_NO_WEIGHTS)
    numbers = range(len(held)) if layers is None else _chosen("include_layers", layers, range(len(held)))
    arrays = [_array(name, number, held[number]) for number in numbers]
    for number, array in zip(numbers, arrays, strict=True):
        if array.shape[2:] != arrays[0].shape[2:]:
            raise TextError(
                f"all layers of {name} must have as many queries and keys; layer {numbers[0]} has {arrays[0].shape} "
                f"and layer {number} has {array.shape}"
            )
        if not array.min(initial=0) >= 0 or not array.max(initial=0) < np.inf:
            raise NumberError(
                f"{name} holds numbers below 0, infinite or NaN; give weights, which come after the softmax"
            )
    most = max(array.shape[1] for array in arrays)
    stacked = np.full((len(arrays), most, *arrays[0].shape[2:]), np.nan, np.float32)
    for place, array in zip(stacked, arrays, strict=True):  # a head that a layer does not have is NaN
        place[: array.shape[1]] = array[0]
    chosen = range(stacked.shape[1]) if heads is None else _chosen("include_heads", heads, range(stacked.shape[1]))
    return stacked if heads is None else stacked[:, list(chosen)], tuple(numbers), tuple(chosen)


def _array(name: str, number: int, layer: Any) -> Array:
    """One layer as (1, head, query, key), from a tensor of any precision on any device, an array or nested lists."""
    if layer is None:
        raise CapabilityError(f"layer {number} of {name} is None; choose others by include_layers, or {_NO_WEIGHTS}")
    if hasattr(layer, "detach"):
        layer = layer.detach().cpu().float().numpy()
    try:
        array = np.asarray(layer, dtype=np.float32)
    except (TypeError, ValueError):
        raise TextError(f"layer {number} of {name} is no tensor of numbers but {type(layer).__name__}") from None
    if array.ndim != 4 or 0 in array.shape:
        raise TextError(
            f"layer {number} of {name} has the shape {array.shape} where (1, heads, queries, keys) is needed; give "
            "the tuple that the model returns, or [layer[None]] for a single layer without a batch"
        )
    if array.shape[0] != 1:
        raise TextError(
            f"{name} holds a batch of {array.shape[0]} texts and one can be shown; give "
            f"[layer[:1] for layer in {name}]"
        )
    return array


def _reading(name: str, tokens: Any, pretty: bool, second: int | None) -> Sequence:
    """Pieces as a reading: special ones known by their shape, words by the marks of their tokenizer."""
    if tokens is None:
        raise TextError(f"{name} is missing; give the pieces, as tokenizer.convert_ids_to_tokens(ids) returns them")
    pieces = [tokens] if isinstance(tokens, str) else list(tokens)
    if isinstance(tokens, str) or not all(isinstance(piece, str) for piece in pieces):
        odd = next((piece for piece in pieces if not isinstance(piece, str)), tokens)
        raise TextError(f"{name} must be a list of pieces and has {odd!r}; use tokenizer.convert_ids_to_tokens(ids)")
    if second is not None and (type(second) is not int or not 0 < second < len(pieces)):
        raise TextError(f"sentence_b_start is {second!r}, and the {len(pieces)} pieces allow 1 to {len(pieces) - 1}")
    special = [_SPECIAL.fullmatch(piece) is not None for piece in pieces]
    documents = [-1 if alone else int(second is not None and at >= second) for at, alone in enumerate(special)]
    words, spelled = _words(pieces, special, second)
    shown = [prettified(piece) for piece in pieces] if pretty else pieces
    return Sequence(tuple(shown), tuple(words), tuple(documents), tuple(spelled))


def prettified(piece: str) -> str:
    """A piece without the marks for white space of GPT-2, SentencePiece and XLM; BERT's ## stays.

    >>> [prettified(piece) for piece in ("Ġfarmer", "▁farmer", "farmer</w>", "##er", "▁")]
    ['farmer', 'farmer', 'farmer', '##er', '␣']
    """
    return piece.replace("Ġ", " ").replace("▁", " ").replace("</w>", "").strip() or "␣"


def _words(pieces: abc.Sequence[str], special: abc.Sequence[bool], second: int | None) -> tuple[list[int], list[str]]:
    """The word of each piece and how it is spelled; without any marks each piece is a word of its own."""
    starts = any(piece.startswith(("Ġ", "▁")) for piece in pieces)
    ends = any(piece.endswith("</w>") for piece in pieces)
    words: list[int] = []
    spelled: list[str] = []
    for at, piece in enumerate(pieces):
        if special[at]:
            words.append(-1)
            continue
        before = pieces[at - 1] if at and not special[at - 1] and at != second else None
        goes_on = before is not None and (
            piece.startswith("##")
            or (starts and not piece.startswith(("Ġ", "▁")) and _is_wordlike(piece) and _is_wordlike(before))
            or (ends and not before.endswith("</w>"))
            or (starts and before in ("Ġ", "▁"))
        )
        if goes_on:
            spelled[-1] = (spelled[-1] + prettified(piece).removeprefix("##")).removeprefix("␣")
        else:
            spelled.append(prettified(piece))
        words.append(len(spelled) - 1)
    return words, spelled


def _is_wordlike(piece: str) -> bool:
    """Whether a piece has a letter or digit; what has none, such as a comma, is a word of its own."""
    return any(letter.isalnum() for letter in piece)


def _fits(name: str, weights: Array, asking: str, queries: Sequence, asked: str, keys: Sequence) -> None:
    if weights.shape[2:] == (queries.length, keys.length):
        return
    have = f"{asking} has {queries.length}" + ("" if asking == asked else f" and {asked} {keys.length}")
    rows, columns = weights.shape[2:]
    raise TextError(f"{name} is of {rows} x {columns} pieces (query, key) and {have}; both must come from one call")


def _is_causal(weights: Array) -> bool:
    """Whether nothing ever attends to what comes after it."""
    size = weights.shape[-1]
    return size > 1 and not any(np.triu(np.nan_to_num(matrix), 1).any() for matrix in weights.reshape(-1, size, size))


def _chosen(name: str, asked: Any, held: abc.Sequence[int]) -> list[int]:
    """Numbers asked for, refused where there is none such."""
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise CapabilityError(f"{name} must be a list of numbers, and it is {asked!r}")
    numbers = list(dict.fromkeys(asked))
    for number in numbers:
        if number not in held:
            raise CapabilityError(f"{name} asks for {number!r}, and there are {_listed(held)}, counted from 0")
    if not numbers:
        raise CapabilityError(f"{name} is empty; name at least one, or leave it out for all")
    return [int(number) for number in numbers]


def _labels(numbers: Any) -> Any:
    """The labels, counted from 1, of a number or of numbers that count from 0 as bertviz does."""
    if isinstance(numbers, list):
        return [_labels(number) for number in numbers]
    return str(numbers + 1) if isinstance(numbers, int) else numbers


def _listed(numbers: abc.Sequence[int]) -> str:
    run = list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]} to {numbers[-1]}" if run and len(numbers) > 1 else ", ".join(map(str, numbers))


def _deliver(scene: Scene, action: str, kind: str, selection: dict[str, Any]) -> Any:
    if action not in ("view", "return"):
        raise CapabilityError(f"html_action is {action!r}; choose 'view' to show it here or 'return' to get the page")
    try:
        display: Any = import_module("IPython.display")
    except ImportError:
        display = None
    if action == "view":
        if display is None:
            raise AttlasError("there is no notebook to show this in; write html_action='return' and save its .data")
        labelled = {name: _labels(value) for name, value in selection.items()}
        display.display(show([scene], kind=kind, **labelled))
        return None
    html = page([scene], kind=kind, **selection)
    return Frame(html) if display is None else _framed(display.HTML, html)


def _framed(base: Any, html: str) -> Any:
    """IPython's HTML with the page as its data; it shows itself in a frame, so that two pages do not mix."""

    class PageHTML(base):  # type: ignore[misc]
        def _repr_html_(self) -> str:
            return Frame(self.data)._repr_html_()

    return PageHTML(html)
