"""Case files in, a stream of cases out.

JSONL, JSON, CSV, TSV and YAML as people write them. A file that can be read two ways is refused
with what to type; a row that cannot be read is named with its line and field.
"""

from __future__ import annotations

from closecall.datasets._content import cases_digest, cases_secret, questions_digest
from closecall.datasets._dataset import Dataset, OnBadRow, Scan, open_dataset
from closecall.datasets._python import cases_from

__all__ = [
    "Dataset",
    "OnBadRow",
    "Scan",
    "cases_digest",
    "cases_from",
    "cases_secret",
    "open_dataset",
    "questions_digest",
]
