# SPDX-License-Identifier: Apache-2.0
"""What a long command is doing, on stderr: a line that is rewritten on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

TERMINAL_INTERVAL_S = 0.2
LOG_INTERVAL_S = 5.0


class Progress:
    """A context manager. A thread prints, so that time is seen to pass while native code runs."""

    def __init__(self, text: str, stream=None) -> None:
        self.stream = stream or sys.stderr
        self.on_terminal = self.stream.isatty()
        self.begin = time.perf_counter()
        self.text = text
        self.done = self.total = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def stage(self, text: str) -> None:
        self.text, self.done, self.total = text, 0, 0
        self.show()

    def update(self, done: int, total: int) -> None:
        """Called by the worker, from any thread."""
        self.done, self.total = done, total

    def line(self) -> str:
        share = f": {self.done} of {self.total}" if self.total else ""
        return f"{self.text}{share} ({time.perf_counter() - self.begin:.1f} s)"

    def show(self) -> None:
        self.say(f"\r\x1b[K{self.line()}" if self.on_terminal else self.line() + "\n")

    def say(self, text: str) -> None:
        with contextlib.suppress(OSError):  # what cannot be shown is no reason to end the work
            self.stream.write(text)
            self.stream.flush()

    def run(self) -> None:
        while not self.stopped.wait(TERMINAL_INTERVAL_S if self.on_terminal else LOG_INTERVAL_S):
            self.show()

    def __enter__(self) -> Progress:
        self.show()
        self.thread.start()
        return self

    def __exit__(self, *exception) -> None:
        self.stopped.set()
        self.thread.join()
        if self.on_terminal:
            self.say("\r\x1b[K")
