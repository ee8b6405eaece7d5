"""Models of sentence-transformers, run by torch: any local folder or model of the hub's cache.

``options`` reads what follows ``st:``, ``places`` finds the folder, ``trust`` and ``layout``
read its JSON, ``weights`` hashes what makes its identity; none of these loads torch.
``runtime`` loads the model, ``compiling`` compiles it where that is asked for, and ``embedder``
runs texts through it: ``parts`` makes rows of tokens of them, ``ahead`` on another thread where
``flow`` says so, ``batches`` groups rows, ``loaded`` runs them.
"""
