"""The envelope of a signature: DSSE v1 over the exact bytes of ``seal.json``.

``{"payloadType", "payload", "signatures": [{"keyid", "sig"}]}``, texts of bytes in base64. What is
signed is ``PAE(type, payload) = "DSSEv1" SP len(type) SP type SP len(payload) SP payload``, with
lengths in bytes as decimal digits (https://github.com/secure-systems-lab/dsse, protocol.md).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from closecall.errors import RunFolderError
from closecall.runs.wire import MAX_SEAL, dump_document, parse

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_ENVELOPE = 2 * MAX_SEAL
MAX_SIGNATURES = 100
MAX_SIGNATURE = 1024
"""Bytes of one; an Ed25519 signature has 64, one of P-256 at most 72."""

_KEY_ID = re.compile(r"sha256:[0-9a-f]{64}")


class Signature(NamedTuple):
    """One signature and the id of the key it claims to be made with."""

    key_id: str
    data: bytes


class Envelope(NamedTuple):
    """What an ``attestation.dsse.json`` holds."""

    payload: bytes
    signatures: tuple[Signature, ...]


def pae(payload: bytes, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Return the bytes that are signed."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def dump_envelope(payload: bytes, signatures: Sequence[Signature]) -> bytes:
    """Return the file's bytes."""
    members = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [
            {"keyid": one.key_id, "sig": base64.b64encode(one.data).decode("ascii")}
            for one in signatures
        ],
    }
    return dump_document(members)


def read_envelope(data: bytes, place: str) -> Envelope:
    """Return what the file holds.

    Raises
    ------
    RunFolderError
        It is no such envelope; the message begins with the place.
    """
    try:
        return _read(parse(data))
    except (ValueError, KeyError, TypeError) as error:
        reason = (
            str(error) if isinstance(error, ValueError) else "a member is missing or of no use"
        )
        raise RunFolderError(f"{place}: is no envelope of a signature: {reason}") from error


def _read(found: dict[str, Any]) -> Envelope:
    if set(found) != {"payloadType", "payload", "signatures"}:
        raise ValueError("it holds payloadType, payload and signatures, and nothing else")
    if found["payloadType"] != PAYLOAD_TYPE:
        raise ValueError(f"payloadType must be {PAYLOAD_TYPE!r}, got {found['payloadType']!r}")
    listed = found["signatures"]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MAX_SIGNATURES:
        raise ValueError(f"it has 1 to {MAX_SIGNATURES} signatures")
    signatures = tuple(map(_signature, listed))
    if len({one.key_id for one in signatures}) != len(signatures):
        raise ValueError("a key signed twice")
    return Envelope(_bytes(found["payload"], "payload"), signatures)


def _signature(found: dict[str, Any]) -> Signature:
    if set(found) != {"keyid", "sig"}:
        raise ValueError("a signature has keyid and sig, and nothing else")
    if not isinstance(found["keyid"], str) or not _KEY_ID.fullmatch(found["keyid"]):
        raise ValueError("keyid must be sha256: and 64 hex digits")
    made = _bytes(found["sig"], "sig")
    if not 1 <= len(made) <= MAX_SIGNATURE:
        raise ValueError(f"sig has {len(made)} bytes")
    return Signature(found["keyid"], made)


def _bytes(text: object, name: str) -> bytes:
    """Return decoded base64; a text with another spelling of the same bytes is refused."""
    if not isinstance(text, str):
        raise TypeError(name)
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError(f"{name} is not base64") from None
    if base64.b64encode(data).decode("ascii") != text:
        raise ValueError(f"{name} is not spelt as base64 is")
    return data
