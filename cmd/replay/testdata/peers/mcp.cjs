// Asks replay mcp with a client of the protocol by another maker, in both of its eras, and
// prints what it was answered as JSON. usage: node mcp.cjs REPLAY ARCHIVE
const { Client } = require('@modelcontextprotocol/client')
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio')

async function ask (mode) {
  const client = new Client({ name: 'peer', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StdioClientTransport({ command: process.argv[2], args: ['mcp', process.argv[3]], stderr: 'inherit' }))
  const { tools } = await client.listTools()
  const answers = {}
  // The client refuses answers that are not as the tool's schema says.
  for (const [name, args] of Object.entries({
    overview: {}, why: {}, moment: { at: '09:02:48' }, top: { by: 'cpu', number: 3 }, process: { match: 102, at: '09:02:48' },
    diff: { at: '09:02:03', before: '1m' }, series: { metrics: ['kernel.all.load'] }, find: { condition: 'kernel.all.load[1*] > 0.1' },
    events: {}, search: { about: 'disk write' }, explain: { metric: 'kernel.all.load' }, stacks: {}
  })) {
    const r = await client.callTool({ name, arguments: args })
    answers[name] = { isError: r.isError === true, text: r.content[0].text, structured: r.structuredContent !== undefined }
  }
  const result = { instructions: client.getInstructions(), version: client.getServerVersion(), tools: tools.map(t => t.name), answers }
  await client.close()
  return result
}

(async () => {
  const legacy = await ask('legacy')
  const modern = await ask({ pin: '2026-07-28' })
  process.stdout.write(JSON.stringify({ legacy, modern }))
})().catch(e => { console.error(e); process.exit(1) })
