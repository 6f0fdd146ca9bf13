"""`VerifiedLLM`: a model whose answers are held back until they were checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import LLM
from pydantic import Field

from aucert_integrations.llama_index.asking import Asking
from aucert_integrations.llama_index.dispatch import listen
from aucert_integrations.llama_index.holding import ahold, checked, hold
from aucert_integrations.llama_index.tree import Verifies, known_tree
from aucert_integrations.llama_index.ways import Chat, Complete, Structured, Way
from aucert_otel.errors import ConfigurationError
from aucert_otel.harness import Harness
from aucert_otel.once import looked_after
from aucert_otel.outcome import Otherwise


Evidence: TypeAlias = Callable[[Sequence[ChatMessage] | str], object]
"""This turn's evidence, of what the model is asked."""

_TAKEN_OVER = (
    "system_prompt",
    "messages_to_prompt",
    "completion_to_prompt",
    "output_parser",
    "pydantic_program_mode",
    "query_wrapper_prompt",
    "callback_manager",
)
"""What a model's own ``predict`` and ``stream`` do around a call is done here instead."""


class VerifiedLLM(FunctionCallingLLM, Verifies):
    """Holds a model's answers back until they were verified; returns them only if they ship.

    ```python
    agent = FunctionAgent(tools=tools, llm=VerifiedLLM(OpenAI(model=...), harness, otherwise=...))
    ```

    It is a model like any other: in an agent, a chat engine, a synthesizer, or called directly. What
    comes back is the model's own response, the very object; a stream is read to its end, verified, and
    then replayed chunk by chunk. A message that asks for tools is a step and passes unchecked. What the
    model raises passes unchanged. Where somebody above holds the answer back already, it passes.

    **Evidence** is what retrievers and tools returned in this turn (under the same root span, else the
    tool messages since the human spoke), the **question** what the human asked last.

    **Repair** asks again, with the draft and the request behind the messages; for a truncated answer the
    token ceiling is raised.

    Args:
        llm: The model.
        harness: What checks and acts.
        otherwise: What the caller gets where the answer may not be used: a text, which takes the
            response's own type, or a function of the `Outcome` that returns one, or a response.
            ``HandedToPerson`` raises. A structured answer can hold no text: the value itself is returned,
            so give a function there. A coroutine function is awaited by the asynchronous methods. There
            is no default: this is a decision.
        evidence: This turn's evidence instead: a function of the messages, or of the prompt.
        escalate: A stronger model, asked once where a repair cannot help.
        tenant: The tenant of its answers.
        name: Names the ``aucert.generate`` span; default: the harness's.

    Raises:
        ConfigurationError: ``llm`` or ``escalate`` is not a model, ``harness`` not a harness, or
            ``otherwise`` neither a text nor a function.
    """

    llm: Any = Field(exclude=True)
    harness: Any = Field(exclude=True)
    otherwise: Any = Field(exclude=True)
    evidence: Any = Field(default=None, exclude=True)
    escalate: Any = Field(default=None, exclude=True)
    tenant: str | None = Field(default=None, exclude=True)
    name: str | None = Field(default=None, exclude=True)

    def __init__(
        self,
        llm: LLM,
        harness: Harness,
        *,
        otherwise: Otherwise,
        evidence: Evidence | None = None,
        escalate: LLM | None = None,
        tenant: str | None = None,
        name: str | None = None,
    ) -> None:
        checked("VerifiedLLM()", harness, otherwise)
        for role, given in (("llm", llm), ("escalate", escalate)):
            if given is not None and not isinstance(given, LLM):
                raise ConfigurationError(
                    f"VerifiedLLM({role}={type(given).__name__}): give a LlamaIndex LLM"
                )
        super().__init__(
            llm=llm,
            harness=harness,
            otherwise=otherwise,
            evidence=evidence,
            escalate=escalate,
            tenant=tenant,
            name=name,
            **{name: getattr(llm, name) for name in _TAKEN_OVER},
        )
        listen()
        known_tree()

    @classmethod
    def class_name(cls) -> str:
        """Its name in LlamaIndex."""
        return "VerifiedLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """The model's own."""
        return self.llm.metadata

    def to_payload(self) -> dict[str, Any]:
        """What the model itself lets tracers know."""
        payload: dict[str, Any] = self.llm.to_payload()
        return payload

    def _hold(self, method: str, way: Way) -> Any:
        asking = Asking(self, method, way)
        if looked_after():
            return asking.plain()
        return self._replay(asking) if asking.streams else hold(self, asking, way.shaped)

    async def _ahold(self, method: str, way: Way) -> Any:
        asking = Asking(self, method, way)
        if looked_after():
            return await asking.aplain()
        return self._areplay(asking) if asking.streams else await ahold(self, asking, way.shaped)

    def _replay(self, asking: Asking) -> Any:
        yield from hold(self, asking, asking.way.shaped)

    async def _areplay(self, asking: Asking) -> Any:
        for chunk in await ahold(self, asking, asking.way.shaped):
            yield chunk

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """A verified answer to a conversation."""
        return self._hold("chat", Chat((messages,), kwargs))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """`chat` for asynchronous callers."""
        return await self._ahold("chat", Chat((messages,), kwargs))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """A verified answer to a conversation, chunk by chunk."""
        return self._hold("stream_chat", Chat((messages,), kwargs))

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """`stream_chat` for asynchronous callers."""
        return await self._ahold("stream_chat", Chat((messages,), kwargs))

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """A verified answer to a prompt."""
        return self._hold("complete", Complete((prompt, formatted), kwargs))

    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """`complete` for asynchronous callers."""
        return await self._ahold("complete", Complete((prompt, formatted), kwargs))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """A verified answer to a prompt, chunk by chunk."""
        return self._hold("stream_complete", Complete((prompt, formatted), kwargs))

    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """`stream_complete` for asynchronous callers."""
        return await self._ahold("stream_complete", Complete((prompt, formatted), kwargs))

    def structured_predict(
        self,
        output_cls: Any,
        prompt: Any,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Any:
        """A verified instance of a class; the checks read it as JSON."""
        way = Structured(output_cls, prompt, llm_kwargs, prompt_args)
        return self._hold("structured_predict", way)

    async def astructured_predict(
        self,
        output_cls: Any,
        prompt: Any,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Any:
        """`structured_predict` for asynchronous callers."""
        way = Structured(output_cls, prompt, llm_kwargs, prompt_args)
        return await self._ahold("structured_predict", way)

    def stream_structured_predict(
        self,
        output_cls: Any,
        prompt: Any,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Any:
        """A verified instance of a class, as it was streamed."""
        way = Structured(output_cls, prompt, llm_kwargs, prompt_args)
        return self._hold("stream_structured_predict", way)

    async def astream_structured_predict(
        self,
        output_cls: Any,
        prompt: Any,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Any:
        """`stream_structured_predict` for asynchronous callers."""
        way = Structured(output_cls, prompt, llm_kwargs, prompt_args)
        return await self._ahold("stream_structured_predict", way)

    @property
    def _calls_functions(self) -> FunctionCallingLLM:
        if not isinstance(self.llm, FunctionCallingLLM):
            raise TypeError(f"{type(self.llm).__name__} cannot call functions")
        return self.llm

    def _prepare_chat_with_tools(
        self, tools: Any, *args: Any, tool_required: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        inner = self._calls_functions
        prepare = getattr(inner, "_prepare_chat_with_tools_compat", None)
        if prepare is None:  # older than 0.12.40
            return inner._prepare_chat_with_tools(tools, *args, **kwargs)
        prepared: dict[str, Any] = prepare(tools, *args, tool_required=tool_required, **kwargs)
        return prepared

    def _validate_chat_with_tools_response(
        self,
        response: ChatResponse,
        tools: Any,
        allow_parallel_tool_calls: bool = False,
        **kwargs: Any,
    ) -> ChatResponse:
        return self._calls_functions._validate_chat_with_tools_response(
            response, tools, allow_parallel_tool_calls=allow_parallel_tool_calls, **kwargs
        )

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> Any:
        """The tool calls in a response, as the model itself reads them."""
        return self._calls_functions.get_tool_calls_from_response(
            response, error_on_no_tool_call=error_on_no_tool_call, **kwargs
        )
