"""CPython evaluates a compiled condition: in this process, and in another one that is fed over a pipe.

The other process is what a Python engine would put between itself and code it does not trust: a scope
goes there as JSON, the result comes back as JSON. It has no limits of memory or time, and the code in it
can reach everything that process can.
"""

import subprocess
import types

EVALUATE = '''
import json, sys, time, types

compiled = {}
for line in sys.stdin:
    request = json.loads(line)
    if request is None:
        reply = time.process_time_ns()
    else:
        expression, scopes = request
        code = compiled.get(expression)
        if code is None:
            code = compiled[expression] = compile(expression, "condition", "eval")
        reply = []
        for scope in scopes:
            scope["context"] = types.SimpleNamespace(**scope["context"])
            reply.append(eval(code, {}, scope))
    print(json.dumps(reply), flush=True)
'''


class Other:
    """The other process."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", EVALUATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def cpu(self):
        return time.process_time_ns() + self.ask(None)


def summary(results):
    return "{} of {} hold".format(sum(results), len(results))


def one_after_the_other(work, scopes):
    """Work on one scope a call, on the next scope each time."""
    position = 0

    def next_one():
        nonlocal position
        position = (position + 1) % len(scopes)
        return work(scopes[position])

    return next_one


@row("piped_one")
def piped_one(given):
    other, expression, scopes = Other(), given["expression"], given["scopes"]

    def ask(scope):
        return other.ask([expression, [scope]])[0]

    return Row(one_after_the_other(ask, scopes), lambda: summary([ask(scope) for scope in scopes]), other.cpu)


@row("piped_batch")
def piped_batch(given):
    other, expression, scopes = Other(), given["expression"], given["scopes"]

    def ask():
        return other.ask([expression, scopes])

    return Row(ask, lambda: summary(ask()), other.cpu)


def in_process(given):
    code = compile(given["expression"], "condition", "eval")
    scopes = [{**scope, "context": types.SimpleNamespace(**scope["context"])} for scope in given["scopes"]]
    return (lambda scope: eval(code, {}, scope)), scopes


@row("in_process_one")
def in_process_one(given):
    evaluate, scopes = in_process(given)
    return Row(one_after_the_other(evaluate, scopes), lambda: summary([evaluate(scope) for scope in scopes]))


@row("in_process_batch")
def in_process_batch(given):
    evaluate, scopes = in_process(given)

    def every():
        return [evaluate(scope) for scope in scopes]

    return Row(every, lambda: summary(every()))


serve()
