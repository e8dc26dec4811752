"""Benchmarks as ratios against raw clients, both sides in one run. ``python -m bench --help``."""
