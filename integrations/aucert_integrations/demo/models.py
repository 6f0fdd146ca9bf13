"""Who writes the drafts: a script, or a live model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import os
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from aucert_otel import ConfigurationError, Generation


SCRIPTED_MODEL: Final = "gpt-5.6-luna (scripted)"

PRICES: Final = {SCRIPTED_MODEL: (0.20, 1.00)}
"""US dollars for a million input and a million output tokens, as of 2026-03: the flower company's
own figures. With them an answer of its cheap model costs about $0.0017."""
PRICES_AS_OF: Final = "2026-03"

_CHARS_A_TOKEN = 4


def price(generation: Generation) -> float | None:
    """What writing an answer cost; ``None`` for a model whose price is not in the table."""
    usage, prices = generation.usage, PRICES.get(generation.model or "")
    if prices is None or usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    return (usage.input_tokens * prices[0] + usage.output_tokens * prices[1]) / 1e6


class ScriptedModel(BaseChatModel):
    """Plays a script: the first draft, and the next one each time it is asked to repair.

    Its token ceiling is real: what is longer is cut off, with the finish reason ``length``.
    """

    drafts: tuple[str, ...]
    input_tokens: int
    max_tokens: int

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - same
        **kwargs: Any,
    ) -> ChatResult:
        # The drafts so far stand in the conversation, so no call depends on an earlier one.
        turn = sum(isinstance(message, AIMessage) for message in messages)
        text = self.drafts[min(turn, len(self.drafts) - 1)]
        ceiling = int(kwargs.get("max_tokens") or self.max_tokens) * _CHARS_A_TOKEN
        cut_off = len(text) > ceiling
        text = text[:ceiling]
        written = -(-len(text) // _CHARS_A_TOKEN)
        message = AIMessage(
            text,
            response_metadata={
                "finish_reason": "length" if cut_off else "stop",
                "model_name": SCRIPTED_MODEL,
            },
            usage_metadata=UsageMetadata(
                input_tokens=self.input_tokens,
                output_tokens=written,
                total_tokens=self.input_tokens + written,
            ),
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def without_password(url: str) -> str:
    """A URL without the user and the password somebody may have put into it."""
    scheme, separator, rest = url.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def live_model(url: str, name: str | None) -> BaseChatModel:
    """A model behind an OpenAI-compatible endpoint. Its key is ``OPENAI_API_KEY``, if one is set.

    Args:
        url: Such as ``http://127.0.0.1:8000/v1``.
        name: The model's; default: the first one the endpoint lists.

    Raises:
        ConfigurationError: langchain-openai is not installed, or the endpoint cannot be reached
            or lists no model.
    """
    try:
        from langchain_openai import ChatOpenAI
        from openai import OpenAI, OpenAIError
    except ImportError as error:
        raise ConfigurationError(
            "--model needs langchain-openai: pip install langchain-openai"
        ) from error
    from pydantic import SecretStr

    key = os.environ.get("OPENAI_API_KEY") or "none"
    if name is None:
        try:
            with OpenAI(base_url=url, api_key=key, max_retries=0, timeout=10.0) as client:
                name = next((model.id for model in client.models.list()), None)
        except OpenAIError as error:
            raise ConfigurationError(
                f"the model at {without_password(url)} does not answer ({type(error).__name__}): --model takes the "
                "base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1"
            ) from None
        if name is None:
            raise ConfigurationError(
                f"the endpoint {without_password(url)} lists no model: name one with --model-name"
            )
    return ChatOpenAI(
        base_url=url,
        api_key=SecretStr(key),
        model=name,
        temperature=0.0,
        max_retries=1,
        timeout=60.0,
    )
