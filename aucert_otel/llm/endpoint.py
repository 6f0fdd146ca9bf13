"""Where a model is served, and the key that opens it. Neither is ever shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from aucert_otel._version import __version__
from aucert_otel.errors import ConfigurationError
from aucert_otel.llm.errors import AuthenticationFailed


class Endpoint:
    """One URL and what identifies us there.

    Args:
        base_url: The API's root.
        path: What comes after it.
        key: The key itself, if it is not in the environment.
        key_env: The environment variable that holds it.
        headers: The user's own headers.

    Raises:
        ConfigurationError: ``base_url`` is no HTTP URL. It is not quoted: it may hold a password.
    """

    __slots__ = ("_headers", "_key", "_key_env", "server", "url")

    def __init__(
        self,
        base_url: str,
        path: str,
        key: str | None,
        key_env: str | None,
        headers: Mapping[str, str],
    ) -> None:
        self.server = _server(base_url)
        """Host and port, for the trace."""
        root, question, query = base_url.partition("?")
        self.url = root.rstrip("/") + path + question + query
        self._key = key
        self._key_env = key_env
        self._headers = dict(headers)

    def __repr__(self) -> str:
        return f"Endpoint({self.server[0]!r})"

    def headers(
        self, model: str, identify: Callable[[str | None], Mapping[str, str]]
    ) -> dict[str, str]:
        """The headers of a request, read when it is made: keys may be rotated.

        Raises:
            AuthenticationFailed: the key is not there, or could not stand in a header.
        """
        key = self._key
        if key is None and self._key_env is not None:
            key = os.environ.get(self._key_env, "")
            if not key.strip():
                raise AuthenticationFailed(
                    f"model {model!r}: the environment variable {self._key_env} holds no key: "
                    "set it, or name another one with api_key_env",
                    model=model,
                )
        key = None if key is None else key.strip()
        found = {
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",  # sizes are bounded as they arrive
            "user-agent": f"aucert-otel/{__version__}",
            **identify(key),
            **self._headers,
        }
        if not all(value.isascii() and value.isprintable() for value in found.values()):
            # The HTTP client would say so by quoting it.
            raise AuthenticationFailed(
                f"model {model!r}: the key or a header holds characters that HTTP cannot carry",
                model=model,
            )
        return found


def _server(base_url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(
            "base_url is not an HTTP URL: give one such as https://api.openai.com/v1"
        )
    return host, port or (443 if parts.scheme == "https" else 80)
