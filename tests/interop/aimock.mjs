// SPDX-License-Identifier: MIT
// A mock of the providers that others wrote answers runs of ours: text, a call of
// a tool of ours, a structured answer, a 429 before a success.
import { cpSync, mkdtempSync, rmSync, writeFileSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { check, finish, must, same, serve } from './lib.mjs'

const families = [
	{ type: 'anthropic', path: '', key: 'x' },
	{ type: 'openai', path: '/v1', key: 'x' },
	{ type: 'ollama', path: '' },
]

function script(mock) {
	mock.on({ userMessage: 'shape' }, { content: '{"title":"T","score":1}' })
	mock.on({ userMessage: 'busy', sequenceIndex: 0 }, {
		error: { message: 'slow down', type: 'rate_limit_error' }, status: 429,
	})
	mock.on({ userMessage: 'busy' }, { content: 'After the storm.' })
	mock.on({ userMessage: 'refused' }, {
		error: { message: 'no such thing', type: 'invalid_request_error' }, status: 400,
	})
	mock.on({ userMessage: 'add', hasToolResult: true }, { content: 'The sum is 42.' })
	mock.on({ userMessage: 'add' }, {
		content: 'Let me add.',
		toolCalls: [{ name: 'tool_add', arguments: '{"a":19,"b":23}' }],
	})
	mock.on({ userMessage: 'hello' }, { content: 'Hello from the mock: größer, "quoted", 𝄞.' })
}

function project(mocks) {
	const folder = mkdtempSync(join(tmpdir(), 'bread-aimock-'))
	const providers = families.map(
		(f, i) =>
			`  ${f.type}: { type: ${f.type}, baseUrl: "${mocks[i].url}${f.path}"${f.key ? `, apiKey: ${f.key}` : ''} }`,
	)
	writeFileSync(join(folder, 'bread.yaml'), `store: memory
transport: stream
ingress: [http-chunked]
log: { level: error }
providers:
${providers.join('\n')}
`)
	for (const { type } of families)
		for (const [name, more] of [['plain', ''], ['shape', `output: { format: json }
outputSchema: { type: object, properties: { title: { type: string }, score: { type: number } }, required: [title, score] }
`]]) {
			const agent = join(folder, 'agents', `${type}-${name}`)
			mkdirSync(agent, { recursive: true })
			writeFileSync(join(agent, 'agent.yaml'), `model: { provider: ${type}, model: some-model }\n${more}`)
			writeFileSync(join(agent, 'prompt.md'), 'You are terse.\n')
			if (name === 'plain')
				cpSync(join(process.env.PROJECT, 'agents/calc/tools'), join(agent, 'tools'), { recursive: true })
		}
	return folder
}

async function run(url, agent, input) {
	const answer = await fetch(`${url}/agents/${agent}/run`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', accept: 'application/x-ndjson' },
		body: JSON.stringify({ input }),
	})
	const lines = (await answer.text()).split('\n').filter((l) => l.trim())
	return lines.map((l) => JSON.parse(l)).filter((f) => f.type === 'crumb').map((f) => f.crumb)
}

const text = (all) => all.filter((c) => c.type === 'text:delta').map((c) => c.delta).join('')

const mocks = families.map(() => new LLMock({ port: 0, chunkSize: 7 }))
for (const mock of mocks) {
	script(mock)
	await mock.start()
}
const folder = project(mocks)
const server = await serve(folder)

for (const [i, { type }] of families.entries()) {
	const bodies = () => mocks[i].getRequests().map((r) => JSON.stringify(r.body))

	await check(`${type}: text`, async () => {
		const all = await run(server.url, `${type}-plain`, 'hello')
		same('text', text(all), 'Hello from the mock: größer, "quoted", 𝄞.')
		same('end', all.at(-1).type, 'agent:run:end')
		must('more than one delta', all.filter((c) => c.type === 'text:delta').length > 1)
		must('the prompt was sent', bodies().at(-1).includes('You are terse.'))
	})
	await check(`${type}: a tool of ours`, async () => {
		const all = await run(server.url, `${type}-plain`, 'add them')
		const of = (t) => all.find((c) => c.type === t)
		same('arguments', of('tool:call')?.args, { a: 19, b: 23 })
		same('result', of('tool:result')?.result, 42)
		must(`the end is ${JSON.stringify(all.at(-1))}`, all.at(-1).output?.endsWith('The sum is 42.'))
		must('the schema was sent', bodies().at(-2).includes('tool_add'))
		must('the result was sent', bodies().at(-1).includes('42'))
	})
	await check(`${type}: structured output`, async () => {
		const all = await run(server.url, `${type}-shape`, 'shape it')
		same('output', all.at(-1).output, { title: 'T', score: 1 })
	})
	await check(`${type}: 429, then success`, async () => {
		const before = bodies().length
		const all = await run(server.url, `${type}-plain`, 'busy')
		same('output', all.at(-1).output, 'After the storm.')
		same('requests', bodies().length - before, 2)
	})
	await check(`${type}: a refusal is told`, async () => {
		const all = await run(server.url, `${type}-plain`, 'refused')
		same('end', all.at(-1).type, 'agent:error')
		must(JSON.stringify(all.at(-1).error), all.at(-1).error.message.includes('no such thing'))
	})
}

server.stop()
for (const mock of mocks) await mock.stop()
rmSync(folder, { recursive: true, force: true })
finish()
