"""What a run has spent, kept in its folder while it goes on: a resumed run counts on from there.

It also holds what was paid for and is not among the results, such as answers that a budget kept
from being judged.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from closecall.errors import RunFolderError
from closecall.runs import files
from closecall.runs.spending import Spending, Spent
from closecall.runs.wire import dump_document

SPENT = "ext/closecall/spent.json"


class SpentFile:
    """Writes what was spent whenever that changes.

    Parameters
    ----------
    root
        The run folder, which this process is writing.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: tuple[Spent, ...] = ()

    def save(self, spending: Spending) -> None:
        """Write it, unless it is there already or nothing was spent.

        Raises
        ------
        RunFolderError
            It cannot be written.
        """
        if spending.spent == self._before:
            return
        plain = msgspec.to_builtins(spending)
        with files.translated(f"{self._root / SPENT}: cannot be written"):
            files.write(self._root, SPENT, dump_document(plain))
        self._before = spending.spent


def read_spending(root: Path) -> Spending | None:
    """Return what a run has spent, closed or not; None where its folder does not say.

    Raises
    ------
    RunFolderError
        The file cannot be read.
    """
    if not files.exists(root, SPENT):
        return None
    try:
        return msgspec.convert(files.read_document(root, SPENT), Spending)
    except msgspec.ValidationError as error:
        raise RunFolderError(f"{root / SPENT}: cannot be understood: {error}") from error
