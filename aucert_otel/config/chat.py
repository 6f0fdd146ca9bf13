"""The chat models of a file: clients by name, and the roles of a cascade resolved to them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from aucert_otel._sentences import hint, is_secret, one_of, path, shown
from aucert_otel.config.models import JudgeModel
from aucert_otel.config.problems import Problems
from aucert_otel.errors import ConfigurationError, MissingExtraError


if TYPE_CHECKING:
    from aucert_otel.llm.client import HttpChatModel

MODELS: Final = "models"
"""The option by which a verifier is handed models: a mapping of its roles to names."""


def refuse_keys(models: object, problems: Problems) -> object:
    """Refuse keys and passwords that stand in the file itself, and never show one.

    Returns:
        The models without them, so that each is refused once.
    """
    if not isinstance(models, Mapping):
        return models
    kept: dict[Any, Any] = {}
    for name, model in models.items():
        if not isinstance(model, Mapping):
            kept[name] = model
            continue
        secret = [key for key in model if isinstance(key, str) and _holds_a_key(key)]
        for key in secret:
            problems.add(
                path((MODELS, str(name), key)),
                f" must not stand in the file: {_MEND}",
            )
        kept[name] = {key: value for key, value in model.items() if key not in secret}
    return kept


_MEND: Final = "put the key into an environment variable and name that with api_key_env"


def _holds_a_key(word: str) -> bool:
    # max_tokens holds none, and who misspells api_key_env is told so.
    return is_secret(word) and not word.casefold().endswith("tokens") and "env" not in word


def clients(models: Mapping[str, JudgeModel], problems: Problems) -> dict[str, HttpChatModel]:
    """A client for each model. Nothing is called, and no key is read."""
    found = {}
    for name, model in models.items():
        place = path((MODELS, name))
        before = len(problems.found)
        if model.base_url is not None and _secret_in(model.base_url):
            problems.add(place, f".base_url holds a key or a password: {_MEND}")
        if len(problems.found) == before:
            try:
                found[name] = _client(name, model)
            except ConfigurationError as error:
                problems.add(place, f".{error}")
    return found


def _secret_in(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.password is not None or any(is_secret(k) for k, _ in parse_qsl(parts.query))
    except ValueError:
        return False  # no URL at all, which the client says


def _client(name: str, model: JudgeModel) -> HttpChatModel:
    from aucert_otel.llm import (
        AnthropicChat,
        OpenAIChat,
        Price,
        PriceBook,
        RetryPolicy,
        Timeouts,
    )

    given: dict[str, Any] = {
        "name": name,
        "base_url": model.base_url,
        "family": model.family,
        "provider": model.provider,
        "api_key_env": model.api_key_env,
        "concurrency": model.concurrency,
    }
    if model.timeout is not None:
        given["timeouts"] = Timeouts(min(5.0, model.timeout), model.timeout, model.timeout)
    if model.attempts is not None:
        given["retry"] = RetryPolicy(attempts=model.attempts)
    price = model.price
    given["prices"] = PriceBook(
        None if price is None else {model.model: Price(**price.model_dump())},
        deployments=None if model.deployment_of is None else {model.model: model.deployment_of},
    )
    make = AnthropicChat if model.api == "anthropic" else OpenAIChat
    return make(model.model, **{key: value for key, value in given.items() if value is not None})


def resolve(
    roles: Mapping[str, Any], known: Mapping[str, HttpChatModel], place: str, problems: Problems
) -> dict[str, Any]:
    """Roles with the models they name. A name that no model has is noted and left out."""
    found: dict[str, Any] = {}
    for role, given in roles.items():
        at = f"{place}.{path((str(role),))}"
        if isinstance(given, list):
            each = [
                _named(name, known, f"{at}[{index}]", problems) for index, name in enumerate(given)
            ]
            found[role] = [model for model in each if model is not None]
        else:
            found[role] = _named(given, known, at, problems)
    return found


def _named(
    name: object, known: Mapping[str, HttpChatModel], place: str, problems: Problems
) -> HttpChatModel | None:
    if isinstance(name, str) and name in known:
        return known[name]
    if not isinstance(name, str):
        allowed = "it must be the name of a model"
    elif known:
        allowed = hint(name, list(known))
    else:
        allowed = "describe it under models, beside cascades"
    problems.add(place, f" is {shown(name, yaml=True)}: {allowed}")
    return None


def check_ready(models: Mapping[str, HttpChatModel], source: str) -> None:
    """Make sure that these models could be called: the client is installed, the keys are set.

    Raises:
        MissingExtraError: the extra ``llm`` is not installed.
        ConfigurationError: a key is missing. The message names the variable, never a value.
    """
    if not models:
        return
    from aucert_otel.llm.errors import AuthenticationFailed

    if find_spec("httpx") is None:
        raise MissingExtraError(f"calling the models {one_of(tuple(models))}", "llm")
    for name, model in models.items():
        try:
            model._endpoint.headers(model.model, model._wire.headers)
        except AuthenticationFailed as error:
            raise ConfigurationError(f"{source}: {path((MODELS, name))}: {error}") from None
