"""Runs the cells of a page in the page's own Python, statement by statement.

A library that is missing is loaded when a statement asks for it, and the statement starts again:
so a page loads what its cells use, and nothing else. What the names of this package lead to is
opened before the statement runs, so that it hardly ever has begun when something is missing.
"""

import ast
import builtins
import importlib
import io
import json
import linecache
import logging
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import wraps
from pprint import pformat
from symtable import symtable
from types import ModuleType

import numpy as np
from pyodide.ffi import JsException

WIDTH = 79  # of what is shown as text, as in the book
SMALL = 2**31  # an index has 32 bits here
_spaces, _absent = {}, {}
logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it says that it looks for fonts
warnings.filterwarnings("ignore", "tqdm:disabling monitor")  # there are no threads here


def narrowed(function, place):
    """A function of NumPy that takes whole numbers of 64 bits where an index has 32, if they fit.

    On other machines it takes them, so that chapters are written without a thought of it.
    """

    @wraps(function)
    def called(*arguments, **named):
        arguments = [narrow(one) if k == place else one for k, one in enumerate(arguments)]
        return function(*arguments, **named)

    return called


def narrow(value):
    whole = getattr(value, "dtype", None) in (np.int64, np.uint32, np.uint64)
    return np.asarray(value).astype(np.intp) if whole and np.all(abs(value) < SMALL) else value


np.bincount, np.repeat = narrowed(np.bincount, 0), narrowed(np.repeat, 1)


def names_of(space):
    """The names of a page, or of one of the examples on it."""
    if space not in _spaces:
        module = ModuleType("__main__") if space else sys.modules["__main__"]
        _spaces[space], _absent[space] = module.__dict__, set()
        _spaces[space]["__builtins__"] = builtins
    return _spaces[space]


def skip(source, space=""):
    """Forget what a cell that cannot run here would make: cells that need it are skipped too."""
    names, symbols = names_of(space), symtable(source, "<cell>", "exec").get_symbols()
    made = {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}
    _absent[space] |= made
    for name in made & set(names):
        del names[name]
    return "[]"


async def run(source, load, space="", every=False, given=()):
    """Run a cell: what it shows, as JSON pairs of a kind and a text, an error last.

    `load` gets a source and returns whether anything was loaded that it imports. With `every`
    each expression is shown, as at Python's own prompt, else the last one, as in a notebook. A page
    may give names values, such as a text that was pasted into it.
    """
    shown, names, place = [], names_of(space), f"<cell {len(linecache.cache)}>"
    names.update(given)
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    quiet = source.rstrip().endswith(";")
    try:
        body = ast.parse(source, place).body
        for node in body:
            await attempt(lambda node=node: opened(node, names), load, [])
            value = await attempt(lambda node=node: execute(node, names, place), load, shown)
            if value is not None and (every or (node is body[-1] and not quiet)):
                shown.append(await attempt(lambda value=value: display(value), load, shown))
        for number in open_figures():
            shown.append(["picture", drawn(sys.modules["matplotlib.pyplot"].figure(number))])
    except JsException:
        raise  # of what could not be loaded
    except BaseException as error:
        if isinstance(error, NameError) and error.name in _absent[space]:
            skip(source, space)
            shown = [["absent", error.name]]
        else:
            shown.append(["error", said_of(error, place)])
    for number in open_figures():
        sys.modules["matplotlib.pyplot"].close(number)
    return json.dumps(shown)


async def attempt(step, load, shown):
    """Take a step, again each time something was missing that can be loaded."""
    tried, before = set(), set(open_figures())
    while True:
        stream = io.StringIO()
        try:
            with redirect_stdout(stream), redirect_stderr(stream):
                return step()
        except Exception as error:
            absent = missing(error)
            if not absent or absent in tried or not await load(f"import {absent}"):
                raise
            tried.add(absent)
            stream = io.StringIO()
            importlib.invalidate_caches()
            for begun in set(open_figures()) - before:
                sys.modules["matplotlib.pyplot"].close(begun)
        finally:
            shown += [["text", text]] if (text := stream.getvalue()) else []


def execute(node, names, place):
    """Run a statement; an expression returns its value."""
    if isinstance(node, ast.Expr):
        return eval(compile(ast.Expression(node.value), place, "eval"), names)
    exec(compile(ast.Module([node], []), place, "exec"), names)


def opened(node, names):
    """Open what names like rs.datasets.load_movielens lead to, which imports it."""
    for one in ast.walk(node):
        chain = []
        while isinstance(one, ast.Attribute):
            chain.append(one.attr)
            one = one.value
        found = names.get(one.id) if isinstance(one, ast.Name) else None
        while chain and isinstance(found, ModuleType) and found.__name__.startswith("recsample"):
            found = getattr(found, chain.pop(), None)


def missing(error):
    """The library for want of which an error was raised."""
    while error:
        if isinstance(error, ModuleNotFoundError) and error.name:
            return error.name.partition(".")[0]
        error = error.__cause__ or error.__context__


def display(value):
    """A value as a notebook shows it: a kind and a text."""
    if type(value).__module__.startswith("matplotlib.figure"):
        return ["picture", drawn(value)]
    if hasattr(type(value), "_repr_html_") and (html := value._repr_html_()):
        return ["html", html]
    plain = type(value) in (dict, list, tuple, set)
    text = pformat(value, width=WIDTH, sort_dicts=False) if plain else repr(value)
    return ["text", f"{text}\n"]


def open_figures():
    """The numbers of the figures that Matplotlib has drawn and not closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    return plt.get_fignums() if plt else []


def drawn(figure):
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    return stream.getvalue()


def said_of(error, place):
    """An error as Python says it, with the lines of cells and without those of libraries."""
    told = traceback.TracebackException.from_exception(error)
    cells = [frame for frame in told.stack if frame.filename.startswith("<cell")]
    told.stack = traceback.StackSummary.from_list(cells)
    told.__cause__ = told.__context__ = None
    text = "".join(told.format()).replace(f'File "{place}", line', "Line")
    return text.replace(", in <module>", "")
