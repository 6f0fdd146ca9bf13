"""Chat models, roles, tenants' thresholds and certificates in a file of settings."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import environment

from aucert_otel import Certificate, Generation, Verdict
from aucert_otel.config import Config, load, parse_config
from aucert_otel.errors import ConfigurationError
from aucert_otel.generation import Usage
from aucert_otel.llm import AnthropicChat, OpenAIChat
from aucert_otel.measure.certify import write_certificates


FAST = (
    "{api: openai, base_url: http://127.0.0.1:8000/v1, model: deepseek-v3.2, family: deepseek, "
    "api_key_env: FAST_KEY}"
)
STRONG = (
    "{api: anthropic, model: claude-sonnet-4-5, "
    "price: {input_per_mtok: 3, output_per_mtok: 15, as_of: 2026-04-01}}"
)
ROLES = "{self: fast, panel: [fast, strong, strong], debaters: fast, judge: strong}"


def text(
    fast: str = FAST,
    strong: str = STRONG,
    roles: str = ROLES,
    tenants: str = "{}",
    more: str = "",
) -> str:
    return (
        f"models:\n  fast: {fast}\n  strong: {strong}\n"
        f"cascades: {{app: {{preset: aucert, models: {roles}{more}}}}}\ntenants: {tenants}\n"
    )


def refused(document: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(document)
    return str(caught.value).removeprefix("aucert.yaml: ")


def stage(config: Config, name: str, tenant: str | None = None) -> Any:
    (found,) = [each for each in config.cascade_of(tenant).stages if each.name == name]
    return found


def test_roles_are_filled_with_clients_that_are_shared() -> None:
    config = parse_config(text())
    first = stage(config, "self_confidence").check.model
    panel = stage(config, "cross_model_vote").check.panel
    debate = stage(config, "debate").check
    assert isinstance(first, OpenAIChat)
    assert (first.name, first.model, first.family) == ("fast", "deepseek-v3.2", "deepseek")
    assert [model.name for model in panel] == ["fast", "strong", "strong"]
    assert panel[0] is first
    assert panel[1] is panel[2] is debate.judge
    assert isinstance(debate.judge, AnthropicChat)


def test_a_price_in_the_file_is_dated_and_counts_first() -> None:
    model = stage(parse_config(text()), "debate").check.judge
    million = Usage(input_tokens=1_000_000, output_tokens=0)
    priced = model.prices.price(million, model.model, model.provider)
    assert (priced.usd, priced.as_of, priced.source) == (3.0, date(2026, 4, 1), "table")


def test_a_deployment_is_priced_as_what_it_runs() -> None:
    azure = (
        "{api: openai, base_url: https://x.openai.azure.com/openai/v1, model: prod-judge, "
        "deployment_of: gpt-4o, api_key_env: FAST_KEY}"
    )
    model = stage(parse_config(text(fast=azure)), "self_confidence").check.model
    usage = Usage(input_tokens=1_000, output_tokens=10)
    assert model.prices.price(usage, model.model, model.provider).usd is not None


def test_time_attempts_and_concurrency_reach_the_client() -> None:
    fast = FAST.replace("}", ", timeout: 3, attempts: 2, concurrency: 5}")
    model = stage(parse_config(text(fast=fast)), "self_confidence").check.model
    assert model.retry.attempts == 2
    assert model._transport.timeouts.total_s == 3


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            text(fast=FAST.replace("api_key_env: FAST_KEY", "api_key: sk-hunter22")),
            (
                "models.fast.api_key must not stand in the file: put the key into an environment "
                "variable and name that with api_key_env"
            ),
        ),
        (
            text(fast=FAST.replace("FAST_KEY", "sk-hunter22")),
            (
                "models.fast.api_key_env is [redacted]: it must be the name of an environment "
                "variable in capitals, such as OPENAI_API_KEY; a key itself does not belong in the "
                "file"
            ),
        ),
        (
            text(fast=FAST.replace("http://", "http://me:hunter22@")),
            (
                "models.fast.base_url holds a key or a password: put the key into an environment "
                "variable and name that with api_key_env"
            ),
        ),
        (
            text(fast=FAST.replace("http://127.0.0.1:8000/v1", "'http://h/v1?api_key=hunter22'")),
            (
                "models.fast.base_url holds a key or a password: put the key into an environment "
                "variable and name that with api_key_env"
            ),
        ),
        (
            text(fast=FAST.replace("http://", "ftp://")),
            ("models.fast.base_url is not an HTTP URL: give one such as https://api.openai.com/v1"),
        ),
        (
            text(fast=FAST.replace("api: openai", "api: azure")),
            'models.fast.api is "azure": allowed are openai, anthropic',
        ),
        (
            text(fast=FAST.replace("api: openai, ", "")),
            "models.fast.api is missing: allowed are openai, anthropic",
        ),
        (
            text(strong=STRONG.replace("2026-04-01", "soon")),
            ('models.strong.price.as_of is "soon": write a date as YYYY-MM-DD, such as 2026-04-01'),
        ),
        (
            text(strong=STRONG.replace(", as_of: 2026-04-01", "")),
            (
                "models.strong.price.as_of is missing: write the day on which the price was looked up"
            ),
        ),
        (
            text(roles=ROLES.replace("judge: strong", "judge: strng")),
            'cascades.app.models.judge is "strng": did you mean strong? allowed are fast, strong',
        ),
        (
            text(roles=ROLES.replace("fast, strong, strong", "fast, 3")),
            "cascades.app.models.panel[1] is 3: it must be the name of a model",
        ),
        (
            text(roles=ROLES.replace("judge: strong", "jury: strong")),
            (
                "cascades.app.models.jury is not a known role: allowed are self, panel, debaters, judge"
            ),
        ),
        (
            text(roles=ROLES.replace(", judge: strong", "")),
            (
                "cascades.app.models.judge is missing: the stage debate needs it; given are self, "
                "panel, debaters"
            ),
        ),
        (
            "cascades: {app: {preset: aucert}}",
            (
                "cascades.app.models is missing: it must be a mapping of the roles self, panel, "
                "debaters, judge to models"
            ),
        ),
        (
            "cascades: {app: {preset: aucert-mvp, models: {self: fast}}}",
            'cascades.app.models.self is "fast": describe it under models, beside cascades',
        ),
        (
            text(tenants="{default: {thresholds: {self_confidnce: 0.97}}}"),
            (
                "tenants.default.thresholds.self_confidnce is no stage of the cascade app: did you "
                "mean self_confidence? allowed are self_confidence, self_consistency, "
                "cross_model_vote, debate"
            ),
        ),
        (
            text(tenants="{default: {thresholds: {self_confidence: {pass: 0.9}}}}"),
            (
                "tenants.default.thresholds.self_confidence.pass is not a known key: did you mean "
                "pass_at? allowed are pass_at, fail_at, certificate"
            ),
        ),
        (
            text(tenants="{acme: {models: {judge: nobody}}}"),
            'tenants.acme.models.judge is "nobody": allowed are fast, strong',
        ),
        (
            text(tenants="{acme: {models: {jury: fast}}}"),
            (
                "tenants.acme.models.jury is not a known role: allowed are self, panel, debaters, judge"
            ),
        ),
        (
            "cascades: {app: {preset: rules}}\ntenants: {acme: {models: {self: fast}}}",
            "tenants.acme.models: the cascade app asks no model: leave models out",
        ),
        (
            text(more=", gates: {debat: 0.9}"),
            (
                "cascades.app.gates.debat is no stage of this preset: did you mean debate? allowed are "
                "self_confidence, self_consistency, cross_model_vote, debate"
            ),
        ),
        (
            text(more=", gates: {debate: {certificate: nowhere.yaml#debate}}"),
            "cascades.app.gates.debate: certificate nowhere.yaml: No such file or directory",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_its_path(document: str, said: str) -> None:
    assert refused(document) == said
    assert "hunter22" not in said


def test_a_threshold_in_percent_is_refused_for_both_verdicts() -> None:
    said = refused(text(tenants="{default: {thresholds: {self_confidence: 97}}}"))
    assert said.count("is 97: it must be at most 1") == 2


def test_thresholds_are_by_stage_and_give_a_cascade_of_its_own_version() -> None:
    config = parse_config(
        text(
            tenants="{default: {cascade: app}, acme: {thresholds: {self_confidence: 0.97}}, "
            "lax: {thresholds: {self_confidence: {pass_at: 0.9}}}}"
        )
    )
    gates = [stage(config, "self_confidence", name).gate for name in (None, "acme", "lax")]
    assert [(gate.pass_at, gate.fail_at) for gate in gates] == [
        (0.95, 0.95),
        (0.97, 0.97),
        (0.9, 0.95),
    ]
    versions = {config.cascade_of(name).version for name in (None, "acme", "lax")}
    assert len(versions) == 3
    assert config.versions() == {("app", version) for version in versions}
    assert config.cascade("app").version == config.cascade_of("default").version


def test_thresholds_and_models_are_inherited_from_default() -> None:
    config = parse_config(
        text(
            tenants="{default: {thresholds: {self_confidence: 0.97}, models: {self: strong}}, "
            "acme: {budget: {usd: 1}}, other: {thresholds: {}, models: {}}}"
        )
    )
    acme, other = (stage(config, "self_confidence", name) for name in ("acme", "other"))
    assert (acme.gate.pass_at, acme.check.model.name) == (0.97, "strong")
    assert (other.gate.pass_at, other.check.model.name) == (0.95, "fast")
    assert stage(config, "self_confidence", "nobody-named-here").gate.pass_at == 0.97


def test_a_tenant_s_models_replace_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    config = parse_config(text(tenants="{default: {}, acme: {models: {judge: fast}}}"))
    assert stage(config, "debate").check.judge.name == "strong"
    assert stage(config, "debate", "acme").check.judge.name == "fast"
    monkeypatch.setenv("FAST_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert config.harness("acme").cascade.version != config.harness().cascade.version


def test_a_harness_is_made_once_for_each_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAST_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    config = parse_config(text(tenants="{default: {}, acme: {thresholds: {debate: 0.9}}}"))
    assert config.harness("acme") is config.harness("acme")
    assert config.harness("nobody") is config.harness()
    assert config.harness("acme") is not config.harness()
    assert config.harness(name="mine") is not config.harness(name="mine")
    assert config.close()


def test_a_missing_key_names_the_variable_and_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAST_KEY", "hunter22")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    config = parse_config(text())
    with pytest.raises(ConfigurationError) as caught:
        config.harness()
    assert "models.strong: " in str(caught.value)
    assert "the environment variable ANTHROPIC_API_KEY holds no key" in str(caught.value)
    assert "hunter22" not in str(caught.value) + repr(config)


def test_a_model_nobody_asks_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAST_KEY", "x")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    document = text(roles="{self: fast}").replace("preset: aucert,", "preset: aucert-mvp,")
    assert parse_config(document).harness().cascade.name == "app"


def test_without_the_http_client_the_extra_is_named() -> None:
    code = f"""
