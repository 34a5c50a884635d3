"""One subject in several threads and tasks: what each sees is what it would have seen alone."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier, Event
from typing import Any

import pytest
import torch

import attlas
import twins
from attlas.capture import Recorder, Subject, load
from attlas.capture.mixing import mixing
from attlas.capture.replay import Replay
from attlas.errors import CapabilityError

TEXTS = ("The farmer slept .", "She played the old piano in the evening .", "He gave the dog a bone , and left .")
FAMILIES = (
    "bert",
    "albert",
    "llama",
    "mpnet",
)  # at the seam, layers that share a module, a decoder, a private softmax


def made(family: str) -> Subject:
    return Subject.of(twins.model(family), twins.tokenizer(family in twins.CAUSAL), family)


def seen(subject: Subject, text: str) -> torch.Tensor:
    return next(iter(subject.look(text).weights.values()))


def gated(subject: Subject, text: str) -> torch.Tensor:
    with subject.gated(["1-1", "2-3"]):
        return next(iter(subject.look(text).weights.values()))


def ratios(subject: Subject, text: str) -> torch.Tensor:
    found: list[torch.Tensor] = []
    with mixing(subject, lambda layer: found.append(layer.ratio())), torch.no_grad():
        subject.run(subject.batch([text]))
    return torch.stack(found)


def cuts(subject: Subject, text: str) -> torch.Tensor:
    replay, site = Replay(subject), subject.sites[0]
    kept = replay.record(subject.batch([text]))
    xi = 1 - torch.eye(subject.heads(site))
    return torch.cat([output.last_hidden_state for _, output in replay.cut(kept, site, xi)])


WAYS: dict[str, Callable[[Subject, str], torch.Tensor]] = {
    "look": seen, "gates": gated, "mixing": ratios, "replay": cuts
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_see_what_they_would_see_alone(family: str) -> None:
    subject = made(family)
    work = [(way, text) for way in WAYS for text in TEXTS if way != "mixing" or subject.has_residuals] * 3
    alone = {(way, text): WAYS[way](subject, text) for way, text in set(work)}
    start = Barrier(4)

    def do(part: int) -> list[tuple[tuple[str, str], torch.Tensor]]:
        start.wait()
        own = work[part:] + work[:part]
        return [(item, WAYS[item[0]](subject, item[1])) for item in own]

    with ThreadPoolExecutor(4) as pool:
        found = [answer for answers in pool.map(do, range(0, 12, 3)) for answer in answers]
    assert [item for item, weights in found if not torch.equal(weights, alone[item])] == []
    assert not torch.equal(alone["look", TEXTS[0]], alone["gates", TEXTS[0]])
    assert subject.seam.instruments == []
    assert all("forward" not in vars(module) for module in subject.model.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in subject.model.modules())


@pytest.mark.campaign
def test_two_thousand_looks_in_four_threads() -> None:
    """The bundled model: looks, gates held open, surveys and clusters, mixed, against the same work one by one."""
    subject = load()
    texts = [f"The farmer sold {number} apples to the doctor , and she asked for more ." for number in range(25)]
    studies = {"survey": attlas.survey, "clusters": attlas.clusters}
    alone = {(way, text): WAYS[way](subject, text) for way in WAYS for text in texts}
    tables = {name: study(subject, "sample", limit=4).rows() for name, study in studies.items()}

    def do(part: int) -> list[Any]:
        draw = random.Random(part)
        wrong: list[Any] = []
        for number in range(500):
            item = draw.choice(list(alone))
            if not torch.equal(WAYS[item[0]](subject, item[1]), alone[item]):
                wrong.append(item)
            if number % 250 == 60 * part:
                name = draw.choice(list(studies))
                if studies[name](subject, "sample", limit=4).rows() != tables[name]:
                    wrong.append(name)
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert [wrong for wrongs in pool.map(do, range(4)) for wrong in wrongs] == []
    assert subject.seam.instruments == []


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_gates_that_are_held_open_are_of_their_thread_alone(family: str) -> None:
    subject = made(family)
    plain, cut = seen(subject, TEXTS[1]), gated(subject, TEXTS[1])
    inside, done = Event(), Event()

    def hold() -> torch.Tensor:
        with subject.gated(["1-1", "2-3"]):
            inside.set()
            assert done.wait(30)
            return next(iter(subject.look(TEXTS[1]).weights.values()))

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(hold)
        assert inside.wait(30)
        try:
            assert torch.equal(seen(subject, TEXTS[1]), plain)
        finally:
            done.set()
        assert torch.equal(held.result(), cut)


def test_tasks_that_take_turns_in_one_thread_have_instruments_of_their_own() -> None:
    subject = made("bert")
    plain, cut = seen(subject, TEXTS[1]), gated(subject, TEXTS[1])

    async def held() -> torch.Tensor:
        with subject.gated(["1-1", "2-3"]):
            await asyncio.sleep(0)
            weights = seen(subject, TEXTS[1])
            await asyncio.sleep(0)
        return weights

    async def free() -> torch.Tensor:
        await asyncio.sleep(0)
        return seen(subject, TEXTS[1])

    async def both() -> list[torch.Tensor]:
        return await asyncio.gather(held(), free(), held())

    first, second, third = asyncio.run(both())
    assert torch.equal(first, cut)
    assert torch.equal(second, plain)
    assert torch.equal(third, cut)
    assert subject.seam.instruments == []


@pytest.mark.parametrize("family", ["bert", "mpnet"])
def test_blocks_may_be_left_in_any_order(family: str) -> None:
    subject = made(family)
    outer, inner = Recorder(), Recorder()
    first, second = ExitStack(), ExitStack()
    first.enter_context(subject.use(outer))
    second.enter_context(subject.use(inner))
    first.close()
    assert subject.seam.instruments == [inner]
    subject.run(subject.batch([TEXTS[0]]))
    second.close()
    assert subject.seam.instruments == []
    assert not outer.kept
    assert len(inner.kept) == len(subject.sites)
    subject.run(subject.batch([TEXTS[0]]))
    assert all(len(kept["weights"]) == 1 for kept in inner.kept.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_copy_has_a_model_of_its_own(family: str) -> None:
    subject = made(family)
    other = copy.deepcopy(subject)
    assert torch.equal(seen(other, TEXTS[1]), seen(subject, TEXTS[1]))
    with torch.no_grad():
        for parameter in other.model.parameters():
            parameter.mul_(1.5)
    assert not torch.equal(seen(other, TEXTS[1]), seen(subject, TEXTS[1]))
    with subject.use(Recorder()), pytest.raises(CapabilityError, match="copy it outside"):
        copy.deepcopy(subject)


def test_what_changes_the_model_wants_it_alone() -> None:
    subject = made("bert")
    inside, done = Event(), Event()

    def hold() -> None:
        with subject.use(Recorder()):
            inside.set()
            done.wait(30)

    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(hold)
        assert inside.wait(30)
        with pytest.raises(CapabilityError, match="another thread has instruments on"), subject.seam.alone():
            pass
        done.set()
        held.result()
        with subject.seam.alone():
            waiting = pool.submit(seen, subject, TEXTS[0])
            assert not waiting.done()
            mine = seen(subject, TEXTS[0])
        assert torch.equal(waiting.result(30), mine)


def test_frozen_parameters_ask_for_gradients_again_when_the_last_has_left() -> None:
    subject = made("bert")
    first, second = ExitStack(), ExitStack()
    first.enter_context(subject.frozen())
    second.enter_context(subject.frozen())
    first.close()
    assert not any(parameter.requires_grad for parameter in subject.model.parameters())
    second.close()
    assert all(parameter.requires_grad for parameter in subject.model.parameters())
