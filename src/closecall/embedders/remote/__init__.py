"""Embeddings from a provider: one protocol, six providers, and nothing sent before the first use.

``providers`` is the table of providers; ``settings`` reads the environment; ``connection`` is
the one place that talks to the official client; ``problems`` translates its errors; ``retry`` says
when to ask again; ``replies`` checks what came; ``asking`` gets one answer a text out of all of
it; ``sizes``, ``batching`` and ``reading`` say what of a text goes into which request;
``tails`` finds texts that a server cut; ``embedder`` is the embedder.
"""
