"""Every name that leaves this process on a span, event, log record or metric.

The ``gen_ai.*`` names follow the OpenTelemetry GenAI conventions. They are our own constants since
the published package marks each of them deprecated.
"""

from __future__ import annotations

from typing import Final


SCOPE: Final = "aucert_otel"

# Spans
SPAN_GENERATE: Final = "aucert.generate"
SPAN_VERIFY: Final = "aucert.verify"
SPAN_STAGE: Final = "aucert.stage"
SPAN_REPAIR: Final = "aucert.repair"
SPAN_ESCALATE: Final = "aucert.escalate"

# The verdict, on the verify span and on the generate span
VERDICT: Final = "aucert.verdict"
ACTION: Final = "aucert.action"
ACTION_ROW: Final = "aucert.action.row"
CONFIDENCE: Final = "aucert.confidence"
STAGE_REACHED: Final = "aucert.stage.reached"
STAGES: Final = "aucert.stages"
COST_USD: Final = "aucert.cost.usd"
COST_TOTAL_USD: Final = "aucert.cost.total_usd"
COST_UNPRICED: Final = "aucert.cost.unpriced"
CRITERIA_PASSED: Final = "aucert.criteria.passed"
CRITERIA_FAILED: Final = "aucert.criteria.failed"
CRITERIA_UNCLEAR: Final = "aucert.criteria.unclear"
REASONS: Final = "aucert.reasons"
REPAIR_OUTCOME: Final = "aucert.repair.outcome"
REPAIR_CRITERIA: Final = "aucert.repair.criteria"
SAMPLING_PROBABILITY: Final = "aucert.sampling.probability"
MODE: Final = "aucert.mode"
TENANT: Final = "aucert.tenant"
CASCADE_NAME: Final = "aucert.cascade.name"
CASCADE_VERSION: Final = "aucert.cascade.version"
CERTIFIED: Final = "aucert.certified"
CERTIFICATE: Final = "aucert.certificate"

# A stage
EVENT_STAGE: Final = "aucert.stage"
STAGE_NAME: Final = "aucert.stage.name"
STAGE_STATUS: Final = "aucert.stage.status"
STAGE_VERDICT: Final = "aucert.stage.verdict"
STAGE_CONFIDENCE: Final = "aucert.stage.confidence"
STAGE_COST_USD: Final = "aucert.stage.cost.usd"
STAGE_CALLS: Final = "aucert.stage.calls"
STAGE_ERROR: Final = "aucert.stage.error"
STAGE_VOTES: Final = "aucert.stage.votes"
JUDGE_NEUTRAL: Final = "aucert.judge.neutral"

# One evaluation: the verdict as a whole, or one finding
EVENT_EVALUATION: Final = "gen_ai.evaluation.result"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
FINDINGS_OMITTED: Final = "aucert.findings.omitted"
FINDING_REASON: Final = "aucert.reason"
FINDING_CLAIM: Final = "aucert.claim"
FINDING_EVIDENCE: Final = "aucert.evidence"
FINDING_EVIDENCE_ID: Final = "aucert.evidence.id"
FINDING_SOURCE: Final = "aucert.criterion.source"

ERROR_TYPE: Final = "error.type"

# Metrics
METRIC_VERIFICATIONS: Final = "aucert.verifications"
METRIC_DURATION: Final = "aucert.verification.duration"
METRIC_COST: Final = "aucert.verification.cost"
METRIC_CRITERIA: Final = "aucert.criteria"
METRIC_REPAIRS: Final = "aucert.repairs"
METRIC_ERRORS: Final = "aucert.verifier.errors"
METRIC_QUEUED: Final = "aucert.background.queued"
METRIC_DROPPED: Final = "aucert.background.dropped"
CRITERION: Final = "aucert.criterion"
DROP_REASON: Final = "aucert.drop.reason"
OVERFLOW: Final = "otel.metric.overflow"

# Environment
ENV_CAPTURE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

# One call of a chat model
OPERATION_CHAT: Final = "chat"
GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_PROVIDER: Final = "gen_ai.provider.name"
GEN_AI_OUTPUT_TYPE: Final = "gen_ai.output.type"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
GEN_AI_REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
GEN_AI_REQUEST_SEED: Final = "gen_ai.request.seed"
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
GEN_AI_USAGE_INPUT: Final = "gen_ai.usage.input_tokens"
GEN_AI_USAGE_OUTPUT: Final = "gen_ai.usage.output_tokens"
GEN_AI_USAGE_CACHE_READ: Final = "gen_ai.usage.cache_read.input_tokens"
GEN_AI_USAGE_REASONING: Final = "gen_ai.usage.reasoning.output_tokens"
GEN_AI_INPUT_MESSAGES: Final = "gen_ai.input.messages"
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
GEN_AI_TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 - a kind of token, not a password
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
LLM_NAME: Final = "aucert.llm.name"
LLM_ATTEMPTS: Final = "aucert.llm.attempts"
LLM_COST_USD: Final = "aucert.llm.cost.usd"
LLM_UNPRICED: Final = "aucert.llm.cost.unpriced"
LLM_PRICE_AS_OF: Final = "aucert.llm.price.as_of"
LLM_PRICE_SOURCE: Final = "aucert.llm.price.source"
LLM_DROPPED: Final = "aucert.llm.request.dropped"
LLM_PROBLEM: Final = "aucert.llm.response.problem"
EVENT_RETRY: Final = "aucert.llm.retry"
LLM_ATTEMPT: Final = "aucert.llm.attempt"
LLM_RETRY_DELAY: Final = "aucert.llm.retry.delay"
METRIC_CLIENT_DURATION: Final = "gen_ai.client.operation.duration"
METRIC_CLIENT_TOKENS: Final = "gen_ai.client.token.usage"
