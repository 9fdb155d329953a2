"""What is wrong with what was handed over: as data, and as a message in the words of Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from string import Formatter
from typing import Any

__all__ = ["InputError"]


class InputError(ValueError):
    """What was handed over and cannot be used: which argument, what must hold, the way out.

    Its message is "argument allowed, got value: remedy". The package raises it for all input that
    it refuses.

    Parameters
    ----------
    argument : str
        Name of the argument, and what of it; empty where it is something else that is wrong, such
        as a line of a file.
    allowed : str
        What must hold of it, such as "must be a whole number of at least 1".
    value : str, optional
        What was received, in words.
    remedy : str, optional
        The way out, or the reason. One that begins with "; " is joined by that, not by a colon.

    Attributes
    ----------
    argument, allowed, value, remedy : str
        The name of the argument alone, and the parts of the message; empty where it has none.

    Examples
    --------
    >>> import recsample as rs
    >>> try:
    ...     rs.UniformSampling(m=0)
    ... except rs.InputError as error:
    ...     print(error.argument, error.allowed, error.value, sep=" | ")
    m | must be a whole number of at least 1 | 0
    """

    __module__ = "recsample"  # which offers it: tracebacks say so

    def __init__(self, argument: str, allowed: str, value: str = "", remedy: str = "") -> None:
        super().__init__(argument, allowed, value, remedy)
        # Of "scores of 'a'" or "relevant and exclude" the first name.
        self.argument = next(iter(re.findall(r"^\w+", argument)), "")
        self.allowed, self.value = allowed, value
        self.remedy = remedy.removeprefix("; ")

    def got(self, value: object, remedy: str = "") -> InputError:
        """The same error with what was received.

        Parameters
        ----------
        value : object
            Its text is shown.
        remedy : str, optional
            The way out, or the reason.

        Returns
        -------
        InputError

        Examples
        --------
        >>> import recsample as rs
        >>> print(rs.InputError("width", "must be above 0").got(-1, "it is a distance"))
        width must be above 0, got -1: it is a distance
        """
        words = value if isinstance(value, str) else str(value)
        return InputError(self.args[0], self.allowed, words, remedy)

    def told(self, call: Callable[[str, str], str]) -> str:
        """The message with other names for arguments, such as options of a command.

        Parameters
        ----------
        call : callable
            Gets the name of an argument and what stands behind it, such as "", "='user'" or
            " is None", and returns what to say for both; for a None that stands alone it gets
            "None" and a word for it.

        Returns
        -------
        str

        Examples
        --------
        >>> import recsample as rs
        >>> error = rs.InputError("n_items", "must be at least 2").got(1)
        >>> error.told(lambda name, behind: f"--{name.replace('_', '-')}{behind}")
        '--n-items must be at least 2, got 1'
        """
        parts = [one.told(call) if isinstance(one, Naming) else one for one in self.args]
        argument, allowed, value, remedy = parts
        if argument and not isinstance(self.args[0], Naming):
            argument = call(argument, "")
        message = f"{argument} {allowed}".lstrip()
        if value:
            message += f", got {call('None', 'nothing') if value == 'None' else value}"
        if remedy:
            message += remedy if remedy.startswith("; ") else f": {remedy}"
        return message

    def __str__(self) -> str:
        return self.told(_in_python)


class Naming(str):
    """Text that names arguments in fields as those of `str.format`: {groups}, {groups:='user'}.

    {None:nothing} is None, with another word for it. All other fields stand for values that are
    given, in which no fields are looked for. As a string it is in the words of Python.
    """

    parts: tuple[str, tuple[object, ...], dict[str, object]]

    def __new__(cls, text: str, *values: object, **named: object) -> Naming:
        found = super().__new__(cls, _Fields(_in_python).vformat(text, values, named))
        found.parts = text, values, named
        return found

    def __getnewargs_ex__(self) -> tuple[tuple[object, ...], dict[str, object]]:
        text, values, named = self.parts
        return (text, *values), named

    def told(self, call: Callable[[str, str], str]) -> str:
        """The text with other names for arguments."""
        return _Fields(call).vformat(*self.parts)


def _in_python(name, behind):
    return name if name == "None" else name + behind


class _Argument(str):
    """The name of one."""


class _Fields(Formatter):
    """Fills fields, those of arguments by what `call` makes of them."""

    def __init__(self, call: Callable[[str, str], str]) -> None:
        self.call = call

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        of_argument = isinstance(key, str) and key not in kwargs
        return _Argument(key) if of_argument else super().get_value(key, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, _Argument):
            return self.call(value, format_spec)
        return value.told(self.call) if isinstance(value, Naming) else format(value, format_spec)
