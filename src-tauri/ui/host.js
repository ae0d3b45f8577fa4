// @ts-check
// The host object, shaped as TauriTavern's: made first, made ready later, filled with APIs in between. The MCP plugin
// mounts `api.mcpHost` (and here `api.mcp`) before `ready` resolves; this page does nothing for it.
//
// Everything here runs in the untrusted page. It has no privilege that an extension would not have.

const HOST_ABI_VERSION = 1;

/**
 * A command of the application. A failure is an Error whose `cause` is what the command was rejected with.
 *
 * @param {string} command
 * @param {Record<string, unknown>} [args]
 * @returns {Promise<any>}
 */
async function safeInvoke(command, args = {}) {
  try {
    return await /** @type {any} */ (window).__TAURI__.core.invoke(command, args);
  } catch (error) {
    const message = typeof error === 'string' ? error : /** @type {any} */ (error)?.message;
    throw Object.assign(new Error(message ?? `Command failed: ${command}`), { cause: error });
  }
}

/** @type {{ abiVersion: number, ready: Promise<void> | null, invoke: { safeInvoke: typeof safeInvoke }, api: Record<string, unknown> }} */
const host = {
  abiVersion: HOST_ABI_VERSION,
  ready: null,
  invoke: { safeInvoke },
  api: {},
};

const scope = /** @type {any} */ (window);
scope.__TAURITAVERN__ = host;

async function initialize() {
  // What TauriTavern does here: its bridge, its own APIs. There is nothing to wait for but the page.
  if (document.readyState === 'loading') {
    await new Promise((resolve) => document.addEventListener('DOMContentLoaded', resolve, { once: true }));
  }
}

const ready = initialize();
scope.__TAURITAVERN_MAIN_READY__ = ready;
host.ready = ready;
