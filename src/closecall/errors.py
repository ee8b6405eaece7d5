"""Every error closecall raises on purpose.

::

    ClosecallError
    ├── UsageError (ValueError)                 exit 2   an argument is wrong
    ├── ConfigurationError                      exit 3   something needed is missing or incomplete
    │   ├── UnknownNameError (LookupError)               no embedder or metric of that name
    │   ├── MissingExtraError (ImportError)              an optional dependency is not installed
    │   ├── MissingPriceError                            a budget of money needs a model's price
    │   ├── ReplayMissError (LookupError)   exit 5       a replay lacks what it was asked for
    │   └── ModelError                                   a model folder cannot be used
    │       ├── ModelIntegrityError                      its bytes are not the bytes recorded
    │       └── UnsupportedArchitectureError             not a model the compiler knows
    ├── DataError (ValueError)                  exit 4   input data cannot be read
    │   ├── DatasetError                                 rows of a case file, each with its place
    │   ├── RunFolderError                               a run folder cannot be read or resumed
    │   ├── CalibrationFileError                         a calibration file cannot be used
    │   ├── CassetteError                                a recording cannot be read or written
    │   ├── IndexFolderError                             an index cannot be read or written
    │   ├── StorageError                                 a place cannot be reached, or refuses
    │   └── VectorError                                  arrays that cannot be compared
    │       ├── ShapeError                               shapes do not fit
    │       ├── ZeroVectorError                          cosine of a zero vector
    │       └── NonFiniteError                           NaN or infinity
    ├── InstrumentMismatchError                 exit 6   made with something else than what is used
    ├── NoCutoffError                           exit 7   no cutoff keeps what was asked of it
    ├── BudgetError                             exit 8   what a run may spend is spent
    ├── NotComparableError                      exit 13  two runs did not measure the same thing
    └── EmbeddingError (RuntimeError)           exit 3   an embedder failed on some texts
        └── TextTooLongError                             longer than the window, policy "error"

In a run an ``EmbeddingError`` never escapes: the texts at fault become *not measured*.
The exit codes are those of the command line and do not change between versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ClosecallError(Exception):
    """Base of every deliberate error; ``exit_code`` is what the command line returns for it."""

    exit_code = 1


class UsageError(ClosecallError, ValueError):
    """An argument is wrong; the message says what is allowed."""

    exit_code = 2


class ConfigurationError(ClosecallError):
    """A provider, model, key or extra is missing or incomplete; found before any work is done."""

    exit_code = 3


class UnknownNameError(ConfigurationError, LookupError):
    """No embedder, metric or model of that name; the message lists those there are."""


class MissingExtraError(ConfigurationError, ImportError):
    """An optional dependency is not installed; the message says what to install."""

    def __init__(self, what: str, extra: str, modules: Sequence[str]) -> None:
        super().__init__(
            f"{what} needs {' and '.join(modules)}, which this environment lacks. "
            f"Install with: pip install 'closecall[{extra}]'"
        )


class MissingPriceError(ConfigurationError):
    """What may be spent is money, and a model has no price; the message says where to add it."""


class ReplayMissError(ConfigurationError, LookupError):
    """A replay was asked for what its cassette does not hold.

    ``count`` says how often; the message names the first few, each with the nearest recording
    and the first field that differs.
    """

    exit_code = 5

    def __init__(self, message: str, count: int = 1) -> None:
        super().__init__(message)
        self.count = count


class ModelError(ConfigurationError):
    """A model folder cannot be used."""


class ModelIntegrityError(ModelError):
    """A model file's bytes are not the ones its card records."""


class UnsupportedArchitectureError(ModelError):
    """The compiler does not know this architecture; the message names it."""


class DataError(ClosecallError, ValueError):
    """Input data cannot be read or used."""

    exit_code = 4


class RowProblem(NamedTuple):
    """One thing wrong with one row of a case file.

    ``place`` is ``file:line`` (or ``file[index]`` where a format has no lines), ``field`` the
    field or column with an index where it has one, ``message`` what was wrong and what is
    allowed.
    """

    place: str
    field: str
    message: str

    def __str__(self) -> str:
        return (
            f"{self.place}: {self.field}: {self.message}"
            if self.field
            else (f"{self.place}: {self.message}")
        )


MOST_SAID = 2_000
"""Characters of one sentence about input: names in it may be of any length."""


def _short(text: str) -> str:
    if len(text) <= MOST_SAID:
        return text
    return f"{text[: MOST_SAID // 2]} ... {text[-MOST_SAID // 2 :]}"


class DatasetError(DataError):
    """A case file cannot be read as it stands.

    ``problems`` holds the first ``shown`` problems, ``count`` how many there are in all.
    """

    def __init__(
        self, message: str, problems: Sequence[RowProblem] = (), count: int | None = None
    ) -> None:
        self.problems = tuple(problems)
        self.count = len(self.problems) if count is None else count
        lines = [_short(message), *(f"  {_short(str(problem))}" for problem in self.problems)]
        if self.count > len(self.problems) > 0:
            lines.append(f"  ... and {self.count - len(self.problems)} more")
        super().__init__("\n".join(lines))


class RunFolderError(DataError):
    """A run folder cannot be read, resumed or written."""


class CalibrationFileError(DataError):
    """A calibration file cannot be read, was edited, or is of another version."""


class CassetteError(DataError):
    """A recording cannot be read, was edited, is being written by another, or cannot be kept."""


class IndexFolderError(DataError):
    """An index folder cannot be read, was damaged, is of another version, or is being written."""


class StorageError(DataError):
    """A folder or object storage cannot be read or written; no secret is in the message."""


class VectorError(DataError):
    """Arrays that cannot be compared."""


class ShapeError(VectorError):
    """Shapes do not fit; the message gives both."""


class ZeroVectorError(VectorError, ZeroDivisionError):
    """A zero vector has no direction, so no cosine."""


class NonFiniteError(VectorError):
    """NaN or infinity where a finite number is needed."""


class InstrumentMismatchError(ClosecallError):
    """A cutoff was fitted, or an index built, with another embedder, metric or version."""

    exit_code = 6


class NoCutoffError(ClosecallError):
    """No cutoff keeps what was asked; the message says why and how many labels would do."""

    exit_code = 7


class BudgetError(ClosecallError):
    """A run has spent what it may; the message says how much, and what is measured so far.

    ``results`` holds the cases that were measured (``CaseResult``), where no run folder does.
    """

    exit_code = 8

    def __init__(self, message: str, results: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.results = tuple(results)


class NotComparableError(ClosecallError):
    """Two runs did not measure the same thing, or that they did cannot be shown.

    ``axes`` names what differs, one word an axis (``embedder``, ``cases``, ``version``, ...); the
    message has the values on both sides and what to type.
    """

    exit_code = 13

    def __init__(self, message: str, axes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.axes = tuple(axes)


class EmbeddingError(ClosecallError, RuntimeError):
    """An embedder failed.

    ``indices`` names the texts at fault within the batch; empty means the whole batch failed.
    ``reason`` says what is wrong with each of them without naming any, so that a text's failure
    reads the same whatever its neighbours were.
    """

    exit_code = 3

    def __init__(self, message: str, indices: Sequence[int] = (), *, reason: str = "") -> None:
        super().__init__(message)
        self.indices = tuple(indices)
        self.reason = reason or message


class TextTooLongError(EmbeddingError):
    """A text is longer than the model's window and the window policy is "error"."""
