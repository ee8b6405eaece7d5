"""Texts to vectors: the contract (``base``), its makers, and the cached wrapper runs use."""
