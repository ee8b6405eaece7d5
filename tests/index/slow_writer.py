"""A process that builds an index over the one in a folder, and says when it begins to write."""

import sys

import numpy as np
from made_rows import rows, vectors

from closecall.index.building import build_index


def told(items, at):
    for number, item in enumerate(items):
        if number == at:
            sys.stdout.write("writing\n")
            sys.stdout.flush()
        yield item


if __name__ == "__main__":
    folder, kind, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    build_index(told(rows(n), 1024), folder, vectors=vectors(n) * np.float32(-1), kind=kind)
