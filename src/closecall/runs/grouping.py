"""What stands for the groups of cases in a folder without content.

A group is often named by a question. So what is kept is a keyed digest (BLAKE2b, RFC 7693) of the
name, under a key that is itself a digest of all cases of the data set and stands in no file: who
guesses one text cannot test the guess without having all others. The same data set gives the same
names, so that runs of it, their shards, and a run that is gone on with agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from closecall.calibration.labels.items import BY_ROW, group_of
from closecall.datasets import Dataset, cases_secret
from closecall.records import Case
from closecall.runs.results import CaseResult


class GroupNames:
    """Names for groups that say nothing of what they stand for; ``repr`` does not show the key."""

    def __init__(self, secret: str) -> None:
        self._key = bytes.fromhex(secret)

    @classmethod
    def of_data(cls, cases: Iterable[Case]) -> GroupNames:
        """Return the names for the groups of a scanned data set, or of a list of cases."""
        return cls(cases.scan().secret if isinstance(cases, Dataset) else cases_secret(cases))

    def name(self, group: str) -> str:
        """Return 32 hex digits for the name of a group."""
        spelt = group.encode("utf-8", errors="surrogatepass")
        return hashlib.blake2b(spelt, digest_size=16, key=self._key).hexdigest()

    def hidden(self, row: CaseResult) -> CaseResult:
        """Return a case whose group, if it shares one, is named so."""
        name, way = group_of(row.case)
        if way == BY_ROW:
            return row
        case = msgspec.structs.replace(row.case, group=self.name(name))
        return msgspec.structs.replace(row, case=case)
