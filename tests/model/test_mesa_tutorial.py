"""The code of Mesa's visualisation tutorial with the class swapped: who knows Mesa can use what they know."""

from __future__ import annotations

from typing import Any

import pytest

from parley.model.debate import DebateModel

solara = pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("altair", reason="the [app] extra is not installed")


def agent_portrayal(agent: Any) -> dict[str, Any]:
    return {"color": "tab:red" if agent.party == "republican" else "tab:blue", "size": 50}


@pytest.mark.filterwarnings("ignore:Failed to validate hooks")  # of Mesa's own component
def test_solara_viz_shows_a_debate() -> None:
    """Space, plot and parameters as in the tutorial; the page renders before and after a step."""
    from mesa.visualization import SolaraViz, make_plot_component, make_space_component

    debates = DebateModel("network", llm="oracle", topic="racism", rounds=1, repetitions=1, size=16)
    seed = {"type": "InputText", "value": 42, "label": "Random seed"}
    rounds = {"type": "SliderInt", "value": 1, "label": "Rounds", "min": 1, "max": 5, "step": 1}
    parameters = {"rng": seed, "rounds": rounds, "preset": "network", "llm": "oracle", "size": 16, "repetitions": 1}
    components = [make_space_component(agent_portrayal), make_plot_component("mean_democrat")]
    page = SolaraViz(debates, components=components, model_params=parameters, name="Debate")
    _, rendered = solara.render(page, handle_error=False)
    debates.step()
    rendered.render(page)
    assert debates.steps == 1
    rendered.close()


def test_agent_sets_select_group_and_add_up() -> None:
    """`model.agents` of the tutorial on agent management, and names that a reader of a notebook understands."""
    debates = DebateModel("two_way", llm="oracle", topic="racism", rounds=1, repetitions=1)
    assert repr(debates) == "<DebateModel two_way on oracle, 2 rooms, round 0 of 1>"
    assert debates.agents.groupby("party").count() == {"republican": 1, "democrat": 1, "default": 1}
    republican = debates.agents.select(lambda agent: agent.party == "republican")[0]
    assert repr(republican) == f"<DebateSeat {republican.name} (republican) in {republican.room}>"
    debates.step()
    assert len(debates.datacollector.get_agent_vars_dataframe()["attitude"].dropna()) == 5  # the Default is asked once
