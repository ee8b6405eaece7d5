"""Metrics of models that read two texts at once, as a cross-encoder or an NLI model does.

``tokenising`` turns a pair into rows of tokens and a pair too long into windows, ``runtime``
loads what runs them (``onnx_pair``, ``torch_pair``), ``scoring`` makes rows into outputs, and
``metric`` is ``cross_encoder``. Such a model sees what a cosine cannot, a negation among them;
it costs a pass for each pair and is right as often as it was on texts like those it learnt from.
"""
