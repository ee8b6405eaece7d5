"""Isotropy: spreading pooled vectors over all directions, with a transform fitted on texts."""
