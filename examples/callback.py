"""Observe a LangChain chain with one callback: its answers go out at once and are verified behind.

The model is a script: no key, no network. Run it with: python examples/callback.py
"""

from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from aucert_integrations.langchain import VerificationHandler
from aucert_otel import Cascade, Harness
from aucert_verifiers.rules import CitesOnlyReturned, NumbersAppear, Rules


DRAFTS = [
    "Please report damage within 48 hours of delivery (article 305).",
    "Please report damage within 30 days (article 212).",
]


class Search(BaseRetriever):
    """Finds the one article there is. The callback sees what a retriever returns."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002 - LangChain's signature
        text = "Damage must be reported within 48 hours of delivery."
        return [Document(text, metadata={"id": "305"})]


# The chain you have; its model is a script.
search = RunnablePassthrough.assign(passages=lambda given: Search().invoke(given["question"]))
prompt = ChatPromptTemplate.from_template("Answer from {passages}: {question}")
chain = search | prompt | FakeListChatModel(responses=DRAFTS) | StrOutputParser()

# Where spans go: use your own provider, or aucert_otel.configure() for OTLP.
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)

harness = Harness(Cascade("support", [Rules(CitesOnlyReturned(), NumbersAppear())]))
handler = VerificationHandler(harness)

print("Scripted drafts; no model is called.")
for _ in DRAFTS:
    print("answer:", chain.invoke({"question": "Brown roses!"}, config={"callbacks": [handler]}))

harness.flush()
for span in sorted(spans.get_finished_spans(), key=lambda each: each.start_time):
    shown = {key: span.attributes[f"aucert.{key}"] for key in ("verdict", "action")}
    print("trace: ", span.name, shown, *span.attributes.get("aucert.criteria.failed", ()))
