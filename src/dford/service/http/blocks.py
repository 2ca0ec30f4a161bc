"""A text in blocks (headings, paragraphs, examples, entries), written as HTML and as Markdown.

Texts are plain, but for `code` and [links](#to-a-heading).
"""

import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Heading(NamedTuple):
    level: int
    text: str
    id: str = ""


class Paragraph(NamedTuple):
    text: str


class Example(NamedTuple):
    text: str


class Entries(NamedTuple):
    """Each a term, and what is to be said of it."""

    rows: list[tuple[str, str]]


Block = Heading | Paragraph | Example | Entries


def id_of(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def prose(text: str) -> Iterator[Block]:
    """Paragraphs, and examples, which are between lines of ```."""
    for n, part in enumerate(re.split(r"^```\n", text + "\n", flags=re.MULTILINE)):
        if n % 2:
            yield Example(part.rstrip("\n"))
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
        case Example(text):
            return f"```text\n{text}\n```"
        case Entries(rows):
            return "\n".join(f"- {term}: {meaning}" for term, meaning in rows)
    return block.text


def page(blocks: Sequence[Block], title: str, style: str, icon: str) -> str:
    """A page without scripts: its contents, then the blocks."""
    headings = [block for block in blocks if isinstance(block, Heading) and block.id]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{html.escape(title)}</title>\n<link rel="icon" href="{icon}">',
            f'<link rel="stylesheet" href="{style}">\n</head>\n<body>',
            '<a class="skip" href="#text">Skip the contents</a>\n<nav aria-label="Contents">\n<ul>',
            *(f'<li class="level-{e.level}"><a href="#{e.id}">{_inline(e.text)}</a></li>' for e in headings),
            '</ul>\n</nav>\n<main id="text">',
            *map(_html, blocks),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _html(block: Block) -> str:
    match block:
        case Heading(level, text, id):
            return f"<h{level}" + (f' id="{id}"' if id else "") + f">{_inline(text)}</h{level}>"
        case Example(text):
            return f"<pre><code>{html.escape(text)}</code></pre>"
        case Entries(rows):
            inside = "\n".join(f"<dt>{_inline(term)}</dt>\n<dd>{_inline(meaning)}</dd>" for term, meaning in rows)
            return f"<dl>\n{inside}\n</dl>"
    return f"<p>{_inline(block.text)}</p>"


def _inline(text: str) -> str:
    text = html.escape(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\[(\w+)\]\((#[a-z0-9-]+)\)", r'<a href="\2">\1</a>', text)
