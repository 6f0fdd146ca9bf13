"""LlamaIndex: one line that observes, wrappers that hold answers back, and its models as judges.

``observe(harness)`` looks at every finished answer of the process and changes nothing.
``VerifiedQueryEngine(engine, harness, otherwise=...)`` and ``VerifiedLLM(llm, harness, otherwise=...)``
stand between the answer and the application, and can repair.
"""

from aucert_integrations.llama_index._requires import require_llama_index


require_llama_index()

from aucert_integrations.llama_index.evidence import as_passages  # noqa: E402 - an old LlamaIndex must be refused first
from aucert_integrations.llama_index.judge import LLMJudge  # noqa: E402 - same
from aucert_integrations.llama_index.llm import VerifiedLLM  # noqa: E402 - same
from aucert_integrations.llama_index.observe import Observation, observe  # noqa: E402 - same
from aucert_integrations.llama_index.query_engine import VerifiedQueryEngine  # noqa: E402 - same


__all__ = [
    "LLMJudge",
    "Observation",
    "VerifiedLLM",
    "VerifiedQueryEngine",
    "as_passages",
    "observe",
]
