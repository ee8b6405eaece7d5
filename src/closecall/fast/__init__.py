"""Integers for most cases, float32 again for those near their cutoff."""
