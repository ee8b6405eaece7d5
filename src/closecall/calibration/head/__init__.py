"""Fitting a judge: a logistic head, its folds, and the test whether it is worth having."""
