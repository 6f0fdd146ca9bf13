from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucert_otel import Action, Budget, ConfigurationError, Generation, Passage, Verdict
from aucert_otel.config import load, parse_config
from aucert_otel.config.presets import preset, preset_names


PRESETS = ", ".join(preset_names())
EXAMPLE = Path(__file__).parents[2] / "examples" / "aucert.yaml"


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(text)
    return str(caught.value)


def test_the_example_file_makes_a_harness_that_decides() -> None:
    config = load(EXAMPLE)
    harness = config.harness()
    wrong = Generation("See article 212.", evidence=(Passage("x", id="118"),), finish_reason="stop")
    outcome = harness.verify(wrong)
    assert outcome.report.verdict is Verdict.FAIL
    assert harness.budget.seconds == 20
    assert harness.sampling.rate == 0.1


def test_a_tenant_takes_what_it_leaves_out_from_default() -> None:
    config = parse_config(
        "cascades: {a: {preset: rules}, b: {preset: rules}}\n"
        "tenants:\n"
        "  default: {cascade: a, budget: {usd: 1}}\n"
        "  acme: {cascade: b}\n"
    )
    assert config.tenant("acme").cascade == "b"
    assert config.tenant("acme").budget.usd == 1
    assert config.tenant("nobody") == config.tenant("default")


def test_stages_can_be_written_out() -> None:
    config = parse_config(
        "cascades:\n  app:\n    stages:\n"
        "      - {verifier: rules, name: shape, settles: fail, gate: {fail_at: 0.9},\n"
        "         options: {rules: [finish_reason]}}\n"
    )
    (stage,) = config.cascade("app").stages
    assert (stage.name, stage.settles, stage.gate.fail_at) == ("shape", {Verdict.FAIL}, 0.9)


def test_a_preset_may_be_used_with_its_defaults() -> None:
    harness = parse_config("cascades: {app: {preset: rules}}").harness()
    cut = harness.verify(Generation("x", finish_reason="length"))
    assert cut.action is Action.REPAIR or cut.report.verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "aucert.yaml is empty: it needs at least a mapping with cascades"),
        ("- a", "aucert.yaml is a list: it needs at least a mapping with cascades"),
        (
            "cascades: [",
            "aucert.yaml: line 1, column 12: expected the node content, but found '<stream end>'",
        ),
        (
            "cascades: {a: {preset: rules}}\ncascades: {}",
            "aucert.yaml: line 2, column 1: the key cascades stands twice in one mapping",
        ),
        (
            "cascades: {app: {preset: ruls}}",
            'aucert.yaml: cascades.app.preset is "ruls": allowed are ' + PRESETS,
        ),
        (
            "cascades: {app: {preset: rules, rulez: []}}",
            (
                "aucert.yaml: cascades.app.rulez is not a known key: did you mean rules? allowed are "
                "preset, strict, gates, rules"
            ),
        ),
        (
            "cascades: {app: {stages: [{verifier: rules, settles: maybe, options: {rules: [finish_reason]}}]}}",
            'aucert.yaml: cascades.app.stages[0].settles[0] is "maybe": allowed are pass, fail',
        ),
        (
            "cascades: {app: {stages: [{verifier: rules, gate: {pass_at: 2}, options: {rules: [finish_reason]}}]}}",
            "aucert.yaml: cascades.app.stages[0].gate.pass_at is 2: it must be at most 1",
        ),
        (
            "cascades: {app: {}}",
            (
                "aucert.yaml: cascades.app.stages is missing: a cascade needs a preset, or a list of "
                "stages"
            ),
        ),
        (
            "cascades: {a: {preset: rules}}\ntenants: {default: {cascade: b}}",
            'aucert.yaml: tenants.default.cascade is "b": allowed are a',
        ),
        (
            "cascades: {a: {preset: rules}}\ntenants: {7: {}}",
            "aucert.yaml: a key of tenants is 7: it must be text: write it in quotes",
        ),
        (
            "modles: {}\ncascades: {a: {preset: rules}}",
            (
                "aucert.yaml: modles is not a known key: did you mean models? allowed are models, "
                "cascades, tenants, audit"
            ),
        ),
        (
            "a: &a [*a]",
            "aucert.yaml: with its aliases written out the file has more than 100,000 values",
        ),
        (
            "a: 2026-02-30",
            "aucert.yaml: line 1, column 4: this is not a date that exists: write it in quotes",
        ),
    ],
)
def test_a_bad_file_is_refused_with_path_value_and_what_is_allowed(text: str, said: str) -> None:
    assert refused(text) == said


