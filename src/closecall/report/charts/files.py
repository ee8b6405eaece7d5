"""A picture as a file, in the form its suffix says."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from closecall.atomic import whole_file
from closecall.errors import DataError, UsageError
from closecall.report.charts.chart import Drawn, NoChart
from closecall.report.charts.svg import svg
from closecall.there import exists, is_file, resolved

FORMS = (".svg", ".png")


def require_form(path: Path) -> None:
    """Raise ``UsageError`` unless the suffix is that of a picture."""
    if path.suffix.lower() not in FORMS:
        raise UsageError(f"{path}: a picture is a file in {' or '.join(FORMS)}")


def save(drawn: Drawn, path: Path) -> None:
    """Write the picture: whole or not at all.

    Raises
    ------
    DataError
        There is nothing to draw; the message says why.
    MissingExtraError
        A PNG needs matplotlib.
    UsageError
        The suffix is none of ``FORMS``, or the place cannot be written.
    """
    require_form(path)
    if isinstance(drawn, NoChart):
        raise DataError(f"no picture: {drawn.sentence}")
    if path.suffix.lower() == ".svg":
        with whole_file(path) as out:
            out.write(svg(drawn, "chart", standalone=True))
        return
    from closecall.report.charts.png import png

    _write(png(drawn), path)


def _write(data: bytes, path: Path) -> None:
    """Put bytes where the path leads, under a temporary name first."""
    temporary = None
    try:
        if exists(path) and not is_file(path):  # a pipe or a device is written to
            path.write_bytes(data)
            return
        target = resolved(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".closecall-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = target.stat().st_mode & 0o777 if exists(target) else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
        temporary = None
    except (OSError, RuntimeError) as error:  # the latter of links that lead in a circle
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', error)}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
