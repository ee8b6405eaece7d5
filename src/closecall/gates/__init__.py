"""Rules on a whole run: what has to hold for it to pass, with an interval and a margin."""