def test_a_rule_with_a_bad_option_is_named_by_its_path_in_the_file() -> None:
    said = refused("cascades: {app: {preset: rules, rules: [{length: {max_words: x}}]}}")
    assert said.startswith("aucert.yaml: cascades.app.rules[0]: length.max_words is 'x'")


def test_a_verifier_nobody_registered_is_named_with_those_there_are() -> None:
    said = refused("cascades: {app: {stages: [{verifier: ruels}]}}")
    assert said.startswith(
        'aucert.yaml: cascades.app.stages[0].verifier is "ruels": did you mean rules? allowed are '
    )


def test_all_problems_are_listed_at_once() -> None:
    said = refused(
        "cascades: {a: {preset: nope}, b: {stages: []}}\n"
        "tenants: {default: {cascade: a, sampling: {rate: 3}}}\n"
    )
    assert said.splitlines() == [
        "aucert.yaml has 3 problems:",
        "  aucert.yaml: tenants.default.sampling.rate is 3: it must be at most 1",
        '  aucert.yaml: cascades.a.preset is "nope": allowed are ' + PRESETS,
        "  aucert.yaml: cascades.b.stages is an empty list: it must not be empty",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "cascades: {a: {preset: rules}}\naudit: {url: 'mysql://u:hunter22@h/db'}",
        "cascades: {a: {preset: rules}}\naudit: {api_key: hunter22}",
        "cascades: {a: {preset: rules}}\ntenants: {default: {cascade: 'x://u:hunter22@h'}}",
        "models: {fast: {api_key: hunter22}}\ncascades: {a: {preset: rules}}",
    ],
)
def test_no_refusal_shows_a_secret(text: str) -> None:
    assert "hunter22" not in refused(text)


def test_the_audit_url_is_not_in_the_repr() -> None:
    config = parse_config(
        "cascades: {a: {preset: rules}}\naudit: {url: 'postgresql://u:hunter22@h/db'}"
    )
    assert "hunter22" not in repr(config)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load(tmp_path / "aucert.yaml")


def test_decisions_are_recorded_where_the_file_says(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    config = parse_config(f"cascades: {{a: {{preset: rules}}}}\naudit: {{url: '{log}'}}")
    config.harness().verify(Generation("x", finish_reason="stop", test_id="t1"))
    config.harness().verify(Generation("y", finish_reason="stop", test_id="t2"))
    assert config.close(timeout=30)
    assert [name in log.read_text() for name in ("t1", "t2")] == [True, True]


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_that_is_shipped_can_be_read(name: str) -> None:
    assert preset(name).description


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["cascades", "tenants", "audit", "url", "stages", "preset", "verifier", "x"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=15,
    )
)
def test_any_document_is_settings_or_printable_sentences(document: object) -> None:
    said = ""
    try:
        parse_config(json.dumps(document))
    except ConfigurationError as error:
        said = str(error)
    assert all(line.isprintable() for line in said.splitlines())


TAGS = [
    f"!!{name} "
    for name in [
        "timestamp",
        "bool",
        "map",
        "int",
        "float",
        "null",
        "str",
        "seq",
        "set",
        "omap",
        "pairs",
        "binary",
        "merge",
        "value",
        "python/none",
        "nope",
    ]
]
VALUES = [
    "x", "maybe", "[1]", "{a: 1}", "[[1, 2]]", "''", "1:30", "010", "~", "-", ".", "0x_", "=", "<<",
    "2026-02-30", "0001-01-01T00:00:00+23:59", "9" * 5000, ":".join(["59"] * 5000) + ".5",
]  # fmt: skip


