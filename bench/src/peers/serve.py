"""The loop of a peer: one request a line on stdin, one reply a line on stdout.

A script defines its rows with `row(name)` on a function that takes the input and returns the work (a
function without arguments), and calls `serve()`. A row may raise `Missing` with the reason.
"""

import json
import sys
import time

ROWS = {}


class Missing(Exception):
    """A package that the row needs is not there."""


class Row:
    """The work of a row, the CPU clock that covers it, and its result."""

    def __init__(self, work, answer, cpu=time.process_time_ns):
        self.work = work
        self.answer = answer
        self.cpu = cpu

    def sample(self, iterations):
        work, cpu = self.work, self.cpu
        cpu_start, wall_start = cpu(), time.perf_counter_ns()
        for _ in range(iterations):
            work()
        wall, used = time.perf_counter_ns() - wall_start, cpu() - cpu_start
        return {"wall_ns": wall, "cpu_ns": used}


def row(name):
    def remember(prepare):
        ROWS[name] = prepare
        return prepare

    return remember


def serve():
    given, ready = None, {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "input" in request:
                given, reply = request["input"], {}
            else:
                name = request.get("row") or request["answer"]
                if name not in ready:
                    ready[name] = ROWS[name](given)
                if "answer" in request:
                    reply = {"answer": ready[name].answer()}
                else:
                    reply = ready[name].sample(request["iterations"])
        except Missing as reason:
            reply = {"missing": str(reason)}
        print(json.dumps(reply), flush=True)
