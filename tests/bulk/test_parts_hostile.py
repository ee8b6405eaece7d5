"""A run in parts that two processes close, or whose folder leads out of itself."""

import os

import pytest
from bulk_cases import StoppedError, parts, run, same_run, stop_at, write

from closecall.errors import ClosecallError
from closecall.runs.parts.folder import PartsWriting
from closecall.runs.parts.ranges import Part
from closecall.runs.reader import open_run

CASES = 300


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cases") / "cases.jsonl", CASES)


def part_files(folder):
    return sorted((folder / "parts").iterdir())


def test_a_run_that_another_process_has_closed_stays_as_that_one_sealed_it(
    cases, tmp_path, monkeypatch
):
    """Its seal may be signed by now."""
    place, close, sealed = tmp_path / "run", PartsWriting.close, []
    with pytest.raises(StoppedError):
        run(cases, parts(place), progress=stop_at(100))

    def second(self, **documents):
        if not sealed:
            sealed.append(b"")
            run(cases, place, resume=True)
            sealed.append((place / "seal.json").read_bytes())
            part = part_files(place)[0]  # as of a process that went on from elsewhere
            (place / "parts" / Part(0, 5).name[6:]).write_bytes(part.read_bytes())
        close(self, **documents)

    monkeypatch.setattr(PartsWriting, "close", second)
    found = run(cases, place, resume=True)
    assert (place / "seal.json").read_bytes() == sealed[1]
    assert open_run(place).verify() == []
    assert same_run(found, run(cases))


@pytest.mark.skipif(os.name != "posix", reason="links are not for everybody there")
@pytest.mark.parametrize("resumed", [False, True])
def test_no_part_is_written_through_a_link(cases, tmp_path, resumed):
    """A folder that came from anyone could have parts written anywhere."""
    place, outside = tmp_path / "run", tmp_path / "outside"
    outside.mkdir()
    if resumed:
        with pytest.raises(StoppedError):
            run(cases, parts(place), progress=stop_at(1))
        for part in part_files(place):
            part.unlink()
        (place / "parts").rmdir()
    else:
        place.mkdir()
    (place / "parts").symlink_to(outside)
    with pytest.raises(ClosecallError, match="is a link" if resumed else "is not empty"):
        run(cases, place if resumed else parts(place), resume=resumed)
    assert list(outside.iterdir()) == []
