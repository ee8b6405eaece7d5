"""Models on this machine: their cards, where they are kept, and the compiler that makes them.

``cards`` reads and writes what is known of a model, ``store`` finds, checks and adds models,
``compiler`` turns a sentence-transformers folder of the BERT family into an ONNX graph.
Nothing here touches the network.
"""
