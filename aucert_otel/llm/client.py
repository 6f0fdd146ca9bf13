"""A chat model behind HTTP: one flow for every API, which differ only in how they are spoken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from aucert_otel.background import worker
from aucert_otel.llm.call import Call, Reply, calling
from aucert_otel.llm.classify import envelope_of, fault_in, fault_of, malformed
from aucert_otel.llm.endpoint import Endpoint
from aucert_otel.llm.errors import (
    BadRequest,
    ConnectionCut,
    ModelError,
    TimedOut,
)
from aucert_otel.llm.families import family_of
from aucert_otel.llm.model import ChatMessage, ChatRequest, Completion
from aucert_otel.llm.prices import PriceBook
from aucert_otel.llm.retry import RetryPolicy
from aucert_otel.llm.transport import (
    MAX_RESPONSE_BYTES,
    Progress,
    Response,
    Timeouts,
    Transport,
    TransportFault,
)


_MAX_REFUSALS = 256
_OPTIONAL = 5
"""Parameters that a server may turn down one after the other."""


class Wire(Protocol):
    """How one API is spoken."""

    @property
    def path(self) -> str:
        """Where requests go, after the base URL."""
        ...

    def headers(self, key: str | None) -> dict[str, str]:
        """The headers that identify us."""
        ...

    def body(
        self, request: ChatRequest, model: str, without: frozenset[str]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The request's body, and what was asked for and is not in it.

        Args:
            request: What is asked.
            model: The model's name.
            without: Optional parameters that the server does not take.
        """
        ...

    def read(self, envelope: Mapping[str, Any]) -> Reply:
        """The reply in a response.

        Raises:
            ValueError: it holds none; the message names the part that is missing.
        """
        ...


