// @ts-check
// An extension that uses MCP servers: the example to copy from.
//
// It has four steps, one for each heading below: wait for the host, find the API, show what there is, call it. What
// draws a form, a result or an error is in the files beside this one.

import { element, replace } from './element.js';
import { explain } from './error.js';
import { argumentForm } from './form.js';
import { renderBlocks, renderResult } from './result.js';

/** @typedef {import('tauri-plugin-mcp-host-api').TauriTavernMcpApi} Mcp */
/** @typedef {import('tauri-plugin-mcp-host-api').McpServerStatus} Status */
/** @typedef {import('tauri-plugin-mcp-host-api').McpServerSummary} Server */

// ── 1. Wait for the host ────────────────────────────────────────────────────────────────────────────

const scope = /** @type {any} */ (window);
await (scope.__TAURITAVERN__?.ready ?? scope.__TAURITAVERN_MAIN_READY__);

// ── 2. Find the API ─────────────────────────────────────────────────────────────────────────────────

// `api.mcpHost` is always this API. `api.mcp` may be the application's own, of another shape.
/** @type {Mcp | undefined} */
const found = scope.__TAURITAVERN__?.api?.mcpHost;

const panel = element('section', { id: 'mcp-example', 'aria-label': 'MCP tools' });
(document.getElementById('extensions_settings2') ?? document.body).append(panel);

if (found) {
  start(found);
} else {
  panel.append(element('p', {}, 'MCP tools: this application has no MCP host.'));
}

// ── 3. Show what there is ───────────────────────────────────────────────────────────────────────────

/** @param {Mcp} mcp */
function start(mcp) {
  const servers = /** @type {HTMLSelectElement} */ (element('select', { id: 'mcp-server' }));
  const state = element('span', { class: 'mcp-state', role: 'status' });
  const connect = element('button', { type: 'button', class: 'mcp-connect' }, 'Connect');
  const settings = element('button', { type: 'button', class: 'mcp-settings' }, 'Servers and permissions…');
  const problem = element('div', { class: 'mcp-problem' });
  const tabs = element('div', { role: 'tablist', 'aria-label': 'What the server offers', class: 'mcp-tabs' });
  const body = element('div', { role: 'tabpanel', class: 'mcp-body' });
  panel.append(
    element('h2', {}, 'MCP tools'),
    element('div', { class: 'mcp-row' }, element('label', { for: 'mcp-server' }, 'Server'), servers, connect),
    element('div', { class: 'mcp-row' }, state, settings),
    problem,
    tabs,
    body,
  );

  /** @type {Server[]} */
  let known = [];
  /** @type {Status | undefined} */
  let status;
  let tab = 'tools';
  /** Counted up on every redraw: what an older one brings back is thrown away. */
  let turn = 0;

  /** Runs `work`; what it is refused with is shown, with the next step. @param {() => Promise<unknown>} work */
  async function attempt(work) {
    replace(problem);
    try {
      await work();
    } catch (error) {
      replace(
        problem,
        explain(error, mcp, () => attempt(work), status?.displayName),
      );
    }
  }

  async function refresh() {
    const mine = ++turn;
    known = await mcp.listServers();
    const chosen = known.some((one) => one.id === servers.value) ? servers.value : known[0]?.id;
    const now = chosen === undefined ? undefined : await mcp.getServerStatus(chosen);
    if (mine !== turn) return;
    status = now;
    replace(servers, ...known.map((one) => element('option', { value: one.id }, one.displayName)));
    if (chosen !== undefined) servers.value = chosen;
    servers.disabled = known.length === 0;
    describe();
    await draw(mine);
  }

  /** What the server is doing, in words. */
  function describe() {
    state.dataset.state = status?.state ?? 'none';
    state.textContent = status ? WORDS[status.state] : 'No server is configured yet';
    connect.textContent = status?.connected ? 'Disconnect' : 'Connect';
    /** @type {HTMLButtonElement} */ (connect).disabled = !status || status.state === 'connecting';
  }

  /** @param {number} mine */
  async function draw(mine) {
    /** @type {[string, string, (id: string) => Promise<Node[]>, boolean | undefined][]} */
    const all = [
      ['tools', 'Tools', (id) => drawTools(mcp, id, () => attempt(refresh)), status?.capabilities.tools],
      ['resources', 'Resources', (id) => drawResources(mcp, id), status?.capabilities.resources],
      ['prompts', 'Prompts', (id) => drawPrompts(mcp, id), status?.capabilities.prompts],
    ];
    const offered = all.filter(([, , , has]) => has);
    const current = offered.find(([id]) => id === tab) ?? offered[0];
    replace(
      tabs,
      ...offered.map(([id, label]) => {
        const button = element(
          'button',
          {
            type: 'button',
            role: 'tab',
            'aria-selected': String(id === current?.[0]),
            tabindex: id === current?.[0] ? '0' : '-1',
          },
          label,
        );
        button.addEventListener('click', () => {
          tab = id;
          void attempt(refresh);
        });
        return button;
      }),
    );
    if (!status || !current) {
      replace(body, element('p', { class: 'mcp-hint' }, hint()));
      return;
    }
    const nodes = await current[2](status.id);
    if (mine === turn) replace(body, ...nodes);
  }

  function hint() {
    if (!status) return 'Add one in “Servers and permissions”: a page may not say what is to run.';
    if (status.connected) return 'It offers nothing.';
    return status.state === 'needsApproval'
      ? 'Its launch waits for the person’s confirmation, in “Servers and permissions”.'
      : 'Connect it to see what it offers.';
  }

  servers.addEventListener('change', () => attempt(refresh));
  settings.addEventListener('click', () => attempt(() => mcp.openSettings()));
  connect.addEventListener('click', () =>
    attempt(async () => {
      if (!status) return;
      const { id, connected } = status;
      if (connected) await mcp.disconnectServer(id);
      else await mcp.connectServer({ serverId: id });
      await refresh();
    }),
  );
  tabs.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const buttons = /** @type {HTMLElement[]} */ ([...tabs.children]);
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next?.focus();
  });

  // Live events: what is shown stays true. A running call is left alone; only what the server is and offers is redrawn.
  void attempt(async () => {
    await mcp.subscribe((event) => {
      if (
        event.type === 'serverStatusChanged' &&
        event.status.id === status?.id &&
        event.status.connected === status.connected
      ) {
        status = event.status;
        describe();
      } else if (
        event.type.startsWith('server') ||
        ('serverId' in event && event.serverId === status?.id && event.type.endsWith('Changed'))
      ) {
        void attempt(refresh);
      }
    });
    await refresh();
  });
}

