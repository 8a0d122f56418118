"""An endpoint of chat completions that is not rehearse: endpoint.py PATH.

Its model reads the file at PATH and the graph, adds to the graph, reads it again and
answers with what it was told. It prints its address and serves until it is killed.
"""

import http.server
import json
import sys


def call(number, name, **arguments):
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def reply(messages):
    told = [m["content"] for m in messages if m["role"] == "tool"]
    told = [t if isinstance(t, str) else "".join(part["text"] for part in t) for t in told]
    if not told:
        return None, [call(1, "read_text_file", path=sys.argv[1]), call(2, "read_graph")]
    if len(told) == 2:
        errand = {"name": "milk", "entityType": "errand", "observations": ["two litres"]}
        return "I make a note.", [call(3, "create_entities", entities=[errand])]
    if len(told) == 3:
        return None, [call(4, "read_graph")]
    return f"Buy milk: {told[-1].count('two litres')} note.", None


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text, calls = reply(asked["messages"])
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": asked["model"], "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
server.serve_forever()
