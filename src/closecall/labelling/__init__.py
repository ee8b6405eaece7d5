"""Labelling cases by hand: what is asked next, every key kept, two people compared.

The core (``session`` and below) knows no screen; ``terminal``, ``prompt`` and ``web`` show it.
"""
