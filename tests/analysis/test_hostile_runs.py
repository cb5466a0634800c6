"""Run folders of another hand: their numbers are bounded by what the record shows, and none hides the others."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each

from parley.analysis.bundles.check import check_bundle
from parley.analysis.tables import load
from parley.llm.errors import UserError
from parley.model.branching import plan_branch
from parley.model.run_listing import list_runs
from parley.model.sent_requests import sent_requests

from .test_bundles import bare as bare  # a fixture
from .test_bundles import entity, repack

HUGE = 10**9
NUMBERS: list[dict[str, Any]] = [
    {"repetitions": HUGE}, {"repetitions": str(HUGE)}, {"repetitions": 1000}, {"rounds": HUGE}, {"max_tokens": HUGE},
    {"environment": "network", "options": {"size": HUGE}}, {"environment": "network", "options": {"size": 1000}},
    {"environment": "network", "options": {"graph": f"small_world,degree={HUGE}"}},
    {"environment": "network", "options": {"activation": "hawkes,phases=(1:2),base=1e9"}},
    {"think": f"bounded,words={HUGE}"}, {"archetypes": HUGE}, {"temperature": 1e308},
]  # fmt: skip


def with_header(record: bytes, changes: dict[str, Any]) -> bytes:
    """Return a record with other values in the scenario of its header."""
    first, _, rest = record.partition(b"\n")
    header = json.loads(first)
    header["scenario"] |= changes
    return json.dumps(header).encode() + b"\n" + rest


@check_each("changes", NUMBERS)
def test_numbers_beyond_a_record_are_refused_before_anything_is_built(
    changes: dict[str, Any], ran: Callable[..., Path], tmp_path: Path
) -> None:
    """A header with a billion repetitions filled the memory of verify: each reader of headers says one line at once."""
    run = Path(shutil.copytree(ran(repetitions=2, rounds=1), tmp_path / "a run"))
    record = run / "record.jsonl"
    record.write_bytes(with_header(record.read_bytes(), changes))
    began = time.process_time()
    with pytest.raises(UserError, match="the header has") as error:
        sent_requests(run)
    assert "\n" not in str(error.value)
    assert time.process_time() - began < 1


def test_verify_and_branch_refuse_such_a_header(bare: Path, tmp_path: Path) -> None:
    """Both build the agents of a record of another hand."""

    def change(files: dict[str, bytes]) -> None:
        files["a run/record.jsonl"] = with_header(files["a run/record.jsonl"], {"repetitions": HUGE})
        digest = hashlib.sha256(files["a run/record.jsonl"]).hexdigest()
        entity(files, "a%20run/record.jsonl", sha256=digest)

    with pytest.raises(UserError, match=r"the header has repetitions = 1e\+09"):
        check_bundle(repack(bare, tmp_path, change))
    with zipfile.ZipFile(tmp_path / "changed.zip") as archive:
        archive.extractall(tmp_path)
    with pytest.raises(UserError, match=r"the header has repetitions = 1e\+09"):
        plan_branch(tmp_path / "a run", 1, tmp_path / "branch")


@check_each(
    "line",
    [
        '{"kind":"ended","rounds":1000000000,"events":3}', '{"kind":"ended","rounds":"5","events":3}',
        '{"kind":"ended","rounds":1e999,"events":3}', '{"kind":"ended","rounds":NaN,"events":3}', '{"kind":["ended"]}',
        '{"kind":"heard","room":"a","round":[1],"agent":1,"iterations":[1]}', "[" * 100_000,
        '{"kind":"linked","room":"a","round":1,"pairs":[[1,2,3]]}', '{"kind":"linked","room":"a","round":1,"pairs":[[[1],2]]}',
        '{"kind":"utterance","room":"a","round":1000000000,"iteration":1,"agent":1,"text":"Hi.","reason":null}',
        '{"kind":"utterance","room":"a","round":1,"iteration":1,"agent":1,"text":7,"reason":null}',
        f'{{"kind":"ended","rounds":{"9" * 5000},"events":3}}',
    ],
)  # fmt: skip
def test_events_that_no_run_has_are_one_line(line: str, ran: Callable[..., Path], tmp_path: Path) -> None:
    """Tables and figures go from the first round to the last: a billion of them would never end."""
    record = tmp_path / "record.jsonl"
    record.write_bytes((ran(repetitions=2, rounds=1) / "record.jsonl").read_bytes() + line.encode() + b"\n")
    with pytest.raises(UserError) as error:
        load(record)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_a_hostile_run_does_not_hide_the_others(ran: Callable[..., Path], tmp_path: Path) -> None:
    """The page lists all runs of a folder: one that cannot be read is left out, whatever is in it."""
    for name in ("good", "endless", "model"):
        shutil.copytree(ran(repetitions=2, rounds=1), tmp_path / name)
    (tmp_path / "endless" / "journal.sqlite").unlink()
    with closing(sqlite3.connect(tmp_path / "endless" / "journal.sqlite")) as database:
        database.execute("CREATE VIEW outcomes (voice, reply, prompt_tokens, completion_tokens) AS WITH RECURSIVE n(i) AS "
                         "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT '', '{}', i, 1 FROM n")  # fmt: skip
    record = tmp_path / "model" / "record.jsonl"
    record.write_bytes(record.read_bytes().replace(b'"backend":"oracle"', b'"backend":"several"', 1))
    assert [row.folder.name for row in list_runs(tmp_path).rows] == ["good"]
