"""Every text family of the model library, built tiny and asked what attlas makes of it; see ``__main__``."""
