"""What a judge is told: one file a judge, with a version, and one on how to reply."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from closecall.metrics.judge.scale import Scale
from closecall.records import JSON

REPLY = "reply"
_HEAD = "version: "
_FIELDS = {
    "thoughts": "your steps, two to six sentences",
    "reason": "one or two sentences a person can act on",
}


class Prompt(NamedTuple):
    """The text of a file, without its first line, which gives its version."""

    version: str
    text: str


class Instructions(NamedTuple):
    """All that a judge is told apart from the case; ``digest`` is sha256 over ``text``."""

    version: str
    text: str
    digest: str


@lru_cache(maxsize=64)
def prompt(name: str) -> Prompt:
    """Return the prompt of this name, as the package holds it."""
    whole = files("closecall.metrics.judge").joinpath("prompts", f"{name}.md").read_bytes()
    head, _, text = whole.decode("utf-8").replace("\r\n", "\n").partition("\n")
    if not head.startswith(_HEAD):
        raise ValueError(f"prompts/{name}.md must begin with a line such as '{_HEAD}1'")
    return Prompt(head.removeprefix(_HEAD).strip(), text.strip())


def instructions(name: str, scores: tuple[str, ...], scale: Scale) -> Instructions:
    """Return a judge's prompt followed by how to reply."""
    own, reply = prompt(name), prompt(REPLY)
    form = {**_FIELDS, **dict.fromkeys(scores, f"<{scale.words}>")}
    spelled = json.dumps(form).replace('"<', "<").replace('>"', ">")
    text = f"{own.text}\n\n{reply.text.replace('{form}', spelled)}"
    return Instructions(own.version, text, hashlib.sha256(text.encode("utf-8")).hexdigest())


def schema(scores: tuple[str, ...], scale: Scale) -> dict[str, JSON]:
    """Return the JSON schema of a reply; thoughts come first, so that the score follows them."""
    score: JSON = (
        {"type": "boolean"}
        if scale.whole
        else {
            "type": "integer",
            "enum": list(scale.choices),
        }
    )
    properties: dict[str, JSON] = {name: {"type": "string"} for name in _FIELDS}
    properties |= dict.fromkeys(scores, score)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
