"""What a report is made of, and its two forms: one HTML file that asks for nothing, and Markdown beside pictures."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple, TypeAlias


class Heading(NamedTuple):
    """A title; the first of a report is the report's."""

    words: str


class Text(NamedTuple):
    """A paragraph."""

    words: str


class Table(NamedTuple):
    """Columns are to the right, but for the first `names` of them."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


class Picture(NamedTuple):
    """An SVG file in the report's folder."""

    file: str
    caption: str


Block: TypeAlias = Heading | Text | Table | Picture

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #fff; --faint: #d7d7de; --shade: #f4f4f7 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --paper: #17171b; --faint: #3b3b44; --shade: #222228 } }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper) }
h1, h2 { line-height: 1.2; margin: 2.2rem 0 .6rem } h1 { margin-top: 0 }
p.first { font-size: 1.08rem; background: var(--shade); padding: 1rem; border-radius: .5rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--faint); text-align: right; vertical-align: top }
th.name, td.name { text-align: left } td:first-child { white-space: nowrap }
th { border-bottom: 2px solid var(--faint) }
figure { margin: 1rem 0 } figcaption { font-size: .88rem; opacity: .8; margin-top: .4rem }
img { width: 100%; height: auto; background: #fff; border-radius: .5rem }
code { overflow-wrap: anywhere }
"""


def as_html(blocks: Sequence[Block], folder: Path) -> str:
    """One page with everything in it; readable in light and dark."""
    parts, headings, texts = [], 0, 0
    for block in blocks:
        if isinstance(block, Heading):
            size = "h2" if headings else "h1"
            headings += 1
            parts.append(f"<{size}>{escape(block.words)}</{size}>")
        elif isinstance(block, Text):
            first = "" if texts else ' class="first"'
            parts.append(f"<p{first}>{escape(block.words)}</p>")
            texts += 1
        elif isinstance(block, Table):
            parts.append(_html_table(block))
        else:
            picture = base64.b64encode((folder / block.file).read_bytes()).decode()
            image = f'<img alt="{escape(block.caption)}" src="data:image/svg+xml;base64,{picture}">'
            parts.append(f"<figure>{image}<figcaption>{escape(block.caption)}</figcaption></figure>")
    title = next(escape(block.words) for block in blocks if isinstance(block, Heading))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _html_table(table: Table) -> str:
    def line(tag: str, words: Sequence[str]) -> str:
        names = [' class="name"' if place < table.names else "" for place in range(len(words))]
        cells = [f"<{tag}{name}>{escape(word)}</{tag}>" for name, word in zip(names, words, strict=True)]
        return f"<tr>{''.join(cells)}</tr>"

    body = "\n".join(line("td", row) for row in table.rows)
    return (
        f'<div class="wide"><table>\n<thead>{line("th", table.header)}</thead>\n<tbody>\n{body}\n</tbody></table></div>'
    )


def as_markdown(blocks: Sequence[Block]) -> str:
    """The same for a repository; the pictures lie beside it."""
    parts, headings = [], 0
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"{'##' if headings else '#'} {block.words}")
            headings += 1
        elif isinstance(block, Text):
            parts.append(block.words)
        elif isinstance(block, Table):
            rule = ["---" if place < block.names else "---:" for place in range(len(block.header))]
            rows = [block.header, rule, *([word.replace("|", "\\|") for word in row] for row in block.rows)]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        else:
            parts.append(f"![{block.caption}]({block.file})\n\n*{block.caption}*")
    return "\n\n".join(parts) + "\n"
