"""YAML as settings are written in: no key twice, no tags, no alias bombs, errors with their line."""

from __future__ import annotations

from typing import Any, Final

import yaml

from aucert_otel._sentences import visible
from aucert_otel.errors import ConfigurationError


MAX_CHARS: Final = 1_000_000
MAX_NODES: Final = 100_000
"""Values in a document with its aliases written out: a small file can name a huge one."""


_NUMBERS = {
    "tag:yaml.org,2002:int": "a whole number",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:bool": "true or false",
    "tag:yaml.org,2002:timestamp": "a date that exists",
}


class _Loader(yaml.SafeLoader):
    """Refuses what YAML lets pass, and what it trips over.

    A second value for a key silently replaces the first; 1:30 silently is 90, and 010 is 8.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            _refuse_other_bases(node)
            return super().construct_object(node, deep=deep)
        except (ValueError, ArithmeticError, AttributeError, LookupError, TypeError):
            # The library takes a tag at its word: ``!!bool maybe`` is a KeyError inside it.
            what = _NUMBERS.get(node.tag, "what its tag says")
            raise yaml.constructor.ConstructorError(
                None, None, f"this is not {what}: write it in quotes", node.start_mark
            ) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(
                None,
                None,
                "this is not a mapping, as its tag says: leave out the tag",
                node.start_mark,
            )
        seen: set[tuple[str, str]] = set()
        for key_node, _ in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag != "tag:yaml.org,2002:merge":
                key = (key_node.tag, key_node.value)
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None,
                        None,
                        f"the key {visible(key_node.value[:60])} stands twice in one mapping",
                        key_node.start_mark,
                    )
                seen.add(key)
        return super().construct_mapping(node, deep=deep)


def _refuse_other_bases(node: yaml.Node) -> None:
    """Refuse what YAML 1.1 reads to another base than it is written in."""
    if not isinstance(node, yaml.ScalarNode) or not node.tag.endswith((":int", ":float")):
        return
    digits = node.value.lstrip("+-").replace("_", "")
    if ":" in digits:
        said = "YAML reads a number with colons to base 60"
    elif node.tag.endswith(":int") and len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        said = "YAML reads a whole number that begins with 0 to base 8"
    else:
        return
    raise yaml.constructor.ConstructorError(
        None, None, f"{said}: write it in quotes, or as a plain decimal number", node.start_mark
    )


def parse(text: str, source: str) -> Any:
    """The document in a text.

    Raises:
        ConfigurationError: it is no YAML, has a key twice, or is too large. The message names
            line and column, and quotes no value.
    """
    if len(text) > MAX_CHARS:
        raise ConfigurationError(f"{source}: the file has more than {MAX_CHARS:,} characters")
    try:
        document = yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader, see above
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f": line {mark.line + 1}, column {mark.column + 1}"
        problem = visible(error.problem or error.context or "not YAML")
        raise ConfigurationError(f"{source}{where}: {problem}") from None
    except yaml.reader.ReaderError as error:
        raise ConfigurationError(
            f"{source}: character {error.position + 1} may not stand in YAML: {error.reason}"
        ) from None
    except RecursionError:
        raise ConfigurationError(f"{source}: the file is nested too deeply") from None
    _check_size(document, source)
    return document


def _check_size(document: Any, source: str) -> None:
    sizes: dict[int, int] = {}
    try:
        size = _size(document, sizes, set())
    except RecursionError:
        raise ConfigurationError(f"{source}: the file is nested too deeply") from None
    if size > MAX_NODES:
        raise ConfigurationError(
            f"{source}: with its aliases written out the file has more than {MAX_NODES:,} values"
        )


def _size(value: Any, sizes: dict[int, int], above: set[int]) -> int:
    if not isinstance(value, dict | list):
        return 1
    key = id(value)
    if key in above:
        return MAX_NODES + 1  # it contains itself
    if key not in sizes:
        above.add(key)
        items = value.values() if isinstance(value, dict) else value
        sizes[key] = 1 + sum(_size(item, sizes, above) for item in items)
        above.discard(key)
    return sizes[key]
