"""Starts the pinned emulator with a few narrow corrections and with the gate before it.

Each correction first asserts on what it replaces, so that another version fails loudly instead of drifting. `gaps.ts`
says of each why it is there. TMC_NO_CORRECTIONS names those to leave out, with commas.
"""

import importlib.metadata
import inspect
import os

PIN = "1.5.33"
assert importlib.metadata.version("ministack") == PIN, importlib.metadata.version("ministack")

import ministack.app as app
import ministack.core.iam_actions as rights
import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.lambda_svc as functions

import gate

left_out = set(filter(None, os.environ.get("TMC_NO_CORRECTIONS", "").split(",")))


def let_fifo_mappings_run_in_parallel():
    """As many batches at once as the mapping allows: the queue itself keeps a group to one batch at a time."""
    stock = functions._sqs_esm_concurrency
    assert "is_fifo" in inspect.getsource(stock)
    functions._sqs_esm_concurrency = lambda esm, record, config, queue=None: stock(esm, record, config, None)


def keep_recursive_loop():
    """What the template says of recursive loops reaches the function."""
    assert "RecursiveLoop" not in inspect.getsource(provisioners._lambda_create)
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    create, update = handlers["create"], handlers["update"]

    def apply(result, properties):
        function = functions._functions.get(result[0])
        if function is not None:
            function["recursive_loop"] = properties.get("RecursiveLoop") or "Terminate"
        return result

    handlers["create"] = lambda logical, new, stack: apply(create(logical, new, stack), new)
    handlers["update"] = lambda physical, old, new, stack, logical_id=None: apply(
        update(physical, old, new, stack, logical_id), new
    )


def take_batches_for_single_calls():
    """Who may send, delete or hide a message may do so in batches: SQS has no rights of their own for them."""
    stock = rights.extract_iam_action
    arguments = ("POST", "/", {"x-amz-target": "AmazonSQS.SendMessageBatch"}, b"", {})
    assert stock("sqs", *arguments) == "sqs:SendMessageBatch"

    def extract(service, *rest):
        action = stock(service, *rest)
        return action.removesuffix("Batch") if service == "sqs" and action else action

    rights.extract_iam_action = extract


CORRECTIONS = {
    "fifo-concurrency": let_fifo_mappings_run_in_parallel,
    "recursive-loop": keep_recursive_loop,
    "batch-rights": take_batches_for_single_calls,
}

unknown = left_out - set(CORRECTIONS)
assert not unknown, f"no such correction: {sorted(unknown)}"
for name, correct in CORRECTIONS.items():
    if name not in left_out:
        correct()
gate.put_before(app, functions)
app.main()
