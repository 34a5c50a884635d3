"""Run all benchmarks and write their page, docs/results/benchmarks.md."""

from __future__ import annotations

from benchmarks import survey, views

if __name__ == "__main__":
    survey.main()
    views.main()
