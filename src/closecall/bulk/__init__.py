"""Runs too large for one process: blocks evaluated apart, shards merged, closed as one run."""
