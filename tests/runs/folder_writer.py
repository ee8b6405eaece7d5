"""A process that starts or continues the small run and finishes it, unless it is killed first."""

import random
import sys
from pathlib import Path

from folder_helpers import close, fill, header, metrics

from closecall.runs.folder import RunFolder

if __name__ == "__main__":
    place, cases, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    resume = (place / "run.json").exists()
    folder = RunFolder.resume(place) if resume else RunFolder.create(place, header(), metrics())
    with folder:
        sys.stdout.write(f"{folder.done}\n")
        sys.stdout.flush()
        chance = random.Random(seed)
        while folder.done < cases:
            fill(folder, min(cases, folder.done + chance.randint(1, 9)), chance.randint(1, 9))
        close(folder)
