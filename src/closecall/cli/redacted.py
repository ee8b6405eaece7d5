"""Take out of an error what a URL that was typed may hold: a password, a key, a signature.

Most arguments are paths, and an error about a path repeats it. A URL typed in place of one, by
mistake, would so put its secret into the log of whoever runs this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "[hidden]"

_STORAGE = "s3|s3a|az|abfs|abfss|gs|gcs"
# A path loses one of two slashes on its way into an error.
_PASSWORD = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*:/{1,2})[^\s/@'\"]*:[^\s/'\"]*@")
# Half of all secret keys of S3 have a slash in them.
_SLASHED = re.compile(
    rf"(?i)\b((?:{_STORAGE}|https?):/{{1,2}})(?!arn:)[^\s/@'\"]*:(?!\d{{1,5}}/)[^\s'\"]*@"
)
# In Azure's own spelling, CONTAINER@ACCOUNT, no secret stands before the @.
_KEY = re.compile(r"(?i)\b((?:s3|s3a|gs|gcs):/{1,2})[^\s/@'\"]+@")
_QUERY = re.compile(rf"(?i)\b((?:(?:{_STORAGE}):/{{1,2}}|https?:/(?!/))[^\s?#'\"]*[?#])[^\s'\"]+")
# A query in a page's address is no secret, and errors name pages; one that was typed may be.
_TYPED = re.compile(r"(?i)\bhttps?://[^\s?#'\"]*[?#]")


def redacted(text: str, typed: Iterable[str] = ()) -> str:
    """Return a text without what stands before an @ or after a ? in the URLs it holds.

    Of addresses of the web only those in ``typed``, a command's arguments, lose what follows a ?.
    """
    for pattern, put in (
        (_PASSWORD, rf"\1{HIDDEN}@"),
        (_SLASHED, rf"\1{HIDDEN}@"),
        (_KEY, rf"\1{HIDDEN}@"),
        (_QUERY, rf"\1{HIDDEN}"),
    ):
        text = pattern.sub(put, text)
    for start in {start for one in typed for start in _TYPED.findall(redacted(one))}:
        text = re.sub(rf"({re.escape(start)})[^\s'\"]+", rf"\1{HIDDEN}", text)
    return text
