"""Hold a LangChain chain's answers back: one that fails is repaired once, or handed on.

The model is a script: no key, no network. Run it with: python examples/wrapped.py
"""

from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough

from aucert_integrations.langchain import verified
from aucert_otel import Cascade, Harness, Outcome
from aucert_verifiers.rules import CitesOnlyReturned, NumbersAppear, Rules


class Search(BaseRetriever):
    """Finds the one article there is. The wrapper sees what a retriever returns."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:  # noqa: ARG002 - LangChain's signature
        text = "Damage must be reported within 48 hours of delivery."
        return [Document(text, metadata={"id": "305"})]


def chain_that_says(*drafts: str) -> Runnable[dict[str, str], str]:
    """The chain you have. Its model answers with these, in order."""
    search = RunnablePassthrough.assign(passages=lambda given: Search().invoke(given["question"]))
    prompt = ChatPromptTemplate.from_template("Answer from {passages}: {question}")
    return search | prompt | FakeListChatModel(responses=list(drafts)) | StrOutputParser()


def otherwise(outcome: Outcome) -> str:
    """What the customer gets where no answer may be used; a person gets the drafts."""
    for number, draft in enumerate(outcome.drafts, 1):
        print(f"  to a person, draft {number}: {draft.generation.output}")
    return "A colleague will answer you shortly."


harness = Harness(Cascade("support", [Rules(CitesOnlyReturned(), NumbersAppear())]))
right = "Report damage within 48 hours of delivery (article 305)."

print("Scripted drafts; no model is called.")
for title, drafts in {
    "a good answer": [right],
    "a wrong citation, repaired": ["Within 48 hours (article 212).", right],
    "wrong twice": ["Within 48 hours (article 212).", "Within 30 days (article 305)."],
}.items():
    print(f"{title}:")
    safe = verified(chain_that_says(*drafts), harness, otherwise=otherwise)
    print("  customer:", safe.invoke({"question": "Half the roses are brown."}))
