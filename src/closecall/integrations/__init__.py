"""closecall inside other evaluators: ragas, deepeval, Inspect AI and promptfoo.

Each module adapts one of them and needs it to be installed; none is loaded before it is imported::

    from closecall.integrations.ragas import ClosecallMetric
    from closecall.integrations.deepeval import ClosecallMetric
    from closecall.integrations.inspect_ai import closecall_scorer
    from closecall.integrations.promptfoo import get_assert

They all decide with a cutoff of closecall's, a calibrated one where a calibration is given, and
show values on 0 to 1, as their hosts do. The embedder loads with the first answer, and all of a
process share one. An answer that cannot be measured is never a number: each host is told in its
own way.
"""
