"""A document in blocks (headings, paragraphs, code, tables, …), written as HTML and as Markdown.

Text is plain, except for `code` and [links](#to-a-heading).
"""

import base64
import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


class Heading(NamedTuple):
    level: int
    text: str
    id: str = ""


class Paragraph(NamedTuple):
    text: str


class Code(NamedTuple):
    text: str


class Entries(NamedTuple):
    """Terms with their descriptions."""

    rows: Sequence[tuple[str, str]]


class Table(NamedTuple):
    """Columns are aligned right, except for the first `names` of them."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


class Picture(NamedTuple):
    """An SVG file in the document's folder."""

    file: str
    caption: str


# what a terminal obeys instead of showing it: control characters, marks of direction, ends of lines, half a surrogate
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """The text on one line, with everything escaped that a terminal would obey: for texts that others wrote."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], str(text))


Block = Heading | Paragraph | Code | Entries | Table | Picture


def id_of(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def prose(text: str) -> Iterator[Block]:
    """Paragraphs, and code between lines of ```."""
    for n, part in enumerate(re.split(r"^```\n", text + "\n", flags=re.MULTILINE)):
        if n % 2:
            yield Code(part.rstrip("\n"))
        else:
            yield from (Paragraph(" ".join(one.split())) for one in re.split(r"\n\n", part) if one.strip())


def markdown(blocks: Sequence[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(4, text):
            return f"**{text}**"
        case Heading(level, text, id):
            return f"{'#' * level} {text}" + (f" {{#{id}}}" if id else "")
        case Code(text):
            return f"```text\n{text}\n```"
        case Entries(rows):
            return "\n".join(f"- {term}: {meaning}" for term, meaning in rows)
        case Table(header, rows, names):
            rule = ["---" if place < names else "---:" for place in range(len(header))]
            lines = [header, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Picture(file, caption):
            return f"![{caption}]({file})\n\n*{caption}*"
    return block.text


def page(
    blocks: Sequence[Block], title: str, head: str, *, folder: Path = Path(), contents: bool = False
) -> str:  # fmt: skip
    """One HTML page without scripts; with `contents`, links to its headings come first.

    Pictures are read from the folder and become part of the page.
    """
    headings = [block for block in blocks if isinstance(block, Heading) and block.id] if contents else []
    links = [
        '<a class="skip" href="#text">Skip the contents</a>\n<nav aria-label="Contents">\n<ul>',
        *(f'<li class="level-{e.level}"><a href="#{e.id}">{_inline(e.text)}</a></li>' for e in headings),
        "</ul>\n</nav>",
    ]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>\n{head}\n</head>\n<body>",
            *(links if contents else []),
            '<main id="text">',
            *(_html(block, folder) for block in blocks),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(level, text, id):
            return f"<h{level}" + (f' id="{id}"' if id else "") + f">{_inline(text)}</h{level}>"
        case Code(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"
        case Entries(rows):
            inside = "\n".join(f"<dt>{_inline(term)}</dt>\n<dd>{_inline(meaning)}</dd>" for term, meaning in rows)
            return f"<dl>\n{inside}\n</dl>"
        case Table(header, rows, names):
            body = "\n".join(_row("td", row, names) for row in rows)
            head = f"<thead>{_row('th', header, names)}</thead>"
            return f'<div class="wide"><table>\n{head}\n<tbody>\n{body}\n</tbody></table></div>'
        case Picture(file, caption):
            data = base64.b64encode((folder / file).read_bytes()).decode()
            image = f'<img alt="{html.escape(caption)}" src="data:image/svg+xml;base64,{data}">'
            return f"<figure>{image}<figcaption>{_inline(caption)}</figcaption></figure>"
    return f"<p>{_inline(block.text)}</p>"


def _row(tag: str, cells: Sequence[str], names: int) -> str:
    marks = [' class="name"' if place < names else "" for place in range(len(cells))]
    return f"<tr>{''.join(f'<{tag}{mark}>{_inline(c)}</{tag}>' for mark, c in zip(marks, cells, strict=True))}</tr>"


def _inline(text: str) -> str:
    text = html.escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\[(\w+)\]\((#[a-z0-9-]+)\)", r'<a href="\2">\1</a>', text)
