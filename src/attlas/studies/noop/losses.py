"""Which loss a model offers the no-op test on a corpus, and opening the model with the head that goes with it.

The losses are those of tasks (:mod:`attlas.run.tasks`), with one difference: a loss by tags is offered wherever the
corpus has tags, since a small head is trained on the spot unless the model was saved with one. What does not fit
is refused with a sentence that says what would.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attlas.corpora import Corpus
from attlas.errors import CapabilityError
from attlas.run.setting import Opening
from attlas.run.tasks import fault, require_layer
from attlas.tasks.tagging import LAYERS

if TYPE_CHECKING:
    from attlas.capture import Subject

HEADS = {
    "causal-lm": "causal-lm",
    "masked-lm": "masked-lm",
    "translation": "seq2seq",
    "classification": "classification",
}
HEADS_BACK = {head: loss for loss, head in HEADS.items() if head != "classification"}
LOSSES = (*HEADS, *(f"tagging:{layer}" for layer in LAYERS))


def opened(subject: Subject | Opening | str | Path | None, loss: str, texts: Corpus) -> tuple[Subject, str]:
    """The model with the head of a loss, opened by its name or as it is, and the loss; "auto" finds one.

    >>> from attlas.corpora import read
    >>> opened(None, "auto", read("sample"))[1]
    'tagging:upos'
    """
    if isinstance(subject, Opening):
        return _open_for_loss(subject.name, loss, texts, **subject.options)
    if subject is None or isinstance(subject, str | Path):
        return _open_for_loss(subject, loss, texts)
    return _checked(subject, loss, texts)


def _open_for_loss(
    name: str | Path | None, loss: str, texts: Corpus, *, remote_code: bool = False, **opening: Any
) -> tuple[Subject, str]:
    """Open a model with the head of a loss; "auto" takes what the model offers, or else the corpus's tags."""
    from attlas.capture import load
    from attlas.models import possible_heads, read_config, saved_head

    _require_known(loss)
    opening = {**opening, "remote_code": remote_code}
    config = read_config(name, remote_code=remote_code)
    if loss.startswith("tagging:"):  # by the model's own head, where it was saved with one
        require_layer(texts, loss)
        return load(name, task_head="tagging" if saved_head(config) == "tagging" else "none", **opening), loss
    heads = possible_heads(config)
    if loss != "auto":
        if HEADS[loss] in HEADS_BACK and HEADS[loss] not in heads:
            raise _refusal(_shown(name), loss, _another(heads, config))
        require_layer(texts, loss)
        return _checked(load(name, task_head=HEADS[loss], **opening), loss, texts)
    own = HEADS_BACK[heads[0]] if heads else ""
    why = "its family has no such head"
    if own and (own != "translation" or "translation" in texts.annotations):
        subject = load(name, task_head=heads[0], **opening)
        why = fault(subject, own)
        if not why:
            return subject, own
    tags = _tags(texts)
    if tags is not None:
        return load(name, task_head="none", **opening), tags
    if own:
        require_layer(texts, own)
    raise _refusal(_shown(name), "", why)


def _checked(subject: Subject, loss: str, texts: Corpus) -> tuple[Subject, str]:
    """Make sure that a model that is open already offers a loss on a corpus; "auto" finds one."""
    _require_known(loss)
    if loss == "auto":
        own = HEADS_BACK.get(subject.task_head or "")
        lacking = own == "translation" and "translation" not in texts.annotations
        if own is not None and not lacking and not fault(subject, own):
            return subject, own
        tags = _tags(texts)
        if tags is None:
            raise _refusal(subject.name, "", "it was opened without a head, and the corpus has no tags")
        return subject, tags
    require_layer(texts, loss)
    if loss in HEADS and (why := fault(subject, loss)):
        raise _refusal(subject.name, loss, why)
    return subject, loss


def _require_known(loss: str) -> None:
    """Refuse a loss that does not exist."""
    if loss not in ("auto", *LOSSES):
        raise CapabilityError(f"there is no loss {loss!r}; choose auto, {', '.join(LOSSES[:-1])} or {LOSSES[-1]}")


def _tags(texts: Corpus) -> str | None:
    return next((f"tagging:{layer}" for layer in LAYERS if layer in texts.annotations), None)


def _another(heads: tuple[str, ...], config: Any) -> str:
    """What a family has instead of the head that was asked for."""
    if not heads:
        return f"its family ({config.model_type}) has no such head"
    own = HEADS_BACK[heads[0]]
    return f"its family ({config.model_type}) has no such head, but {own} (--task {own})"


def _refusal(name: str, loss: str, why: str) -> CapabilityError:
    """One sentence: what is lacking, and which models have what."""
    from attlas.models import with_head

    models = {head: with_head(head) for head in HEADS_BACK}
    return CapabilityError(
        f"{name} offers no {loss or 'language-model'} loss: {why}; use a masked LM such as {models['masked-lm']} "
        f"(--task masked-lm), a causal one such as {models['causal-lm']} (--task causal-lm), a translation model "
        f"such as {models['seq2seq']} on a bitext (--task translation), or train a small head here on a corpus with "
        "tags (--task tagging:upos)"
    )


def _shown(name: str | Path | None) -> str:
    from attlas.models.bundled import resolve

    return resolve(name)[0]
