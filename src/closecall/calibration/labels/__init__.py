"""The labels: read, counted, audited, and which to add."""
