"""A comparison of two runs for people: in a terminal, a pull request, a browser, as JSON."""
