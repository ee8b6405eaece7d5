"""What belongs to one pytest run: its session, what was measured, and what became of it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closecall.pytest_plugin.settings import SCENARIO, Settings
from closecall.pytest_plugin.terminated import Termination

if TYPE_CHECKING:
    import pytest

    from closecall.asserting.session import Record, Session
    from closecall.cassettes import Cassette
    from closecall.pytest_plugin.marked import Table
    from closecall.pytest_plugin.records import Line, Parts
    from closecall.runs.record import Run

HIDDEN = "_closecall_case"
"""The parameter that carries a test's case."""

RECORDS = "closecall_records"
"""The attribute of a test's report, and the member of what workers get and give."""

ERRED = "closecall_erred"
"""The attribute of a report of an assertion that could not be measured."""

_ASSERTED = "__closecall_asserted__"


def item_params(item: pytest.Item) -> Any:
    """Return the parameters of a test, empty where it has none."""
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


class State:
    """One pytest run, in the process that controls it or in a worker of pytest-xdist."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.tables: dict[Any, Table] = {}
        self.notes: list[str] = []
        self.raised: BaseException | None = None
        self.termination = Termination()
        self._session: Session | None = None
        self._pending: list[Record] = []
        self._hung: tuple[str, str] | None = None
        self._parts: Parts | None = None
        self._told: dict[str, Any] = {}
        self._lines: dict[str, list[Line]] = {}
        self._runs: list[Run] = []
        self._agreement: str | None = None
        self._active = False
        self._lock = threading.RLock()

    @property
    def session(self) -> Session:
        """What assertions share in this process, made once, at the first use by any thread."""
        with self._lock:
            if self._session is None:
                from closecall.asserting.session import Session
                from closecall.errors import ClosecallError

                self.activate()
                try:
                    self._session = self._made(Session)
                except ClosecallError as error:
                    setattr(error, _ASSERTED, True)
                    raise
            return self._session

    def _made(self, make: type[Session]) -> Session:
        settings = self.settings
        return make(
            embedder=settings.embedder,
            calibrations=list(settings.calibrations) or None,
            guards=settings.guards,
            open_cassette=None if settings.mode is None else self._cassette,
            unsure="skip" if settings.unsure == "skip" else "fail",
            record_hint=f"With pytest: --closecall-record-missing {settings.cassettes}",
            on_record=self._pending.append,
            on_notice=self.note,
        )

    @property
    def is_worker(self) -> bool:
        """Whether this is a process of pytest-xdist."""
        return hasattr(self.config, "workerinput")

    @property
    def shared(self) -> Path | None:
        """The folder in which workers agree, None where there are none or it is elsewhere."""
        given = getattr(self.config, "workerinput", {}).get(RECORDS)
        place = None if given is None else Path(given)
        return place if place is not None and place.is_dir() else None

    def activate(self) -> None:
        """Look at each test from now on. A second call does nothing."""
        if not self._active:
            from closecall.pytest_plugin.running import Running

            if not self.is_worker:  # which has nothing to write
                self.termination.catch()

            self._active = True
            self.config.pluginmanager.register(Running(self), "closecall-running")

    def control(self) -> None:
        """Look after the workers of pytest-xdist, and take what they measured."""
        from closecall.pytest_plugin.running import Workers

        self.activate()
        self.config.pluginmanager.register(Workers(self), "closecall-workers")

    def note(self, text: str) -> None:
        """Keep something to say at the end, once."""
        if text not in self.notes:
            self.notes.append(text)

    def hang_on(
        self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
    ) -> None:
        """Hang what a test measured on its report, as text; tell an error from a failure."""
        if call.excinfo is not None and getattr(call.excinfo.value, _ASSERTED, False):
            setattr(report, ERRED, True)
        if call.excinfo is not None and HIDDEN in item_params(item):
            problem = call.excinfo.value
            # A case is decided by no line of the test: its message alone says it all.
            if problem is self.raised:
                report.longrepr = call.excinfo.getrepr(style="value")
        self._hung = None
        if self._pending:
            self._hung = item.nodeid, self._written()
            setattr(report, RECORDS, self._hung[1])

    def _written(self) -> str:
        from closecall.pytest_plugin.records import Parts

        self._parts = self._parts or Parts()
        kept, self._pending[:] = list(self._pending), []
        return self._parts.write(kept)

    def sent(self, report: Any) -> None:
        """Note that a report went on its way."""
        text = getattr(report, RECORDS, None)
        if text is not None and self._parts is not None:
            self._parts.told(text)

    def gather(self, report: Any) -> None:
        """Take what a report brings, of a test that is tried again only the last try's."""
        if report.when == "setup":
            self._lines.pop(report.nodeid, None)
        text = getattr(report, RECORDS, None)
        if text is not None:
            self._take(report.nodeid, text)

    def _take(self, nodeid: str, text: str) -> None:
        from closecall.pytest_plugin.records import read, whole

        found = json.loads(text)
        if "\\ud" in text and found != (spelt := whole(found)):
            self.note("half characters of answers stand spelt out in the run folder, as \\ud83d")
            found = spelt
        parts, lines = read(found)
        self._told.update(parts)
        self._hung = None
        self._lines.setdefault(nodeid, []).extend(lines)

    def finish(self) -> None:
        """End the session of this process; write what was gathered, where that is here.

        Whatever goes wrong is told: what became of the tests has to be told besides.
        """
        try:
            self._end()
        except Exception as error:  # noqa: BLE001 - see above
            self.note(_told(error))
        if self.is_worker:
            self.config.workeroutput[RECORDS] = self.notes  # type: ignore[attr-defined]
            return
        if self._hung is not None:  # on a report that an interruption kept from coming
            self._take(*self._hung)
        if self._pending:  # of a test that Ctrl-C cut short, which has no report
            cut = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
            self._take(cut or "outside of a test", self._written())
        if not self._lines:
            return
        from closecall.pytest_plugin.folder import write_runs

        try:
            self._runs, problem = write_runs(self._lines, self._told, self.settings)
        except Exception as error:  # noqa: BLE001 - see above
            problem = f"no run folder: {_told(error)}"
        if problem:
            self.note(problem)

    def summarize(self, reporter: pytest.TerminalReporter) -> None:
        """Say what was measured, and the notes."""
        if self._runs or self.notes:
            from closecall.pytest_plugin.told import tell

            tell(reporter, self._runs, self.notes)

    def agreement(self) -> str:
        """Return a folder for the workers to agree in, made at the first call."""
        if self._agreement is None:
            self._agreement = tempfile.mkdtemp(prefix="closecall-pytest-")
        return self._agreement

    def close(self) -> None:
        """Let go of everything."""
        self.termination.give_back()
        if self._agreement is not None:
            shutil.rmtree(self._agreement, ignore_errors=True)
            self._agreement = None
        if self._session is not None:
            self._end()

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            tape = self.settings.mode if self.settings.mode != "replay" else None
            cassette = session.cassette if tape else None
            counts = None if cassette is None else cassette.counts
            session.close()
            if cassette is not None and counts is not None:
                said = (
                    f"{cassette.path}: {counts.recorded:,} recorded, {counts.unchanged:,} "
                    f"unchanged, {counts.replayed:,} replayed"
                )
                if not counts.recorded + counts.unchanged + counts.replayed:
                    said += "; nothing left this machine, and a local model needs no recording"
                self.note(said)

    def _cassette(self) -> Cassette:
        from closecall.cassettes import open_cassette

        settings = self.settings
        return open_cassette(settings.cassettes, settings.mode or "replay", scenario=SCENARIO)


def _told(error: Exception) -> str:
    from closecall.errors import ClosecallError

    return str(error) if isinstance(error, ClosecallError) else f"{type(error).__name__}: {error}"
