"""Coverage-guided fuzzing of any reader of files that the trials know.

::

    pip install atheris                       # Linux, Python 3.11 to 3.13
    python benchmarks/fuzz.py --list
    python benchmarks/fuzz.py --target CSV --target "gate rule" --seconds 300
    python benchmarks/fuzz.py --target CSV --repeat fuzz/CSV/find-0a1b2c3d

The readers are those of ``trials/targets``. The fuzzer's bytes say which file of a sound input is
changed and how (``changed``); libFuzzer, within atheris, keeps the bytes that reach new lines of
closecall. What it kept lies in ``fuzz/TARGET/corpus`` and is where the next run begins. A find is
an error that is not closecall's own, one that names no file, or a hang; its bytes are written
beside the corpus, once for each kind of find, and ``--repeat`` reads them again without atheris.
The command ends with code 1 where there was a find.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import pkgutil
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trials.inputs import Target, Tried

MEMORY_MB = 4096
MOST_BYTES = 1 << 16
WHOLE, SPLICED, DAMAGED = range(3)


def all_targets() -> dict[str, Target]:
    """Return every target by its name."""
    from trials import targets

    names = sorted(name for _, name, _ in pkgutil.iter_modules(targets.__path__))
    modules = [importlib.import_module(f"trials.targets.{name}") for name in names]
    return {target.name: target for module in modules for target in module.TARGETS}


def files_of(folder: Path) -> list[Path]:
    """Return the files of an input, in an order that stays."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def changed(folder: Path, data: bytes) -> None:
    """Change an input as the bytes say: the first names a file, the second the way.

    The rest becomes the file (``WHOLE``), is spliced into it (``SPLICED``: where, two bytes; how
    many are dropped, one; how many follow to be put in, one), or is the seed of the damage that
    the trials do (``DAMAGED``).
    """
    from trials.inputs import damage

    files = files_of(folder)
    if len(data) < 2 or not files:  # the two bytes that say what
        return
    path, way, rest = files[data[0] % len(files)], data[1] % 3, data[2:]
    if way == DAMAGED:
        damage(folder, random.Random(rest))
        return
    path.write_bytes(rest if way == WHOLE else spliced(path.read_bytes(), rest))


def spliced(whole: bytes, edits: bytes) -> bytes:
    """Return bytes with the edits made, one after another."""
    found = bytearray(whole)
    while len(edits) > 3:  # the head of an edit is four bytes
        at = int.from_bytes(edits[:2]) % (len(found) + 1)
        drop, size = edits[2], edits[3]
        found[at : at + drop] = edits[4 : 4 + size]
        edits = edits[4 + size :]
    return bytes(found)


@contextmanager
def sound(target: Target) -> Iterator[Path]:
    """Make a target's sound input in a folder of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "sound"
        folder.mkdir()
        target.make(folder)
        target.read(folder)
        yield folder


def tried(target: Target, folder: Path, data: bytes) -> Tried:
    """Read a copy of a sound input that is changed as the bytes say."""
    from trials.inputs import attempt

    copy = folder.parent / "changed"
    shutil.copytree(folder, copy, symlinks=True)
    try:
        changed(copy, data)
        return attempt(target, copy)
    finally:
        shutil.rmtree(copy)


def home_of(corpus: Path, name: str) -> Path:
    """Return the folder of a target."""
    return corpus / re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")


def fuzz_here(name: str, seconds: int, corpus: Path) -> None:
    """Fuzz one target in this process, which ends with it."""
    try:
        import atheris
    except ImportError:
        sys.exit("fuzzing needs atheris, which this environment lacks: pip install atheris")
    with atheris.instrument_imports(include=["closecall"]):
        target = all_targets()[name]
        from trials import worker

        worker.read_here()
        with sound(target):  # what is imported only when it is needed is instrumented too
            pass
    home = home_of(corpus, name)
    (home / "corpus").mkdir(parents=True, exist_ok=True)
    kinds: set[str] = set()
    with sound(target) as folder:
        for at, path in enumerate(files_of(folder)):
            seed = bytes((at, WHOLE)) + path.read_bytes()[: MOST_BYTES - 2]
            (home / "corpus" / f"sound-{at}").write_bytes(seed)
            (home / "corpus" / f"spliced-{at}").write_bytes(bytes((at, SPLICED, 0, 1, 0, 1, 48)))

        def once(data: bytes) -> None:
            found = tried(target, folder, data)
            kind = f"{found.end} {found.said[:50]}"
            if found.end in {"read", "refused"} or kind in kinds:
                return
            kinds.add(kind)
            place = home / f"find-{hashlib.sha256(data).hexdigest()[:8]}"
            place.write_bytes(data)
            print(f"FIND {place}: {found.end}: {found.said[:300]!r}", flush=True)

        # libFuzzer's own time limit is off: it would take the alarm that the trials set.
        options = (
            f"-max_total_time={seconds}", "-timeout=0", f"-rss_limit_mb={MEMORY_MB}",
            f"-max_len={MOST_BYTES}", f"-artifact_prefix={home}/ended-", "-print_final_stats=1",
        )  # fmt: skip
        atheris.Setup([sys.argv[0], *options, str(home / "corpus")], once)
        atheris.Fuzz()


def fuzz(name: str, seconds: int, corpus: Path) -> tuple[str, bool]:
    """Fuzz one target in a process of its own; return what there is to tell, and if all held."""
    command = [sys.executable, __file__, "--here", "--target", name, "--seconds", str(seconds)]
    done = subprocess.run(
        [*command, "--corpus", str(corpus)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    said = done.stdout + done.stderr
    if "needs atheris" in said:
        sys.exit(said.strip())
    runs = re.findall(r"number_of_executed_units: (\d+)", said)
    cover = re.findall(r"cov: (\d+)", said)
    finds = re.findall(r"^FIND (.*)$", said, re.MULTILINE)
    ended = sorted(home_of(corpus, name).glob("ended-*")) if done.returncode else []
    finds += [f"{path}: the process ended with code {done.returncode}" for path in ended]
    if done.returncode and not ended:
        finds.append(f"the process ended with code {done.returncode}: {said[-500:]}")
    count, covered = int(runs[-1]) if runs else 0, cover[-1] if cover else "none"
    lines = [f"{name}: {count:,} executions, coverage {covered}, {len(finds)} finds"]
    for find in finds:
        lines.append(f"  {find}")
        lines.append(f"    again: --target {name!r} --repeat {find.partition(':')[0]}")
    return "\n".join(lines), not finds


def repeat(name: str, path: Path) -> bool:
    """Read an input again that was a find, and say what becomes of it."""
    target = all_targets()[name]
    with sound(target) as folder:
        found = tried(target, folder, path.read_bytes())
    print(f"{found.end}: {found.said}")
    return found.end in {"read", "refused"}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="name every target")
    parser.add_argument("--target", action="append", default=[], help="repeatable")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--corpus", type=Path, default=Path("fuzz"), help="folder (fuzz)")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="read one input again")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        fuzz_here(given.target[0], given.seconds, given.corpus)
        return 0
    known = all_targets()
    if given.list or not given.target:
        print("\n".join(known))
        return 0
    if unknown := [name for name in given.target if name not in known]:
        parser.error(f"there is no target {unknown[0]!r}; --list names them")
    if given.repeat:
        return 0 if repeat(given.target[0], given.repeat) else 1
    held = True
    for name in given.target:
        said, good = fuzz(name, given.seconds, given.corpus.absolute())
        print(said, flush=True)
        held = held and good
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
