"""The text that families of models want before a query, a document or any other text.

A model trained with such prefixes and used without them gives worse vectors and says nothing.
What a model's own configuration says comes first; the table below holds what the published
cards of the families say, for folders whose configuration is silent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from closecall.errors import ModelError
from closecall.records import Role

AUTO, CONFIG, NONE = "auto", "config", "none"
POLICIES = (AUTO, CONFIG, NONE)
"""Configuration and table; the configuration only; no prefixes at all."""

NAMES: Mapping[Role, tuple[str, ...]] = {
    Role.QUERY: ("query", "web_search_query", "s2p_query"),
    Role.DOCUMENT: ("document", "passage", "corpus"),
    Role.TEXT: ("STS",),
}
"""What configurations call the prompt of a role; the first that is there counts."""

_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
_SEARCH_CHINESE = "为这个句子生成表示以用于检索相关文章："  # noqa: RUF001 - as published


class Family(NamedTuple):
    """The prefixes of a family, and the names its models go by."""

    name: str
    pattern: str
    query: str = ""
    document: str = ""
    text: str = ""


FAMILIES = (
    Family("e5-instruct", r"e5-\w+(-7b)?-instruct", f"{_INSTRUCT} "),
    Family("e5", r"e5-(small|base|large)", "query: ", "passage: ", "query: "),
    Family("bge-m3", r"bge-m3"),
    Family("bge-zh", r"bge-(small|base|large)-zh", _SEARCH_CHINESE),
    Family("bge-en", r"bge-(small|base|large)-en", _SEARCH),
    # Its card wants a prefix before every text; for likeness its configurations name this one.
    Family(
        "nomic", r"nomic-embed-text", "search_query: ", "search_document: ", "classification: "
    ),
    Family("gte-qwen", r"gte-qwen\w*(-[\d.]+b)?-instruct", f"{_INSTRUCT} "),
    Family("gte", r"gte-(small|base|large|multilingual|modernbert)"),
    Family("arctic-v2", r"snowflake-arctic-embed-\w+-v2", "query: "),
    Family("arctic", r"snowflake-arctic-embed", _SEARCH),
    Family("mxbai", r"mxbai-embed-large", _SEARCH),
    Family("qwen3-embedding", r"qwen3-embedding", _INSTRUCT),  # no space after the colon
    Family(
        "embeddinggemma",
        r"embeddinggemma",
        "task: search result | query: ",
        "title: none | text: ",
        "task: sentence similarity | query: ",
    ),
)
"""The first whose name stands in that of a model, whatever the case, counts."""


class Prompts(NamedTuple):
    """The prefix of each role that has one, and who says so.

    ``source`` is ``config``, ``card:FAMILY``, both with a plus between them, or ``none``.
    """

    prefixes: dict[str, str]
    source: str


def find_family(names: Sequence[str]) -> Family | None:
    """Return the family of a model by any of the names it goes by."""
    for name in names:
        for family in FAMILIES:
            if re.search(rf"(?<![a-z0-9]){family.pattern}(?![a-z0-9])", name.casefold()):
                return family
    return None


def find_prompts(
    config: Mapping[str, str],
    default: str | None,
    names: Sequence[str],
    policy: str = AUTO,
) -> Prompts:
    """Return the prefix of each role.

    An empty prompt of the configuration counts as none: saved models carry empty ``query`` and
    ``document`` entries that say nothing.

    Parameters
    ----------
    config
        The prompts of ``config_sentence_transformers.json`` by name.
    default
        Its ``default_prompt_name``: for texts of every role that has no prompt by name.
    names
        What the model is called; see ``find_family``.
    policy
        ``auto``, ``config`` or ``none``; see ``POLICIES``.

    Raises
    ------
    ModelError
        If the default prompt is not among the prompts.
    """
    if default is not None and default not in config:
        raise ModelError(f"default_prompt_name: {default!r} is not among the prompts")
    if policy == NONE:
        return Prompts({}, NONE)
    own = _from_config(config, default)
    family = find_family(names) if policy == AUTO else None
    card = {} if family is None else _from_card(family)
    added = {role: text for role, text in card.items() if role not in own}
    sources = ["config"] if own else []
    if family is not None and (added or not own):
        sources.append(f"card:{family.name}")
    return Prompts({**own, **added}, "+".join(sources) or NONE)


def _from_config(config: Mapping[str, str], default: str | None) -> dict[str, str]:
    fallback = config[default] if default is not None else ""
    found = {
        role.value: next(
            (config[name] for name in names if config.get(name)),
            # The default is for texts the configuration has no name for.
            "" if any(name in config for name in names) else fallback,
        )
        for role, names in NAMES.items()
    }
    if fallback:
        found[Role.TEXT.value] = fallback
    return {role: text for role, text in found.items() if text}


def _from_card(family: Family) -> dict[str, str]:
    wanted = {
        Role.QUERY: family.query,
        Role.DOCUMENT: family.document,
        Role.TEXT: family.text,
    }
    return {role.value: text for role, text in wanted.items() if text}