import importlib.util
original = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "httpx" else original(name, *a)
import os
os.environ["FAST_KEY"] = os.environ["ANTHROPIC_API_KEY"] = "x"
from aucert_otel.config import parse_config
from aucert_otel.errors import MissingExtraError
try:
    parse_config({text()!r}).harness()
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'calling the models fast, strong needs an extra: pip install "aucert-otel[llm]"' in (
        done.stdout + done.stderr
    )


def test_settings_without_models_load_no_client() -> None:
    code = """
import sys
from aucert_otel.config import parse_config
parse_config("cascades: {a: {preset: rules}}").harness()
print([name for name in ("aucert_otel.llm", "httpx", "scipy") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def certified(config: Config, folder: Path) -> str:
    """Write a certificate for stage 1 and return the file's name."""
    today = datetime.now(UTC).date()
    check = stage(config, "self_confidence")
    certificate = Certificate(
        check.fingerprint,
        0.1,
        0.1,
        today,
        today + timedelta(days=90),
        pass_at=0.91,
        fail_at=0.88,
        stage="self_confidence",
    )
    write_certificates(folder / "certificates.yaml", [certificate])
    return "certificates.yaml#self_confidence"


def test_a_gate_takes_its_thresholds_from_its_certificate(tmp_path: Path) -> None:
    pointer = certified(parse_config(text()), tmp_path)
    file = tmp_path / "aucert.yaml"
    file.write_text(text(more=f", gates: {{self_confidence: {{certificate: {pointer}}}}}"))
    gate = stage(load(file), "self_confidence").gate
    assert gate.certificate is not None
    assert gate.admits(Verdict.PASS, 0.91)
    assert not gate.admits(Verdict.PASS, 0.90)
    assert stage(load(file), "self_confidence").certified

    file.write_text(
        text(tenants=f"{{acme: {{thresholds: {{self_confidence: {{certificate: {pointer}}}}}}}}}")
    )
    assert stage(load(file), "self_confidence", "acme").certified


