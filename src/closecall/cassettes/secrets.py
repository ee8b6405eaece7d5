"""Keys that lie in the environment, so that none of them is ever written down."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from closecall.cassettes.spelling import spelt
from closecall.errors import ConfigurationError

SHORTEST = 8
SHORTEST_WORD = 16
"""Characters a value needs to be looked for, and one of nothing but letters.

A shorter one, such as ``postgres``, stands in ordinary texts by chance.
"""

_HOLDS_A_KEY = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY(?:_ID)?|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|"
    r"CREDENTIALS?|AUTHORIZATION|BEARER|PAT)$",
    re.IGNORECASE,
)


class Secrets:
    """Values that no line may hold, each with the name it goes by.

    Parameters
    ----------
    environ
        Where variables are looked up whose names say that they hold a key (``..._API_KEY``,
        ``..._TOKEN``, ``..._SECRET``, ``AUTHORIZATION``, ...), in capitals or not.
    others
        Further values that must not be written.
    """

    __slots__ = ("_found",)

    def __init__(
        self, environ: Mapping[str, str] | None = None, others: Iterable[str] = ()
    ) -> None:
        named = [(f"the variable {n}", v) for n, v in (environ or os.environ).items() if _is(n)]
        named += [("a key in use", value) for value in others]
        self._found = [
            (name, _spelt(value.strip())) for name, value in named if _long_enough(value)
        ]

    def __repr__(self) -> str:
        return f"Secrets({len(self._found)})"

    def name_in(self, line: str) -> str:
        """Return what the first key in a line goes by; empty if there is none."""
        return next((name for name, value in self._found if value in line), "")

    def refuse(self, line: str, what: str) -> None:
        """Raise if a line holds a key.

        Raises
        ------
        ConfigurationError
            It names the variable, never the value.
        """
        name = self.name_in(line)
        if name:
            raise ConfigurationError(
                f"{what} holds the value of {name}, so it is not recorded. Take the key out of "
                "the texts, or unset the variable if it is no key"
            )


def _is(name: str) -> bool:
    return _HOLDS_A_KEY.search(name) is not None


def _long_enough(value: str) -> bool:
    bare = value.strip()
    return len(bare) >= (SHORTEST_WORD if bare.isalpha() else SHORTEST)


def _spelt(value: str) -> str:
    """Return a value as it would stand inside a JSON text."""
    return spelt(value)[1:-1]
