// An MCP server over stdio that says what a JSON file tells it to say, read anew for every message: for definitions that
// no honest server has, and for definitions that change.
//
//   node scripted.mjs FILE          { "tools": [...], "results": { "NAME": {...} }, "stubborn": true, "log": "FILE" }
//
// A result of null is never sent. `log` gets one line for every call that arrives. `stubborn` ignores the end of input
// and SIGTERM.

import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const file = process.argv[2];
const script = () => JSON.parse(readFileSync(file, 'utf8'));

const answers = {
  initialize: (params) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: script().serverInfo ?? { name: 'scripted', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: script().tools ?? [] }),
  'tools/call': ({ name, arguments: given }) => {
    const { log, results } = script();
    if (log) appendFileSync(log, `${JSON.stringify({ name, arguments: given })}\n`);
    const echoed = { content: [{ type: 'text', text: JSON.stringify(given ?? {}) }] };
    return results && name in results ? results[name] : echoed;
  },
};

if (script().stubborn) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) continue;
  const result = answers[method]?.(params ?? {});
  if (result === null) continue;
  const reply = result ? { result } : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`);
}
