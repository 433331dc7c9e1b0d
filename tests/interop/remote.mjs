// SPDX-License-Identifier: MIT
// The remote clients of the TypeScript bread run agents of ours, over a connection
// that a proxy cuts as well. A client that comes back with a watermark may be told
// text twice that it had; none may be missing.
import { connect, createServer } from 'node:net'
import { remoteAgent as chunked } from '@breadai/transport-http-chunked'
import { remoteAgent as sse } from '@breadai/transport-http-sse'
import { check, finish, must, same, serve } from './lib.mjs'

const server = await serve(process.env.PROJECT)

async function crumbs(agent, id, input, options) {
	const all = []
	for await (const crumb of agent.run(id, input, options)) all.push(crumb)
	return all
}

const types = (all) => all.map((c) => c.type).filter((t, i, a) => t !== 'text:delta' || a[i - 1] !== t)
const text = (all) =>
	all.filter((c) => c.type === 'text:delta').map((c) => c.delta).join('')

// Cuts the n-th connection after cuts[n] bytes of its answers.
async function cutter(cuts) {
	let count = 0
	const target = Number(new URL(server.url).port)
	const proxy = createServer((from) => {
		const to = connect(target, '127.0.0.1')
		let left = cuts[count++] ?? Infinity
		from.on('error', () => to.destroy())
		to.on('error', () => from.destroy())
		from.pipe(to)
		to.on('data', (bytes) => {
			const part = bytes.subarray(0, left)
			left -= part.length
			if (left > 0) return from.write(part)
			from.write(part, () => {
				from.resetAndDestroy ? from.resetAndDestroy() : from.destroy()
				to.destroy()
			})
		})
		to.on('end', () => from.end())
		from.on('end', () => to.end())
	})
	await new Promise((yes) => proxy.listen(0, '127.0.0.1', yes))
	return {
		url: `http://127.0.0.1:${proxy.address().port}`,
		connections: () => count,
		close: () => proxy.close(),
	}
}

function numbered() {
	const words = []
	for (const letter of ['f', 's'])
		for (let i = 1; i <= 200; i++) words.push(`${letter}${i}`)
	return words
}

// Words in the order in which each came first.
const firsts = (s) => [...new Set(s.split(/\s+/).filter(Boolean))]

function noNumberTwice(all) {
	const own = all.filter((c) => c.type !== 'text:delta').map((c) => c.seq)
	must(`the numbers ${own} do not rise`, own.every((n, i) => !i || n > own[i - 1]))
}

for (const [wire, remoteAgent] of [['ndjson', chunked], ['sse', sse]]) {
	const remote = (url, more) => remoteAgent({ url, retryDelayMs: 20, ...more })

	await check(`${wire}: text`, async () => {
		const all = await crumbs(remote(server.url), 'text', 'hello, wörld')
		same('types', types(all), ['agent:run:start', 'text:delta', 'agent:run:end'])
		same('text', text(all), 'You said: hello, wörld')
		same('output', all.at(-1).output, 'You said: hello, wörld')
	})
	await check(`${wire}: a tool`, async () => {
		const all = await crumbs(remote(server.url), 'calc', 'add 19 and 23')
		same('types', types(all),
			['agent:run:start', 'tool:call', 'tool:result', 'text:delta', 'agent:run:end'])
		same('arguments', all[1].args, { a: 19, b: 23 })
		same('result', all[2].result, 42)
		same('output', all.at(-1).output, 'The sum is 42.')
	})
	await check(`${wire}: structured output`, async () => {
		const all = await crumbs(remote(server.url), 'shape', 'a "title"')
		same('types', types(all), ['agent:run:start', 'agent:run:end'])
		same('output', all.at(-1).output, { title: 'a "title"', score: 0.5, tags: ['a', 'b'] })
	})
	await check(`${wire}: an agent that is not there`, async () => {
		// an event of its own over SSE, which the client throws; else a crumb
		const code = await crumbs(remote(server.url), 'nobody', 'x').then(
			(all) => all[0].error.code,
			(e) => e.code,
		)
		same('code', code, 'AGENT_NOT_FOUND')
	})
	await check(`${wire}: sessions go on`, async () => {
		const session = { id: `s-${wire}` }
		const one = await crumbs(remote(server.url), 'text', 'one', { session })
		await crumbs(remote(server.url), 'text', 'two', { session })
		const messages = await (await fetch(`${server.url}/sessions/${one[0].sessionId}/messages`)).json()
		same('session', one[0].sessionId, session.id)
		same('messages', messages.length, 4)
	})
	await check(`${wire}: an abort cancels the run`, async () => {
		const stop = new AbortController()
		let code
		let first
		try {
			for await (const crumb of remote(server.url).run('stuck', 'x', { signal: stop.signal })) {
				first ??= crumb
				if (crumb.type === 'text:delta') stop.abort()
			}
		} catch (e) {
			code = e.code
		}
		same('code', code, 'RUN_CANCELLED')
		const log = await (await fetch(`${server.url}/runs/${first.runId}/stream`, {
			headers: { accept: 'application/x-ndjson', 'last-event-id': '0' },
		})).text()
		const last = JSON.parse(log.trim().split('\n').at(-1))
		same('its end', last.crumb.type, 'agent:error')
		same('its end', last.crumb.error.code, 'RUN_CANCELLED')
	})
	for (const cuts of [[900], [1, 400], [5000, 5000, 5000], [20000, 40000, 3000, 700]])
		await check(`${wire}: a connection cut after ${cuts} bytes`, async () => {
			const proxy = await cutter(cuts)
			const all = await crumbs(remote(proxy.url, { maxRetries: 8 }), 'long', 'go')
			proxy.close()
			must(`${proxy.connections()} connections`, proxy.connections() > cuts.length)
			same('words', firsts(text(all)), numbered())
			same('output', firsts(all.at(-1).output), numbered())
			if (cuts[0] > 1) noNumberTwice(all) // else a second run was begun
		})
}

server.stop()
finish()
