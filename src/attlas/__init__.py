"""An atlas of attention."""
