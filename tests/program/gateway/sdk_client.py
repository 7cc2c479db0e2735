"""The official SDKs, once with the upstream and once with the gateway before it: both must see the same.

`sdk_client.py upstream` answers as both providers do, on a free port of this machine.
`sdk_client.py check DIRECT GATEWAY` has every conversation over both addresses.
`sdk_client.py responses GATEWAY MODEL...` has conversations of the responses interface with models that are asked in others.
"""

import asyncio
import hashlib
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BROKEN_OFF = [0]


def texts(body):
    """What a model would read, however it is wrapped and wherever the cache is marked."""
    found = []

    def walk(value, key=""):
        if isinstance(value, str):
            if key in ("text", "content", "system", "input", "instructions", "data", "url", "name"):
                found.append(value)
        elif isinstance(value, list):
            for item in value:
                walk(item, key)
        elif isinstance(value, dict):
            for name, item in value.items():
                if name != "cache_control":
                    walk(item, name)

    walk({key: body.get(key) for key in ("tools", "system", "instructions", "messages", "input")})
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:12]


class Upstream(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.whole(200, {"broken_off": BROKEN_OFF[0]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.split("?")[0]
        model = body.get("model", "")
        if model.startswith("error-"):
            return self.error(path, int(model.removeprefix("error-")))
        said = f"{texts(body)} é中😀"
        if model == "endless":
            return self.endless()
        if path.endswith("/count_tokens"):
            return self.whole(200, {"input_tokens": len(json.dumps(body.get("messages")))})
        if path.endswith("/messages"):
            return self.messages(body, said)
        if path.endswith("/responses"):
            return self.response(body, said)
        return self.chat(body, said)

    def whole(self, status, value, headers=()):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, text in headers:
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def error(self, path, status):
        headers = [("request-id", "r1"), ("x-request-id", "r1")]
        if status == 429:
            headers.append(("retry-after", "60"))
        if path.endswith("/messages"):
            kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
            kinds |= {429: "rate_limit_error", 529: "overloaded_error"}
            error = {"type": kinds.get(status, "api_error"), "message": f"said {status}"}
            return self.whole(status, {"type": "error", "error": error}, headers)
        error = {"message": f"said {status}", "type": "some_error", "param": "p", "code": "c"}
        self.whole(status, {"error": error}, headers)

    def begin(self):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        if isinstance(data, str):
            data = data.encode()
        # Events are cut in the middle, also in the middle of a character.
        for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()

    def event(self, value, name=None):
        head = f"event: {name}\n" if name else ""
        self.chunk(f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n")

    def end(self):
        self.wfile.write(b"0\r\n\r\n")

    def endless(self):
        self.begin()
        try:
            for number in range(2000):
                self.chunk(f": comment {number}\n\n")
                choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": None}
                self.event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
                time.sleep(0.01)
        except OSError:
            BROKEN_OFF[0] += 1

    def chat(self, body, said):
        has_result = any(message["role"] == "tool" for message in body["messages"])
        calls = body.get("tools") and not has_result
        if body.get("response_format"):
            said = json.dumps({"city": said, "degrees": 7})
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        usage["prompt_tokens_details"] = {"cached_tokens": 3}
        call = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"place": "é"}'}}
        base = {"id": "chatcmpl-1", "created": 1, "model": body["model"] + "-2026", "system_fingerprint": "f"}
        if not body.get("stream"):
            message = {"role": "assistant", "content": None if calls else said, "refusal": None}
            if calls:
                message["tool_calls"] = [call]
            choice = {"index": 0, "message": message, "logprobs": None}
            choice["finish_reason"] = "tool_calls" if calls else "stop"
            return self.whole(200, base | {"object": "chat.completion", "choices": [choice], "usage": usage})
        self.begin()
        base["object"] = "chat.completion.chunk"
        deltas = [{"role": "assistant", "content": ""}]
        if calls:
            deltas.append({"tool_calls": [{"index": 0} | call | {"function": {"name": "look_up", "arguments": ""}}]})
            deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in ('{"place"', ': "é"}')]
        else:
            deltas += [{"content": letter} for letter in said]
        for delta in deltas:
            self.event(base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        last = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
        self.event(base | {"choices": [last]})
        if (body.get("stream_options") or {}).get("include_usage"):
            self.event(base | {"choices": [], "usage": usage})
        self.chunk("data: [DONE]\n\n")
        self.end()

    def messages(self, body, said):
        last = body["messages"][-1]["content"]
        has_result = isinstance(last, list) and any(part["type"] == "tool_result" for part in last)
        calls = body.get("tools") and not has_result
        block = {"type": "text", "text": said}
        if calls:
            name = body["tools"][0]["name"]
            block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"place": "é"}}
        usage = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 3, "output_tokens": 5}
        beta = self.headers.get("anthropic-beta")
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": f"{body['model']} {beta}"}
        message |= {"content": [block], "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        if not body.get("stream"):
            return self.whole(200, message | {"usage": usage}, [("request-id", "req_9")])
        self.begin()
        start = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
        self.event({"type": "message_start", "message": start}, "message_start")
        self.event({"type": "ping"}, "ping")
        empty = {"type": "text", "text": ""} if not calls else block | {"input": {}}
        self.event({"type": "content_block_start", "index": 0, "content_block": empty}, "content_block_start")
        for piece in ('{"place"', ': "é"}') if calls else said:
            delta = {"type": "input_json_delta", "partial_json": piece} if calls else {"type": "text_delta", "text": piece}
            self.event({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")
        self.event({"type": "content_block_stop", "index": 0}, "content_block_stop")
        delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self.event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}, "message_delta")
        self.event({"type": "message_stop"}, "message_stop")
        self.end()

    def response(self, body, said):
        part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
        item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
        usage = {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 16}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"]}
        response |= {"output": [item], "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        if not body.get("stream"):
            return self.whole(200, response)
        self.begin()
        number = 0

        def event(name, **members):
            nonlocal number
            self.event({"type": name, "sequence_number": number} | members, name)
            number += 1

        event("response.created", response=response | {"status": "in_progress", "output": [], "usage": None})
        event("response.output_item.added", output_index=0, item=item | {"status": "in_progress", "content": []})
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        event("response.content_part.added", **place, part=part | {"text": ""})
        for letter in said:
            event("response.output_text.delta", **place, delta=letter, logprobs=[])
        event("response.output_text.done", **place, text=said, logprobs=[])
        event("response.output_item.done", output_index=0, item=item)
        event("response.completed", response=response)
        self.end()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, address):
        """A client that goes away is part of the test."""


IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def told(call):
    """What a call gives, or the error that it raises."""
    try:
        return call()
    except Exception as error:
        status = getattr(error, "status_code", None)
        return [type(error).__name__, status, getattr(error, "body", None), getattr(error, "request_id", None)]


def openai_conversations(base):
    import openai
    from pydantic import BaseModel

    class Weather(BaseModel):
        city: str
        degrees: int

    client = openai.OpenAI(base_url=f"{base}/v1", api_key="sk-mine", max_retries=0)
    hello = [{"role": "system", "content": "be terse"}, {"role": "user", "content": "héllo"}]
    parameters = {"type": "object", "properties": {"place": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": parameters}}]
    create = client.chat.completions.create
    yield "chat", create(model="gpt-x", messages=hello, temperature=0.5).model_dump()
    stream = create(model="gpt-x", messages=hello, stream=True, stream_options={"include_usage": True})
    yield "stream", [chunk.model_dump() for chunk in stream]
    yield "stream without usage", [chunk.model_dump() for chunk in create(model="gpt-x", messages=hello, stream=True)]
    asked = create(model="gpt-x", messages=hello, tools=tools)
    yield "tool call", asked.model_dump()
    call = asked.choices[0].message
    result = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "42"}
    answered = hello + [call.model_dump(exclude_none=True), result]
    yield "tool result", create(model="gpt-x", messages=answered, tools=tools).model_dump()
    yield "streamed tool call", [
        chunk.model_dump() for chunk in create(model="gpt-x", messages=hello, tools=tools, stream=True)
    ]
    parsed = client.chat.completions.parse(model="gpt-x", messages=hello, response_format=Weather)
    yield "structured", parsed.choices[0].message.parsed.model_dump()
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}
    seen = [{"role": "user", "content": [{"type": "text", "text": "what is this"}, url]}]
    yield "vision", create(model="gpt-x", messages=seen).model_dump()
    yield "responses", client.responses.create(model="gpt-x", input="hi", instructions="be terse").model_dump()
    with client.responses.stream(model="gpt-x", input="hi") as stream:
        yield "responses stream", [event.model_dump() for event in stream]
    for status in (400, 401, 404, 422, 429, 500, 503):
        yield f"error {status}", told(lambda: create(model=f"error-{status}", messages=hello).model_dump())
    raw = client.chat.completions.with_raw_response.create(model="gpt-x", messages=hello)
    yield "raw", [raw.status_code, raw.headers.get("content-type"), raw.text if isinstance(raw.text, str) else raw.text()]

    async def at_once():
        many = openai.AsyncOpenAI(base_url=f"{base}/v1", api_key="sk-mine", max_retries=0)
        asked = [many.chat.completions.create(model="gpt-x", messages=hello + hello[:1] * n) for n in range(20)]
        return [answer.model_dump() for answer in await asyncio.gather(*asked)]

    yield "many at once", asyncio.run(at_once())
    stream = create(model="endless", messages=hello, stream=True)
    pieces = [next(iter(stream)).model_dump() for _ in range(3)]
    stream.close()
    yield "left early", pieces


def anthropic_conversations(base):
    import anthropic

    client = anthropic.Anthropic(base_url=base, api_key="sk-ant-mine", max_retries=0)
    hello = [{"role": "user", "content": "héllo"}]
    schema = {"type": "object", "properties": {"place": {"type": "string"}}}
    tools = [{"name": "look_up", "description": "looks", "input_schema": schema}]
    base_call = {"model": "claude-x", "max_tokens": 64}
    create = client.messages.create
    yield "message", create(**base_call, messages=hello).model_dump()
    yield "events", [event.model_dump() for event in create(**base_call, messages=hello, stream=True)]
    with client.messages.stream(**base_call, messages=hello) as stream:
        yield "text stream", "".join(stream.text_stream)
        yield "final message", stream.get_final_message().model_dump()
    asked = create(**base_call, messages=hello, tools=tools)
    yield "tool use", asked.model_dump()
    result = [{"type": "tool_result", "tool_use_id": asked.content[0].id, "content": "42"}]
    answered = hello + [
        {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in asked.content]},
        {"role": "user", "content": result},
    ]
    yield "tool result", create(**base_call, messages=answered, tools=tools).model_dump()
    yield "streamed tool use", [
        event.model_dump() for event in create(**base_call, messages=hello, tools=tools, stream=True)
    ]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
    seen = [{"role": "user", "content": [image, {"type": "text", "text": "what is this"}]}]
    yield "vision", create(**base_call, messages=seen).model_dump()
    yield "count", client.messages.count_tokens(model="claude-x", messages=hello).model_dump()
    for status in (400, 401, 404, 429, 500, 529):
        yield f"error {status}", told(lambda: create(**(base_call | {"model": f"error-{status}"}), messages=hello))
    yield "request id", create(**base_call, messages=hello)._request_id
    yield from coding_agent(client)


