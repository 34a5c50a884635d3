"""Many models: a list is gone through, each model like one alone, and one atlas is made of all.

What is done is not repeated, and what was begun goes on, so the same call is made again after a kill, or after the
list has grown. A model that cannot be opened, or of which a study fails, does not stop the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Unpack

from attlas.errors import AttlasError, PlanError
from attlas.making.call import ALONE, Order, command_of
from attlas.making.given import Models
from attlas.making.made import Made
from attlas.making.parameters import USUAL, Corpora, Making
from attlas.making.places import models_in
from attlas.making.running import unforeseen
from attlas.making.telling import Among
from attlas.run.given import NAMED
from attlas.run.parameters import Help, Role, study_call
from attlas.run.progress import Silent
from attlas.run.setting import Opening
from attlas.store.lock import holding

LONGEST = 100_000  # letters of a list


@study_call(alone=ALONE, **USUAL)
def make_many(
    models: Annotated[
        Sequence[Any] | str | Path,
        Role("models", read="attlas.making.many:names_in"),
        Help("A file that names a model on each line, by name or folder; lines that begin with # say nothing.",
             argument=True, kind=Path),
    ],
    corpora: Corpora = ("sample",),
    **making: Unpack[Making],
) -> Made:  # fmt: skip
    """Make the atlas of many models: go through a list, skip what is done, and make one atlas of all.

    A model that fails is told at the end, and the others go on.

    >>> import tempfile
    >>> made = make_many(["no/such-model", None], out=Path(tempfile.mkdtemp()) / "all", only="survey", limit=6)
    >>> list(made.outcomes), [name for name, _ in made.fallen]
    (['all-MiniLM-L6-v2'], ['no/such-model'])
    """
    from attlas.making.finishing import finish

    if making["out"] is None:
        raise PlanError("an atlas is a folder of files; say where it is to go (--out)")
    named = names_in(models) if isinstance(models, str | Path) else list(models)
    order = Order.of(corpora, making)
    progress = making["progress"] or Silent()
    folder = Path("atlas") if making["out"] == NAMED else Path(making["out"])
    fallen: list[tuple[str, str]] = []
    with holding(folder) as stale:
        if stale is not None:
            progress.note(stale)
        for number, each in enumerate(named, start=1):
            name = str((each.name if isinstance(each, Opening) else each) or "the bundled model")
            try:
                order.run(Models(each), folder, Among(progress, number, len(named), name), resume=True)
            except AttlasError as error:
                fallen.append((name, str(error)))
            except Exception as error:  # a fault of one model must not cost the others
                fallen.append((name, unforeseen(error)))
            if fallen and fallen[-1][0] == name:
                progress.note(f"{name} failed: {fallen[-1][1]}")
        if not models_in(folder):
            raise PlanError("; ".join(f"{name}: {reason}" for name, reason in fallen))
        listed = models if isinstance(models, str | Path) else "models.txt"
        command = command_of([], corpora, making).replace("attlas atlas", f"attlas atlas many {listed}", 1)
        made = finish(folder, progress, command, [{"given": name, "reason": reason} for name, reason in fallen])
        left_out = [row for row in made.left_out if (row["given"], row["reason"]) not in fallen]
        return replace(made, fallen=tuple(fallen), left_out=left_out)


def names_in(file: str | Path) -> list[str]:
    """The models that a list names, each once.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "models.txt"
    >>> _ = place.write_text("# small ones\\nminilm\\n\\nsmollm2  # a decoder\\nminilm\\n")
    >>> names_in(place)
    ['minilm', 'smollm2']
    """
    try:
        if Path(file).stat().st_size > LONGEST:
            raise PlanError(f"{file}: this is no list of models, with a name on each line; it is too long for one")
        text = Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PlanError(f"{file}: this is no list of models, with a name on each line, but no text at all") from None
    except OSError as error:
        raise PlanError(f"{file}: the list of models cannot be read ({error.strerror or error})") from None
    names = [line.partition(" #")[0].strip() for line in text.splitlines() if not line.lstrip().startswith("#")]
    if not any(names):
        raise PlanError(f"{file}: it names no model; write one on each line")
    return list(dict.fromkeys(filter(None, names)))
