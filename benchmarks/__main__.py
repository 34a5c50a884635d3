"""All benchmarks in one go; the figures go to docs/results/benchmarks.md."""

from __future__ import annotations

from benchmarks import ablation, clusters, pruned, relations, survey, views

if __name__ == "__main__":
    for benchmark in (survey, relations, clusters, ablation, pruned, views):
        benchmark.main()
