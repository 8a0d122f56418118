"""The official OpenAI client for Python with vcrpy.

usage: vcrpy_client.py BASE_URL CASSETTE QUESTION

Records what is asked with vcrpy's defaults, or replays it, and prints the
answer.
"""

import sys

# A neighbour of this file has the name of a package.
sys.path.pop(0)

import openai  # noqa: E402
import vcr  # noqa: E402

client = openai.OpenAI(base_url=sys.argv[1], max_retries=0)
with vcr.use_cassette(sys.argv[2]):
    reply = client.chat.completions.create(model="mock", messages=[{"role": "user", "content": sys.argv[3]}])
    print(reply.choices[0].message.content)
