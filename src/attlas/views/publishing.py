"""Figures as PDF: the SVG that the viewer makes, turned by a library that is installed anyway.

What comes from a browser is not trusted. The few elements that the viewer draws with are let through, pictures only
where they lie in the document itself, so that no file of this machine and no address can be asked for.
"""

from __future__ import annotations

from xml.etree import ElementTree

from attlas.errors import TextError

NAMESPACE = "{http://www.w3.org/2000/svg}"
DRAWN = frozenset({"svg", "g", "rect", "path", "text", "image", "clipPath"})
PICTURE = "data:image/png;base64,"
SHOWN = 40  # letters of a name in a sentence


def as_pdf(svg: str) -> bytes:
    """A figure of the viewer as PDF; anything else than such a figure is refused.

    >>> as_pdf('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>')[:5]
    b'%PDF-'
    >>> as_pdf('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/hostname"/></svg>')
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: a picture in the figure lies outside of it; only what the viewer drew can become PDF
    """
    require_figure(svg)
    import vl_convert

    try:
        made: bytes = vl_convert.svg_to_pdf(svg)
    except ValueError:
        raise TextError("this figure cannot be turned into PDF; save it as SVG") from None
    return made


def require_figure(svg: str) -> None:
    """Refuse what the viewer has not drawn.

    >>> require_figure("<html/>")
    Traceback (most recent call last):
        ...
    attlas.errors.TextError: the element 'html' is none that the viewer draws; only its figures can become PDF
    """
    if "<!" in svg or "<?" in svg:
        raise TextError("a figure of the viewer has no declarations; only what it drew can become PDF")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise TextError(f"the figure is no SVG ({error}); save it again") from None
    for element in root.iter():
        name = str(element.tag)
        if name.removeprefix(NAMESPACE) not in DRAWN or not name.startswith(NAMESPACE):
            shown = name.removeprefix(NAMESPACE)[:SHOWN]
            raise TextError(f"the element {shown!r} is none that the viewer draws; only its figures can become PDF")
        for attribute, value in element.attrib.items():
            if attribute.endswith("href") and not value.startswith(PICTURE):
                raise TextError(
                    "a picture in the figure lies outside of it; only what the viewer drew can become PDF"
                )
            if "url(" in value and not value.startswith("url(#clip"):
                raise TextError("the figure names something outside of it; only what the viewer drew can become PDF")
