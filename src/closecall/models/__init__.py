"""Models on this machine: their cards, where they are kept, and the compiler that makes them.

``cards`` reads and writes what is known of a model, ``store`` finds and adds models, ``compiler``
turns a model folder into an ONNX graph. ``pull`` fetches models from a hub, which is all that
touches the network here; ``bundle`` and ``unbundle`` carry them in one file.
"""
