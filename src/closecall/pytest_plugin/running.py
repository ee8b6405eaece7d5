"""The hooks that look at each test, registered once something is measured, or marked to be.

A suite that has nothing to do with closecall is never slowed down by them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from _closecall_pytest import MARK
from closecall.pytest_plugin.state import ERRED, HIDDEN, RECORDS, item_params

if TYPE_CHECKING:
    from closecall.pytest_plugin.state import State


class Running:
    """Measures marked tests, and hangs what was measured on reports."""

    def __init__(self, state: State) -> None:
        self._state = state

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Measure the case of a test, with those of the tests to come."""
        if HIDDEN in item_params(item):
            from closecall.pytest_plugin.marked import set_up

            set_up(item, self._state)
        elif item.get_closest_marker(MARK) is not None:
            pytest.fail(
                f"{MARK} turns a function into one test a case; this is a method of a "
                "unittest.TestCase, which can only be one test. Mark a function or a plain "
                "class, or call closecall.evaluate",
                pytrace=False,
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Decide the case of a test before its own body looks at it."""
        if HIDDEN in item_params(pyfuncitem):
            from closecall.pytest_plugin.marked import decide

            decide(pyfuncitem, self._state)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hang what was measured on the report, which finds its way from every worker."""
        report = yield
        with self._state.termination.later():
            self._state.hang_on(item, call, report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what was measured from each report, where they come together."""
        with self._state.termination.later():
            self._state.sent(report)
            if not self._state.is_worker:
                self._state.gather(report)

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """Call an assertion that could not be measured an error, and no failure."""
        if getattr(report, ERRED, False) and report.outcome == "failed":
            return "error", "E", "ERROR"
        return None


class Workers:
    """Looks after the workers of pytest-xdist."""

    def __init__(self, state: State) -> None:
        self._state = state

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker the folder in which all agree on what the case files say."""
        node.workerinput[RECORDS] = self._state.agreement()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ARG002 - xdist tells
        """Note what a worker had to say at its end."""
        for text in getattr(node, "workeroutput", {}).get(RECORDS, ()):
            self._state.note(text)
