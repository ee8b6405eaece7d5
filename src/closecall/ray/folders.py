"""A run folder written from the parts of a run that has ended."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path

from closecall.runs import files, sinks
from closecall.runs.caselines import BESIDE
from closecall.runs.folder import RunFolder
from closecall.runs.header import RunHeader
from closecall.runs.parts.documents import read_document, read_lines
from closecall.runs.parts.stored import kept_cases
from closecall.runs.spending import Spending
from closecall.runs.spent_file import SpentFile
from closecall.storage import Store

_TOGETHER = 256
"""Cases copied in one go."""


def write_folder(store: Store, header: RunHeader, spending: Spending | None, to: Path) -> None:
    """Write the run folder that one process would have written; its run is the one in ``store``.

    Raises
    ------
    RunFolderError
        The folder holds something, or cannot be written; nothing is left there then.
    """
    folder = RunFolder.create(
        to,
        sinks.run_json(header),
        sinks.declared(header.metrics),
        paths=[plan.id for plan in header.metrics],
    )
    try:
        with folder:
            cases = kept_cases(store, header)
            while batch := list(islice(cases, _TOGETHER)):
                folder.append_case(
                    [
                        {
                            name: kept.record.case[name]
                            for name in kept.record.case
                            if name != BESIDE
                        }
                        for kept in batch
                    ]
                )
                folder.append([line for kept in batch for line in kept.record.results])
            if spending is not None:
                SpentFile(to).save(spending)
            gates = (
                [line for _, line in read_lines(store, files.GATES)]
                if store.exists(files.GATES)
                else ()
            )
            folder.close(
                summary=read_document(store, files.SUMMARY),
                gates=gates,
                ended_at=header.ended_at,
            )
    except BaseException:
        shutil.rmtree(to, ignore_errors=True)
        raise
