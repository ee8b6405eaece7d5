"""Metrics that count shared words and characters; they need no model.

``tokenizers`` cuts a text; ``ngrams`` counts runs of tokens; ``references`` is what the metrics
have in common; the others are one metric or one family each. They see wording, not meaning: a
paraphrase scores low, and one changed number hardly moves them.
"""
