"""closecall in pytest: what wakes up once something is configured, marked or asserted.

pytest itself loads ``_closecall_pytest``, which has the options, the hooks and the fixture and
stands outside the package, so that a suite that never asks for closecall imports one small file.
They are here as well, for ``-p closecall.pytest_plugin`` where plugins are not looked for.

``settings`` has what was configured, ``state`` what belongs to one pytest run, ``running`` the
hooks that look at each test, ``marked`` turns a case file into tests; ``records``, ``folder`` and
``told`` make a run folder and a summary of it.
"""

from _closecall_pytest import (
    closecall,
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_report_header,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_unconfigure,
)

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
