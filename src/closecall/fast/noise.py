"""What is known of how far the twin's scores stand from the float32 model's.

Measured by ``benchmarks/fast.py`` on labelled and graded pairs of people's data, one half of the
groups to choose the band and the other to count what still turns outside of it.
"""

from __future__ import annotations

from importlib import resources

import msgspec

FILE = "noise.json"


class MetricNoise(msgspec.Struct, frozen=True, kw_only=True):
    """The differences of one metric, on the scale of its values.

    ``band``: scores nearer than this to a cutoff are computed again. ``median``, ``p99`` and
    ``largest`` of the absolute differences, over ``pairs``. Of ``tested`` pairs that the band was
    not chosen on, ``flips`` were outside of it and decided otherwise than in float32, summed over
    ``cutoffs`` cutoffs; ``flip_bound`` is the upper end of the one-sided 95 % interval of the
    rate at a single one, the worst of them (Clopper and Pearson 1934).
    """

    band: float
    pairs: int
    median: float
    p99: float
    largest: float
    tested: int
    cutoffs: int
    flips: int
    flip_bound: float


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one twin: the sha256 of the graph it is made from, and its own digest.

    ``twin`` is that of ``meaning.graph_digest``: the same whatever version of onnx wrote it.

    ``mean_cosine``: sample texts' two vectors further apart than this on average come of kernels
    that lose more than those measured. It was 0.9985 where the noise was measured, and is 0.9939
    where products of two neighbours saturate at 16 bits.
    """

    graph: str
    twin: str
    mean_cosine: float
    metrics: dict[str, MetricNoise]


def recorded_noise() -> Noise:
    """Return the record that comes with closecall."""
    data = (resources.files("closecall") / "fast" / FILE).read_bytes()
    return msgspec.json.decode(data, type=Noise)
