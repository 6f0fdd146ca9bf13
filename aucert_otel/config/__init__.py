"""Settings in a file: cascades, tenants and the audit log, read once and refused whole.

    config = load("aucert.yaml")
    harness = config.harness(tenant="acme")

A file that cannot work is refused with every problem in it, each one sentence with its path, its
value and what is allowed.
"""

from aucert_otel.config.load import Config, Tenant, load, parse_config


__all__ = ["Config", "Tenant", "load", "parse_config"]
