"""Pairs that teach which way a narrower or wider statement follows.

An edit makes a statement narrower or wider, and one context keeps the direction or turns it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from pair.everyday import PEOPLE
from pair.frames import ACTING, CLAUSES, DO_EXACT, THING_EXACT, THINGS, Frames
from pair.inflected import article, counted
from pair.narrowed import Item, Narrowed
from pair.rows import Row
from pair.wording import many
from pair.wordnet import WordNet


class Directions:
    """Makes rows of narrower and wider statements.

    Parameters
    ----------
    net
        Senses, with examples that use them.
    sentences
        Sentences of 5 to 44 words, each with what it is not independent of.
    """

    def __init__(self, net: WordNet, sentences: Sequence[tuple[str, str]]) -> None:
        narrowed = Narrowed(net)
        self._items: dict[tuple[str, str], list[Item]] = {}
        found = [item for sense in net.synsets.values() for item in narrowed.of_sense(sense)]
        found += [item for text, group in sentences for item in narrowed.of_sentence(text, group)]
        for item in dict.fromkeys(found):
            self._items.setdefault((item.form, item.edit), []).append(item)

    def rows(self, rng: Random, most: int) -> list[Row]:
        """Return at most so many different rows: half accept, half in contexts that turn."""
        queues = {
            key: rng.sample(items, len(items)) for key, items in self._items.items() if items
        }
        made = dict.fromkeys(queues, 0)
        found: dict[tuple[str, str], Row] = {}
        while queues and len(found) < most:
            # The form and edit used least: no edit stands for a label, or drowns the others.
            key = min(queues, key=lambda key: made[key])
            made[key] += 1
            item = queues[key].pop()
            if not queues[key]:
                del queues[key]
            for row in self._in_contexts(item, rng):
                found.setdefault((row.first, row.response), row)
        kept = list(found.values())[:most]
        rng.shuffle(kept)
        return kept

    def _in_contexts(self, item: Item, rng: Random) -> Iterator[Row]:
        turned = rng.random()
        for way in ("up", "down"):
            narrow, wide = self._framed(item, way, rng)
            kind = f"direction {way} {item.form} {item.edit}"
            first, response = (narrow, wide) if way == "up" else (wide, narrow)
            yield Row(first, response, True, kind, item.group)
            yield Row(response, first, False, kind, item.group)
        if turned < 0.08 and item.form != "clause":
            frame = rng.choice(DO_EXACT if item.form == "do" else THING_EXACT)
            narrow, wide = (_fill(frame, text, "", "") for text in (item.narrow, item.wide))
            kind = f"direction none {item.form} {item.edit}"
            yield Row(narrow, wide, False, kind, item.group)
            yield Row(wide, narrow, False, kind, item.group)
        elif turned < 0.2 and item.form == "do":
            who, text = rng.choice(PEOPLE), rng.choice([item.narrow, item.wide])
            yes = [f"{who} did {text}", f"It is true that {who} did {text}",
                   f"It is not true that {who} did not {text}"]  # fmt: skip
            no = [f"{who} did not {text}", f"It is not true that {who} did {text}",
                  f"It is false that {who} did {text}"]  # fmt: skip
            for way, same, other in (("up", yes, no), ("down", no, yes)):
                first, response = rng.sample(same, 2)
                kind = f"direction {way} do frame"
                yield Row(first + ".", response + ".", True, kind, item.group)
                if turned < 0.13:
                    yield Row(first + ".", rng.choice(other) + ".", False, kind, item.group)

    def _framed(self, item: Item, way: str, rng: Random) -> tuple[str, str]:
        """Return the narrower and the wider text in one context of a direction."""
        if way == "down" and item.denied and rng.random() < 0.4:
            return _upper(item.denied[0]) + ".", _upper(item.denied[1]) + "."
        frames: Frames = {"do": ACTING, "thing": THINGS, "clause": CLAUSES}[item.form]
        choices = frames[way]
        if item.form == "thing" and not all(counted(text) for text in (item.narrow, item.wide)):
            choices = [frame for frame in choices if "{ns}" not in frame]
        frame = rng.choice(choices)
        one, other = rng.sample(PEOPLE, 2)
        return _fill(frame, item.narrow, one, other), _fill(frame, item.wide, one, other)


def _fill(frame: str, text: str, one: str, other: str) -> str:
    plural = many(text) if counted(text) else ""
    return _upper(
        frame.format(
            x=one, y=other, vp=text, n=text, ns=plural, a=f"{article(text)} {text}", s=text
        )
    ) + ("" if frame.endswith(".") else ".")


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
