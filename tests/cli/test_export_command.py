"""The command that exports heads of a result."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import attlas

from attlas.store import Result
from invented_roles import expected, invented


def test_the_command(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    invented().save(tmp_path / "run")
    said = attlas(capfd, "export", "heads", tmp_path / "run", "--as", "qrhead", "--by", "prefix_matching", "--top", 2)
    assert said.status == 0, said
    assert "2 heads of a/tiny, by prefix matching (Olsson et al. 2022): the highest 2" in said.out
    listed = ",".join(f"{layer}-{head}" for layer, head in expected(invented(), "prefix_matching", 2))
    assert f'attn_head_set: "{listed}"' in (tmp_path / "run" / "heads.yaml").read_text()
    attlas(capfd, "export", "heads", tmp_path / "run", "--as", "xml", "--by", "sink").refuses("not as 'xml'")
    attlas(capfd, "export", "heads", tmp_path / "run", "--as", "csv", "--by", "x").refuses("no definition 'x'")
    attlas(capfd, "export", "heads", tmp_path / "no", "--as", "csv", "--by", "x").refuses("there is no such folder")
    result = invented()
    lacking = {**result.tables, "sharing": result.tables["sharing"].slice(6)}
    Result(result.manifest, lacking).save(tmp_path / "lacking")
    asked = ("export", "heads", tmp_path / "lacking", "--as", "duo-tsv", "--by", "sink")
    attlas(capfd, *asked).refuses("what is written there does not make sense")
    (tmp_path / "run" / "heads.parquet").write_bytes(b"x")
    attlas(capfd, "export", "heads", tmp_path / "run", "--as", "csv", "--by", "sink").refuses("does not agree with")
