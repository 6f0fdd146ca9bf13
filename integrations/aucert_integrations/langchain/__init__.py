"""LangChain: one callback that observes, or one wrapper that holds answers back until verified.

``VerificationHandler(harness)`` goes into ``config={"callbacks": [...]}`` and changes nothing.
``verified(runnable, harness, otherwise=...)`` stands between the answer and the application and can
repair.
"""

from aucert_integrations.langchain._requires import require_langchain


require_langchain()

from aucert_integrations.langchain.evidence import as_passages  # noqa: E402 - an old LangChain must be refused first
from aucert_integrations.langchain.handler import VerificationHandler  # noqa: E402 - same
from aucert_integrations.langchain.judge import ChatModelJudge  # noqa: E402 - same
from aucert_integrations.langchain.verified import VerifiedRunnable, verified  # noqa: E402 - same


__all__ = ["ChatModelJudge", "VerificationHandler", "VerifiedRunnable", "as_passages", "verified"]
