"""Arguments that are a path or a URL of object storage.

``click.Path`` makes ``s3://bucket`` into ``s3:/bucket``; these types keep a URL as it is. One that
is unsound, holds a secret, or is on the network while that is forbidden is refused before anything
is opened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from closecall.cli.say import say

_STANDS_FOR = "closecall.cli.places"
"""Under which a command's context keeps which local path stands for which URL."""


class Url(str):
    """A URL where a path may stand, with what is asked of either."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The last part."""
        return self.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix of the last part."""
        return Path(self.name).suffix

    def absolute(self) -> Url:
        """Return it: a URL is the same from everywhere."""
        return self


Place = Path | Url


class PlaceType(click.Path):
    """A path or a URL."""

    name = "place"

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return a ``Path``, or a ``Url`` that is sound."""
        url = None if isinstance(value, Path) else url_of(value)
        return super().convert(value, param, ctx) if url is None else url


class OutputType(PlaceType):
    """A file to write: for a URL one of this machine, which is put there when the command ends."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path to write to."""
        found = super().convert(value, param, ctx)
        return found if isinstance(found, Path) or ctx is None else _delivered_later(found, ctx)


class LocalType(click.Path):
    """A path; a URL is refused, and the message says why."""

    name = "path"

    def __init__(self, why: str, **options: Any) -> None:
        super().__init__(path_type=Path, **options)
        self.why = why

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the path."""
        if not isinstance(value, Path) and url_of(value, refused=True) is not None:
            self.fail(f"{value!r} is a URL: {self.why}", param, ctx)
        return super().convert(value, param, ctx)


CASES = PlaceType()
FOLDER = PlaceType(file_okay=False)
OUTPUT = OutputType(dir_okay=False)


def url_of(value: str | os.PathLike[str], *, refused: bool = False) -> Url | None:
    """Return a URL that was typed, None for a path.

    Raises
    ------
    UsageError, ConfigurationError
        It is of another kind, unsound, or forbidden; with ``refused`` none but the first, as it
        will not be opened.
    """
    text = os.fspath(value)
    if "://" not in text:  # most of what is typed, and it loads nothing
        return None
    from closecall.storage.places import MEMORY, is_url, located

    if not is_url(text):
        return None
    if refused:
        return Url(text)
    found = located(text)
    if found.scheme == MEMORY:
        _require_filled(found.url)
    return Url(found.url)


def _require_filled(url: str) -> None:
    """Refuse the memory of a process that ends with its command: it holds nothing, and is lost.

    A program that calls a command has put something there before, and may look at it after.
    """
    from closecall.errors import UsageError

    memory = sys.modules.get("fsspec.implementations.memory")
    if memory is None or not memory.MemoryFileSystem.store:
        raise UsageError(
            f"{url}: memory:// is in the memory of this process and lost when the command ends; "
            "give a folder of this machine, or a URL such as s3://BUCKET/NAME"
        )


def stands_for(path: Path, url: str) -> None:
    """Note that a local path stands for a URL in this command."""
    context = click.get_current_context()
    context.meta.setdefault(_STANDS_FOR, {})[str(path)] = str(url)  # a plain one, for JSON


def shown(path: str | os.PathLike[str]) -> str:
    """Return a path as a person knows it: the URL it stands for, if it does."""
    context = click.get_current_context(silent=True)
    known: dict[str, str] = {} if context is None else context.meta.get(_STANDS_FOR, {})
    return known.get(os.fspath(path), os.fspath(path))


def renamed(text: str) -> str:
    """Return a sentence with URLs in the place of what stands for them."""
    context = click.get_current_context(silent=True)
    known: dict[str, str] = {} if context is None else context.meta.get(_STANDS_FOR, {})
    for path, url in known.items():
        text = text.replace(path, url)
    return text


def _delivered_later(url: Url, context: click.Context) -> Path:
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="closecall-"))
    path = folder / url.name
    context.meta.setdefault(_STANDS_FOR, {})[str(path)] = str(url)

    def deliver() -> None:
        import shutil

        from closecall.storage.opening import open_store

        try:
            if path.is_file():
                place, _, name = url.rpartition("/")
                open_store(place).write(name, path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # The outermost context is closed even where a later argument is refused.
    context.find_root().call_on_close(deliver)
    return path


@contextmanager
def writing(place: Place | None, *, resume: bool, take_over: bool) -> Iterator[Path | None]:
    """Give the folder a run is written in: the place itself, or what stands for a URL."""
    if not isinstance(place, Url):
        yield place
        return
    from closecall.runs.afar import written_run

    def tell(text: str) -> None:
        say(f"closecall: {text}", err=True)

    with written_run(place, resume=resume, take_over=take_over, on_notice=tell) as folder:
        stands_for(folder, place)
        yield folder


@contextmanager
def reading(run: str | os.PathLike[str], place: Path | None = None) -> Iterator[Path]:
    """Give the folder of a run that is named by a path, a URL or, in ``place``, an id."""
    url = url_of(run)
    if url is not None:
        from closecall.runs.afar import fetched_run

        with fetched_run(url) as folder:
            stands_for(folder, url)
            yield folder
        return
    if place is None:
        yield Path(run)
        return
    from closecall.runs.kept import find_run

    yield find_run(os.fspath(run), place)
