"""Whether embedder and cases are still those of the calibration."""
