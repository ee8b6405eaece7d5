"""Files of Hugging Face ``datasets``: any columns, by the names that closecall knows or is told.

The rules are those of every case file. A column ``label`` counts as what a person said of the
answer only where it holds such words: in most data sets it is a class of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from closecall.datasets._fields import LABEL, LABEL_WORDS
from closecall.datasets._plan import Plan, decide
from closecall.datasets._rows import BadRowError, Ids, compile_reader
from closecall.datasets._survey import Survey, carries
from closecall.datasets._values import Problems
from closecall.importing.arrow import Arrow
from closecall.importing.opened import Opened
from closecall.importing.tally import Tally
from closecall.records import Case


def cases(
    opened: Opened, tally: Tally, mapping: Mapping[str, str]
) -> Iterator[tuple[str, Case | Problems]]:
    """Yield for each row its place, and its case or what is wrong with it.

    Raises
    ------
    DatasetError, UsageError
        As ``open_dataset``: a column has two readings, or nothing can be compared.
    """
    survey = Survey(mapping, tuple(getattr(opened, "header", ())))
    words: set[str] = set()
    for row in opened.rows():
        if row.value is not None:
            survey.add(row.value, row.place)
            words |= _label_words(row.value)
    plan = decide(survey, str(opened.path), cells=opened.cells)
    if LABEL in plan.columns and LABEL not in survey.mapping and words - LABEL_WORDS.keys():
        column = plan.columns[LABEL][0].name
        columns = {field: found for field, found in plan.columns.items() if field != LABEL}
        plan = Plan(columns, plan.reading, plan.cells, plan.talk)
        tally.say(
            f"`{column}` is kept in metadata: it holds {min(words - LABEL_WORDS.keys())!r}, which "
            f"accepts or rejects no answer; --map label=COLUMN names a column that does"
        )
    for sentence in plan.reading:
        tally.say(sentence)
    read = compile_reader(plan, tally.notes, Ids(tally.notes))
    for number, row in enumerate(opened.rows(), start=1):
        if row.value is None:
            yield row.place, list(row.flaws)
            continue
        try:
            yield row.place, read(row.value, number, row.place)
        except BadRowError as bad:
            yield row.place, bad.problems
    if isinstance(opened, Arrow) and opened.bytes_left_out:
        tally.say(
            f"{opened.bytes_left_out:,} values of bytes, such as pictures, are no texts and were "
            "left out"
        )


def _label_words(row: Mapping[str, object]) -> set[str]:
    return {
        str(value).strip().lower()
        for key, value in row.items()
        if key.strip().lower() == LABEL and carries(value)
    }
