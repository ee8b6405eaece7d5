"""Pictures of scores and runs: what is drawn, worked out once, and two ways to draw it.

A function per picture turns arrays into a ``Chart``, or a ``NoChart`` that says why there is
nothing to draw. ``svg`` makes text of it for a page or a file, ``png`` pixels through matplotlib.
"""