def coding_agent(client):
    """Traffic in the shape of a coding agent's: blocks with marks, many tools, betas, a growing conversation."""
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "the file " * 20}}}
    tools = [{"name": f"tool_{n}", "description": "Does something. " * 30, "input_schema": schema} for n in range(30)]
    tools[-1] = tools[-1] | {"cache_control": {"type": "ephemeral"}}
    system = [
        {"type": "text", "text": "You are a coding agent."},
        {"type": "text", "text": "Work carefully. " * 400, "cache_control": {"type": "ephemeral"}},
    ]
    messages = []
    for turn in range(3):
        text = f"<system-reminder>Turn {turn}</system-reminder> Fix the bug. " * 40
        block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        messages.append({"role": "user", "content": [block]})
        marked = [message | {} for message in messages]
        for message in marked[:-1]:
            message["content"] = [
                {key: value for key, value in part.items() if key != "cache_control"} for part in message["content"]
            ]
        with client.beta.messages.stream(
            model="claude-opus-5",
            max_tokens=1024,
            system=system,
            tools=tools,
            messages=marked,
            metadata={"user_id": "user_1_account__session_2"},
            betas=["claude-code-20250219", "interleaved-thinking-2025-05-14"],
            extra_headers={"x-app": "cli"},
        ) as stream:
            final = stream.get_final_message()
        yield f"agent turn {turn}", final.model_dump()
        content = [block.model_dump(exclude_none=True) for block in final.content]
        for block in content:
            block.pop("caller", None)
        messages.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "done " * 200}
            for block in content
            if block["type"] == "tool_use"
        ]
        messages.append({"role": "user", "content": results or [{"type": "text", "text": "continue"}]})


