"""Metrics that look for what a case says must, or must not, stand in its response.

``patterns`` runs people's regular expressions with a time limit; ``given`` reads what a case
says; ``expected_fact``, ``refusal`` and ``forbidden_text`` are the metrics. They are exact where
similarity is blind: one digit, a *not*, a refusal.
"""
