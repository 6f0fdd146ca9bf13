"""The rule that a structured answer matches its JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

from aucert_otel.errors import ConfigurationError, MissingExtraError
from aucert_otel.generation import Generation
from aucert_otel.verdict import Finding, Reason
from aucert_verifiers.rules.base import Context, Found, failed, passed, unclear
from aucert_verifiers.rules.options import check_count, check_flag, check_name
from aucert_verifiers.rules.parse import JSON_MAX_CHARS, Unparsable, parse_json, unfence
from aucert_verifiers.rules.schema_steps import MAX_STEPS, bounded_draft, errors_in
from aucert_verifiers.rules.text import clip


MAX_FACTS = 5
"""Places named in one finding. One answer that does not fit its schema is one failure."""


@dataclass(frozen=True, slots=True)
class MatchesSchema:
    """The answer is JSON that matches a JSON Schema (extra ``schema``).

    The schema is checked and compiled once. A reference to another document is refused: nothing is
    ever fetched. A ``pattern`` in the schema is a regular expression that reads hostile text: see
    `Matches` on how to write one.

    Args:
        schema: The schema, of the draft its ``$schema`` names, else the newest one.
        allow_fence: As in `Parses`.
        max_steps: Keywords of the schema that are applied, each place of the answer anew. A recursive
            ``oneOf`` doubles them with every level of the answer. An answer that needs more is
            unclear, unless what was read of it does not match.

    Raises:
        ConfigurationError: the schema is not one, or refers to something outside it.
        MissingExtraError: ``jsonschema`` is not installed.
    """

    schema: Mapping[str, Any] | bool
    _: KW_ONLY
    allow_fence: bool = False
    max_steps: int = MAX_STEPS
    name: str = "schema"
    _validator: Any = field(init=False, repr=False, compare=False)
    _passed: Finding = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_flag(self.allow_fence, "matches_schema.allow_fence")
        check_count(self.max_steps, "matches_schema.max_steps", least=1)
        validator = _compile(self.schema)
        object.__setattr__(self, "schema", validator.schema)
        object.__setattr__(self, "_validator", validator)
        object.__setattr__(self, "_passed", passed(check_name(self.name, "matches_schema")))

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        # The compiled validator is of a class made at run time, which cannot be pickled.
        return (
            partial(
                MatchesSchema,
                allow_fence=self.allow_fence,
                max_steps=self.max_steps,
                name=self.name,
            ),
            (self.schema,),
        )

    def check(self, generation: Generation, context: Context, /) -> Found:
        """See the class."""
        try:
            inside = unfence(generation.output) if self.allow_fence else generation.output
            plain = inside is generation.output
            value = context.json() if plain else parse_json(inside, JSON_MAX_CHARS)
        except Unparsable as error:
            return failed(self.name, Reason.MALFORMED, f"the answer is not valid JSON: {error}")
        errors, unread = errors_in(self._validator, value, self.max_steps, MAX_FACTS + 1)
        if not errors:
            return unclear(self.name, Reason.NOT_CHECKED, unread) if unread else self._passed
        facts = tuple(
            f"at {clip(error.json_path, 120)}: {clip(error.message, 300)}"
            for error in errors[:MAX_FACTS]
        )
        count = f"{len(errors)} places do" if len(errors) > 1 else "1 place does"
        if len(errors) > MAX_FACTS:
            count = f"more than {MAX_FACTS} places do"
        return failed(
            self.name, Reason.SCHEMA, facts, why=f"{count} not match the schema; first {facts[0]}"
        )


def _compile(schema: object) -> Any:
    try:
        from jsonschema import exceptions, validators
        from jsonschema_specifications import (  # type: ignore[import-untyped] # it ships no types
            REGISTRY,
        )
    except ImportError:
        raise MissingExtraError("MatchesSchema", "schema") from None
    if not isinstance(schema, Mapping | bool):
        raise ConfigurationError(
            f"matches_schema.schema is {type(schema).__name__}: it must be a JSON Schema, a mapping"
        )
    try:
        # A copy made of plain data: the caller's object may change later, and YAML has dates.
        plain = json.loads(json.dumps(schema, default=_not_json))
        named = isinstance(plain, dict) and "$schema" in plain
        newest = validators.Draft202012Validator
        find: Any = validators.validator_for  # its annotation knows no default of None
        draft = find(plain, default=None) if named else newest
        if draft is None:
            raise ConfigurationError(
                f"matches_schema.schema has $schema {clip(repr(plain['$schema']), 120)}, a draft nobody "
                f"knows: the newest is {newest.META_SCHEMA['$schema']!r}"
            )
        draft.check_schema(plain)
        bounded = bounded_draft(draft)
        _refuse_outside_references(plain, REGISTRY)
    except exceptions.SchemaError as error:
        raise ConfigurationError(
            f"matches_schema.schema is no JSON Schema: at {error.json_path}: {clip(str(error.message))}"
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"matches_schema.schema is no JSON Schema: {clip(str(error))}"
        ) from None
    return bounded(plain, registry=REGISTRY)


def _not_json(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot stand in JSON")


def _refuse_outside_references(schema: Any, registry: Any) -> None:
    from referencing import Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    root = Resource.from_contents(schema, default_specification=DRAFT202012)
    todo = [(root, registry.resolver_with_root(root))]
    while todo:
        resource, resolver = todo.pop()
        if isinstance(resource.contents, Mapping):
            for keyword in ("$ref", "$dynamicRef"):
                reference: Any = resource.contents.get(keyword)
                try:
                    if isinstance(reference, str):
                        resolver.lookup(reference)
                except Unresolvable:
                    raise ConfigurationError(
                        f"matches_schema.schema has {keyword} {clip(reference, 120)!r}, which is not in "
                        "the schema: put it under $defs, since nothing is fetched"
                    ) from None
        todo.extend((sub, resolver.in_subresource(sub)) for sub in resource.subresources())
