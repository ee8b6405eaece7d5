"""The same evaluation on a Ray cluster, or on several processes of this machine.

::

    from closecall.ray import evaluate_dataset

    run = evaluate_dataset("s3://bucket/cases/", output="s3://bucket/run", concurrency=8)

Blocks of cases go to actors that hold the embedder; each writes its part of the run, and the
numbers are those of one process. In this package ``import ray`` means Ray itself, which is
imported where it is used.
"""

from importlib.util import find_spec

from closecall.errors import MissingExtraError

_missing = [name for name in ("ray", "pyarrow") if find_spec(name) is None]
if _missing:
    raise MissingExtraError("closecall.ray", "ray", _missing)

from closecall.ray.evaluate import evaluate_dataset  # noqa: E402 - needs what was looked for

__all__ = ["evaluate_dataset"]
