"""What stands beside a cutoff: held-out errors, slices, probabilities, close calls."""
