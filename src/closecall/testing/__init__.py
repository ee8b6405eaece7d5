"""For tests of code that uses closecall, of your own metric or of your own embedder.

``HashEmbedder`` stands in for a model and ``ScriptedChat`` for a chat model; ``check_embedder``
holds an embedder to its contract. Nothing here needs a model or a network.
"""

from __future__ import annotations

from closecall.testing.embedder_contract import check_embedder
from closecall.testing.hash_embedder import HashEmbedder
from closecall.testing.scripted_chat import ScriptedChat

__all__ = ["HashEmbedder", "ScriptedChat", "check_embedder"]
