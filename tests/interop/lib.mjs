// SPDX-License-Identifier: MIT
// Checks that print a line each, and a server of ours to run them against.
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'

let passed = 0
let failed = 0

export class Wrong extends Error {}

export function must(what, ok) {
	if (!ok) throw new Wrong(what)
}

export function same(what, got, wanted) {
	const [g, w] = [JSON.stringify(got), JSON.stringify(wanted)]
	must(`${what} is ${g}, not ${w}`, g === w)
}

export async function check(name, run) {
	let timer
	const late = new Promise((_, no) => {
		timer = setTimeout(() => no(new Wrong('nothing for 30 s')), 30000)
	})
	try {
		await Promise.race([run(), late])
		passed++
		console.log(`ok   ${name}`)
	} catch (e) {
		failed++
		console.log(`FAIL ${name}: ${e instanceof Wrong ? e.message : (e.stack ?? e)}`)
	} finally {
		clearTimeout(timer)
	}
}

export function finish() {
	console.log(`${passed} passed, ${failed} failed`)
	process.exit(failed || !passed ? 1 : 0)
}

async function freePort() {
	const s = createServer()
	await new Promise((yes) => s.listen(0, '127.0.0.1', yes))
	const { port } = s.address()
	await new Promise((yes) => s.close(yes))
	return port
}

// Serves the project in a folder: { url, stop }.
export async function serve(folder) {
	const port = await freePort()
	const child = spawn(process.env.BREAD, ['start', '--cwd', folder, '--port', String(port)], {
		stdio: ['ignore', 'ignore', 'inherit'],
	})
	const url = `http://127.0.0.1:${port}`
	process.on('exit', () => child.kill())
	for (let i = 0; i < 500; i++) {
		try {
			if ((await fetch(`${url}/agents`)).ok) return { url, stop: () => child.kill() }
		} catch {}
		if (child.exitCode !== null) break
		await new Promise((yes) => setTimeout(yes, 20))
	}
	throw new Error('the server does not start')
}
