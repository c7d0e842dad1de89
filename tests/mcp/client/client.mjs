// Connects with the official client, lists the tools, makes the calls. Prints what it got as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { url, headers, calls } = JSON.parse(process.argv[1]);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
const { tools } = await client.listTools();
const results = [];
for (const [name, args] of calls) results.push(await client.callTool({ name, arguments: args }));
console.log(JSON.stringify({ tools, results, instructions: client.getInstructions() }));
await client.close();