@given(
    st.sampled_from(["", "! ", "!x ", *TAGS]),
    st.sampled_from(VALUES) | st.text("0123456789:.-+_exob[]{}!&*? ", max_size=12),
    st.sampled_from(["{}", "a: {}", "[{}]", "? {}\n: b", "a: {{x: {}}}", "{{<<: {}}}"]),
)
def test_any_tag_on_anything_is_settings_or_one_sentence(tag: str, value: str, form: str) -> None:
    said = ""
    try:
        parse_config(form.format(tag + value))
    except ConfigurationError as error:
        said = str(error)
    assert all(line.isprintable() for line in said.splitlines())


@pytest.mark.parametrize("value", ["1:30", "-1:30", "190:20:30", "1:30.5", "59:59:59.0"])
def test_a_number_to_base_60_is_refused_with_the_mend(value: str) -> None:
    assert refused(f"a: {value}") == (
        "aucert.yaml: line 1, column 4: YAML reads a number with colons to base 60: write it in "
        "quotes, or as a plain decimal number"
    )


@pytest.mark.parametrize("value", ["010", "-010", "0_7", "00"])
def test_a_number_to_base_8_is_refused_with_the_mend(value: str) -> None:
    assert refused(f"a: {value}") == (
        "aucert.yaml: line 1, column 4: YAML reads a whole number that begins with 0 to base 8: "
        "write it in quotes, or as a plain decimal number"
    )


@pytest.mark.parametrize(
    "value", ["0", "-0", "0.5", "10", "1_000", '"010"', "'1:30'", "2026-04-01"]
)
def test_plain_numbers_dates_and_quoted_text_are_read(value: str) -> None:
    assert "a is not a known key" in refused(f"cascades: {{x: {{preset: rules}}}}\na: {value}")


def test_problems_of_every_section_are_listed_beside_those_of_the_schema() -> None:
    said = refused(
        """
cascades:
  a: {preset: rules, rulez: 1, rules: [finish_reason, {length: {max_words: x}}, {nope: 1}]}
  b: {stages: [{verifier: ruels}, {verifier: rules, settles: maybe, options: {rules: [nope]}}]}
  c: 7
tenants:
  default: {cascade: gone, sampling: {rate: 3}}
  acme: {cascade: gone}
  fine: {cascade: c}
audit: {url: "mysql://u:hunter22@h/d"}
"""
    )
    for part in (
        "cascades.c is 7: it must be a mapping",
        "tenants.default.sampling.rate is 3: it must be at most 1",
        "cascades.a.rulez is not a known key",
        "cascades.a.rules[1]: length.max_words is",
        "cascades.a.rules[2] is 'nope'",
        'cascades.b.stages[0].verifier is "ruels"',
        'cascades.b.stages[1].settles[0] is "maybe"',
        "cascades.b.stages[1].options.rules[0] is 'nope'",
        'tenants.default.cascade is "gone": allowed are a, b, c',
        'tenants.acme.cascade is "gone": allowed are a, b, c',
        "audit.url: there is no audit log for 'mysql://' URLs",
    ):
        assert part in said
    assert "tenants.fine" not in said
    assert "hunter22" not in said


@pytest.mark.parametrize(
    "models",
    [
        "{fast: {api: nope, model: m}}",
        "{fast: {api: openai, model: m, api_key: hunter22}}",
        "{fast: {api: openai, model: m, base_url: nonsense}}",
        "7",
    ],
)
def test_a_refused_model_does_not_hide_the_rest_and_is_not_called_missing(models: str) -> None:
    said = refused(
        f"models: {models}\n"
        "cascades: {asks: {preset: aucert, models: {self: fast}}, app: {preset: rules, rules: [nope]}}\n"
        "tenants: {default: {cascade: gone}}\n"
        "audit: {url: nowhere.txt}\n"
    )
    assert "cascades.asks.models.self" not in said
    for part in ("models", "cascades.app.rules[0]", "tenants.default.cascade", "audit.url"):
        assert f"aucert.yaml: {part}" in said


@pytest.mark.parametrize(
    "value", [10**400, -1, float("nan"), float("inf"), "x"], ids=["huge", "-1", "nan", "inf", "x"]
)
@pytest.mark.parametrize("limit", ["usd", "seconds"])
def test_a_budget_that_is_no_amount_is_a_sentence(limit: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"budget.{limit} is .*: give a number"):
        Budget(**{limit: value})  # type: ignore[arg-type]
