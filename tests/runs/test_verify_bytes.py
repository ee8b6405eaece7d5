"""Any byte of a sealed run that changes is found, and the file it is in is named."""

import json
import random
import shutil
from pathlib import Path

import pytest
from every_run import KINDS, cases, gated

from closecall import verify_run
from closecall.errors import RunFolderError
from closecall.runs.parts.folder import PartsFolder
from closecall.runs.reader import open_run

ALL = 500
"""Of a file up to so many bytes each is changed, of a larger one as many drawn at random."""
SEALED_AT = "sealedAt"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("run") / "run"
    gated(place, place.parent, given=cases(6))
    assert verify_run(place).problems == ()
    return place


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory):
    pytest.importorskip("pyarrow")
    place = tmp_path_factory.mktemp("parts") / "run"
    gated(PartsFolder(place, cases=3), place.parent, given=cases(6))
    assert verify_run(place).problems == ()
    return place


def files_of(place):
    return sorted(path for path in Path(place).rglob("*") if path.is_file())


def places_of(size, seed):
    return range(size) if size <= ALL else sorted(random.Random(seed).sample(range(size), ALL))


def problems(place):
    """What is found, as quickly as it can be: who only compares digests finds no less."""
    try:
        run = open_run(place)
        found = run.seal_problems()
    except RunFolderError as error:
        return [str(error)]
    return found or run.verify()


def flipped(path, draw):
    """Yield after each byte of a file was changed to another."""
    data = path.read_bytes()
    for at in places_of(len(data), str(path.name)):
        other = draw.choice([b for b in range(256) if b != data[at]])
        put(path, at, other)
        yield at, data
        put(path, at, data[at])
    assert path.read_bytes() == data


def put(path, at, byte):
    """Change a byte where it stands: some file systems wait for the disk after a new file."""
    with path.open("r+b", buffering=0) as file:
        file.seek(at)
        file.write(bytes([byte]))


def unnoticed(place, path):
    draw = random.Random(path.name)
    lost = []
    for at, data in flipped(path, draw):
        found = problems(place)
        if not any(path.name in problem for problem in found):
            lost.append((at, data[max(0, at - 30) : at + 10], path.read_bytes()[at], found))
    return lost


def is_another_time_of_sealing(path, at, byte, data):
    """Whether what changed is a digit of the moment of sealing, which is said nowhere else."""
    if path.name != "seal.json":
        return False
    begin = data.index(b'"sealedAt": "') + len(b'"sealedAt": "')
    return begin <= at < begin + 30 and 48 <= byte <= 57


@pytest.mark.parametrize("made", ["folder", "in_parts"])
def test_each_byte_of_each_file(made, request, tmp_path):
    place = Path(shutil.copytree(request.getfixturevalue(made), tmp_path / "run"))
    for path in files_of(place):
        data = path.read_bytes()
        lost = [
            one
            for one in unnoticed(place, path)
            if not is_another_time_of_sealing(path, one[0], one[2], data)
        ]
        assert lost == [], path
    assert verify_run(place).problems == ()


@pytest.mark.parametrize("made", ["folder", "in_parts"])
def test_a_file_that_is_gone_added_renamed_cut_or_lengthened(made, request, tmp_path):
    sealed = request.getfixturevalue(made)
    names = [path.relative_to(sealed) for path in files_of(sealed)]

    def found(change):
        place = Path(shutil.copytree(sealed, tmp_path / "run"))
        change(place)
        told = verify_run(place)
        shutil.rmtree(place)
        return told

    for name in names:
        gone = found(lambda place, name=name: (place / name).unlink())
        if str(name) == "seal.json":
            assert (gone.problems, gone.state) == ((), "not sealed")
        else:
            assert name.name in " ".join(gone.problems), name
        renamed = found(
            lambda place, name=name: (place / name).rename((place / name).with_suffix(".other"))
        )
        assert renamed.problems or renamed.state == "not sealed", name
        for size in (0, 1, (sealed / name).stat().st_size - 1):
            cut = found(
                lambda place, name=name, size=size: (place / name).write_bytes(
                    (place / name).read_bytes()[:size]
                )
            )
            assert name.name in " ".join(cut.problems), (name, size)
        longer = found(
            lambda place, name=name: (place / name).write_bytes(
                (place / name).read_bytes() + b"\n"
            )
        )
        assert name.name in " ".join(longer.problems), name
    for added in ("notes.txt", "ext/notes.txt", "ext/closecall/more.json", "blobs/sha256/aa/bb"):

        def add(place, added=added):
            (place / added).parent.mkdir(parents=True, exist_ok=True)
            (place / added).write_bytes(b"{}\n")

        assert added in " ".join(found(add).problems), added

    def swapped(place):
        one, other = place / "summary.json", place / "run.json"
        kept = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(kept)

    assert found(swapped).problems


def test_what_reviewers_add_later_is_not_part_of_the_run(folder, tmp_path):
    place = Path(shutil.copytree(folder, tmp_path / "run"))
    (place / "overlays").mkdir()
    (place / "overlays" / "review.json").write_bytes(b"{}\n")
    assert verify_run(place).problems == ()


def test_the_moment_of_sealing_is_what_only_a_signature_holds_fast(folder, tmp_path):
    """Stated in docs/evidence.md: whoever changes it to a later time is not found out."""
    place = Path(shutil.copytree(folder, tmp_path / "run"))
    seal = json.loads((place / "seal.json").read_bytes())
    year = seal["predicate"][SEALED_AT][:4]
    data = (place / "seal.json").read_bytes()
    (place / "seal.json").write_bytes(
        data.replace(f'"sealedAt": "{year}'.encode(), b'"sealedAt": "2999')
    )
    assert verify_run(place).problems == ()
    (place / "seal.json").write_bytes(
        data.replace(f'"sealedAt": "{year}'.encode(), b'"sealedAt": "1999')
    )
    assert "sealedAt" in " ".join(verify_run(place).problems)


def test_a_closed_run_of_every_kind_is_sealed_over_all_its_files(tmp_path):
    for kind in ("repeated", "judged", "bad_rows"):
        scratch = tmp_path / f"{kind}-scratch"
        scratch.mkdir()
        place = tmp_path / kind
        KINDS[kind](place, scratch)
        named = {one["name"] for one in json.loads((place / "seal.json").read_bytes())["subject"]}
        there = {path.relative_to(place).as_posix() for path in files_of(place)}
        assert named == there - {"seal.json"}
