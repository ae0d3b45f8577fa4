/* Generated from guest-js/src; do not edit. */
import { Channel, invoke } from "@tauri-apps/api/core";
// src/bindings.ts
const API_VERSION = 1;
// src/error.ts
/** Marks an error of ours, also across two copies of this module in one page. */
const BRAND$1 = Symbol.for("tauri-plugin-mcp-host.error");
/**
* Every rejection of the API. `code` is stable and made for programs; `message` is prose that starts with `code + ": "`.
*
* A tool that ran and reported failure is *not* one of these: it resolves, with `isError: true`.
*
* @example
* ```ts
* try {
*   await mcp.callTool({ serverId: 'files', name: 'read_file', arguments: { path: '/notes/today.md' } });
* } catch (error) {
*   if (error instanceof McpError && error.code === 'mcp.approval_denied') return; // the person said no
*   throw error;
* }
* ```
*/
var McpError = class extends Error {
	constructor(info, options) {
		const prefix = `${info.code}: `;
		super(info.message.startsWith(prefix) ? info.message : prefix + info.message);
		this.name = "McpError";
		this.code = info.code;
		this.retryable = info.retryable;
		if (info.serverId !== void 0) this.serverId = info.serverId;
		if (info.details !== void 0) this.details = info.details;
		Object.defineProperty(this, BRAND$1, { value: true });
		if (options && "cause" in options) Object.defineProperty(this, "cause", {
			value: options.cause,
			configurable: true,
			writable: true
		});
	}
	/** The injected API and an imported package are two copies; `instanceof` holds across them. */
	static [Symbol.hasInstance](value) {
		return typeof value === "object" && value !== null && BRAND$1 in value;
	}
	/** The flat shape in which it travelled; survives `structuredClone`, `postMessage` and JSON, which a class does not. */
	toJSON() {
		const info = {
			code: this.code,
			message: this.message,
			retryable: this.retryable
		};
		if (this.serverId !== void 0) info.serverId = this.serverId;
		if (this.details !== void 0) info.details = this.details;
		return info;
	}
};
/** An error of our own making: a field of the input is wrong. `path` is its JSON pointer, `''` the whole. */
function invalidInput(path, problem) {
	return new McpError({
		code: "mcp.invalid_input",
		message: problem,
		retryable: false,
		details: { path }
	});
}
/**
* Whatever was thrown, as an {@link McpError}.
*
* The host rejects with a flat object. An ACL denial or an unknown command rejects with a plain string, which becomes
* `mcp.ipc`. Wrappers around `invoke` (TauriTavern's `safeInvoke`) throw an `Error` whose `cause` is what they caught.
*/
function toMcpError(thrown) {
	if (thrown instanceof McpError) return thrown;
	const info = wireInfo(thrown) ?? wireInfo(causeOf(thrown));
	if (info) return new McpError(info, { cause: thrown });
	return new McpError({
		code: "mcp.ipc",
		message: `the host refused the request: ${textOf(thrown)}`,
		retryable: false
	}, { cause: thrown });
}
function causeOf(thrown) {
	return thrown instanceof Error ? thrown.cause : void 0;
}
function wireInfo(value) {
	if (typeof value !== "object" || value === null) return void 0;
	const { code, message, retryable, serverId, details } = value;
	if (typeof code !== "string" || !/^mcp\.[a-z_]+$/.test(code) || typeof message !== "string") return void 0;
	const info = {
		code,
		message,
		retryable: retryable === true
	};
	if (typeof serverId === "string") info.serverId = serverId;
	if (details !== void 0) info.details = details;
	return info;
}
function textOf(thrown) {
	if (typeof thrown === "string") return thrown;
	if (thrown instanceof Error) return thrown.message;
	try {
		return JSON.stringify(thrown) ?? String(thrown);
	} catch {
		return Object.prototype.toString.call(thrown);
	}
}
// src/json.ts
/** As deep as the host reads. */
const MAX_DEPTH = 128;
/**
* A plain copy of `value` as `JSON.stringify` would write it, made in one pass, so that a getter or a Proxy cannot show
* one thing now and another later. What JSON would change silently (`NaN` to `null`, a Map to `{}`) or cannot write (a
* cycle, a BigInt, half a surrogate pair) is `mcp.invalid_input` with the JSON pointer of the place.
*/
function plainJson(value, path) {
	return copy(value, path, "", []);
}
function copy(given, path, key, above) {
	let value = given;
	if (typeof value === "object" && value !== null) {
		const toJson = value.toJSON;
		if (typeof toJson === "function") value = toJson.call(value, key);
		if (value instanceof String || value instanceof Number || value instanceof Boolean) value = value.valueOf();
	}
	switch (typeof value) {
		case "undefined":
		case "boolean": return value;
		case "string": return text(value, path);
		case "number":
			if (!Number.isFinite(value)) throw invalidInput(path, `\`${value}\` cannot be written as JSON`);
			return value;
		case "object": return value === null ? null : container(value, path, above);
		case "bigint": throw invalidInput(path, "a BigInt cannot be written as JSON; give the call as `argumentsJson`");
		default: throw invalidInput(path, `a ${typeof value} cannot be written as JSON`);
	}
}
function container(value, path, above) {
	if (above.includes(value)) throw invalidInput(path, "the value contains itself");
	if (above.length >= MAX_DEPTH) throw invalidInput(path, `the value is nested deeper than ${MAX_DEPTH} levels`);
	above.push(value);
	let result;
	if (Array.isArray(value)) {
		const list = [];
		for (let index = 0; index < value.length; index++) list.push(copy(value[index], `${path}/${index}`, String(index), above) ?? null);
		result = list;
	} else {
		if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw invalidInput(path, `a ${value.constructor.name} cannot be written as JSON`);
		const fields = Object.create(null);
		for (const key of Object.keys(value)) {
			const place = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
			const field = copy(value[key], place, key, above);
			if (field !== void 0) fields[text(key, place)] = field;
		}
		result = fields;
	}
	above.pop();
	return result;
}
function text(value, path) {
	if (/\p{Surrogate}/u.test(value)) throw invalidInput(path, "the text contains half of a surrogate pair");
	return value;
}
// src/request.ts
/** The plugin's name in command names. */
const PLUGIN = "mcp-host";
/** How long a request that was taken back may take to say how it ended, before the API speaks for it. */
const CANCEL_GRACE_MS = 1e3;
/** A cancel may overtake the request it is for; it is then said again. */
const CANCEL_AGAIN_MS = [60, 240];
/** `setTimeout` and the host both count in 32 bits. */
const MAX_TIMEOUT_MS = 0x7fffffff;
/** Sends one command. */
async function request(invoke, command, args = {}) {
	try {
		return await invoke(`plugin:${PLUGIN}|${command}`, args);
	} catch (thrown) {
		throw toMcpError(thrown);
	}
}
/** Sends one command that can be given a time limit and taken back. */
async function cancellable(invoke, command, args, options) {
	const { signal, timeoutMs } = checked(options);
	const sent = {};
	if (timeoutMs !== void 0) sent.timeoutMs = timeoutMs;
	if (!signal) return request(invoke, command, {
		...args,
		options: sent
	});
	if (signal.aborted) throw cancelled(command, signal, false);
	const requestId = randomId();
	sent.requestId = requestId;
	const pending = request(invoke, command, {
		...args,
		options: sent
	});
	const timers = [];
	let onAbort;
	const abandoned = new Promise((_, reject) => {
		onAbort = () => {
			const cancel = () => void request(invoke, "cancel_call", { input: { requestId } }).catch(() => {});
			cancel();
			for (const delay of CANCEL_AGAIN_MS) timers.push(setTimeout(cancel, delay));
			timers.push(setTimeout(() => reject(cancelled(command, signal, void 0)), CANCEL_GRACE_MS));
		};
		signal.addEventListener("abort", onAbort, { once: true });
	});
	try {
		return await Promise.race([pending, abandoned]);
	} finally {
		timers.forEach(clearTimeout);
		if (onAbort) signal.removeEventListener("abort", onAbort);
		pending.catch(() => {});
	}
}
function checked(options) {
	if (options === void 0 || options === null) return {};
	if (typeof options !== "object") throw invalidInput("", "the options must be an object");
	const { signal, timeoutMs } = options;
	const result = {};
	if (timeoutMs !== void 0 && timeoutMs !== null) {
		if (typeof timeoutMs !== "number" || !Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) throw invalidInput("/timeoutMs", `\`timeoutMs\` must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`);
		result.timeoutMs = timeoutMs;
	}
	if (signal !== void 0 && signal !== null) {
		if (typeof signal.addEventListener !== "function" || typeof signal.aborted !== "boolean") throw invalidInput("/signal", "`signal` must be an AbortSignal");
		result.signal = signal;
	}
	return result;
}
function cancelled(command, signal, sent) {
	return new McpError({
		code: "mcp.cancelled",
		message: `${command.replaceAll("_", " ")} was cancelled; ${sent === false ? "it had not been sent" : "the host did not say whether it had been sent"}`,
		retryable: false,
		...sent === void 0 ? {} : { details: { sent } }
	}, { cause: signal.reason });
}
/** 128 random bits in hex. `crypto.randomUUID` is missing where a custom scheme is no secure context. */
function randomId() {
	const bytes = crypto.getRandomValues(/* @__PURE__ */ new Uint8Array(16));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
// src/api.ts
/** Marks an API of ours, also across two copies of this module in one page. */
const BRAND = Symbol.for("tauri-plugin-mcp-host.api");
/** Progress that is still on its way when the result has arrived is waited for this long. */
const LATE_PROGRESS_MS = 250;
/**
* Makes the API over `invoke` (of `@tauri-apps/api/core`, or a wrapper that hands commands and arguments on unchanged).
*
* Methods are bound: `const { callTool } = createMcpApi(invoke)` works.
*/
function createMcpApi(invoke) {
	const send = (command, input) => request(invoke, command, input === void 0 ? {} : { input });
	const ofServer = async (command, serverId) => send(command, { serverId: plainJson(serverId, "/serverId") });
	const api = {
		apiVersion: 1,
		listServers: async () => send("list_servers"),
		getServerStatus: (serverId) => ofServer("get_server_status", serverId),
		connectServer: async (input) => send("connect_server", object(input)),
		disconnectServer: async (serverId) => {
			await ofServer("disconnect_server", serverId);
		},
		listTools: (serverId) => ofServer("list_tools", serverId),
		callTool: async (input, options) => {
			const args = { input: object(input) };
			const progress = progressStream(options);
			try {
				return await cancellable(invoke, "call_tool", {
					...args,
					onProgress: progress.channel
				}, options);
			} finally {
				await progress.drained();
			}
		},
		requestApproval: async (input) => send("request_approval", object(input)),
		listResources: (serverId) => ofServer("list_resources", serverId),
		listResourceTemplates: (serverId) => ofServer("list_resource_templates", serverId),
		readResource: async (input, options) => cancellable(invoke, "read_resource", { input: object(input) }, options),
		subscribeResource: async (input, handler) => subscription(invoke, RESOURCE_STREAM, { input: object(input) }, handler),
		listPrompts: (serverId) => ofServer("list_prompts", serverId),
		getPrompt: async (input, options) => cancellable(invoke, "get_prompt", { input: object(input) }, options),
		complete: async (input) => send("complete", object(input)),
		subscribe: async (handler, options) => subscription(invoke, EVENT_STREAM, {}, handler, options?.onError),
		openSettings: async () => {
			await send("open_settings");
		}
	};
	Object.defineProperty(api, BRAND, { value: 1 });
	return Object.freeze(api);
}
/** The input, read once. The host checks its fields; what is no object at all would not even reach it. */
function object(input) {
	if (typeof input !== "object" || input === null || Array.isArray(input)) throw invalidInput("", "the input must be an object");
	return plainJson(input, "");
}
/** The host sends progress whether or not somebody listens. */
function progressStream(options) {
	const onProgress = options?.onProgress;
	if (onProgress !== void 0 && onProgress !== null && typeof onProgress !== "function") throw invalidInput("/onProgress", "`onProgress` must be a function");
	const stream = openStream((progress) => {
		if (onProgress) isolated(() => onProgress(progress));
	});
	return {
		channel: stream.channel,
		drained: async () => {
			if (onProgress) {
				let timer;
				const late = new Promise((resolve) => {
					timer = setTimeout(resolve, LATE_PROGRESS_MS);
				});
				await Promise.race([stream.ended, late]);
				clearTimeout(timer);
			}
			stream.close();
		}
	};
}
const EVENT_STREAM = {
	begin: "subscribe_events",
	channel: "onEvent",
	end: "unsubscribe_events"
};
const RESOURCE_STREAM = {
	begin: "subscribe_resource",
	channel: "onChange",
	end: "unsubscribe_resource"
};
async function subscription(invoke, kind, args, handler, onError) {
	if (typeof handler !== "function") throw invalidInput("/handler", "the handler must be a function");
	const stream = openStream((message) => isolated(() => handler(message), onError));
	const subscription = await request(invoke, kind.begin, {
		...args,
		[kind.channel]: stream.channel
	});
	let open = true;
	return () => {
		if (!open) return;
		open = false;
		stream.close();
		request(invoke, kind.end, { input: { subscription } }).catch(() => {});
	};
}
/** A channel from the host that says when the host has let go of it, and that falls silent when closed. */
function openStream(receive) {
	let open = true;
	const onmessage = (message) => {
		if (open) receive(message);
	};
	const close = () => {
		open = false;
	};
	const { window } = globalThis;
	if (!window?.__TAURI_INTERNALS__) return {
		channel: { onmessage },
		ended: Promise.resolve(),
		close
	};
	const channel = new Channel(onmessage);
	return {
		channel,
		ended: new Promise((resolve) => {
			const ending = channel;
			const cleanUp = ending.cleanupCallback;
			if (typeof cleanUp !== "function") return;
			ending.cleanupCallback = () => {
				cleanUp.call(channel);
				resolve();
			};
		}),
		close
	};
}
/** A consumer's callback: what it throws, now or later, must not stop the stream. */
function isolated(callback, onError) {
	const report = (error) => {
		try {
			if (typeof onError === "function") onError(error);
			else console.error("A handler of the MCP API failed:", error);
		} catch (second) {
			console.error("The onError of a handler of the MCP API failed:", second);
		}
	};
	try {
		const result = callback();
		if (result instanceof Promise) result.catch(report);
	} catch (error) {
		report(error);
	}
}
// src/install.ts
const HOST = "__TAURITAVERN__";
/** One installation for each window, however often it is asked for. */
const installations = /* @__PURE__ */ new WeakMap();
/**
* Waits for `window.__TAURITAVERN__` and its `ready`, then mounts the API: always as `api.mcpHost`, and as `api.mcp` where
* that is free at that time. An `api.mcp` that is there already is left alone, which the console is told once.
*
* The host's `ready` resolves after the mount, so that a script that awaits it finds the API.
*
* Resolves to the mounted API; to `undefined` where it has no business: in frames, popups, pages that are not the
* application's own, outside of Tauri, and where the host object cannot be extended (which the console is told).
*/
function installMcpApi(scope = window) {
	let installation = installations.get(scope);
	if (!installation) {
		installation = isOwnPage(scope) ? install(scope) : Promise.resolve(void 0);
		installations.set(scope, installation);
	}
	return installation;
}
function isOwnPage(scope) {
	try {
		if (!scope.__TAURI_INTERNALS__ || scope.top !== scope.self || scope.opener) return false;
		const { protocol, hostname } = scope.location;
		if (protocol === "tauri:") return true;
		return /^https?:$/.test(protocol) && /^(tauri\.localhost|localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
	} catch {
		return false;
	}
}
function install(scope) {
	const api = createMcpApi((command, args) => invoke(command, args));
	return new Promise((resolve) => {
		const mounted = (host) => resolve(mount(host, api));
		const present = attempt(() => scope[HOST]);
		if (isObject(present)) afterReady(scope, present, mounted);
		else onAssigned(scope, (host) => afterReady(scope, host, mounted));
	});
}
/** Calls `then` when somebody makes `window.__TAURITAVERN__` an object, before the assignment returns. */
function onAssigned(scope, then) {
	let seen;
	let done = false;
	const found = (value) => {
		if (done || !isObject(value)) return;
		done = true;
		then(value);
	};
	attempt(() => Object.defineProperty(scope, HOST, {
		configurable: true,
		enumerable: false,
		get: () => seen,
		set: (value) => {
			seen = value;
			if (isObject(value)) {
				Object.defineProperty(scope, HOST, {
					configurable: true,
					enumerable: true,
					writable: true,
					value
				});
				found(value);
			}
		}
	}));
	const look = () => found(attempt(() => scope[HOST]));
	for (const event of ["DOMContentLoaded", "load"]) scope.addEventListener(event, look, { once: true });
}
/** Calls `then` once the host is ready, and before anybody who awaits `host.ready` hears of it. */
function afterReady(scope, host, then) {
	let done = false;
	const once = () => {
		if (done) return;
		done = true;
		then(host);
	};
	/** `ready` as others see it: as it was, after our mount. A host that failed to get ready still gets the API. */
	const extended = (ready) => Promise.resolve(ready).then((value) => {
		once();
		return value;
	}, (reason) => {
		once();
		throw reason;
	});
	const ready = attempt(() => host.ready);
	let seen = ready === void 0 || ready === null ? ready : extended(ready);
	if (!attempt(() => Object.defineProperty(host, "ready", {
		configurable: true,
		enumerable: true,
		get: () => seen,
		set: (value) => {
			seen = value === void 0 || value === null ? value : extended(value);
		}
	})) && isObject(seen)) attempt(() => seen.catch(() => {}));
	const late = () => {
		const now = attempt(() => host.ready);
		if (now === void 0 || now === null) once();
		else if (now !== seen) extended(now).catch(() => {});
	};
	if (attempt(() => scope.document.readyState) === "complete") setTimeout(late, 0);
	else scope.addEventListener("load", () => setTimeout(late, 0), { once: true });
}
function mount(host, api) {
	const present = attempt(() => host.api);
	const existing = isObject(present) ? present : void 0;
	const ours = attempt(() => existing?.mcpHost);
	if (isObject(ours) && BRAND in ours) return ours;
	if (existing && put(existing, "mcpHost", api)) {
		takeFreeName(existing, api);
		return api;
	}
	const target = (existing && attempt(() => Object.create(Object.getPrototypeOf(existing), Object.getOwnPropertyDescriptors(existing)))) ?? {};
	if (put(target, "mcpHost", api) && put(host, "api", target)) {
		takeFreeName(target, api);
		return api;
	}
	console.warn("MCP: window.__TAURITAVERN__ cannot be extended, so api.mcpHost is missing. The host can mount it itself: import { createMcpApi } from 'tauri-plugin-mcp-host-api'.");
}
function takeFreeName(target, api) {
	if (!(attempt(() => target.mcp !== void 0 && target.mcp !== null) ?? true) && put(target, "mcp", api)) return;
	console.info("MCP: api.mcp is taken by the host and was left alone; this API is at api.mcpHost.");
}
/** A plain property, as an assignment would make it; false where that cannot be. */
function put(target, key, value) {
	return attempt(() => {
		Object.defineProperty(target, key, {
			configurable: true,
			enumerable: true,
			writable: true,
			value
		});
		return target[key] === value;
	}) ?? false;
}
function isObject(value) {
	return typeof value === "object" && value !== null || typeof value === "function";
}
/** What `action` returns; `undefined` if it throws. */
function attempt(action) {
	try {
		return action();
	} catch {
		return;
	}
}
export { API_VERSION, McpError, createMcpApi, installMcpApi };
