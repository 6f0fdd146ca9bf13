"""The text in a message: what it says, and what of it the checks read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage
from pydantic_core import to_json


MAX_UNREADABLE: Final = 8_000
"""Characters of one block's JSON that the checks read, where nobody can say what its text is."""
_MAX_DEPTH: Final = 16

_PLAIN: Final = (None, "text", "output_text")
_TEXT_KEYS: Final = ("text", "refusal", "content", "output")
_WORKING: Final = frozenset(
    {
        *("reasoning", "thinking", "redacted_thinking"),
        *("tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta"),
        *("invalid_tool_call", "server_tool_use", "server_tool_call", "server_tool_call_chunk"),
        *("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call"),
    }
)
"""A model's way to its answer. Beside an answer only what such a block shows as text is read."""
_ABOUT: Final = frozenset(
    {
        *("type", "id", "index", "extras", "signature", "annotations", "citations", "logprobs"),
        *("tool_use_id", "tool_call_id", "status", "is_error", "cache_control", "mime_type"),
    }
)
"""Keys that say something about a block, and nothing to its reader."""


def content_text(content: object) -> str:
    """A message's content as its plain text: every other block is left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping) and block.get("type") in _PLAIN:
            text = block.get("text")
            parts.append(text if isinstance(text, str) else "")
    return "".join(parts)


def checked_text(message: BaseMessage) -> str:
    """Everything in an answer that somebody may be shown, for the checks.

    Text is read out of every block, of whatever type. A block that nobody can read stands there as
    JSON, at most `MAX_UNREADABLE` characters of it, so that it is not taken for nothing. A model's
    reasoning and its calls are left out beside a text, and stand there as JSON where there is none.
    """
    content = message.content
    refusal = message.additional_kwargs.get("refusal")
    text = content if isinstance(content, str) else _blocks(content)
    if isinstance(refusal, str) and refusal:
        text = f"{text}\n{refusal}" if text else refusal
    if text.strip():
        return text
    unread: list[Any] = [] if isinstance(content, str) else [b for b in content if _says(b)]
    if isinstance(message, AIMessage):
        unread.extend(message.invalid_tool_calls)
    return "\n".join(map(_json, unread)) or text


def _blocks(content: list[Any]) -> str:
    parts: list[str] = []
    flows = (
        False  # plain text runs on from block to block; anything else stands on lines of its own
    )
    for block in content:
        plain = isinstance(block, str) or (
            isinstance(block, Mapping) and block.get("type") in _PLAIN
        )
        text = _block(block)
        if not text:
            continue
        if parts and not (plain and flows):
            parts.append("\n")
        parts.append(text)
        flows = plain
    return "".join(parts)


def _block(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return _json(block)
    texts = _texts(block, 0)
    kind = block.get("type")
    if kind in _PLAIN and texts:
        return "".join(texts)
    if isinstance(kind, str) and kind in _WORKING:
        return "\n".join(texts)
    rest = {k: v for k, v in block.items() if k not in _ABOUT and not (k in _TEXT_KEYS and texts)}
    if any(_says(value) for value in rest.values()):
        texts.append(_json(rest))
    return "\n".join(texts)


def _texts(value: object, depth: int) -> list[str]:
    """Every text under a key that holds text, in order."""
    if isinstance(value, str):
        return [value] if value else []
    if depth > _MAX_DEPTH:
        return [_json(value)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item, depth + 1)]
    if isinstance(value, Mapping):
        found = [t for key in _TEXT_KEYS if key in value for t in _texts(value[key], depth + 1)]
        if found or depth == 0:
            return found
        return [_json(value)] if _says(value) else []
    return [] if value is None else [_json(value)]


def _says(value: object) -> bool:
    """Whether there is anything in a value at all."""
    return value is not None and value not in ("", [], {})


def _json(value: object) -> str:
    try:
        text = to_json(value, bytes_mode="base64", fallback=lambda v: type(v).__name__).decode()
    except ValueError:  # too deep, or no text in any encoding
        return f"[a {type(value).__name__} that cannot be read]"
    over = len(text) - MAX_UNREADABLE
    return text if over <= 0 else f"{text[:MAX_UNREADABLE]}... [{over} characters more]"
