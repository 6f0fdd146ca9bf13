"""``aucert demo``, found by the command line through its entry point."""

from __future__ import annotations

import importlib.util
from typing import Annotated

import typer

from aucert_otel import ConfigurationError, MissingExtraError
from aucert_otel.cli.screen import console, safe


def demo(
    scenario: Annotated[
        str | None, typer.Option(help="One scenario in full; --list names them.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name the scenarios.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every scenario in full.")] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A live model: the base URL of an OpenAI-compatible endpoint."
        ),
    ] = None,
    model_name: Annotated[
        str | None, typer.Option(help="Its name; default: the first the endpoint lists.")
    ] = None,
) -> None:
    """Watch a support chain being verified: no key, no network, nothing to set up."""
    from aucert_integrations.demo.data import DEFAULT_SCENARIO, scenarios
    from aucert_integrations.demo.data import scenario as named

    if scenario is not None and everything:
        raise ConfigurationError("--scenario and --all exclude each other: give one")
    if model_name is not None and model is None:
        raise ConfigurationError("--model-name needs --model: give the endpoint's base URL")
    out = console()
    if listed:
        for each in scenarios().values():
            out.print(safe(f"{each.name:<10}  {each.title}"))
        return
    chosen = named(scenario or DEFAULT_SCENARIO)
    if importlib.util.find_spec("langchain_core") is None:
        raise MissingExtraError("the demo", "demo")

    from aucert_integrations.demo import show
    from aucert_integrations.demo.play import Stage

    stage = Stage(model, model_name)
    show.head(out, stage)
    in_full = list(scenarios().values()) if everything else [chosen]
    for each in in_full:
        played = stage.play(each)
        show.story(out, played)
        show.spans(out, played)
    if scenario is None and not everything and model is None:
        others = [stage.play(each) for each in scenarios().values() if each != chosen]
        show.briefly(out, others)
    if not stage.flush():
        console(stderr=True).print(safe("not every span reached the OTLP endpoint in 5 seconds"))
    if scenario is None and not everything:
        show.onward(out)
