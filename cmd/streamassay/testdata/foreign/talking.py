"""The prompts in which it matters how, and when, something is said: alike in protocols whose answers have messages."""

import time


class Failure(Exception):
    """The agent failed."""


def talk(a, prompt, words):
    """The answers in which it matters how, and when, something is said."""
    numbers = [int(word) for word in words.split() if word.isdigit()]
    if prompt == "conformance:slow" and len(numbers) == 2:
        yield from a.message(("text", paced(*numbers)))
    elif prompt == "conformance:many" and numbers:
        yield from a.message(("text", paced(numbers[0], 0)))
    elif prompt == "conformance:large" and numbers:
        yield from a.message(("text", ["x" * numbers[0]]))
    elif prompt == "conformance:idle" and numbers:
        time.sleep(numbers[0] / 1000)
        yield from a.text("done")
    elif prompt == "conformance:error":
        raise Failure(words)
    elif prompt == "conformance:error-mid":
        yield from a.message(("text", fail_after(["I was about ", "to say"], words)))
    else:
        yield from a.text("Hello, world.")


def paced(count, milliseconds):
    for i in range(count):
        if i > 0:
            time.sleep(milliseconds / 1000)
        yield "%d " % i


def fail_after(pieces, words):
    yield from pieces
    raise Failure(words)
