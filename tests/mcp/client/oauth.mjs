// Connects with the official client, which signs in by itself. Prints the URL that a browser must
// open, then, as JSON, the tools and the sales of the tenant.
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, tenant, clientMetadataUrl] = process.argv.slice(1);
const PORT = 7879;
const kept = {};
const provider = {
    clientMetadataUrl,
    redirectUrl: `http://127.0.0.1:${PORT}/callback`,
    clientMetadata: {
        client_name: "Node",
        redirect_uris: [`http://127.0.0.1:${PORT}/callback`],
        token_endpoint_auth_method: "none",
    },
    state: () => "a state",
    clientInformation: () => kept.client,
    saveClientInformation: client => { kept.client = client; },
    tokens: () => kept.tokens,
    saveTokens: tokens => { kept.tokens = tokens; },
    redirectToAuthorization: page => console.log(page.href),
    saveCodeVerifier: verifier => { kept.verifier = verifier; },
    codeVerifier: () => kept.verifier,
};

let comeBack;
const back = new Promise(resolve => { comeBack = resolve; });
const server = createServer((request, response) => {
    response.setHeader("Connection", "close").end("Connected");
    const sent = new URL(request.url, provider.redirectUrl);
    if (sent.pathname === "/callback") comeBack(sent.searchParams);
}).listen(PORT, "127.0.0.1");

let transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
let client = new Client({ name: "test", version: "1" });
try {
    await client.connect(transport);
} catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    const sent = await back;
    await transport.finishAuth(sent.get("code"));
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    client = new Client({ name: "test", version: "1" });
    await client.connect(transport);
}
const { tools } = await client.listTools();
const sales = await client.callTool({ name: "sales", arguments: { tenant } });
console.log(JSON.stringify({ tools: tools.map(each => each.name), sales: sales.structuredContent }));
await client.close();
server.close();
