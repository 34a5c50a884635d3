"""The page of the local app: a form to ask with, and the viewer below it."""

from __future__ import annotations

from typing import Any

from attlas.views.page import script_json
from attlas.views.script import join, static, viewer_styles


def app_page(nonce: str, settings: dict[str, Any]) -> str:
    """The page, whose one script has a nonce and finds the settings in it.

    >>> '<script type="module" nonce="abc">' in app_page("abc", {"models": []})
    True
    """
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>attlas</title>
<link rel="icon" href="data:,">
<style>
{viewer_styles()}{static("app.css")}</style>
</head>
<body class="attlas-page">
<div id="attlas-asking"></div>
<main id="attlas-viewer"></main>
<noscript>This page draws attention by a script inside it; switch scripts on to see it.</noscript>
<script type="application/json" id="attlas-settings">{script_json(settings)}</script>
<script type="module" nonce="{nonce}">
{join("app")}
$app.start();
</script>
</body>
</html>
"""
