# Gives an agent server goals, as a program that uses requests does, and prints
# what it saw.
import json
import sys
import threading

import requests

root = sys.argv[1]


def execute(goal, **body):
    return requests.post(f"{root}/agent/execute_task", json={"goal": goal, **body}, timeout=600)


def events(goal, **body):
    name = None
    with requests.post(f"{root}/agent/execute_task", json={"goal": goal, "stream": True, **body}, stream=True, timeout=600) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines(decode_unicode=True):
            if line.startswith("event:"):
                name = line.removeprefix("event:").strip()
            elif line.startswith("data:"):
                yield name, json.loads(line.removeprefix("data:"))


def short(result):
    return {
        "status": result["status"],
        "answer": result["final_answer"],
        "calls": [[c["tool"], json.loads(c["arguments"]), bool(c.get("error"))] for c in result["calls"]],
    }


seen = {}

# Two tasks at once: what one of them activates, the other does not have.
both = {}
barrier = threading.Barrier(2)


def task(name, goal):
    barrier.wait()
    both[name] = short(execute(goal).json())


threads = [threading.Thread(target=task, args=a) for a in (("activates", "What is the capital of Peru?"), ("does not", "What is the capital of Chile?"))]
for t in threads:
    t.start()
for t in threads:
    t.join()
seen["at once"] = both

# A stream: the events in order, a text in however many pieces as one.
names, text = [], ""
for name, data in events("What is the capital of Peru?"):
    if name == "text":
        text += data["text"]
    if not names or names[-1] != name:
        names.append(name)
seen["stream"] = {"events": names, "text": text, **short(data)}

# A task that is cancelled by another request. Its answer says so.
answered = []
waiting = threading.Thread(target=lambda: answered.append(execute("Think for ever.", id="slow").json()), daemon=True)
waiting.start()
while "slow" not in requests.get(f"{root}/agent/tasks", timeout=60).json()["tasks"]:
    if not waiting.is_alive():
        sys.exit(f"the task did not wait: {answered}")
seen["same id"] = execute("Anything.", id="slow").status_code
seen["cancel"] = requests.delete(f"{root}/agent/tasks/slow", timeout=60).status_code
waiting.join()
seen["cancelled"] = short(answered[0])
seen["cancel again"] = requests.delete(f"{root}/agent/tasks/slow", timeout=60).status_code

# What is refused.
seen["no goal"] = execute(" ").status_code
seen["no JSON"] = requests.post(f"{root}/agent/execute_task", data="goal", timeout=60).status_code
json.dump(seen, sys.stdout)
