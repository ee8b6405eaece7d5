"""Write the reference vectors: what sentence-transformers makes of a set of texts.

::

    python models/reference_vectors.py --model FOLDER

``FOLDER`` holds the published all-MiniLM-L6-v2; the environment needs sentence-transformers and
torch, which closecall itself does not. The texts are made by ``tests/models/reference_texts.py``.
Writes ``tests/models/reference_vectors.npy``: float32, one row a text. The suite holds the bundled
model against it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parent.parent / "tests" / "models"


def main() -> int:
    """Embed the texts and write their vectors."""
    parser = argparse.ArgumentParser(description="Write the reference vectors.")
    parser.add_argument("--model", required=True, help="folder of the published model")
    folder = parser.parse_args().model
    sys.path.insert(0, str(TESTS))
    from reference_texts import reference_texts  # noqa: PLC0415 - found by the path above
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds to import

    model = SentenceTransformer(folder, device="cpu", local_files_only=True)
    # One text at a time: no padding, so nothing but the text decides its vector.
    rows = [model.encode([text], convert_to_numpy=True)[0] for text in reference_texts()]
    np.save(TESTS / "reference_vectors.npy", np.asarray(rows, dtype=np.float32))
    print(f"{len(rows)} vectors written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
