"""Labelling in a browser on this machine: a small server on the loopback, and its one page."""
