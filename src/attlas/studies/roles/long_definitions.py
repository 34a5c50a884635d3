"""Definitions of roles in long texts: retrieval, streaming, distance, columns, receivers, instructions."""

from __future__ import annotations

from attlas.studies.roles.definition import CAUSAL, Definition, Trial

_TEXTS = "attlas.studies.roles.long_texts"
_SUMS = "attlas.studies.roles.retrieval"
_WRITING = "attlas.studies.roles.writing"

NEEDLES = Trial(
    "needles", "needles in filler, with the right answer", f"{_TEXTS}:needles",
    (
        Definition(
            "retrieval_forced", "retrieval, right answer given", "after Wu et al. 2025",
            "Share of a needle's pieces that are copied: the most attended key of the query that writes holds, in "
            "the needle, the piece that is written, each counted once. The right answer is given piece by piece.",
            f"{_SUMS}:retrieved", CAUSAL,
        ),
    ),
)  # fmt: skip
RECALLED = Trial(
    "recalled", "needles that the model recalls, with what it wrote", f"{_WRITING}:recalled",
    (
        Definition(
            "retrieval", "retrieval", "Wu et al. 2025",
            "Share of a needle's pieces that are copied while the model writes the answer by itself: the most "
            "attended key holds, in the needle, the piece just written, each counted once. Over the texts whose "
            "answer has more than half of the needle's words, if those are a quarter of all.",
            f"{_SUMS}:retrieved_in_writing", CAUSAL,
        ),
    ),
)  # fmt: skip
WRITTEN = Trial(
    "written", "needles, with what the model wrote", f"{_WRITING}:written",
    (
        Definition(
            "lookback", "lookback ratio", "Chuang et al. 2024",
            "Mean weight on a piece of the given text over that plus the mean weight on a piece that the model "
            "wrote, from the second written piece on.",
            f"{_SUMS}:lookback", CAUSAL,
        ),
    ),
)  # fmt: skip
DOCUMENTS = Trial(
    "documents", "documents and a question that one of them answers", f"{_TEXTS}:documents",
    (
        Definition(
            "query_focused", "query-focused retrieval", "Zhang et al. 2025 (QRHead)",
            "Mass that a question's pieces give, on average, to the document that answers it, less the same with the "
            "question N/A; pieces more than two standard deviations below the document's mean are dropped.",
            streams=CAUSAL, within=(-1.0, 1.0),
        ),
    ),
    part="attlas.studies.roles.asked:AskedScores",
)  # fmt: skip
LONG = Trial(
    "long", "long texts of the corpus", f"{_TEXTS}:long_texts",
    (
        Definition(
            "distant", "distant mass", "attlas",
            "Mean weight on all but the first 4 pieces and the last 64, over queries from the 129th piece on.",
            f"{_SUMS}:distant", CAUSAL,
        ),
        Definition(
            "heavy_hitters", "share of heavy hitters", "after Zhang et al. 2023 (H2O)",
            "Share of a text's attention that goes to the tenth of the keys with the largest column sums, over all "
            "queries.",
            f"{_SUMS}:heavy_hitters", CAUSAL,
        ),
        Definition(
            "window_hitters", "share of heavy hitters, last queries", "after Li et al. 2024 (SnapKV)",
            "Share of the attention of the last 32 queries to the keys before them that goes to the tenth of the "
            "keys that get most; what neighbours among 5 keys get is averaged first.",
            f"{_SUMS}:window_hitters", CAUSAL,
        ),
    ),
)  # fmt: skip
SENTENCES = Trial(
    "sentences", "sentences of filler", f"{_TEXTS}:sentences",
    (
        Definition(
            "receiver", "receiver", "Bogdan et al. 2025 (Thought Anchors)",
            "Kurtosis over a text's sentences (0 for a normal distribution) of the mean weight that each gets from "
            "sentences at least four later.",
            f"{_SUMS}:receiving", CAUSAL, (-2.0, float("inf")),
        ),
    ),
)  # fmt: skip
INSTRUCTIONS = Trial(
    "instructions", "an instruction, and data", f"{_TEXTS}:instructions",
    (
        Definition(
            "instruction", "instruction against data", "Hung et al. 2025 (Attention Tracker)",
            "Weight on the instruction over that on instruction and data, at the last piece of the text.",
            f"{_SUMS}:instructed", CAUSAL,
        ),
    ),
)  # fmt: skip
GATES = Trial(
    "gates", "needles on which gates are trained", "attlas.studies.roles.gates:gate_texts",
    (
        Definition(
            "streaming_gate", "gate for the whole context", "Xiao et al. 2025 (DuoAttention)",
            "The gate, from 0 to 1, that blends a head of keys with the same head cut to the first 16 and the "
            "nearest 64 pieces, trained to keep the last states over the right answer to a needle, with .05 on each "
            "open gate; 60 steps of 2 texts, four times on texts of their own.",
            streams=CAUSAL, chance=None,
        ),
    ),
    part="attlas.studies.roles.gates:GateScores", unit="training",
)  # fmt: skip
LONG_TRIALS: tuple[Trial, ...] = (NEEDLES, RECALLED, WRITTEN, DOCUMENTS, LONG, SENTENCES, INSTRUCTIONS, GATES)
