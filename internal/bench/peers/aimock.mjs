// Serves one reply, which the first argument tells as a fixture's response,
// until the input ends. The second argument is the characters of each piece of
// a streamed text. Prints the host and port.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, logLevel: "silent", chunkSize: Number(process.argv[3]) });
mock.addFixture({ match: {}, response: JSON.parse(process.argv[2]) });
await mock.start();
console.log(new URL(mock.url).host);
process.stdin.on("end", () => process.exit(0)).resume();
