"""What the browser shows: scenes, the payload that carries them, and the hosts of the one viewer.

The viewer is plain ES modules in ``static/``; :mod:`attlas.views.page` puts it into a file,
:mod:`attlas.views.notebook` into a notebook, and :mod:`attlas.views.server` behind a local address.
"""

from attlas.views.familiar import head_view, model_view
from attlas.views.notebook import show
from attlas.views.page import page, write_page
from attlas.views.scene import Scene, Sequence, Strand

__all__ = ["Scene", "Sequence", "Strand", "head_view", "model_view", "page", "show", "write_page"]
