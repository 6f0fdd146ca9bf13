"""What stands around the code of the documentation: a small chain, and a model that plays its part."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough


WRONG = "Report damage within 48 hours of delivery (article 212)."
RIGHT = "Report damage within 48 hours of delivery (article 305)."
question = "Half the roses are brown. What can I do?"


class Scripted(BaseChatModel):
    """Cites an article that was not found, and corrects itself when it is asked to repair."""

    first: str = WRONG

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = "failed a check" in str(messages[-1].content)
        answer = AIMessage(
            RIGHT if asked else self.first, response_metadata={"finish_reason": "stop"}
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


class Search(BaseRetriever):
    """Finds the one article there is."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("Report damage within 48 hours of delivery.", metadata={"id": "305"})]


retriever = Search()
prompt = ChatPromptTemplate.from_template("{passages}\n\n{question}")
model = Scripted()
stronger = Scripted(first=RIGHT)


def chain_with(model: Any) -> Any:
    """Search, prompt, model and parser."""
    found = RunnablePassthrough.assign(passages=lambda given: retriever.invoke(given["question"]))
    return found | prompt | model | StrOutputParser()


chain = chain_with(model)
