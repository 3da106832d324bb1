"""The page as one HTML file: template, style, script and data, and nothing from anywhere else.

The data stands in a block that no browser runs; the script puts all of it in as text. A policy in
the page allows the one style and the one script by their hashes, and no other resource whatever.
"""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files

Json = dict[str, object]

SCRIPTS = ("map.js", "page.js", "build.js")
# `</script>` and `<!--` end or change a block wherever they stand; the last two end lines in old
# JavaScript. JSON knows all of them as escapes.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"}


def page(content: Json, *, charts: str = "") -> bytes:
    """The file, in UTF-8; `charts` are the templates of its charts.

    Half surrogates, as of a folder's name that is no UTF-8, are escaped.
    """
    style = _resource("page.css")
    script = "\n".join(map(_resource, SCRIPTS))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": html.escape(policy, quote=False).replace('"', "&quot;"),
        "title": html.escape(str(content["title"])),
        "style": style,
        "script": script,
        "charts": charts,
        "data": json_block(content),
    }
    template = _resource("page.html")
    filled = re.sub(r"<!--@(\w+)-->|@(\w+)@", lambda m: parts[m[1] or m[2]], template)
    return filled.encode(errors="backslashreplace")


def json_block(content: Json) -> str:
    """JSON that may stand in a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A half surrogate would stop the file from being UTF-8.
    text = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.translate(ESCAPES)


def _resource(name: str) -> str:
    return (files("charlm.insight.report") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
