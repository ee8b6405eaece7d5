"""The fitted judge: a logistic head over plain scalars of a case, learned from labels."""
