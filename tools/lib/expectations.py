"""What a check expects of the program that it looks at. It goes on when one is not met."""
import sys

from waiting import wait

#: Those that were not met. A check ends with 1 when there is one.
failed = []


def expect(what, holds):
    if not holds:
        failed.append(what)
    print(f"{'ok' if holds else 'FAILED'}: {what}", file=sys.stderr, flush=True)


def expect_soon(what, condition, seconds=30):
    """Expects that a condition comes true. Its value, or None."""
    try:
        value = wait(what, condition, seconds)
    except TimeoutError:
        value = None
    expect(what, value)
    return value
