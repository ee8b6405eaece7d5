"""A server of chat models on 127.0.0.1 that behaves as the real ones do, in the parts that hurt.

Built on the provider of embeddings: the same styles, keys and errors, another path. ``refuses``
names parameters it does not take, in the words of the server it plays.
"""

from urllib.parse import unquote

from fake_provider import KEY, FakeProvider, Said, error

__all__ = ["KEY", "FakeChat", "Said", "error", "turn", "unsupported"]


def unsupported(name, instead=""):
    """What OpenAI says of a parameter that a model does not take."""
    more = f" Use '{instead}' instead." if instead else ""
    return error(
        f"Unsupported parameter: '{name}' is not supported with this model.{more}",
        param=name,
        code="unsupported_parameter",
    )


def only_default(name):
    """What OpenAI says of a value that a reasoning model does not take."""
    return error(
        f"Unsupported value: '{name}' does not support 0 with this model. Only the default (1) "
        "value is supported.",
        param=name,
        code="unsupported_value",
    )


def turn(content="fine", finish="stop", **more):
    """One choice of a reply."""
    message = {"role": "assistant", "content": content} | more
    return {"index": 0, "message": message, "finish_reason": finish}


class FakeChat(FakeProvider):
    """A server of chat completions; ``said`` is what it replies with where nothing is scripted."""

    def __init__(self, style="openai", *, refuses=None, **options):
        super().__init__(style, **options)
        self.refuses = dict(refuses or {})
        self.said = "fine"

    @property
    def bodies(self):
        """What came, without messages and model."""
        skipped = {"messages", "model"}
        return [
            {name: value for name, value in one.body.items() if name not in skipped}
            for one in self.requests
        ]

    def environment(self):
        models = {
            "openai": {"OPENAI_MODEL": "asked-model"},
            "azure": {"AZURE_OPENAI_DEPLOYMENT": "our-deployment"},
            "foundry": {"FOUNDRY_MODEL": "our-deployment"},
            "bitdeer": {"BITDEER_MODEL": "asked-model"},
            "openai-compatible": {"OPENAI_COMPATIBLE_MODEL": "asked-model"},
            "ollama": {"OLLAMA_MODEL": "asked-model"},
        }[self.style]
        usual = super().environment()
        return {name: value for name, value in usual.items() if "EMBEDDING" not in name} | models

    def usual(self, received):
        return self._turned_away(received) or self.reply(received)

    def reply(self, received, *choices, **changes):
        """A sound reply with these choices."""
        asked = sum(len(str(one.get("content")).split()) for one in received.body["messages"])
        body = {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": self.model,
            "choices": list(choices) or [turn(self.said)],
        }  # fmt: skip
        if self.usage:
            body["usage"] = {
                "prompt_tokens": asked, "completion_tokens": 2, "total_tokens": asked + 2,
            }  # fmt: skip
        return Said(200, body | changes)

    def _turned_away(self, received):
        if self.style in {"azure", "foundry"}:
            return self._azure_refusal(received) or self._parameters(received)
        if received.path != "/v1/chat/completions":
            return Said(404, {"error": {"message": f"no {received.path}", "code": None}})
        if self.style in {"openai", "bitdeer"} and (
            received.headers.get("authorization") != f"Bearer {KEY}"
        ):
            return error("Incorrect API key provided.", status=401, code="invalid_api_key")
        if received.body.get("model") != "asked-model":
            return error("The model does not exist.", status=404, code="model_not_found")
        return self._parameters(received)

    def _azure_refusal(self, received):
        # Its paths differ in their last part only.
        path = unquote(received.path)
        if not path.endswith("/chat/completions"):
            return Said(404, {"error": {"code": "404", "message": "Resource not found"}})
        as_before = path.removesuffix("/chat/completions") + "/embeddings"
        return super()._azure_refusal(received._replace(path=as_before))

    def _parameters(self, received):
        return next((said for name, said in self.refuses.items() if name in received.body), None)
