"""What is measured: one metric turns one case into one measurement.

``base`` is the contract; ``sides`` picks the texts of a case; ``pooled`` and
``embedding_similarity`` measure with one vector a text; ``registry`` finds metrics by name;
``normalizer`` converts between scales.
"""
