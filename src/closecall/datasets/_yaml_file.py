"""YAML files, loaded whole through the parser's events.

Scalars are texts as they stand in the file (``Yes`` stays ``Yes``, ``2024-01-01`` and ``1.50``
keep their spelling); only a plain null, ``~`` or nothing is absence. Tags that make anything
else are refused. Building from events keeps nesting, aliases and lines in our hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closecall.datasets._sniff import TextFile
from closecall.datasets._sources import rows_of
from closecall.datasets._strict import MAX_DEPTH, Flawed, Flaws, flaws_of, not_an_object
from closecall.errors import DatasetError

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq")
)
_EXPANSION = 20
_EXPANSION_FLOOR = 100_000


class _TooMuchError(Exception):
    """A document that is refused; (line, message)."""


class YamlRows:
    """The rows of a YAML document."""

    suffix = ""
    header: tuple[str, ...] = ()

    def __init__(self, file: TextFile) -> None:
        self.prefix = f"{file.path.name}:"
        self._file = file
        builder = _Builder(file)
        document = builder.document()
        self._lines = builder.lines
        self._rows, found = rows_of(document, str(file.path))
        self.reading = (*found, "YAML values are the text written, except null")

    def rows(self, *, check: bool = True) -> Iterator[tuple[int, dict[str, Any] | None, Flaws]]:
        """Yield the rows; ``where`` is the line a row starts on."""
        self._file.check_unchanged()
        line = 1
        for row in self._rows:
            line = self._lines.get(id(row), line)
            if not isinstance(row, dict):
                yield line, None, not_an_object(row)
            elif check and (flaws := flaws_of(row)):
                yield line, None, flaws
            else:
                yield line, row, ()


class _Frame:
    """A list or mapping under construction."""

    __slots__ = ("anchor", "items", "key", "line", "mapping", "merges", "repeated", "size")

    def __init__(self, line: int, anchor: str | None, *, mapping: bool) -> None:
        self.line = line
        self.anchor = anchor
        self.mapping = mapping
        self.items: Any = {} if mapping else []
        self.key: str | None = None
        self.merges: list[Any] = []
        self.repeated: list[str] = []
        self.size = 1


class _Builder:
    """Turns events into plain values, with an explicit stack and a budget for aliases."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Frame] = []
        self._written = 0
        self._expanded = 0
        self._documents: list[Any] = []
        self.lines: dict[int, int] = {}

    def document(self) -> Any:
        """Return the one document of the file."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        text = self._file.text()
        try:
            for event in yaml.parse(text, Loader=loader):
                self._take(event, yaml)
        except yaml.YAMLError as error:
            raise DatasetError(self._syntax(error)) from error
        except _TooMuchError as error:
            line, message = error.args
            raise DatasetError(f"{self._file.path.name}:{line}: {message}") from error
        except (RecursionError, ValueError, OverflowError) as error:  # "\\Uffffffff"
            raise DatasetError(f"{self._file.path}: not valid YAML: {error}") from error
        if len(self._documents) > 1:
            raise DatasetError(
                f"{self._file.path}: holds {len(self._documents)} documents (separated by ---). "
                "Put the cases in one list"
            )
        if not self._documents or self._documents[0] is None:
            raise DatasetError(f"{self._file.path}: holds no value. It needs at least one case")
        return self._documents[0]

    def _syntax(self, error: Any) -> str:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        context = getattr(error, "context", None)
        where = f"{self._file.path.name}:{mark.line + 1}" if mark else str(self._file.path)
        column = f" at column {mark.column + 1}" if mark else ""
        return (
            f"{where}: not valid YAML: {f'{context}, ' if context else ''}{problem}{column}. "
            'Texts with ": " or a leading special character need quotes'
        )

    def _take(self, event: Any, yaml: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            self._tag(event, line, plain=event.implicit[0])
            null = event.implicit[0] and not event.style and event.value in _NULLS
            null = null or event.tag == "tag:yaml.org,2002:null"
            self._written += 1
            value = None if null else event.value
            if event.anchor:
                self._anchors[event.anchor] = (value, 1)
            merge = event.implicit[0] and event.value == "<<" and not event.style
            self._put(value, 1, line, merge=merge)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor, line)
        elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            self._tag(event, line, plain=event.implicit)
            self._written += 1
            if len(self._stack) >= MAX_DEPTH:
                raise _TooMuchError(line, f"nested deeper than {MAX_DEPTH} levels")
            mapping = isinstance(event, yaml.MappingStartEvent)
            self._stack.append(_Frame(line, event.anchor, mapping=mapping))
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self._close()

    def _tag(self, event: Any, line: int, *, plain: bool) -> None:
        if event.tag and not plain and event.tag != "!" and event.tag not in _TAGS:
            raise _TooMuchError(
                line, f"the tag {event.tag:.80} makes something other than a text; remove it"
            )

    def _alias(self, anchor: str, line: int) -> None:
        if anchor not in self._anchors:
            raise _TooMuchError(
                line, f"*{anchor:.80} stands before or inside what it names (&{anchor:.80})"
            )
        value, size = self._anchors[anchor]
        self._expanded += size
        if self._expanded > _EXPANSION_FLOOR + _EXPANSION * self._written:
            raise _TooMuchError(
                line, f"aliases (*{anchor:.80}) repeat too much; write the values out"
            )
        self._put(value, size, line)

    def _close(self) -> None:
        frame = self._stack.pop()
        value = frame.items
        if frame.mapping:
            if frame.merges:
                # Each once, and the first to name a key wins: a copy for each would take the
                # square of their number.
                own, value = value, {}
                for merged in (*reversed(frame.merges), own):
                    value.update(merged)
            if frame.repeated:
                value = Flawed(value)
                value.repeated = tuple(frame.repeated)
        self.lines[id(value)] = frame.line
        if frame.anchor:
            self._anchors[frame.anchor] = (value, frame.size)
        self._put(value, frame.size, frame.line)

    def _put(self, value: Any, size: int, line: int, *, merge: bool = False) -> None:
        if not self._stack:
            self._documents.append(value)
            return
        frame = self._stack[-1]
        frame.size += size
        if not frame.mapping:
            frame.items.append(value)
        elif frame.key is None:
            if isinstance(value, (dict, list)):
                raise _TooMuchError(line, "a key must be a text, not a list or a mapping")
            frame.key = "<<" if merge else ("null" if value is None else value)
            if merge:
                frame.merges.append(None)
        else:
            self._entry(frame, value, line)

    def _entry(self, frame: _Frame, value: Any, line: int) -> None:
        key, frame.key = frame.key, None
        if frame.merges and frame.merges[-1] is None:
            frame.merges.pop()
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                raise _TooMuchError(line, "<< merges mappings only; give it *an_alias of one")
            frame.merges.extend(sources)
        elif key in frame.items:
            frame.repeated.append(str(key))
        else:
            frame.items[key] = value
