"""The ways of spreading vectors, by the names that people type."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

from closecall.errors import UsageError

Kind: TypeAlias = Literal["centre", "components", "whiten"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ALLOWED = "centre, components:K (such as components:8) or whiten:D (such as whiten:256)"

OPTION = "isotropy"
"""The option of an instrument that says its vectors are spread, and by what."""

TWICE = "these vectors are spread already, and a second time helps nobody"


class Method(NamedTuple):
    """A way of spreading vectors.

    ``centre``: the mean is taken away. ``components``: the mean and ``size`` principal components
    are (all-but-the-top: Mu and Viswanath, 2018). ``whiten``: the mean is, and the ``size``
    principal components that are kept are brought to one variance (Su et al., 2021; Huang et
    al., 2021). ``size`` is 0 for ``centre``.
    """

    kind: Kind
    size: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.size}" if self.size else self.kind

    def width(self, dims: int) -> int:
        """Return how many numbers a vector of ``dims`` has afterwards."""
        return self.size if self.kind == "whiten" else dims

    def flaw(self, dims: int) -> str:
        """Return why vectors of ``dims`` numbers cannot be treated so, empty where they can."""
        most = dims - 1 if self.kind == "components" else dims
        if self.size <= most:
            return ""
        return (
            f"{self}: vectors of {dims} numbers have room for {self.kind}:{most} at most"
            if most
            else f"{self}: vectors of one number have no component to spare"
        )


def parse_method(text: str) -> Method:
    """Return the method that a text such as ``whiten:256`` names.

    Raises
    ------
    UsageError
        It names none; lists those there are.
    """
    name, sep, size = text.strip().partition(":")
    kind = next((one for one in KINDS if one == name), None)
    number = int(size) if size.isascii() and size.isdigit() and len(size) <= _DIGITS else 0
    if kind is None or (not sep if kind != "centre" else bool(sep)) or bool(sep) != (number > 0):
        raise UsageError(f"method must be {ALLOWED}; got {text!r}")
    return Method(kind, number)


_DIGITS = 6