def test_a_threshold_beside_a_certificate_that_says_otherwise_is_refused(tmp_path: Path) -> None:
    pointer = certified(parse_config(text()), tmp_path)
    file = tmp_path / "aucert.yaml"
    file.write_text(
        text(
            more=f", gates: {{self_confidence: {{certificate: {pointer}}}}}",
            tenants="{acme: {thresholds: {self_confidence: {pass_at: 0.5}}}}",
        )
    )
    with pytest.raises(ConfigurationError) as caught:
        load(file)
    assert "tenants.acme.thresholds.self_confidence: gate.pass_at is 0.5" in str(caught.value)


def test_stages_written_out_take_models_in_their_options() -> None:
    config = parse_config(
        f"models: {{fast: {FAST}}}\n"
        "cascades:\n  app:\n    stages:\n"
        "      - {verifier: rules, settles: fail, options: {rules: [finish_reason]}}\n"
        "      - {verifier: self_confidence, gate: {pass_at: 0.9},\n"
        "         options: {models: {self: fast}, max_tokens: 300}}\n"
    )
    second = stage(config, "self_confidence")
    assert (second.check.model.name, second.check.judging.max_tokens) == ("fast", 300)


def test_rates_are_those_of_all_calls_of_a_stage() -> None:
    price = ", price: {input_per_mtok: 1, output_per_mtok: 2, as_of: 2026-04-01}}"
    rates = parse_config(
        text(fast=FAST.replace("}", price), strong=FAST.replace("}", price))
    ).rates()
    assert [rate.usd(1_000_000, 0) for rate in rates] == pytest.approx([1, 3, 3, 7])
    assert [rate.usd(0, 1_000_000) for rate in rates] == pytest.approx([2, 6, 6, 14])


