"""Results on disk: a folder with a manifest and one Parquet file per table.

The manifest says what was asked, of which model and corpus, and with what; the tables hold the answer in tidy rows.
While a study runs, its folder holds a checkpoint instead. Everything here is written so that a kill at any moment
leaves what was there before or the whole of what is new, and never something in between. Arrow is imported only
when a table is asked for.
"""

from attlas.store.checkpoint import Checkpoint, clear_checkpoint, load_checkpoint, save_checkpoint, seconds_worked
from attlas.store.columns import Columns, as_cell, tables_from_columns
from attlas.store.folder import require_free
from attlas.store.manifest import Manifest, versions_here
from attlas.store.plain import plain
from attlas.store.result import Result

__all__ = [
    "Checkpoint",
    "Columns",
    "Manifest",
    "Result",
    "as_cell",
    "clear_checkpoint",
    "load_checkpoint",
    "plain",
    "require_free",
    "save_checkpoint",
    "seconds_worked",
    "tables_from_columns",
    "versions_here",
]
