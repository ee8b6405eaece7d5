"""Whether every line of a cassette is what closecall wrote, and holds no key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from closecall.cassettes.entries import MAX_LINE, Identified, read_header, read_line
from closecall.cassettes.naming import JOURNAL, file_name, files_of
from closecall.cassettes.records import Verified
from closecall.cassettes.secrets import Secrets
from closecall.cassettes.tape import MAX_FILE, MAX_LINES
from closecall.there import is_file

SHOWN = 50
"""Problems that are listed; the rest are counted."""


def verify(folder: Path, environ: Mapping[str, str] | None = None) -> Verified:
    """Check every line: its spelling, its key, its check, its order, its identity, no key in it.

    Parameters
    ----------
    folder
        The cassette.
    environ
        Variables whose values must not be in it, where their names say that they hold a key;
        None: those of this process.

    Raises
    ------
    UsageError
        There is no such folder.
    """
    secrets = Secrets(environ)
    problems: list[str] = []
    count = entries = 0
    paths = files_of(folder)
    for path in paths:
        checked = _File(path, secrets)
        for problem in checked.problems():
            count += 1
            if len(problems) < SHOWN:
                problems.append(problem)
        entries += checked.entries
    for journal in sorted(p for p in folder.iterdir() if p.name.endswith(JOURNAL)):
        count += 1
        problems.append(
            f"{journal}: a recording is under way, or was cut short; the next one puts it into "
            "its file"
        )
    return Verified(
        folder=str(folder),
        files=len(paths),
        entries=entries,
        problems=tuple(problems),
        more=count - len(problems),
    )


class _File:
    def __init__(self, path: Path, secrets: Secrets) -> None:
        self.entries = 0
        self._path = path
        self._secrets = secrets
        self._before = ""
        self._identities: set[str] = set()
        self._named: dict[str, int] = {}

    def problems(self) -> Iterator[str]:
        """Yield what is wrong, with its place."""
        path = self._path
        try:
            if not is_file(path):
                yield f"{path}: is no file"
                return
            if path.stat().st_size > MAX_FILE:
                yield f"{path}: is larger than {MAX_FILE} bytes"
                return
            yield from self._lines()
        except OSError as error:
            yield f"{path}: cannot be read: {error.strerror or error}"
            return
        for digest, number in self._named.items():
            if digest not in self._identities:
                yield f"{path}:{number}: the line that says who replied is missing"

    def _lines(self) -> Iterator[str]:
        number = 0
        with self._path.open("rb") as file:
            while raw := file.readline(MAX_LINE + 3):
                number += 1
                place = f"{self._path}:{number}"
                if number > MAX_LINES:
                    yield f"{self._path}: has more than {MAX_LINES} lines"
                    return
                if not raw.endswith(b"\n"):
                    yield f"{place}: has no line end, or is longer than {MAX_LINE} bytes"
                    return
                body = raw.removesuffix(b"\n").removesuffix(b"\r")
                try:
                    self._header(body) if number == 1 else self._line(body, number)
                except ValueError as error:
                    yield f"{place}: {error}"
                name = self._secrets.name_in(body.decode("utf-8", errors="replace"))
                if name:
                    yield f"{place}: holds the value of {name}; drop the line, and change the key"
        if not number:
            yield f"{self._path}: is empty; a cassette's file begins with its header"

    def _header(self, body: bytes) -> None:
        scenario = read_header(body).scenario
        if file_name(scenario) != self._path.name:
            raise ValueError(
                f"holds the scenario {scenario!r}, whose file is named {file_name(scenario)}"
            )

    def _line(self, body: bytes, number: int) -> None:
        line = read_line(body)
        before, self._before = self._before, max(self._before, line.key)
        if isinstance(line, Identified):
            self._identities.add(line.digest)
        else:
            self.entries += 1
            self._named.setdefault(line.identity, number)
        if line.key == before:
            raise ValueError(f"the key {line.key} stands twice; keep one of the lines")
        if line.key < before:
            raise ValueError(f"stands before its turn: {line.key} sorts before {before}")
