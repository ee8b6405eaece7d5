"""Signed runs: who sealed a run, and whether all of it is as it was when they signed.

``cryptography`` loads when a key is read.
"""
