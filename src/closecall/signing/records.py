"""What is known of a run once it was checked."""

from __future__ import annotations

from enum import StrEnum

import msgspec

EXIT_UNSOUND = 4
EXIT_UNSIGNED = 14
EXIT_UNKNOWN_KEY = 15


class SignatureState(StrEnum):
    """What became of the signature of a run."""

    UNSIGNED = "unsigned"
    UNCHECKED = "unchecked"
    """It is there, and no key was given to check it with."""
    TRUSTED = "trusted"
    """A key that was given made it, over the seal as it is."""
    UNKNOWN = "unknown key"
    """None of the keys that were given made it."""
    BROKEN = "broken"
    """It is not over this seal, or not by the key it names."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What ``verify_run`` found.

    ``problems`` says in words what does not hold, each with its file; empty where all of it does.
    ``state`` is ``sealed``, ``not sealed`` or ``not closed``, None where there is no run to be
    read. ``signed_by`` names the key ids in the signature, ``signers`` those of them that are
    trusted and what they are called. ``keys`` is how many keys it was checked with.
    """

    place: str
    problems: tuple[str, ...]
    state: str | None
    signature: SignatureState
    signed_by: tuple[str, ...] = ()
    signers: dict[str, str] = {}
    keys: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing was found to be wrong, whoever signed it."""
        return not self.problems

    @property
    def trusted(self) -> bool:
        """Whether it is sound and signed by one of the keys that were given."""
        return self.sound and self.signature is SignatureState.TRUSTED

    @property
    def exit_code(self) -> int:
        """0 sound and, where keys were given, signed by one of them; 4 something does not hold.

        With keys also 14: it is not signed, and 15: signed by none of them.
        """
        if self.problems:
            return EXIT_UNSOUND
        if self.keys and self.signature is SignatureState.UNSIGNED:
            return EXIT_UNSIGNED
        if self.keys and self.signature is SignatureState.UNKNOWN:
            return EXIT_UNKNOWN_KEY
        return 0
