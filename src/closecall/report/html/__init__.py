"""A run as one HTML file: no network, no scripts needed, hostile texts shown as texts."""
