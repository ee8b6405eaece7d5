"""The commands that are killed and hindered, by what they write."""

from __future__ import annotations

from . import commands_files, commands_index, commands_models, commands_runs
from .kills import Scenario
from .servers import Served


def scenarios(served: Served) -> list[Scenario]:
    """Return every command there is to kill."""
    return [
        *commands_runs.all_of(served),
        *commands_files.all_of(),
        *commands_index.all_of(),
        *commands_models.all_of(served),
    ]
