"""Nodes, tool results and explicit evidence as passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import BaseNode, NodeWithScore

from aucert_otel._currency import passage_of
from aucert_otel.generation import Passage


def as_passages(nodes: object) -> tuple[Passage, ...] | None:
    """Nodes as passages; texts, passages and plain dicts are taken as well.

    The metadata keys ``id, version, latest_version, superseded_by, effective_from, source_type``
    become the passage's fields, and the whole metadata stays with it by reference. A key that is
    absent, or holds something else (a date that is not a date), is ``None``, which checks read as
    "not known". Without an ``id`` in its metadata a passage has the node's own id.

    Args:
        nodes: A list, one node, a response with ``source_nodes``, or ``None``, which stays "nobody
            knows".

    Raises:
        TypeError: something else is among them.
    """
    if nodes is None:
        return None
    found = getattr(nodes, "source_nodes", None)
    if isinstance(found, list):
        nodes = found
    if isinstance(nodes, (str, Passage, BaseNode, NodeWithScore, Mapping)):
        nodes = (nodes,)
    if not isinstance(nodes, Iterable):
        raise TypeError(
            f"evidence is {type(nodes).__name__}: give a list of nodes, texts or passages"
        )
    return tuple(_passage(item) for item in nodes)


def _passage(item: object) -> Passage:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(item)
    if isinstance(item, NodeWithScore):
        item = item.node
    if isinstance(item, BaseNode):
        return passage_of(item.get_content(), item.metadata, item.node_id)
    if isinstance(item, Mapping) and isinstance(item.get("text"), str):
        return passage_of(item["text"], item)
    raise TypeError(
        f"evidence holds a {type(item).__name__}: give nodes or Passage objects, texts, or dicts "
        "with a 'text'"
    )


def tool_passages(output: Any) -> tuple[Passage, ...]:
    """What a tool returned: the nodes behind its text where it says them; nothing where it failed."""
    if output.is_error:
        return ()
    nodes = getattr(output.raw_output, "source_nodes", None)
    if isinstance(nodes, list) and nodes:
        return as_passages(nodes) or ()
    text = output.content
    if not text:
        return ()
    name = output.tool_name
    return (Passage(text, source_type="tool", metadata={"tool": name} if name else {}),)


def told_by_tools(messages: Sequence[ChatMessage]) -> tuple[Passage, ...]:
    """The tool results in a conversation since the human spoke last."""
    found: list[Passage] = []
    for message in reversed(messages):
        if message.role is MessageRole.USER:
            break
        if message.role in (MessageRole.TOOL, MessageRole.FUNCTION) and message.content:
            call = message.additional_kwargs.get("tool_call_id")
            own_id = call if isinstance(call, str) else None
            found.append(Passage(message.content, id=own_id, source_type="tool"))
    return tuple(reversed(found))