def responses(base, model):
    import openai
    from pydantic import BaseModel

    class Weather(BaseModel):
        city: str
        degrees: int

    client = openai.OpenAI(base_url=f"{base}/v1", api_key="sk-mine", max_retries=0)
    create = client.responses.create
    said = "é中😀"
    whole = create(model=model, input="hi", instructions="be terse")
    assert whole.status == "completed" and whole.output_text.endswith(said), whole
    assert (whole.usage.output_tokens, whole.usage.input_tokens_details.cached_tokens) == (5, 3), whole.usage
    with client.responses.stream(model=model, input="hi", instructions="be terse") as stream:
        deltas = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert deltas == final.output_text == whole.output_text, (deltas, final, whole)
    assert final.usage.output_tokens == 5, final.usage
    parameters = {"type": "object", "properties": {"place": {"type": "string"}}}
    tools = [{"type": "function", "name": "look_up", "parameters": parameters, "strict": False}]
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}", "detail": "auto"}
    question = [{"role": "user", "content": [{"type": "input_text", "text": "what is this"}, picture]}]
    asked = create(model=model, input=question, tools=tools)
    with client.responses.stream(model=model, input=question, tools=tools) as stream:
        kinds = [event.type for event in stream]
        streamed = stream.get_final_response()
    assert "response.function_call_arguments.delta" in kinds and kinds[-1] == "response.completed", kinds
    for answer in (asked, streamed):
        (call,) = answer.output
        assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "look_up", {"place": "é"}), call
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "42"}
        again = question + [call.model_dump(exclude_none=True), result]
        answered = create(model=model, input=again, tools=tools)
        assert answered.output_text.endswith(said), answered
    if model.startswith("chat-"):
        parsed = client.responses.parse(model=model, input="weather", text_format=Weather)
        assert parsed.output_parsed.degrees == 7, parsed
    for wanted, ask in (
        (400, lambda: create(model=model, input="hi", previous_response_id="resp_1")),
        (429, lambda: create(model=f"{model}-429", input="hi")),
        (404, lambda: create(model="nobody", input="hi")),
    ):
        kind, status, *_ = told(ask)
        assert status == wanted, (kind, status, wanted)
    print(f"responses work with {model}")


def check(direct, gateway):
    count = 0
    for conversations in (openai_conversations, anthropic_conversations):
        pairs = zip(conversations(direct), conversations(gateway), strict=True)
        for (name, wanted), (same, got) in pairs:
            wanted, got = json.dumps(wanted, default=str), json.dumps(got, default=str)
            assert name == same, (name, same)
            assert wanted == got, f"{conversations.__name__}, {name}:\n{wanted}\n{got}"
            count += 1
    import urllib.request

    for _ in range(100):
        if json.load(urllib.request.urlopen(direct))["broken_off"] >= 2:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("the upstream continues for a client that went away")
    print(f"{count} conversations are the same")


if __name__ == "__main__":
    if sys.argv[1] == "upstream":
        server = Server(("127.0.0.1", 0), Upstream)
        print(server.server_address[1], flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
        server.serve_forever()
    elif sys.argv[1] == "responses":
        for model in sys.argv[3:]:
            responses(sys.argv[2], model)
    else:
        check(sys.argv[2], sys.argv[3])
