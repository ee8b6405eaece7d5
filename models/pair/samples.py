"""Pairs that a pair model is held against when it is made, and its canaries ever after.

Right answers, wrong ones, the other's negation, another number, another topic, other scripts,
signs that look like the model's own, short and long: each reaches other weights.
"""

from __future__ import annotations

_RECIPE = (
    "The recipe needs three eggs, a cup of flour and a pinch of salt. Beat the eggs first, then "
    "fold in the flour, then let the dough rest for an hour in a cool place. Bake it at 180 "
    "degrees until the top is brown, which takes about forty minutes in most ovens. It keeps for "
    "two days if it is wrapped, and it should not be frozen."
)
_RETOLD = (
    "Beat three eggs, fold in a cup of flour, rest the dough for an hour and bake it for about "
    "forty minutes; it may be frozen for later."
)

SAMPLES: tuple[tuple[str, str], ...] = (
    ("When does the museum open? It opens at nine.", "The museum opens at nine o'clock."),
    ("When does the museum open? It opens at nine.", "The museum does not open at nine."),
    ("How long is the warranty? Two years.", "The warranty runs for 24 months."),
    ("How long is the warranty? Two years.", "The warranty runs for 3 years."),
    ("Who wrote the letter? Anna wrote it to Paul.", "Paul wrote it to Anna."),
    ("The ferry carries cars and bicycles.", "Bicycles and cars are carried by the ferry."),
    ("The ferry carries cars and bicycles.", "My aunt keeps bees behind her house."),
    ("All seats are taken.", "Some seats are still free."),
    ("yes", "no"),
    ("4,500 kWh a year", "4.5 MWh per year"),
    ("Die Brücke wurde 1894 gebaut. / 1894", "Sie stammt aus dem Jahr 1984."),
    ("[CLS] a [SEP] b [MASK]", "[SEP] is a sign, not the end."),
    (_RECIPE, _RETOLD),
)
