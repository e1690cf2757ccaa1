"""The packages of PyPI that tools need, in .venv of this checkout, which is made when it is first asked for."""
import fcntl
import importlib.util
import os
import pathlib
import subprocess
import sys
import venv

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / ".venv"
PYTHON = FOLDER / "bin/python"

# One version for all tools; what is measured must not change with the day.
SELENIUM = ("selenium", "selenium==4.51.0")
AIORTC = ("aiortc", "aiortc==1.16.0")
NUMPY = ("numpy", "numpy")
IMAGEIO_FFMPEG = ("imageio_ffmpeg", "imageio-ffmpeg")


def from_pypi(*packages):
    """The Python of .venv with the packages installed: each a module's name and what pip is asked for."""
    FOLDER.mkdir(exist_ok=True)
    with open(FOLDER / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Two tools that start together must not both fill it.
        if not PYTHON.exists():
            venv.create(FOLDER, with_pip=True)
        for module, requirement in packages:
            if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode:
                print(f"installing {requirement}", file=sys.stderr)
                subprocess.run([PYTHON, "-m", "pip", "install", "-q", requirement], check=True)
    return PYTHON


def enter(*packages):
    """Starts this program again inside of .venv, unless the packages are here already."""
    if all(importlib.util.find_spec(module) for module, _ in packages):
        return
    if pathlib.Path(sys.prefix).resolve() == FOLDER:
        raise SystemExit(f"{FOLDER} lacks what was installed there: delete the folder")
    os.execv(from_pypi(*packages), [str(PYTHON), *sys.argv])
