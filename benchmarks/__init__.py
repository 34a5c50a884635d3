"""Benchmarks: speed and memory as ratios against the alternative, in the same run. ``make bench`` runs them all."""