def test_the_rate_of_a_model_without_a_price_is_unknown() -> None:
    rates = parse_config(text()).rates()
    assert [rate.usd(1_000, 100) for rate in rates] == [None, None, None, None]


def test_the_mvp_hands_what_it_is_not_sure_of_to_a_person_without_asking_others() -> None:
    document = text(roles="{self: fast}").replace("preset: aucert,", "preset: aucert-mvp,")
    (only,) = parse_config(document).cascade("app").stages
    assert (only.name, only.gate.pass_at, only.gate.fail_at) == ("self_confidence", 0.95, 0.95)


keys = st.sampled_from(
    ["api", "model", "base_url", "price", "api_key", "api_key_env", "timeout", "family", "token"]
)
values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["openai", "anthropic", "m", "http://h", "HUNTER22X"])
    | st.text(max_size=6)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)


@given(st.dictionaries(keys, values, max_size=6), values)
def test_any_model_is_a_client_or_printable_sentences(model: dict[str, Any], role: Any) -> None:
    import json

    document = {
        "models": {"fast": model},
        "cascades": {"app": {"preset": "aucert-mvp", "models": {"self": role}}},
    }
    said = ""
    try:
        parse_config(json.dumps(document))
    except ConfigurationError as error:
        said = str(error)
    assert all(line.isprintable() for line in said.splitlines())


def test_nothing_is_called_before_the_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAST_KEY", "x")
    fast = FAST.replace("127.0.0.1:8000", "127.0.0.1:9").replace("}", ", attempts: 1}")
    document = text(fast=fast, roles="{self: fast}").replace(
        "preset: aucert,", "preset: aucert-mvp,"
    )
    outcome = parse_config(document).harness().verify(Generation("x", question="q"))
    assert outcome.action == "person"
    assert outcome.report.stages[0].status == "unavailable"
