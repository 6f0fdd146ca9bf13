"""LlamaIndex: its models as judges."""

from aucert_integrations.llama_index._requires import require_llama_index


require_llama_index()

from aucert_integrations.llama_index.judge import LLMJudge  # noqa: E402 - an old LlamaIndex must be refused first


__all__ = ["LLMJudge"]
