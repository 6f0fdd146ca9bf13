"""The shape of an input row, for pydantic. Loaded with the first row that is read."""

from __future__ import annotations

import base64
import binascii
from datetime import date, datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from aucert_otel._sentences import SAID
from aucert_otel.generation import Generation, Image, Message, Passage, Usage
from aucert_otel.verdict import Verdict


GOLD: Final = {"pass": Verdict.PASS, "fail": Verdict.FAIL}


def _refuse(mend: str) -> PydanticCustomError:
    return PydanticCustomError(SAID, "{mend}", {"mend": mend})


def _identifier(value: object) -> object:
    """An id as text. A number in a spreadsheet or a database is the same id as its digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    raise _refuse("it must be text or a whole number")


def _output(value: object) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        raise _refuse("it must be text: write a structured answer as a string that holds its JSON")
    raise _refuse("it must be text")


def _date(value: object) -> object:
    """An ISO date. Of a moment the date as written is taken: its zone is the writer's."""
    if value is None:
        return None
    if isinstance(value, str):
        for read in (date.fromisoformat, datetime.fromisoformat):
            try:
                found = read(value.strip())
            except ValueError:
                continue
            return found.date() if isinstance(found, datetime) else found
    raise _refuse("write a date as YYYY-MM-DD, such as 2026-03-01")


def _gold(value: object) -> object:
    if value is None or (isinstance(value, str) and value in GOLD):
        return value
    raise _refuse('allowed are "pass" and "fail"')


def _bytes(value: object) -> object:
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise _refuse("it must be the picture's bytes in base64")


Identifier = Annotated[str | None, BeforeValidator(_identifier)]
Day = Annotated[date | None, BeforeValidator(_date)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", arbitrary_types_allowed=True)


class PassageModel(_Part):
    """One passage of ``evidence``."""

    text: str = Field(description="every passage needs its text")
    id: Identifier = None
    version: Identifier = None
    latest_version: Identifier = None
    superseded_by: Identifier = None
    effective_from: Day = None
    source_type: str | None = None
    metadata: dict[str, Any] | None = None

    def build(self) -> Passage:
        """The passage itself."""
        return Passage(
            self.text,
            id=self.id,
            version=self.version,
            latest_version=self.latest_version,
            superseded_by=self.superseded_by,
            effective_from=self.effective_from,
            source_type=self.source_type,
            metadata=self.metadata or {},
        )


class MessageModel(_Part):
    """One turn of the conversation."""

    role: str = Field(description="every message needs the role of its speaker, such as user")
    content: str | None = None

    def build(self) -> Message:
        """The message itself."""
        return Message(self.role, self.content or "")


class ImageModel(_Part):
    """A picture, by URL or by its bytes."""

    url: str | None = None
    data: Annotated[bytes | None, BeforeValidator(_bytes)] = None
    media_type: str = "image/png"

    def build(self) -> Image:
        """The picture itself."""
        return Image(self.url, self.data, self.media_type)


Count = Annotated[int | None, Field(ge=0)]


class UsageModel(_Part):
    """Tokens and, if the provider says so, dollars."""

    input_tokens: Count = None
    output_tokens: Count = None
    cached_input_tokens: Count = None
    reasoning_tokens: Count = None
    cost_usd: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None

    def build(self) -> Usage:
        """The usage itself."""
        return Usage(
            self.input_tokens,
            self.output_tokens,
            self.cached_input_tokens,
            self.reasoning_tokens,
            self.cost_usd,
        )


class RowModel(_Part):
    """One row: a generation, and what people said about it."""

    output: Annotated[str, BeforeValidator(_output)] = Field(
        description="every row needs the answer's text"
    )
    question: str | None = None
    messages: list[MessageModel] | None = None
    evidence: list[PassageModel] | None = None
    model: str | None = None
    provider: str | None = None
    family: str | None = None
    finish_reason: str | None = None
    usage: UsageModel | None = None
    images: list[ImageModel] | None = None
    as_of: Day = None
    tenant: Identifier = None
    test_id: Identifier = None
    scenario_id: Identifier = None
    metadata: dict[str, Any] | None = None
    gold: Annotated[str | None, BeforeValidator(_gold)] = None

    def build(self) -> Generation:
        """The generation itself."""
        evidence = self.evidence
        return Generation(
            self.output,
            question=self.question,
            messages=tuple(message.build() for message in self.messages or ()),
            evidence=None if evidence is None else tuple(one.build() for one in evidence),
            model=self.model,
            provider=self.provider,
            family=self.family,
            finish_reason=self.finish_reason,
            usage=None if self.usage is None else self.usage.build(),
            images=tuple(image.build() for image in self.images or ()),
            as_of=self.as_of,
            tenant=self.tenant,
            test_id=self.test_id,
            scenario_id=self.scenario_id,
            metadata=self.metadata or {},
        )


PARTS: Final[dict[str, type[BaseModel]]] = {
    "evidence": PassageModel,
    "messages": MessageModel,
    "images": ImageModel,
    "usage": UsageModel,
}
"""The keys whose values have keys of their own."""
