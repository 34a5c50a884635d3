"""Snippets run through the same real command line as the tests of commands."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))
