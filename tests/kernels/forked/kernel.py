"""Kernels for the chapters' tests: forks of a process that has imported what chapters import.

python kernel.py COMMAND ...   runs a command, and forks a kernel whenever it asks for one
python kernel.py -f FILE       asks for one, as kernel.json says; without the above, starts one

A chapter has a process of its own as ever, but need not start Python and import NumPy, pandas and
matplotlib, which is a third of the time of all chapters. Nor are pictures drawn, a fifth of what is
left: `make book` draws them, and refuses a page with one that cannot be drawn.
"""

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings

ASK = "KERNELS_ARE_FORKED_BY"
# Whoever forks a Mac's frameworks must not use them afterwards, so there kernels start as ever.
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
INLINE = "module://matplotlib_inline.backend_inline"
IMPORTED = [
    "ipykernel.debugger",  # which takes as long as all else that starts a kernel
    "ipykernel.kernelapp",
    "matplotlib.pyplot",
    "pandas.io.formats.style",
    "psutil",
    "recsample.datasets",
    "recsample.experiments",
    "recsample.evaluation.reporting",
    "recsample.plotting",
    "scipy.optimize",
    "scipy.stats",
]
OPTIONS = [
    "--DisplayFormatter.active_types=text/plain",
    "--DisplayFormatter.active_types=text/html",
    "--HistoryManager.enabled=False",
]


def run(command):
    """Run a command, fork the kernels it asks for, and return its exit status."""
    if not CAN_FORK:
        return subprocess.call(command)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()
        environment = {**os.environ, ASK: f"{folder}/socket"}
        import_what_chapters_import()  # what Python compiles here, the command need not
        running = subprocess.Popen(command, env=environment)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the command that is interrupted
        # pandas brings a thread that frees memory, and Python 3.12 warns of any.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded, use of fork")
        listener.settimeout(0.2)
        forks = []
        while running.poll() is None:
            try:
                asker, _ = listener.accept()
            except TimeoutError:
                continue
            forks.append(os.fork())
            if not forks[-1]:
                become_kernel(asker)
            asker.close()
        for fork in forks:
            os.waitpid(fork, 0)
        return running.returncode


def import_what_chapters_import():
    os.environ["MPLBACKEND"] = INLINE
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a warning of the debugger
    for module in IMPORTED:
        importlib.import_module(module)
    draw_no_pictures()
    gc.freeze()  # else the first collection of a fork copies all of it
    gc.set_threshold(50_000)


def draw_no_pictures():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg.draw = lambda self: None


def become_kernel(asker):
    """The kernel of an asker, until it is gone."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for stream in (1, 2):  # a notebook has its own
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        folder, environment, arguments = json.loads(asker.makefile().readline())
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        threading.Thread(target=end_with, args=[asker], daemon=True).start()
        start_kernel(arguments)
    finally:
        os._exit(0)


def end_with(asker):
    while asker.recv(1):
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(0)


def start_kernel(arguments):
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance([*arguments, *OPTIONS])


def ask_for_kernel(arguments):
    """Stand for a kernel that is forked elsewhere: pass interrupts on, end when it does."""
    # Kernels look after the process that started them, which here is another one.
    environment = {k: v for k, v in os.environ.items() if k != "JPY_PARENT_PID"}
    with socket.socket(socket.AF_UNIX) as forker:
        forker.connect(os.environ[ASK])
        forker.sendall(json.dumps([os.getcwd(), environment, arguments]).encode() + b"\n")
        signal.signal(signal.SIGINT, lambda *_: forker.send(b"!"))
        forker.recv(1)


if __name__ == "__main__":
    if sys.argv[1] != "-f":
        sys.exit(run(sys.argv[1:]))
    ask_for_kernel(sys.argv[1:]) if ASK in os.environ else start_kernel(sys.argv[1:])
