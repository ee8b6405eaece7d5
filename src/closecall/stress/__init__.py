"""Labels before anyone labels: answers made wrong, or changed without harm, on purpose.

``stress_test`` edits a file's own references and counts what a metric lets through; ``stress_set``
only makes the edited answers. One family of edits a file. The edits are found with the readers of
the guards, so a guard looks better on them than on what people and models write.
"""

from __future__ import annotations
