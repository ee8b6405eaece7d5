"""What pytest loads of closecall in every run: options, and the hooks that wake up the rest.

pytest imports this file in each environment where closecall is installed, also for suites that
never ask for it. So it stands outside the package, and imports nothing of it before something is
configured, marked or asserted: each module costs a fifth of a millisecond under pytest, which
looks whether its assertions are to be rewritten. The rest is in ``closecall.pytest_plugin``.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from closecall.pytest_plugin.fixture import CloseCall
    from closecall.pytest_plugin.state import State

__all__ = [
    "closecall",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_generate_tests",
    "pytest_report_header",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_unconfigure",
]

MARK = "closecall_cases"
MODES = ("record", "replay", "record-missing")
CASSETTES = "tests/cassettes"
FILE = "pytest.jsonl"
"""The cassette's file of the scenario ``pytest``; see ``closecall.cassettes.naming``."""

_INI = (
    ("embedder", "", "as --closecall-embedder"),
    ("cassettes", CASSETTES, "folder of recordings; replayed wherever it holds some"),
    ("guards", "", "what a guard that differs does, as closecall eval --guards"),
    ("unsure", "fail", "what an unsure answer is: fail, or skip"),
    ("aef", "", "run folders: off, for none"),
)
_OPENER = pytest.StashKey[Any]()
_STATE = pytest.StashKey["State"]()
_lock = threading.Lock()

_current = sys.modules.get("closecall.asserting.current")
openers: list[Any] = [] if _current is None else _current.openers
"""What gives the session that assertions belong to, the innermost last.

One list with ``closecall.asserting.current``, whichever of the two is imported first.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options and ini values."""
    group = parser.getgroup("closecall", "closecall: is this answer close enough?")
    group.addoption(
        "--closecall-embedder",
        metavar="NAME",
        help="Embedder of the assertions, as for closecall eval --embedder.",
    )
    group.addoption(
        "--closecall-calibration",
        metavar="FILE",
        action="append",
        help="Decide with this calibration wherever its metric is asked for without a cutoff; "
        "repeatable, one a metric.",
    )
    for mode, what in (
        ("record", "Ask the providers and record every answer in DIR."),
        ("replay", "Take every answer from the recordings in DIR and ask nobody."),
        ("record-missing", "Take what is recorded in DIR, and ask for and record the rest."),
    ):
        group.addoption(f"--closecall-{mode}", metavar="DIR", help=what)
    group.addoption(
        "--closecall-aef", metavar="DIR", help="Run folder of what was asserted (new or empty)."
    )
    group.addoption("--closecall-no-aef", action="store_true", help="Write no run folder.")
    for name, default, what in _INI:
        parser.addini(f"closecall_{name}", f"closecall: {what}.", "string", default)
    parser.addini(
        "closecall_calibration", "closecall: calibration files, one a metric.", "paths", []
    )


def pytest_configure(config: pytest.Config) -> None:
    """Read the options where there are any; no model or recording is opened yet."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(path, *, metrics, cutoff, cutoffs, calibration, embedder, guards, judge, "
        "mapping, ids, check): one test for each case of a file beside the test's own.",
    )

    def opener() -> Any:
        return _state(config).session

    config.stash[_OPENER] = opener
    openers.append(opener)
    try:
        recorded = (config.rootpath / config.getini("closecall_cassettes") / FILE).is_file()
    except OSError as error:  # it cannot be told, and nobody may be asked where there are some
        raise pytest.UsageError(f"closecall_cassettes: {error.strerror}") from error
    spread = config.getoption("dist", "no") != "no"
    if recorded or spread or hasattr(config, "workerinput") or _configured(config):
        state = _state(config, recorded=recorded)
        if spread and not state.is_worker:
            state.control()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of everything, also where no test ran."""
    opener = config.stash.get(_OPENER, None)
    if opener in openers:
        openers.remove(opener)
    state = config.stash.get(_STATE, None)
    if state is not None:
        state.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is recorded or replayed, where something is."""
    state = config.stash.get(_STATE, None)
    return [] if state is None else state.settings.told()


@pytest.fixture(scope="session")
def closecall(request: pytest.FixtureRequest) -> CloseCall:
    """Return assertions and scores of this session's embedder, recordings and calibrations."""
    from closecall.pytest_plugin.fixture import CloseCall

    return CloseCall(_state(request.config).session)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each case, where a test is marked."""
    if metafunc.definition.get_closest_marker(MARK) is not None:
        from closecall.pytest_plugin.marked import generate

        generate(metafunc, _state(metafunc.config))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Look out for marked tests of ``unittest``, which cannot become several."""
    unittest = sys.modules.get("unittest")
    if unittest is None:
        return
    for item in items:
        owner = getattr(item, "cls", None)
        if (
            isinstance(owner, type)
            and issubclass(owner, unittest.TestCase)
            and item.get_closest_marker(MARK) is not None
        ):
            _state(config).activate()
            return


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the run folder, where something was measured."""
    state = session.config.stash.get(_STATE, None)
    if state is not None:
        with state.termination.later():
            state.finish()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was measured."""
    state = config.stash.get(_STATE, None)
    if state is not None:
        state.summarize(terminalreporter)


def _configured(config: pytest.Config) -> bool:
    """Whether anything of closecall is asked for that may be wrong, or has to be told."""
    options = vars(config.option).items()
    typed = [value for name, value in options if name.startswith("closecall_")]
    return (
        any(value is not None and value is not False for value in typed)
        or any(config.getini(f"closecall_{name}") != default for name, default, _ in _INI)
        or bool(config.getini("closecall_calibration"))
    )


def _state(config: pytest.Config, *, recorded: bool = False) -> State:
    """Return what belongs to this pytest run, made at the first call.

    ``recorded``: whether the folder of recordings held some when the run began.
    """
    with _lock:
        found = config.stash.get(_STATE, None)
        if found is None:
            from closecall.pytest_plugin.settings import read
            from closecall.pytest_plugin.state import State

            found = config.stash[_STATE] = State(config, read(config, recorded=recorded))
        return found
