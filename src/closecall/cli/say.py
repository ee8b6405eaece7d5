"""Saying things: what a line quotes of a file is shown, never obeyed by the terminal."""

from __future__ import annotations

import json
import sys

import click

from closecall.report.words import narrow, visible, visible_json


def say(text: str, *, err: bool = False) -> None:
    """Print a text with the control characters in it spelt out."""
    click.echo(visible(text), err=err)


def say_json(value: object, *, indent: int | None = 2) -> None:
    """Print a JSON value; control characters stand there as JSON's own escapes."""
    # A narrow stream would escape in Python's way, which is not JSON's.
    document = json.dumps(value, indent=indent, ensure_ascii=narrow(sys.stdout))
    click.echo(visible_json(document))
