"""The special functions are scipy's own, whichever way they were loaded."""

import subprocess
import sys

import numpy as np

ALONE = """
import sys
from closecall.calibration.special import special

found = special()
assert found.__name__ == "scipy.special._ufuncs", found
assert "scipy.special" not in sys.modules and "numpy.f2py" not in sys.modules
before = float(found.betaincinv(3.3, 97.7, 0.975)), float(found.stdtrit(9, 0.975))
import scipy.special
assert scipy.special.__file__.endswith("__init__.py") and scipy.special.gamma(5) == 24
import scipy
assert scipy.special is sys.modules["scipy.special"]
assert before == (scipy.special.betaincinv(3.3, 97.7, 0.975), scipy.special.stdtrit(9, 0.975))
"""

THREADED = """
import sys, threading
from closecall.calibration.special import special

end = threading.Event()
other = threading.Thread(target=end.wait)
other.start()
try:
    assert special().__name__ == "scipy.special"
finally:
    end.set()
"""


def _run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_only_the_compiled_functions_load_and_the_whole_package_loads_later():
    _run(ALONE)


def test_beside_another_thread_the_whole_package_is_loaded():
    _run(THREADED)


def test_the_numbers_are_those_of_scipy():
    import scipy.special

    from closecall.calibration.special import special

    draw = np.random.default_rng(7)
    a, b = draw.uniform(0.1, 9_000, (2, 20_000))
    q = draw.uniform(1e-9, 1 - 1e-9, 20_000)
    for name in ("betainc", "betaincinv"):
        ours, theirs = getattr(special(), name)(a, b, q), getattr(scipy.special, name)(a, b, q)
        assert np.array_equal(ours, theirs)
    assert np.array_equal(special().stdtrit(a, q), scipy.special.stdtrit(a, q))
