"""A process that starts or continues a run in parts and finishes it, unless it is killed first."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bulk_cases import parts, run

if __name__ == "__main__":
    cases, place = Path(sys.argv[1]), Path(sys.argv[2])
    run(cases, parts(place), resume=(place / "run.json").exists())
