"""Frames that a relay dropped."""

#: Why frames are dropped at the end of a run, when their receiver has gone and the relay is told to stop: no fault.
ENDINGS = ("output_down", "shutdown")


def missed(dropped):
    """Of the frames dropped, by reason, those that should have come out."""
    return {reason: count for reason, count in dropped.items() if count and reason not in ENDINGS}
