"""Training as a command of its own: the call that other studies train with, and what it prints when it is done.

What it gives is a model folder with the record of its training, and no result with a page.
"""

from __future__ import annotations

from attlas.run.tuning import Tuned, tune

__all__ = ["show", "tune"]


def show(tuned: Tuned) -> None:
    """Print what was seen after each pass, which was the best, and where the model lies."""
    from attlas.pages.prose import count_of

    record = tuned.record
    texts, score, task, weights = record["texts"], record["score"]["name"], record["task"], record["weights"]
    about = (
        f"{record['plan']['model']['name']} for {task}: learned from {count_of(texts['learned'], 'text')} of "
        f"{record['data']['name']}, judged on {texts['held_out']:,} held out; {weights['trained']:,} of "
        f"{weights['all']:,} weights trained in {record['seconds']:.0f} s"
    )
    majority = record["majority"]
    notes = [] if majority is None else [f"always the most frequent label: {score} {majority:.4f}"]
    notes += ["stopped early, as the score no longer rose"] if record["stopped_early"] else []
    columns = {"loss": "loss", "held_loss": "held-out loss", "score": score}
    unseen = record["validation"]["name"] if record["validation"] else "TEXTS-IT-HAS-NOT-SEEN"
    tuned.show(about, columns, notes, f"ablate {unseen} --task {task}")
