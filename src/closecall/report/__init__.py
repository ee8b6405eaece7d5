"""A run as people and tools read it: one file a format, all from the same ``Run``."""
