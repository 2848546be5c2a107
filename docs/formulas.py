"""A preprocessor of mdBook: formulas, $...$ and $$...$$, are protected from Markdown and rendered in the page by KaTeX."""

import json
import re
import sys
from pathlib import Path

KATEX = Path(__file__).parent.parent / "crates/remanent-theory/katex.html"
#: Code, which stays as it is, or a formula: its second group.
PARTS = re.compile(r"(^```.*?^```|`[^`\n]*`)|(\$\$.+?\$\$|\$[^\s$](?:[^$\n]*[^\s$])?\$)", re.DOTALL | re.MULTILINE)


def protected(formula: str) -> str:
    """The formula with entities for all that Markdown could take for markup."""
    return re.sub(r"[^\w\s$]", lambda sign: f"&#{ord(sign[0])};", formula).replace("_", "&#95;")


def with_formulas(text: str) -> str:
    """A chapter with its formulas and, if it has some, what renders them."""
    changed = PARTS.sub(lambda part: part[1] or protected(part[2]), text)
    return text if changed == text else f"{changed}\n\n{KATEX.read_text()}"


def prepare(items: list) -> None:
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            chapter = item["Chapter"]
            chapter["content"] = with_formulas(chapter["content"])
            prepare(chapter["sub_items"])


if __name__ == "__main__":
    if sys.argv[1:2] != ["supports"]:
        _, book = json.load(sys.stdin)
        # Its chapters have another name since mdBook 0.5.
        prepare(book.get("items") or book.get("sections"))
        json.dump(book, sys.stdout)
