"""closecall in pytest: the hooks, and the fixture ``closecall``.

pytest imports this module in every run of an environment where closecall is installed, so nothing
heavy is imported here: numpy, a model or even msgspec load with the first assertion.

``options`` has what may be configured, ``state`` what belongs to one pytest run, ``running`` the
hooks that look at each test, ``marked`` turns a case file into tests; ``records``, ``folder`` and
``told`` make a run folder and a summary of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from closecall.asserting import current
from closecall.pytest_plugin import options
from closecall.pytest_plugin.state import State

if TYPE_CHECKING:
    from closecall.pytest_plugin.fixture import CloseCall

MARK = "closecall_cases"
_KEY = pytest.StashKey[State]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options and ini values."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; no model, file or recording is opened yet."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(path, *, metrics, cutoff, cutoffs, calibration, embedder, guards, judge, "
        "mapping, ids, check): one test for each case of a file beside the test's own.",
    )
    state = State(config, options.read(config))
    config.stash[_KEY] = state
    current.enter(state.opener)
    if config.getoption("dist", "no") != "no" and not state.is_worker:
        state.control()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let go of everything, also where no test ran."""
    state = config.stash.get(_KEY, None)
    if state is not None:
        current.leave(state.opener)
        state.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is recorded or replayed, where something is."""
    return config.stash[_KEY].settings.told()


@pytest.fixture(scope="session")
def closecall(request: pytest.FixtureRequest) -> CloseCall:
    """Return assertions and scores of this session's embedder, recordings and calibrations."""
    from closecall.pytest_plugin.fixture import CloseCall

    return CloseCall(request.config.stash[_KEY].session)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each case, where a test is marked."""
    if metafunc.definition.get_closest_marker(MARK) is not None:
        from closecall.pytest_plugin.marked import generate

        generate(metafunc, metafunc.config.stash[_KEY])


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
            config.stash[_KEY].activate()
            return


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the run folder, where something was measured."""
    session.config.stash[_KEY].finish()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was measured."""
    config.stash[_KEY].summarize(terminalreporter)
