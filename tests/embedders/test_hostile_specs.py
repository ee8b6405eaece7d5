"""Names of embedders and their options as anybody may type them: refused, whatever they hold."""

import pytest

from closecall import load_embedder
from closecall.embedders.spec_options import split_spec, whole_number
from closecall.errors import ClosecallError, UsageError


@pytest.mark.parametrize("text", ["9" * 5_000, "0", "-1", "", "1e3", "٣", "1_000", " 1", "0x10"])
def test_a_number_that_is_none_or_far_too_long_is_refused(text):
    with pytest.raises(UsageError, match="dims must be a whole number from 1"):
        whole_number("dims", text)


def test_a_name_that_no_folder_can_have_is_a_name_with_options():
    long = "x" * 5_000
    assert split_spec(f"{long}?a={long}", ("a",), example="x?a=1") == (long, {"a": long})


@pytest.mark.parametrize("kind", ["", "onnx:", "static:", "isotropic:"])
@pytest.mark.parametrize("name", ["x" * 5_000, "x" * 5_000 + "?a=b", "a\0b", "\udcff", "?", "a?b"])
def test_an_embedder_of_a_name_that_nothing_has_is_refused(kind, name):
    with pytest.raises(ClosecallError):
        load_embedder(kind + name)
