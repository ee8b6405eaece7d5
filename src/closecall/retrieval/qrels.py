"""Files of relevance grades: BEIR's three columns with a header, or TREC's four without one."""

from __future__ import annotations

from pathlib import Path

from closecall.errors import DatasetError
from closecall.retrieval.collection import Grades
from closecall.retrieval.lines import Problems, own_grade, texts

HEADER = ("query-id", "corpus-id", "score")
TREC_COLUMNS = 4


def read_qrels(path: Path) -> Grades:
    """Return the grades of a file, in the order of its lines.

    BEIR: ``query-id``, ``corpus-id`` and ``score`` with tabs between them, and that header. TREC:
    ``query iteration document grade`` with white space between them; the iteration is not read.
    The first line says which of the two it is.

    Raises
    ------
    DatasetError
        It cannot be read, has no grades, a line has other columns, a grade is no whole number,
        or a document is graded twice for one question: file, line and column of each.
    """
    problems = Problems(path, "relevance grades")
    grades: Grades = {}
    first: dict[tuple[str, str], int] = {}
    trec: bool | None = None
    for line, text in texts(path, problems):
        if trec is None:
            trec = _is_trec(text)
            if not trec and _is_header(text):
                continue
        found = text.split() if trec else text.split("\t")
        wanted = TREC_COLUMNS if trec else len(HEADER)
        if len(found) != wanted:
            problems.add(line, "", f"expected {wanted} columns ({_words(trec)}), got {len(found)}")
            continue
        query, document = (found[0], found[2]) if trec else (found[0], found[1])
        grade = own_grade(found[-1].strip(), "grade" if trec else HEADER[2], line, problems)
        if not query.strip() or not document.strip():
            problems.add(line, "", "an id is blank")
        elif (query, document) in first:
            at = first[query, document]
            problems.add(line, "", f"{document!r:.60} was graded for {query!r:.60} in line {at}")
        elif grade is not None:
            first[query, document] = line
            grades.setdefault(query, {})[document] = grade
    problems.stop()
    if not grades:
        raise DatasetError(f"{path}: holds no relevance grades")
    return grades


def _is_header(line: str) -> bool:
    names = [name.strip().lower() for name in line.split("\t")]
    return tuple(names) == HEADER


def _is_trec(line: str) -> bool:
    # A tab file may have ids with blanks in them; three tab columns are never taken for TREC.
    return len(line.split("\t")) != len(HEADER) and len(line.split()) == TREC_COLUMNS


def _words(trec: bool) -> str:  # noqa: FBT001 - which of two layouts
    if trec:
        return "TREC: query iteration document grade, white space between them"
    return f"BEIR: {', '.join(HEADER)}, tabs between them"