class HttpChatModel:
    """A chat model behind HTTP. Use `OpenAIChat` or `AnthropicChat`.

    Requests are sent from the SDK's own event loop, whichever loop or thread asks. What a server
    turns down (``temperature``, a schema) is left out once, and remembered as soon as the request
    without it succeeds.
    """

    def __init__(
        self,
        wire: Wire,
        model: str,
        *,
        base_url: str,
        name: str | None,
        provider: str,
        family: str | None,
        api_key: str | None,
        api_key_env: str | None,
        headers: Mapping[str, str] | None,
        prices: PriceBook | None,
        retry: RetryPolicy | None,
        timeouts: Timeouts | None,
        concurrency: int,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self.model = model
        self.name = name or model
        self.provider = provider
        self.family = family or family_of(model)
        self.prices = prices or PriceBook()
        self.retry = retry or RetryPolicy()
        self._wire = wire
        self._endpoint = Endpoint(base_url, wire.path, api_key, api_key_env, headers or {})
        self._refused: set[str] = set()
        self._transport = Transport(
            timeouts=timeouts or Timeouts(),
            concurrency=concurrency,
            max_response_bytes=max_response_bytes,
        )

    def __repr__(self) -> str:
        # Neither the key nor the URL, which may hold one.
        return (
            f"{type(self).__name__}({self.model!r}, name={self.name!r}, provider={self.provider!r})"
        )

    @property
    def refuses(self) -> frozenset[str]:
        """The optional parameters this model was found not to take, such as ``temperature``."""
        return frozenset(refused.partition(":")[0] for refused in self._refused)

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
        logprobs: bool = False,
    ) -> Completion:
        """Answer the messages; see `ChatModel.complete`.

        Raises:
            ModelError: there is no usable answer.
            ValueError: an argument is none that a model could use.
            MissingExtraError: the extra ``llm`` is not installed.
        """
        request = ChatRequest(
            tuple(messages),
            schema=schema,
            temperature=temperature,
            seed=seed,
            max_tokens=max_tokens,
            logprobs=logprobs,
        )
        return await worker().join(self._complete(request))

    async def aclose(self) -> None:
        """Close the connections. The model can still be used: it opens new ones."""
        await worker().arun(self._transport.aclose())

    def close(self) -> None:
        """`aclose` for synchronous callers."""
        worker().run(self._transport.aclose())

    async def _complete(self, request: ChatRequest) -> Completion:
        with calling(self, request, self.prices, self._endpoint.server) as call:
            headers = self._endpoint.headers(self.model, self._wire.headers)

            async def attempt(within_s: float) -> Completion:
                return await self._attempt(call, headers, within_s)

            return await self.retry.run(attempt, call.retrying, idle_s=lambda: call.waited_s)

    async def _attempt(self, call: Call, headers: Mapping[str, str], within_s: float) -> Completion:
        """One attempt, and at once another one without each parameter that is turned down."""
        without = self._known_refusals(call.request)
        started = call.latency_s
        left = within_s
        for _ in range(_OPTIONAL):
            try:
                return await self._send(call, headers, without, left)
            except BadRequest as error:
                if error.parameter is None or error.parameter in without:
                    raise
                without |= {error.parameter}
            left = max(within_s - (call.latency_s - started), 0.0)
        return await self._send(call, headers, without, left)

    async def _send(
        self, call: Call, headers: Mapping[str, str], without: frozenset[str], within_s: float
    ) -> Completion:
        body, dropped = self._wire.body(call.request, self.model, without)
        content = json.dumps(body, allow_nan=False).encode()
        async with call.placed(self._transport.place()) as client:
            progress = Progress()
            try:
                response = await self._transport.post(
                    client,
                    self._endpoint.url,
                    headers=headers,
                    body=content,
                    within_s=within_s,
                    progress=progress,
                )
            except TransportFault as found:
                fault = found
            except BaseException:
                # Cancelled: the provider goes on, and bills what we no longer wait for.
                if progress.sent:
                    call.unseen("abandoned")
                raise
            else:
                reply = self._reply(call, response)
                priced = call.charge(reply)
                self._remember(call.request, without)
                return call.finish(reply, priced, dropped)
        raise self._no_response(call, fault)

    def _reply(self, call: Call, response: Response) -> Reply:
        """The reply in a response; a fault is counted and raised."""
        if not 200 <= response.status < 300:
            call.free()  # what is turned away is not billed
            raise fault_of(response, self.model)
        envelope = envelope_of(response)
        if envelope is None:
            call.unseen("malformed")
            what = "is no JSON object" if response.body.strip() else "is empty"
            raise malformed(self.model, f"the response {what}", response.status)
        fault = fault_in(envelope, self.model)
        if fault is not None:
            call.free()
            raise fault
        try:
            return self._wire.read(envelope)
        except ValueError as error:
            missing = str(error)
        call.unseen("malformed")
        raise malformed(self.model, f"the response has no {missing}", response.status)

    def _no_response(self, call: Call, fault: TransportFault) -> ModelError:
        if fault.sent:
            call.unseen(fault.kind)
        else:
            call.free()
        what = f"model {self.model!r}: "
        if fault.kind == "too_large":
            return malformed(self.model, str(fault))
        if fault.kind == "timeout":
            return TimedOut(f"{what}no whole answer in time ({fault})", model=self.model)
        return ConnectionCut(f"{what}the connection failed ({fault})", model=self.model)

    def _known_refusals(self, request: ChatRequest) -> frozenset[str]:
        """What not to send with this request. A schema may be turned down where another is taken."""
        this = f"schema:{_digest(request.schema)}"
        return frozenset(
            "schema" if refused == this else refused
            for refused in self._refused
            if refused == this or not refused.startswith("schema:")
        )

    def _remember(self, request: ChatRequest, without: frozenset[str]) -> None:
        if len(self._refused) < _MAX_REFUSALS:
            self._refused |= {
                f"schema:{_digest(request.schema)}" if name == "schema" else name
                for name in without
            }


def _digest(schema: Mapping[str, Any] | None) -> str:
    if schema is None:
        return ""
    text = json.dumps(schema, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