const WORDS = {
  disabled: 'Turned off by the person',
  needsApproval: 'Waits for the person’s confirmation',
  disconnected: 'Not connected',
  connecting: 'Connecting…',
  connected: 'Connected',
  needsAuth: 'Needs the person to sign in',
  failed: 'Failed; the settings say why',
};

// ── 4. Call it ──────────────────────────────────────────────────────────────────────────────────────

/** @typedef {import('tauri-plugin-mcp-host-api').McpToolSummary} Tool */

/** Tools that are drawn, by their definition: one that did not change keeps its fields, its result, its running call. @type {Map<string, { node: HTMLElement, update: (tool: Tool) => void }>} */
let drawn = new Map();

/** @param {Mcp} mcp @param {string} serverId @param {() => void} changed */
async function drawTools(mcp, serverId, changed) {
  const tools = await mcp.listTools(serverId);
  /** @type {typeof drawn} */
  const now = new Map();
  for (const tool of tools) {
    const key = JSON.stringify([serverId, tool.name, tool.title, tool.description, tool.inputSchema]);
    const one = drawn.get(key) ?? drawTool(mcp, tool, changed);
    one.update(tool);
    now.set(key, one);
  }
  drawn = now;
  return [...now.values()].map((one) => one.node);
}

/** @param {Mcp} mcp @param {Tool} first @param {() => void} changed */
function drawTool(mcp, first, changed) {
  let tool = first;
  const { serverId } = tool;
  const badge = element('span', { class: 'mcp-badge' });
  const node = element(
    'details',
    { class: 'mcp-item', 'data-tool': tool.name },
    element(
      'summary',
      {},
      element('span', { class: 'mcp-name' }, tool.name),
      element('span', { class: 'mcp-title' }, tool.title ?? ''),
      badge,
    ),
  );
  // Filled when it is opened: a server may have hundreds.
  node.addEventListener('toggle', () => node.append(...toolBody(mcp, () => tool, changed)), { once: true });
  return {
    node,
    /** @param {Tool} next */
    update(next) {
      tool = next;
      badge.className = `mcp-badge ${tool.permission}`;
      badge.textContent = { allow: 'runs', ask: 'asks', deny: 'denied', disabled: 'disabled' }[tool.permission];
      node.dataset.server = serverId;
    },
  };
}

