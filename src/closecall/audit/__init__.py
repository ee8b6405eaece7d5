"""What is wrong with a file of cases: duplicates, leaks, labels that contradict each other."""
