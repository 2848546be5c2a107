"""Signatures and help of functions, from the options that the library declares."""

from __future__ import annotations

import inspect
import keyword as keywords
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core


class Option(NamedTuple):
    """An option of a question or an experiment."""

    key: str
    kind: str
    words: list[str]
    help: str
    default: str | None
    range: str | None
    view: bool

    @property
    def name(self) -> str:
        """The key as an argument: ``lambda`` is a keyword of Python, and becomes ``lambda_``."""
        return f"{self.key}_" if keywords.iskeyword(self.key) else self.key


def options(of: str) -> list[Option]:
    """All options, in the order of the help."""
    return [Option(**entry) for entry in _core.options(of)]


def by_key(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments under the keys of their options."""
    return {key[:-1] if key.endswith("_") and keywords.iskeyword(key[:-1]) else key: value for key, value in given.items()}


def documented(
    function: Callable[..., Any], name: str, about: str, own: list[Option], more: list[tuple[str, Any, str]], module: str
) -> Callable[..., Any]:
    """Gives a function that takes any keyword the signature and the help of its options."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(option.name, keyword, default=None) for option in own]
    parameters += [inspect.Parameter(key, keyword, default=default) for key, default, _ in more]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    lines = [about, "", "Parameters", "----------"]
    for option in own:
        default = f" [default: {option.default}]" if option.default and option.kind != "switch" else ""
        span = f" [range: {option.range}]" if option.range else ""
        words = f" One of {', '.join(option.words)}." if option.words else ""
        lines += _entry(option.name, f"{option.help}{default}{span}.{words}")
    for key, _, text in more:
        lines += _entry(key, text)
    function.__doc__ = "\n".join(lines) + "\n"
    return function


def _entry(key: str, text: str) -> list[str]:
    return [key, *textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="    ")]
