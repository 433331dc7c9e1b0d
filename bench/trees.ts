// SPDX-License-Identifier: MIT
// The project that bench/trees measures, for the TypeScript implementation: run it under Bun from
// a folder with its packages and the peers' model.ts.
//   PORT=4001 DB=/path/file.db SLOTS=1000 DELEGATIONS=50 STEPS=20 bun trees.ts
import { defineAgent, defineHumanTool } from '@breadai/core'
import { startServer } from '@breadai/server'
import { transport } from '@breadai/transport-http-chunked'
import { store as sqlite } from '@breadai/store-sqlite'
import { z } from 'zod'
import { scriptedModel } from './model.ts'

const env = process.env
const many = (name: string) => Number(env[name])
const echo = scriptedModel()

// Delegates everything at once, and is content with what it hears.
const boss = {
  ...echo,
  modelId: 'boss',
  async doStream(o: { prompt: any[] }) {
    const heard = o.prompt[o.prompt.length - 1].role === 'tool'
    const calls = Array.from({ length: many('DELEGATIONS') }, (_, i) => ({
      type: 'tool-call',
      toolCallId: `d${i}`,
      toolName: 'core_delegate',
      input: '{"agentId":"echo","input":"n=1"}',
    }))
    const said = [
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'done' },
      { type: 'text-end', id: '1' },
    ]
    const usage = {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    }
    const finishReason = { unified: heard ? 'stop' : 'tool-calls', raw: undefined }
    return {
      stream: new ReadableStream({
        start(c) {
          for (const part of heard ? said : calls) c.enqueue(part)
          c.enqueue({ type: 'finish', finishReason, usage })
          c.close()
        },
      }),
    }
  },
}

const agent = (model: string, more = {}) =>
  defineAgent({
    model: { provider: 'script', model },
    inputSchema: z.string(),
    outputSchema: z.string(),
    output: { format: 'text' },
    ...more,
  } as any)

const agents = new Map<string, any>([
  ['echo', agent('echo')],
  ['hitl', agent('echo')],
  ['boss', agent('boss', { supervisor: { agents: [{ agentId: 'echo', visibility: 'passthrough' }] } })],
])
agents.get('hitl').config._humanTools = [defineHumanTool('approve', z.object({ what: z.string() }))]

const steps = (n: number) => Array.from({ length: n }, () => ({ type: 'agent', agentId: 'echo' }))

await startServer(
  {
    entrypoints: [...agents.keys()],
    store: sqlite({ path: env.DB! }),
    transport: transport(),
    providers: { script: (id: string) => (id === 'boss' ? boss : echo) },
    pipelines: {
      slots: [{ type: 'parallel', steps: steps(many('SLOTS')) }],
      line: steps(many('STEPS')),
    },
  } as any,
  agents as any,
  { port: many('PORT'), host: '127.0.0.1', idleTimeout: 120 },
)
