"""Trials of what closecall promises when things go wrong: kills, faults, hostile input, load.

``benchmarks/reliability.py`` runs all of them at full size and prints what held; the tests run
each at a small one. A trial takes a seed and says how to repeat whatever did not hold.
"""
