"""Text and data made safe to stand in an HTML page that holds nothing but ASCII."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json

from closecall.records import JSON

_IN_SCRIPT = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def script_json(value: JSON) -> str:
    """Return a value as JSON that may stand in a ``script`` element, whatever its texts hold.

    No ``<``, ``>`` or ``&`` is left, so nothing in it can end the element or begin a comment; all
    that is not ASCII (U+2028 and U+2029, which end lines for scripts, and lone surrogates) is
    escaped as JSON does.
    """
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_IN_SCRIPT)


def packed(value: JSON) -> str:
    """Return a value as JSON, gzipped, in base64; the same value gives the same text."""
    return packed_text(compact_json(value))


def compact_json(value: JSON) -> str:
    """Return a value as JSON without spaces, in any characters."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def packed_text(document: str) -> str:
    """Return a JSON document gzipped, in base64."""
    # What UTF-8 cannot hold, a lone surrogate, becomes the escape that JSON has for it.
    data = document.encode("utf-8", errors="backslashreplace")
    return base64.b64encode(gzip.compress(data, compresslevel=9, mtime=0)).decode("ascii")


def ascii_html(text: str) -> str:
    """Return markup with every character that is not ASCII as a reference to it."""
    return text if text.isascii() else text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def csp_hash(content: str) -> str:
    """Return the source expression that allows an inline style or script with this content."""
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
