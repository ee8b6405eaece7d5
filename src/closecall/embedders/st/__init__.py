"""Models of sentence-transformers, run by torch: any local folder or model of the hub's cache.

``options`` reads what follows ``st:``, ``places`` finds the folder, ``trust`` and ``layout``
read its JSON, ``weights`` hashes what makes its identity; none of these loads torch.
``runtime`` loads the model and ``embedder`` runs texts through it.
"""
