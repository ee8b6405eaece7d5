"""The private key of ``closecall sign`` and ``eval --sign``, and its passphrase."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from closecall.cli.say import say

if TYPE_CHECKING:
    from closecall.runs.record import Run
    from closecall.signing.private_keys import SigningKey

F = TypeVar("F", bound=Callable[..., Any])

VARIABLE = "CLOSECALL_SIGN_PASSPHRASE"
MAX_PASSPHRASE = 4096

passphrase_option: Callable[[F], F] = click.option(
    "--passphrase-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Its first line is the passphrase of an encrypted key.  [default: {VARIABLE}, else "
    "asked at the terminal]",
)


def key_of(path: Path | None, passphrase_file: Path | None) -> SigningKey | None:
    """Return the key that a run is to be signed with; one that cannot be used is found out now."""
    return None if path is None else signing_key(path, passphrase_file)


def sign_finished(run: Run, key: SigningKey, *, quiet: bool) -> None:
    """Sign the run that was just sealed; a default place that could not be made is no run."""
    from closecall.errors import RunFolderError
    from closecall.signing.sign import sign_run

    place = run.folder or run.url
    if place is None:
        raise RunFolderError("no run folder was written, so there is nothing to sign: --aef DIR")
    made = sign_run(place, key)
    if not quiet:
        say(f"closecall: signed with {made}", err=True)


def signing_key(path: Path, passphrase_file: Path | None) -> SigningKey:
    """Return the key in a file; an encrypted one is opened with its passphrase.

    Raises
    ------
    MissingExtraError, ConfigurationError
        The key, or its passphrase, cannot be used.
    """
    from closecall.signing.private_keys import load_signing_key

    return load_signing_key(path, lambda: _passphrase(path, passphrase_file))


def _passphrase(key: Path, file: Path | None) -> str:
    """Return the passphrase from where it is given; never from an argument, which all can see."""
    from closecall.errors import ConfigurationError

    if file is not None:
        try:
            with file.open(encoding="utf-8", newline="") as opened:
                return opened.readline(MAX_PASSPHRASE).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigurationError(f"{file}: the passphrase cannot be read: {reason}") from None
    given = os.environ.get(VARIABLE)
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise ConfigurationError(
            f"{key}: the key is encrypted, and nobody is there to ask for its passphrase: set "
            f"{VARIABLE}, or name a file with --passphrase-file"
        )
    asked: str = click.prompt(f"Passphrase of {key}", hide_input=True, err=True)
    return asked
