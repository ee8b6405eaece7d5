"""Where the vector cache is, and whether there is one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from closecall.cache.vectors import VectorCache
from closecall.errors import ConfigurationError

FILE_NAME = "vectors-v1.sqlite3"
FOLDER_VARIABLE = "CLOSECALL_CACHE_DIR"
SWITCH_VARIABLE = "CLOSECALL_CACHE"

_ON = frozenset({"", "on", "1", "true", "yes"})
_OFF = frozenset({"off", "0", "false", "no"})


def cache_path(
    folder: str | os.PathLike[str] | None = None, environ: Mapping[str, str] = os.environ
) -> Path:
    """Return the cache file's absolute path; nothing is made.

    ``folder`` counts first, then ``CLOSECALL_CACHE_DIR``, then the system's place for caches.

    Raises
    ------
    ConfigurationError
        There is no home folder to put it in.
    """
    chosen = os.fspath(folder) if folder is not None else environ.get(FOLDER_VARIABLE, "")
    try:
        if chosen.strip():
            return (Path(chosen).expanduser() / FILE_NAME).absolute()
        from platformdirs import user_cache_dir

        place = Path(user_cache_dir("closecall", appauthor=False))
    except RuntimeError:
        place = Path("~")
    if not place.is_absolute():
        # Where no home is known a path may still begin with "~": never make a folder so called.
        raise ConfigurationError(
            "there is no home folder to keep the vector cache in; name a folder with "
            f"--cache-dir or {FOLDER_VARIABLE}"
        )
    return place / FILE_NAME


def cache_enabled(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether ``CLOSECALL_CACHE`` leaves the cache on (the default).

    Raises
    ------
    ConfigurationError
        The variable is neither on nor off.
    """
    value = environ.get(SWITCH_VARIABLE, "").strip().lower()
    if value in _OFF:
        return False
    if value in _ON:
        return True
    raise ConfigurationError(f"{SWITCH_VARIABLE} must be on or off, got {value!r}")


def open_cache(
    folder: str | os.PathLike[str] | None = None,
    *,
    enabled: bool = True,
    on_notice: Callable[[str], None] | None = None,
) -> VectorCache | None:
    """Return the vector cache, open; None where it is switched off or cannot be used.

    A cache that cannot be used is one notice and no error. The caller closes the cache.

    Parameters
    ----------
    folder
        The folder; None: ``CLOSECALL_CACHE_DIR`` or the system's place for caches.
    enabled
        False: no cache, whatever the environment says.
    on_notice
        Called with each thing a person should know, one line each.

    Raises
    ------
    ConfigurationError
        ``CLOSECALL_CACHE`` is neither on nor off.
    """
    if not enabled or not cache_enabled():
        return None
    try:
        path = cache_path(folder)
    except ConfigurationError as error:
        if on_notice is not None:
            on_notice(f"vector cache: {error}. Going on without it.")
        return None
    cache = VectorCache(path, on_notice=on_notice)
    if cache.open():
        return cache
    cache.close()
    return None
