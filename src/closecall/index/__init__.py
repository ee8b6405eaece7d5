"""Nearest neighbours: one contract, exact search by numpy and by faiss, and approximate search.

``building`` makes and opens an index, ``local`` is one, ``base`` its contract. ``exact`` is the
oracle: whatever a kind of index finds is scored as ``exact.top_k`` scores it, so that kinds differ
in what they find and never in a score. One folder holds an index (``folder``, ``manifest``).
"""
