"""One HTML file made of a template, a style, scripts and data, which loads nothing else.

The data stands in blocks that no browser runs. A policy in the page allows the one style and the
one script by their hashes, and no other resource.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

# `</script>` and `<!--` end or change a block wherever they stand; the last two end lines in old
# JavaScript. JSON knows all of them as escapes.
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"}

SHARED = files(__package__ or "")


def page_style(package: str) -> str:
    """The style that all pages share, which has their colours, and a package's page.css."""
    return _joined(SHARED / "html_page.css", files(package) / "page.css")


def html_page(
    package: str, *, scripts: Sequence[str], parts: Mapping[str, str], allowed: str = ""
) -> bytes:
    """A package's page.html in UTF-8, with its page.css, its scripts, and these parts.

    The style and the script that all pages share come first. A part replaces `@name@` or
    `<!--@name-->` in the template; `title` is text, the others are markup. `allowed` is what else
    the policy admits. Lone surrogates, as in a folder's name that is not UTF-8, are escaped.
    """
    own, style = files(package), page_style(package)
    template = _joined(own / "page.html")
    script = _joined(SHARED / "html_page.js", *(own / name for name in scripts))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; {allowed}"
        "base-uri 'none'; form-action 'none'"
    )
    filling = {
        **parts,
        "policy": html.escape(policy, quote=False).replace('"', "&quot;"),
        "title": html.escape(parts["title"]),
        "style": style,
        "script": script,
    }
    filled = re.sub(r"<!--@(\w+)-->|@(\w+)@", lambda m: filling[m[1] or m[2]], template)
    return filled.encode(errors="backslashreplace")


def json_block(content: object) -> str:
    """JSON that may stand in a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A half surrogate would stop the file from being UTF-8.
    text = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.translate(ESCAPES)


def _joined(*sources: Traversable) -> str:
    return "\n".join(source.read_text(encoding="utf-8") for source in sources)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
