"""Gates in a project's files: where they are found, how they are written, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closecall.errors import ConfigurationError
from closecall.gates.config import find_gates, load_gates

LIST = """\
[tool.other]
gates = 3

{head}gates = [
    "mean(answer_alignment) >= 0.6",  # a comment
    {{ name = "few refusals", rule = "fail_rate(refusal) <= 5%", mode = "surely" }},
]
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="closecall.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("closecall.toml", LIST.split("\n\n")[1].format(head=""), 2),
        ("pyproject.toml", LIST.format(head="[tool.closecall]\n"), 6),
        ("closecall.toml",
         ('[[gates]]\nrule = "mean(answer_alignment) >= 0.6"\n\n[[gates]]\nname = "few refusals"\n'
          'rule = "fail_rate(refusal) <= 5%"\nmode = "surely"\n'), 2),
    ],
)  # fmt: skip
def test_a_list_of_rules_and_tables(write, tmp_path, name, text, line):
    path = write(text, name)
    first, second = find_gates(tmp_path)
    assert first.rule == "mean(answer_alignment) >= 0.6"
    assert (first.name, first.place) == ("", f"{path}:{line}")
    assert (second.name, second.surely) == ("few refusals", True)
    assert second.rule == "surely fail_rate(refusal) <= 0.05"


@pytest.mark.parametrize(
    ("name", "head"), [("closecall.toml", "gates"), ("pyproject.toml", "tool.closecall.gates")]
)
def test_a_table_of_names(write, tmp_path, name, head):
    path = write(
        f'[{head}]\nrelevance = "mean(m) >= 3.5"\nfew = {{ rule = "all(m)", mode = "point" }}\n',
        name,
    )
    first, second = find_gates(tmp_path)
    assert (first.name, first.rule, first.place) == ("relevance", "mean(m) >= 3.5", f"{path}:2")
    assert (second.name, second.rule, second.place) == ("few", "all(m)", f"{path}:3")


def test_the_nearest_file_upward_counts_and_the_repository_ends_the_search(write, tmp_path):
    write('gates = ["all(outer)"]')
    deep = tmp_path / "repo" / "src" / "deep"
    deep.mkdir(parents=True)
    assert [g.metric for g in find_gates(deep)] == ["outer"]
    (tmp_path / "repo" / ".git").mkdir()
    assert find_gates(deep) == []
    write('[tool.closecall]\ngates = ["all(inner)"]', "repo/pyproject.toml")
    assert [g.metric for g in find_gates(deep)] == ["inner"]
    write("[tool.ruff]\nline-length = 99", "repo/src/pyproject.toml")
    write("[other]\nx = 1", "repo/src/closecall.toml")
    assert [g.metric for g in find_gates(deep)] == ["inner"]
    write("gates = []", "repo/src/closecall.toml")
    assert find_gates(deep) == []


@pytest.mark.parametrize(
    ("text", "name", "slip"),
    [
        (
            'gate = ["mean(m) >= 0.95"]',
            "closecall.toml",
            "'gate' is not read; did you mean 'gates'",
        ),
        ('Gates = ["all(m)"]', "closecall.toml", "'Gates'"),
        ('[tool.closecall]\ngaets = ["all(m)"]', "pyproject.toml", "'gaets'"),
        ('gates = ["all(m)"]\n[price."m"]\ninput = 1', "closecall.toml", "mean 'prices'"),
    ],
)
def test_a_slip_in_the_name_is_no_absence_of_gates(write, tmp_path, text, name, slip):
    path = write(text, name)
    with pytest.raises(ConfigurationError) as caught:
        find_gates(tmp_path)
    assert str(caught.value).startswith(f"{path}: ")
    assert slip in str(caught.value)


def test_no_file_is_no_gate(tmp_path):
    (tmp_path / ".git").mkdir()
    assert find_gates(tmp_path) == []


def test_two_places_in_one_folder_are_refused(write, tmp_path):
    write('gates = ["all(m)"]')
    write('[tool.closecall]\ngates = ["all(m)"]', "pyproject.toml")
    with pytest.raises(ConfigurationError, match="both have gates"):
        find_gates(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('# mean(m) = 3\ngates = [\n  "all(m)",\n  "mean(m) = 3",\n]', ":4: gate: expected one of"),
        ('gates = [\n  "all(m)",\n  3,\n]', "a gate is a rule, or a table with rule"),
        ('[gates]\na = "all(m)"\nb = 3', ":3: a gate is a rule"),
        ('[[gates]]\nname = "x"', "a gate is a rule"),
        ('gates = [{ rule = "all(m)", level = 3 }]', ":1: a gate has no 'level'; it has name, rule, mode"),
        ('gates = [{ rule = "all(m)", mode = "often" }]', "mode must be point or surely, got 'often'"),
        ('gates = [{ rule = "all(m)", mode = "surely" }]', "no place here"),
        ('gates = [{ rule = "all(m)", name = 3 }]', "name must be a text"),
        ('gates = "all(m)"', ":1: gates must be a list"),
        ("gates = [", "is no TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(write, tmp_path, text, words):
    path = write(text)
    with pytest.raises(ConfigurationError) as caught:
        find_gates(tmp_path)
    assert str(caught.value).startswith(str(path))
    assert words in str(caught.value)
    assert caught.value.exit_code == 3


def test_a_file_that_is_no_text_or_too_large_is_refused(tmp_path):
    (tmp_path / "closecall.toml").write_bytes(b'gates = ["\xff"]')
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        find_gates(tmp_path)
    (tmp_path / "closecall.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(ConfigurationError, match="too large"):
        find_gates(tmp_path)
    (tmp_path / "closecall.toml").write_text(f"gates = {'[' * 5000}")
    with pytest.raises(ConfigurationError):
        find_gates(tmp_path)


def test_many_gates_are_refused(write):
    rules = ", ".join(['"all(m)"'] * 101)
    with pytest.raises(ConfigurationError, match="at most 100 gates"):
        load_gates(write(f"gates = [{rules}]"))


@given(st.text(max_size=80))
def test_any_file_gives_gates_or_an_error(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("any")
    (folder / ".git").mkdir()
    try:
        (folder / "closecall.toml").write_text("gates = " + text, encoding="utf-8")
    except UnicodeEncodeError:
        return
    said = None
    try:
        find_gates(folder)
    except ConfigurationError as error:
        said = str(error)
    assert said is None or "closecall.toml" in said
