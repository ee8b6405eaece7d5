"""Folders of models appear whole, and what a killed process left is tidied up."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from closecall.models import placing as placing_module
from closecall.models.placing import placing, working

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills as POSIX does")

DIES = """
import os, sys
from pathlib import Path
from closecall.models import placing

place, at = Path(sys.argv[1]), sys.argv[2]

def dies(*_, **__):
    os._exit(9)

if at == "renamed":  # the older model is set aside, the new one not yet in its place
    real, times = os.rename, []
    def rename(*args, **more):
        if times:
            dies()
        times.append(1)
        return real(*args, **more)
    os.rename = rename
elif at == "cleared":
    placing._clear = dies
with placing.placing(place) as new:
    new.mkdir()
    (new / "card.toml").write_text("new")
    if at == "filled":
        dies()
"""


def killed(place, at):
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(place), at], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (9, "")
    return [path for path in place.parent.iterdir() if path.name.startswith(".adding-")]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("at", "left"), [("filled", "old"), ("renamed", None), ("cleared", "new")]
)
def test_what_a_killed_process_left_goes_and_what_it_set_aside_comes_back(tmp_path, at, left):
    place = tmp_path / "tiny"
    place.mkdir()
    (place / "card.toml").write_text("old", encoding="utf-8")
    assert len(killed(place, at)) == 1
    there = (place / "card.toml").read_text(encoding="utf-8") if place.exists() else None
    assert there == left
    with pytest.raises(ZeroDivisionError), placing(tmp_path / "another"):
        raise ZeroDivisionError
    assert names(tmp_path) == ["tiny"]
    assert (place / "card.toml").read_text(encoding="utf-8") == (left or "old")


def test_the_work_of_a_process_that_lives_is_left_alone(tmp_path):
    with placing(tmp_path / "one") as first:
        first.mkdir()
        with placing(tmp_path / "two") as second:
            second.mkdir()
        assert first.is_dir()
    assert names(tmp_path) == ["one", "two"]


def test_a_name_that_leads_elsewhere_moves_nothing(tmp_path):
    root = tmp_path / "models"
    work = root / ".adding-x"
    (work / "old").mkdir(parents=True)
    (work / ".lock").touch()
    (work / ".place").write_text("../elsewhere", encoding="utf-8")
    with placing(root / "one") as new:
        new.mkdir()
    assert names(tmp_path) == ["models"]
    assert names(root) == ["one"]


def test_folders_of_work_made_side_by_side_are_not_taken_for_left_ones(tmp_path, monkeypatch):
    """Between the moment in which one is made and that in which it is locked, another looks."""
    lock = placing_module.locking.lock
    seen = []

    def late(descriptor):
        if not seen:
            seen.append(descriptor)
            placing_module.tidy(tmp_path)
        lock(descriptor)

    monkeypatch.setattr(placing_module.locking, "lock", late)
    with placing(tmp_path / "one") as new:
        new.mkdir()
    assert names(tmp_path) == ["one"]


def test_many_at_once_each_come_into_place(tmp_path):
    def work(number):
        for _ in range(20):
            with placing(tmp_path / f"m{number}") as new:
                new.mkdir()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert names(tmp_path) == ["m0", "m1", "m2", "m3"]


@pytest.mark.parametrize("kind", [".unbundling-", ".removing-"])
def test_what_a_killed_unbundling_or_removing_left_goes(tmp_path, kind):
    """A model may have gigabytes."""
    code = """
import os, sys
from pathlib import Path
from closecall.models.placing import working

with working(Path(sys.argv[1]), sys.argv[2]) as work:
    (work / "old").mkdir()
    (work / "old" / "model.onnx").write_bytes(b"x")
    os._exit(9)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), kind], check=False, capture_output=True
    )
    assert (done.returncode, len(names(tmp_path))) == (9, 1)
    with working(tmp_path, ".adding-") as work:
        assert names(tmp_path) == [work.name]
    assert names(tmp_path) == []


@pytest.mark.parametrize("kind", [".adding-", ".unbundling-", ".removing-"])
def test_a_link_in_the_place_of_a_folder_of_work_is_left_alone(tmp_path, kind):
    elsewhere = tmp_path / "elsewhere"
    for name in ("old", "new"):
        (elsewhere / name).mkdir(parents=True)
    (elsewhere / ".lock").touch()
    root = tmp_path / "models"
    root.mkdir()
    (root / f"{kind}x").symlink_to(elsewhere)
    with placing(root / "one") as new:
        new.mkdir()
    assert names(elsewhere) == [".lock", "new", "old"]
