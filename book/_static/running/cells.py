"""Runs the cells of a page in the page's own Python, statement by statement.

A module that is missing is loaded when a statement asks for it, and the statement starts again:
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
from types import ModuleType

import numpy as np
from pyodide.ffi import JsException

WIDTH = 79  # of what is shown as text, as in the book
SMALL = 2**31  # an index has 32 bits here
DEFINITIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
_spaces, _absent = {}, {}
logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it says that it looks for fonts
warnings.filterwarnings("ignore", "tqdm:disabling monitor")  # there are no threads here


def narrowed(function):
    """A function of NumPy that takes whole numbers of 64 bits where an index has 32, if they fit.

    On other machines it takes them, so that chapters are written without a thought of it.
    """

    @wraps(function)
    def called(*arguments, **named):
        return function(*map(_narrow, arguments), **{k: _narrow(v) for k, v in named.items()})

    return called


def _narrow(value):
    whole = getattr(value, "dtype", None) in (np.int64, np.uint32, np.uint64)
    return np.asarray(value).astype(np.intp) if whole and np.all(abs(value) < SMALL) else value


np.bincount, np.repeat = narrowed(np.bincount), narrowed(np.repeat)


def names_of(space):
    """The names of a page, or of one of the examples on it."""
    if space not in _spaces:
        module = ModuleType("__main__") if space else sys.modules["__main__"]
        _spaces[space], _absent[space] = module.__dict__, set()
        _spaces[space]["__builtins__"] = builtins
    return _spaces[space]


def give(space, name, value):
    """Give a name a value that the page has, such as a text that was pasted into it."""
    names_of(space)[name] = value


def skip(source, space=""):
    """Note what a cell that cannot run here would have made: cells that need it are skipped."""
    names_of(space)
    _absent[space] |= {name for node in ast.parse(source).body for name in stored(node)}
    return "[]"


async def run(source, load, space="", every=False):
    """Run a cell: what it shows, as JSON pairs of a kind and a text, an error last.

    `load` gets names of modules and returns whether anything was loaded for them. With `every`
    each expression is shown, as at Python's own prompt, else the last one, as in a notebook.
    """
    shown, names, place = [], names_of(space), f"<cell {len(linecache.cache)}>"
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    quiet = source.rstrip().endswith(";")
    try:
        body = ast.parse(source, place).body
        if name := needed(body, _absent[space]):
            skip(source, space)
            return json.dumps([["absent", name]])
        await load(sorted(imported(body)))
        for node in body:
            await attempt(lambda node=node: opened(node, names), load, [])
            value = await attempt(lambda node=node: execute(node, names, place), load, shown)
            _absent[space] -= set(stored(node))
            if value is not None and (every or (node is body[-1] and not quiet)):
                shown.append(await attempt(lambda value=value: display(value), load, shown))
        shown += [["picture", one] for one in pictures()]
    except JsException:
        raise  # of what could not be loaded
    except BaseException as error:
        shown.append(["error", said_of(error, place)])
    return json.dumps(shown)


async def attempt(step, load, shown):
    """Take a step, again each time something was missing that can be loaded."""
    tried, figures = set(), open_figures()
    while True:
        stream = io.StringIO()
        try:
            with redirect_stdout(stream), redirect_stderr(stream):
                value = step()
            shown += [["text", stream.getvalue()]] if stream.getvalue() else []
            return value
        except Exception as error:
            absent = missing(error)
            if not absent or absent in tried or not await load([absent]):
                shown += [["text", stream.getvalue()]] if stream.getvalue() else []
                raise
            tried.add(absent)
            importlib.invalidate_caches()
            for begun in set(open_figures()) - set(figures):
                sys.modules["matplotlib.pyplot"].close(begun)


def execute(node, names, place):
    """Run a statement; an expression returns its value."""
    if isinstance(node, ast.Expr):
        return eval(compile(ast.Expression(node.value), place, "eval"), names)
    exec(compile(ast.Module([node], []), place, "exec"), names)


def imported(body):
    """The libraries that statements import."""
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def stored(node):
    """The names that a statement gives a value."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, DEFINITIONS):
            yield one.name
        elif isinstance(one, ast.alias):
            yield (one.asname or one.name).partition(".")[0]


def needed(body, absent):
    """The first of the absent names that statements use before they give it a value."""
    known = set()
    for node in body:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one.id in absent - known:
                if isinstance(one.ctx, ast.Load):
                    return one.id
        known |= set(stored(node))


def opened(node, names):
    """Open what names like rs.datasets.load_movielens lead to, which imports it."""
    for one in ast.walk(node):
        chain = []
        while isinstance(one, ast.Attribute):
            chain.append(one.attr)
            one = one.value
        found = names.get(one.id) if isinstance(one, ast.Name) else None
        while chain and isinstance(found, ModuleType) and found.__name__.startswith("recsample"):
            try:
                found = getattr(found, chain.pop())
            except AttributeError:
                break  # what the statement itself will say


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


def pictures():
    """The figures that a cell has drawn, which are closed."""
    plt = sys.modules.get("matplotlib.pyplot")
    found = [drawn(plt.figure(number)) for number in open_figures()]
    if found:
        plt.close("all")
    return found


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
