"""All benchmarks in one go; the figures go to docs/results/benchmarks.md."""

from __future__ import annotations

from benchmarks import ablation, clusters, faith, keywords, layers, norms, pruned, relations, site, survey, views

if __name__ == "__main__":
    for benchmark in (survey, relations, clusters, norms, layers, ablation, pruned, faith, keywords, views, site):
        benchmark.main()