/** @param {Mcp} mcp @param {() => Tool} current @param {() => void} changed */
function toolBody(mcp, current, changed) {
  const tool = current();
  const { serverId } = tool;
  const form = argumentForm(tool.inputSchema);
  const call = /** @type {HTMLButtonElement} */ (element('button', { type: 'submit', class: 'mcp-call' }, 'Call'));
  const cancel = /** @type {HTMLButtonElement} */ (
    element('button', { type: 'button', class: 'mcp-cancel', hidden: '' }, 'Cancel')
  );
  const progress = /** @type {HTMLProgressElement} */ (element('progress', { 'aria-label': 'Progress', hidden: '' }));
  const told = element('span', { class: 'mcp-hint', role: 'status' });
  const outcome = element('div', { class: 'mcp-outcome', 'aria-live': 'polite' });
  const frame = element(
    'form',
    { class: 'mcp-form' },
    form.node,
    element('div', { class: 'mcp-row' }, call, cancel, told),
    progress,
    outcome,
  );
  async function run() {
    const controller = new AbortController();
    const stop = () => controller.abort();
    replace(outcome);
    told.textContent = current().approvalRequired ? 'Waiting for the person’s consent…' : '';
    call.disabled = true;
    cancel.hidden = progress.hidden = false;
    progress.removeAttribute('value');
    cancel.addEventListener('click', stop);
    try {
      // One of `arguments` (a value) and `argumentsJson` (its text, for numbers that JavaScript would round).
      const result = await mcp.callTool(
        { serverId, name: tool.name, argumentsJson: form.read() },
        {
          signal: controller.signal,
          onProgress: ({ progress: at, total, message }) => {
            if (total) progress.max = total;
            if (total) progress.value = at;
            told.textContent = message ?? '';
          },
        },
      );
      told.textContent = '';
      replace(outcome, renderResult(result));
    } catch (error) {
      told.textContent = '';
      replace(outcome, explain(error, mcp, run, serverId));
    } finally {
      cancel.removeEventListener('click', stop);
      call.disabled = false;
      cancel.hidden = progress.hidden = true;
      // The answer may have been "always": what the next call meets is another.
      changed();
    }
  }

  frame.addEventListener('submit', (event) => {
    event.preventDefault();
    void run();
  });
  return [...(tool.description ? [element('p', { class: 'mcp-description' }, tool.description)] : []), frame];
}

/** @param {Mcp} mcp @param {string} serverId */
async function drawResources(mcp, serverId) {
  const resources = await mcp.listResources(serverId);
  const nodes = resources.map((resource) => {
    const outcome = element('div', { class: 'mcp-outcome', 'aria-live': 'polite' });
    const read = element('button', { type: 'button' }, 'Read');
    async function run() {
      try {
        const { contents } = await mcp.readResource({ serverId, uri: resource.uri }, { timeoutMs: 30_000 });
        replace(outcome, ...renderBlocks(contents.map((item) => ({ type: 'resource', resource: item }))));
      } catch (error) {
        replace(outcome, explain(error, mcp, run, serverId));
      }
    }
    read.addEventListener('click', run);
    return element(
      'div',
      { class: 'mcp-item mcp-plain', 'data-resource': resource.uri },
      element(
        'div',
        { class: 'mcp-row' },
        element('span', { class: 'mcp-name' }, resource.title ?? resource.name ?? resource.uri),
        element('span', { class: 'mcp-title' }, resource.uri),
        read,
      ),
      outcome,
    );
  });
  return nodes.length > 0 ? nodes : [element('p', { class: 'mcp-hint' }, 'It lists no resources.')];
}

/** @param {Mcp} mcp @param {string} serverId */
async function drawPrompts(mcp, serverId) {
  const prompts = await mcp.listPrompts(serverId);
  const nodes = prompts.map((prompt) => {
    const given = prompt.arguments ?? [];
    const form = argumentForm({
      type: 'object',
      properties: Object.fromEntries(given.map((one) => [one.name, { type: 'string', description: one.description }])),
      required: given.filter((one) => one.required).map((one) => one.name),
    });
    const outcome = element('div', { class: 'mcp-outcome', 'aria-live': 'polite' });
    const frame = element(
      'form',
      { class: 'mcp-form' },
      form.node,
      element('button', { type: 'submit' }, 'Get'),
      outcome,
    );
    async function run() {
      try {
        const content = await mcp.getPrompt({ serverId, name: prompt.name, arguments: JSON.parse(form.read()) });
        const messages = content.messages.map((message) =>
          element(
            'div',
            { class: 'mcp-message' },
            element('p', { class: 'mcp-title' }, message.role),
            ...renderBlocks([message.content]),
          ),
        );
        replace(outcome, ...messages, useButton(content));
      } catch (error) {
        replace(outcome, explain(error, mcp, run, serverId));
      }
    }
    frame.addEventListener('submit', (event) => {
      event.preventDefault();
      void run();
    });
    return element(
      'details',
      { class: 'mcp-item', 'data-prompt': prompt.name },
      element(
        'summary',
        {},
        element('span', { class: 'mcp-name' }, prompt.name),
        element('span', { class: 'mcp-title' }, prompt.title ?? ''),
      ),
      prompt.description ? element('p', { class: 'mcp-description' }, prompt.description) : '',
      frame,
    );
  });
  return nodes.length > 0 ? nodes : [element('p', { class: 'mcp-hint' }, 'It lists no prompts.')];
}

/**
 * A prompt enters the chat only when the person puts it there: into the message box, not sent.
 *
 * @param {import('tauri-plugin-mcp-host-api').McpPromptContent} content
 */
function useButton(content) {
  const use = element('button', { type: 'button' }, 'Put into the message box');
  use.addEventListener('click', () => {
    const box = /** @type {HTMLTextAreaElement | null} */ (document.getElementById('send_textarea'));
    const texts = content.messages.map(({ content: block }) => (block.type === 'text' ? block.text : ''));
    if (!box) return;
    box.value = texts.filter(Boolean).join('\n\n');
    box.dispatchEvent(new Event('input', { bubbles: true }));
    box.focus();
  });
  return use;
}
