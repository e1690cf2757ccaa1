"""Waiting for what another program does."""
import contextlib
import time


def wait(what, condition, seconds=30, step=0.02, ignoring=(), process=None):
    """The value of a condition as soon as it is true. An exception of the kinds `ignoring` counts as not yet.

    Raises TimeoutError, which says what was waited for, when that takes longer, or when `process` ends before.
    """
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(*ignoring):
            if value := condition():
                return value
        if process and process.poll() is not None:
            raise TimeoutError(f"{what}: not before the program ended with {process.returncode}")
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(step)
