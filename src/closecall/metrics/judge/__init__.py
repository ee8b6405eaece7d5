"""Judges: a chat model reads a case and gives a number, a reason and its thoughts."""
