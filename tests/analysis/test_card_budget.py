"""What an audit may spend: limits, prices of several models and of the judge, what earlier sittings spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_checks import check_each

import run
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS
from parley.analysis.card.protocol import audit_ledger
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.journal import Journal
from parley.llm.prices import FREE, Price
from parley.llm.request import Message, Request, Sampling

CHEAP, DEAR = Price(1.0, 1.0), Price(10.0, 10.0)


def test_a_limit_on_cost_needs_every_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model of a party's own, or a judge, whose price is not known would be asked for nothing."""
    command = [
        "audit",
        "--llm",
        "openai:gpt-4o",
        "--topic",
        "racism",
        "--max-cost",
        "1",
        "--out",
        str(tmp_path / "card"),
    ]
    for more in (["--llm", "republican=openai:unheard"], ["--judge", "openai:unheard"]):
        assert run.main([*command, *more]) == 2
        assert "add --price IN,OUT" in (told := capsys.readouterr().err)
        assert "no price is known for openai:unheard" in told
    assert not (tmp_path / "card").exists()


def budgets(models: dict[str, Price], judge: Price, cost: float | None = 1.0) -> tuple[Budget, Budget]:
    """Of the model and of the judge, as the command makes them."""
    return Budget(cost=cost, prices=models), Budget(cost=cost, prices={"": judge})


def spent(path: Path, voice: str = "") -> None:
    """A journal with one call, of which the stand-in counts one token."""
    path.parent.mkdir(parents=True)
    journal = Journal(path, Fake(lambda _: "Yes."))
    journal.complete([Request((Message("user", "Well then?"),), Sampling(), 1, voice=voice)])
    journal.close()


@check_each(("model", "judge", "cost"), [(CHEAP, DEAR, 21), (DEAR, CHEAP, 21), (FREE, DEAR, 20), (CHEAP, FREE, 2)])
def test_what_was_spent_is_counted_at_whose_price_it_was(
    tmp_path: Path, model: Price, judge: Price, cost: float
) -> None:
    """A killed audit goes on with what is left: debates at the model's price, verdicts at the judge's, interviews, which the
    two share, at the dearer. A token in each of three journals.
    """
    for folder in ("three", INTERVIEWS, VERDICTS):
        spent(tmp_path / "batch-1" / folder / "journal.sqlite")
    found = audit_ledger(tmp_path, budgets({"": model}, judge))
    assert found is not None
    assert found.calls == 3
    assert found.cost * 1e6 == pytest.approx(cost)
    assert audit_ledger(tmp_path, budgets({"": model}, judge, None)) is None


def test_the_plan_tells_what_its_price_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Debates are priced; interviews and the judge are not, and that is said."""
    command = ["audit", "--llm", "openai:some", "--price", "2,10", "--dry-run", "--blocks", "2", "--topic", "racism"]
    assert run.main([*command, "--judge", "oracle"]) == 0
    assert "; interviews and the judge cost extra" in capsys.readouterr().out
    assert run.main([*command, "--sections", "bias"]) == 0
    told = capsys.readouterr().out
    assert "the debates of a batch cost up to about" in told
    assert "cost extra" not in told


def test_what_the_core_costs_without_a_remedy_is_in_the_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card of other sections holds the core first; what it shares with them is asked once."""
    command = ["audit", "--llm", "oracle", "--dry-run", "--blocks", "2", "--topic", "racism", "--remedies", "cooler"]
    assert run.main([*command, "--sections", "bias"]) == 0
    alone = capsys.readouterr().out.splitlines()
    assert "the core without a remedy" in alone[-2]
    assert alone[-2].split()[5] == alone[-1].split()[2], "the same conditions with and without"
    assert run.main(command) == 0
    assert "the core without a remedy" not in capsys.readouterr().out


def test_a_party_with_a_model_of_its_own_costs_what_that_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In what was spent, and in the plan, which names both."""
    spent(tmp_path / "batch-1" / "three" / "journal.sqlite", "republican")
    found = audit_ledger(tmp_path, budgets({"": CHEAP, "republican": DEAR}, FREE))
    assert found is not None
    assert found.cost * 1e6 == pytest.approx(10)
    command = ["audit", "--llm", "openai:gpt-4o", "--set", "llms=republican=openai:gpt-4o-mini", "--topic", "racism"]
    assert run.main([*command, "--blocks", "2", "--sections", "bias", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "republican " in told
    assert "the others " in told


@check_each("more", [[], ["--dry-run"]])
def test_too_few_people_of_ones_own_are_refused_before_anything_is_asked(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some conditions ran first, and the hint named a setting that an audit refuses."""
    table = tmp_path / "people.csv"
    table.write_text("party,name,job\nrepublican,Ann,nurse\ndemocrat,Bo,baker\n", encoding="utf-8")
    command = ["audit", "--llm", "oracle", "--topic", "racism", "--set", f"personas={table}", "--blocks", "2"]
    assert run.main([*command, "--out", str(tmp_path / "card"), *more]) == 2
    told = capsys.readouterr()
    assert "too few personas (1 republican) for 2 different agents" in told.err
    assert "add personas to the set" in told.err
    assert "asked" not in told.out
