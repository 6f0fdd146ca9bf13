"""`verified`: a runnable whose answers are held back until they were checked."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig, RunnableSerializable
from langchain_core.runnables.utils import ConfigurableFieldSpec
from pydantic import ConfigDict

from aucert_integrations.langchain.attempt import (
    Attempt,
    Evidence,
    Question,
    Read,
    Repair,
    ToolCallsPending,
)
from aucert_integrations.langchain.direct import quiet
from aucert_integrations.langchain.held import held
from aucert_integrations.langchain.shapes import as_chunk, shaped
from aucert_integrations.langchain.signed import Signed
from aucert_otel.errors import ConfigurationError
from aucert_otel.harness import Harness, check_harness
from aucert_otel.outcome import Otherwise, Outcome, check_otherwise
from aucert_otel.telemetry import verifying
from aucert_otel.verifier import is_async


Input = TypeVar("Input")
Output = TypeVar("Output")


def verified(
    runnable: Runnable[Input, Output],
    harness: Harness,
    *,
    otherwise: Otherwise,
    question: Question | None = None,
    evidence: Evidence | None = None,
    read: Read | None = None,
    repair: Repair | None = None,
    escalate: Runnable[Input, Output] | None = None,
    tenant: str | None = None,
    name: str | None = None,
) -> VerifiedRunnable[Input, Output]:
    """Hold a runnable's answer back until it was verified; return it only if it ships.

    Evidence is seen from retrievers and tools. Of a search that is a plain function (`RunnableLambda`)
    nobody knows what it returned: give it with ``evidence=``.

    The result is a runnable of the same input and output. A stream is held back too and yields one
    verified chunk. What the runnable raises passes unchanged. A message that asks for tools is a
    step and passes unchecked.

    **Evidence** is what retrievers and tools returned while the answer was written, the **question**
    what the input obviously asks. ``aucert_evidence``, ``aucert_question`` and ``aucert_tenant`` in the
    config's metadata win over both, and over the arguments below.

    **Repair** asks the runnable a second time. The draft and the request stand behind the messages
    of its last model, so prompt and search run as they did; for a truncated answer that model's
    token ceiling is raised. An input dict with the key ``repair`` receives the request there instead,
    for prompts with a place of their own for it. Where no model is to be seen (a function, a graph),
    the request is added to an input of messages or text, and taken out of the returned conversation
    again; the ceiling cannot be raised there. (A graph with a checkpointer keeps the rejected draft in
    its own history: wrap the model inside such a graph, not the graph.) Anything else needs ``repair=``, or cannot be repaired.

    Args:
        runnable: A model or a chain. To use `bind_tools` or ``with_structured_output`` with a model,
            either wrap the result or call them on the wrapped one.
        harness: What checks and acts.
        otherwise: What the caller gets where the answer may not be used: a text, which takes the
            answer's own shape (a message, or the answer in a dict), or a function of the `Outcome`.
            ``HandedToPerson`` raises. A coroutine function is awaited under ``ainvoke``, ``abatch`` and
            ``astream``, and refused under the others. There is no default: this is a decision.
        question: The key of the input dict that holds the question, or a function of the input.
        evidence: The key of the input dict that holds this turn's documents, or a function of it.
        read: Reads the answer's text, or a whole `Generation`, off the output. By default a text is
            the answer, a message its text, a dict the message, or the only text, that it has under
            ``answer``, ``output``, ``result`` or ``response``, or its last message, and any other
            structure its JSON.
        repair: Makes the second call's input and config: ``(input, request) -> (input, config)``.
        escalate: A stronger runnable with the same input, asked once where a repair cannot help.
        tenant: The tenant of answers whose config names none.
        name: Names the ``aucert.generate`` span; default: the runnable's own name, else the harness's.

    Raises:
        ConfigurationError: ``runnable`` or ``escalate`` is not a runnable, ``harness`` not a harness, or
            ``otherwise`` neither a text nor a function.
    """
    for role, given in (("runnable", runnable), ("escalate", escalate)):
        if given is not None and not isinstance(given, Runnable):
            raise ConfigurationError(
                f"verified({role}={type(given).__name__}): give a Runnable; wrap a function in "
                "RunnableLambda, or use aucert_otel.verified as its decorator"
            )
    check_harness(harness, "verified()")
    check_otherwise(otherwise, "verified()")
    return VerifiedRunnable(
        bound=runnable,
        harness=harness,
        otherwise=otherwise,
        question=question,
        evidence=evidence,
        read=read,
        repair=repair,
        escalate=escalate,
        tenant=tenant,
        name=name or getattr(runnable, "name", None),
    )


class VerifiedRunnable(RunnableSerializable[Input, Output]):
    """What `verified` returns. It pickles where its parts do; see `Harness` for its own limits."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    bound: Runnable[Input, Output]
    harness: Harness
    otherwise: Any
    question: Any = None
    evidence: Any = None
    read: Any = None
    repair: Any = None
    escalate: Any = None
    tenant: str | None = None

    @property
    def InputType(self) -> type[Input]:  # noqa: N802 - LangChain's name
        """The bound runnable's."""
        return self.bound.InputType

    @property
    def OutputType(self) -> type[Output]:  # noqa: N802 - LangChain's name
        """The bound runnable's."""
        return self.bound.OutputType

    def get_input_schema(self, config: RunnableConfig | None = None) -> Any:
        """The bound runnable's."""
        return self.bound.get_input_schema(config)

    def get_output_schema(self, config: RunnableConfig | None = None) -> Any:
        """The bound runnable's."""
        return self.bound.get_output_schema(config)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The bound runnable's."""
        return self.bound.config_specs

    def bind_tools(self, tools: Any, **kwargs: Any) -> VerifiedRunnable[Input, Output]:
        """The same, around the model with these tools; its messages that ask for tools pass.

        Raises:
            AttributeError: what is wrapped has no ``bind_tools``.
        """
        return self._around("bind_tools", tools, **kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> VerifiedRunnable[Input, Output]:
        """The same, around the model with a structured output; the checks read it as JSON.

        Raises:
            AttributeError: what is wrapped has no ``with_structured_output``.
        """
        return self._around("with_structured_output", schema, **kwargs)

    def _around(self, method: str, *args: Any, **kwargs: Any) -> VerifiedRunnable[Input, Output]:
        found = getattr(self.bound, method, None)
        if found is None:
            raise AttributeError(
                f"the verified {type(self.bound).__name__} has no {method}: call it on the model "
                "inside, then build the chain around it"
            )
        return self.model_copy(update={"bound": found(*args, **kwargs)})

    def invoke(
        self,
        input: Input,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Output:
        """The answer if it ships, else what ``otherwise`` says.

        Raises:
            ConfigurationError: ``otherwise`` is a coroutine function, which nobody awaits here.
        """
        if is_async(self.otherwise):  # before anything is written and paid for
            raise _unawaited()
        if verifying.get():
            return self.bound.invoke(input, config, **kwargs)
        direct = quiet(self.bound, config)
        if direct is not None:
            answer: Output = self._invoke(input, direct, **kwargs)
            return answer
        return self._call_with_config(Signed(self._invoke), input, config, **kwargs)

    async def ainvoke(
        self,
        input: Input,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Output:
        """`invoke` for asynchronous callers."""
        if verifying.get():
            return await self.bound.ainvoke(input, config, **kwargs)
        return await self._acall_with_config(Signed(self._ainvoke), input, config, **kwargs)

    def stream(
        self,
        input: Input,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Output]:
        """The verified answer as one chunk."""
        yield as_chunk(self.invoke(input, config, **kwargs))

    async def astream(
        self,
        input: Input,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Output]:
        """`stream` for asynchronous callers."""
        yield as_chunk(await self.ainvoke(input, config, **kwargs))

    def _invoke(
        self,
        input: Input,  # noqa: A002 - LangChain's name
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        attempt = Attempt(self, input, config, kwargs)
        token = held.set(True)
        try:
            outcome = self.harness.run(
                attempt.generate,
                escalate=attempt.escalate if self.escalate else None,
                can_repair=attempt.can_repair,
                name=self.name,
            )
        except ToolCallsPending as step:
            return step.output
        finally:
            held.reset(token)
        value = outcome.or_else(self.otherwise)
        if not outcome.shipped and inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise _unawaited()
        return self._result(outcome, value, attempt.given)

    async def _ainvoke(
        self,
        input: Input,  # noqa: A002 - LangChain's name
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        attempt = Attempt(self, input, config, kwargs)
        # LangChain runs this in a context of its own, so that what is set here ends with the run.
        token = held.set(True)
        try:
            outcome = await self.harness.arun(
                attempt.agenerate,
                escalate=attempt.aescalate if self.escalate else None,
                can_repair=attempt.can_repair,
                name=self.name,
            )
        except ToolCallsPending as step:
            return step.output
        held.reset(token)
        value = outcome.or_else(self.otherwise)
        if not outcome.shipped and inspect.isawaitable(value):
            value = await value
        return self._result(outcome, value, attempt.given)

    @staticmethod
    def _result(outcome: Outcome, value: Any, given: object) -> Any:
        if outcome.shipped or not isinstance(value, str):
            return value
        return shaped(value, outcome.generation.value, outcome, given)


def _unawaited() -> ConfigurationError:
    return ConfigurationError(
        "verified(otherwise=a coroutine function) was called without await: use ainvoke, abatch or "
        "astream, or give a plain function"
    )
