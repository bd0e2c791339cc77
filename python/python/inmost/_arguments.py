"""Exceptions for wrong arguments. Their messages name the argument and never show its value."""

from __future__ import annotations


class _Named(Exception):
    """Its message begins with the name of the argument, once that is known."""

    def add_note(self, note: str) -> None:
        """The extension module adds the name as a note, which a message is a better place for."""
        (predicate,) = self.args
        _, quote, rest = note.partition("'")
        name, end, _ = rest.rpartition("'")
        if quote and end and not predicate.startswith(f"{name} "):
            self.args = (f"{name} {predicate}",)


class ArgumentTypeError(_Named, TypeError):
    """An argument of a wrong type."""


class ArgumentValueError(_Named, ValueError):
    """An argument of the right type with a value that it must not have."""
