"""A gate before the emulator: it counts what passes, and refuses the calls to a service that a test has taken away.

GET /_gate/calls        how often each operation was called: {"AmazonSQS.SendMessageBatch": 3, …}
GET /_gate/invocations  the function runs that began after ?since=<ms>: name, start and end, when its messages were sent
PUT /_gate/refused      a JSON list of prefixes of operations; these are answered 503 until the list is another one
"""

import collections
import json
import threading
import time
from urllib.parse import parse_qs

KEPT = 50_000

calls = collections.Counter()
invocations = collections.deque(maxlen=KEPT)
refused = []
lock = threading.Lock()
running = threading.local()


def put_before(app, functions):
    """Wraps the emulator's front door, and the two doors that do not lead through it: mappings and function runs."""
    inside = app.app

    async def outside(scope, receive, send):
        if scope["type"] != "http":
            return await inside(scope, receive, send)
        if scope["path"].startswith("/_gate/"):
            return await control(scope, receive, send)
        operation = operation_of(scope)
        with lock:
            calls[operation] += 1
        if is_refused(operation):
            body = {"__type": "ServiceUnavailable", "message": "taken away by the test"}
            return await answer(send, 503, body)
        return await inside(scope, receive, send)

    app.app = outside

    # A mapping reads the queue without a call: when the queue is away, nothing is delivered either.
    poll = functions._poll_sqs
    functions._poll_sqs = lambda: False if is_refused("AmazonSQS.ReceiveMessage") else poll()

    run = functions._execute_function

    def counted_run(function, event):
        # It calls itself again in the account and region of the function.
        if getattr(running, "now", False):
            return run(function, event)
        running.now = True
        started = time.time()
        result = {}
        try:
            result = run(function, event)
            return result
        finally:
            running.now = False
            records = event.get("Records", []) if isinstance(event, dict) else []
            invocations.append(
                {
                    "function": (function.get("config") or function).get("FunctionName", ""),
                    "startMs": round(started * 1000, 3),
                    "endMs": round(time.time() * 1000, 3),
                    "sentMs": [int(each.get("attributes", {}).get("SentTimestamp", 0)) for each in records],
                    "failed": bool(result.get("error")),
                }
            )

    functions._execute_function = counted_run


def operation_of(scope):
    headers = dict(scope["headers"])
    target = headers.get(b"x-amz-target")
    if target is not None:
        return target.decode("latin-1")
    return f"{scope['method']} {scope['path']}"


def is_refused(operation):
    return any(operation.startswith(prefix) for prefix in refused)


async def control(scope, receive, send):
    what = (scope["method"], scope["path"].removeprefix("/_gate/"))
    if what == ("GET", "calls"):
        with lock:
            return await answer(send, 200, dict(calls))
    if what == ("GET", "invocations"):
        [since] = parse_qs(scope["query_string"].decode()).get("since", ["0"])
        return await answer(send, 200, [each for each in list(invocations) if each["startMs"] >= float(since)])
    if what == ("PUT", "refused"):
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        refused[:] = json.loads(body)
        return await answer(send, 200, refused)
    return await answer(send, 404, {"message": "no such control"})


async def answer(send, status, body):
    text = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
