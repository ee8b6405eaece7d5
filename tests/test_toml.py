"""TOML from anybody, and what the standard library's reader cannot stand."""

import time
import tomllib
from decimal import Decimal

import pytest

from closecall.toml import MAX_PARTS, read_toml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = " + "9" * 5_000, "too long to read"),
        ("x = 0x" + "f" * 6_000, "more than 64 bits"),
        ("x = [{a = [9223372036854775808]}]", "more than 64 bits"),
        ("x = " + "[" * 5_000, "nested too deep"),
        ("a." * 400_000 + "b = 1", "more than 64 parts (line 1)"),
        ("\n\n[" + "a . " * 100 + "b]\n", "more than 64 parts (line 3)"),
        ("x = {" + '"a\\"".' * 100 + "b = 1}", "more than 64 parts"),
        ("'a'.\"b\"." * 50 + "c = 1", "more than 64 parts"),
        ("x = ", "Invalid value"),
    ],
)
def test_what_takes_too_long_or_breaks_the_reader_is_refused_at_once(text, said):
    start = time.process_time()
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        read_toml(text)
    assert said in str(caught.value)
    assert time.process_time() - start < 5  # without a limit it is minutes to hours


def test_a_number_that_a_decimal_cannot_hold_is_refused():
    with pytest.raises(tomllib.TOMLDecodeError, match="too long to read"):
        read_toml("x = 1e999999999999999999999", parse_float=Decimal)


def test_all_else_is_read_as_the_standard_library_reads_it():
    text = (
        "[tool.'a.b']\nsites = 'www.example.com'\ndots = '" + "." * 500 + "'\n"
        "x = -9223372036854775808\ny = 9223372036854775807\nz = 1.5e300\nday = 2026-01-02\n"
        "[deep]\n" + ".".join("a" * (MAX_PARTS - 1)) + " = 1\n"
    )
    assert read_toml(text) == tomllib.loads(text)
    assert read_toml("x = 1.50", parse_float=Decimal) == {"x": Decimal("1.50")}
