"""Two cutoffs or two models on the same labelled answers."""
