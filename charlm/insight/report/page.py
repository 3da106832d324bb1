"""The report as one HTML file; its script puts all data in as text."""

from charlm.text.io.html_page import html_page, json_block

Json = dict[str, object]

SCRIPTS = ("map.js", "page.js", "build.js")


def page(content: Json, *, charts: str = "") -> bytes:
    """The file, in UTF-8; `charts` are the templates of its charts."""
    parts = {"title": str(content["title"]), "charts": charts, "data": json_block(content)}
    return html_page("charlm.insight.report", scripts=SCRIPTS, parts=parts)
