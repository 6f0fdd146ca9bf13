"""A chat model that is called directly, with no chain around it: the cheapest way to hold back.

What a callback would say about such a call, its input and its answer say as well.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, get_callback_manager_for_config

from aucert_integrations.langchain.reading import answer_of_message
from aucert_integrations.langchain.turn import Call, Finished, Turn
from aucert_otel.generation import Message


_NO_RUN = UUID(int=0)


def quiet(runnable: object, config: RunnableConfig | None) -> RunnableConfig | None:
    """The config for a direct call of a chat model where no callback listens, else ``None``.

    Then there is nobody to tell about a run of the wrapper's own, which costs a hundred
    microseconds to report.
    """
    if not isinstance(runnable, BaseChatModel):
        return None
    whole = ensure_config(config)
    if whole["callbacks"] or get_callback_manager_for_config(whole).handlers:
        return None
    whole["callbacks"] = None
    whole.pop("run_name", None)  # they name the wrapper's run, and not the model's
    whole.pop("run_id", None)
    return whole


def asked_directly(model: Any, given: Any, output: object, kwargs: dict[str, Any]) -> Turn:
    """The turn of a direct call: one model call, and no search."""
    turn = Turn(_NO_RUN)
    if isinstance(output, BaseMessage):
        # What LangChain itself puts into the metadata of the model's run, and in that order. The
        # hook that providers override has no public name.
        said = {**model._get_ls_params(**kwargs), **(model.metadata or {})}
        turn.finished.append(Finished(Call(_messages(given), said), answer_of_message(output), 0))
    return turn


def _messages(given: Any) -> Any:
    if isinstance(given, str):  # most often; LangChain's own message would be made only to be read
        return (Message("user", given),)
    return given.to_messages() if isinstance(given, PromptValue) else convert_to_messages(given)
