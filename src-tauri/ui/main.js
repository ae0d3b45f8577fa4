// @ts-check
// A small chat page that loads extensions. There is no model behind it: what is written stays, what an extension adds
// is shown. All text is put in as text.

const scope = /** @type {any} */ (window);
/** @type {any} */
const host = scope.__TAURITAVERN__;

const chat = byId('chat');
const box = /** @type {HTMLTextAreaElement} */ (byId('send_textarea'));

/** @param {string} id */
function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * Adds a message to the chat.
 *
 * @param {{ name: string, text: string, kind: 'person' | 'character' | 'note' }} message
 */
function addMessage({ name, text, kind }) {
  const message = document.createElement('article');
  message.className = `mes ${kind}`;
  const who = document.createElement('p');
  who.className = 'name_text';
  who.textContent = name;
  const words = document.createElement('div');
  words.className = 'mes_text';
  for (const part of text.split('\n\n')) {
    const paragraph = document.createElement('p');
    paragraph.textContent = part;
    words.append(paragraph);
  }
  message.append(who, words);
  chat.append(message);
  message.scrollIntoView({ block: 'end' });
}

/** Loads every extension; one that fails takes nothing else with it. */
async function loadExtensions() {
  /** @type {{ name: string, url: string, manifest?: { display_name?: string, js?: string, css?: string } | null }[]} */
  const extensions = await host.invoke.safeInvoke('list_extensions');
  for (const { name, url, manifest } of extensions) {
    try {
      if (manifest?.css) {
        const style = document.createElement('link');
        style.rel = 'stylesheet';
        style.href = new URL(manifest.css, url).href;
        document.head.append(style);
      }
      await import(manifest?.js ? new URL(manifest.js, url).href : url);
    } catch (error) {
      console.error(`Extension ${name} failed:`, error);
      addMessage({ name: 'Extensions', text: `«${name}» could not be loaded: ${error}`, kind: 'note' });
    }
  }
  return extensions.length;
}

byId('send_form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = box.value.trim();
  if (!text) return;
  box.value = '';
  addMessage({ name: 'You', text, kind: 'person' });
});

box.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    /** @type {HTMLFormElement} */ (byId('send_form')).requestSubmit();
  }
});

byId('open-settings').addEventListener('click', async () => {
  try {
    await host.api.mcpHost.openSettings();
  } catch (error) {
    addMessage({ name: 'MCP settings', text: String(/** @type {any} */ (error)?.message ?? error), kind: 'note' });
  }
});

addMessage({
  name: 'Guide',
  kind: 'character',
  text:
    'Hello. I am a page like TauriTavern’s: scripts, extensions and character cards all run in here, and none of them can be told from another. So none of them is trusted.\n\n' +
    'On the right an extension talks to MCP servers. Choose one, connect it, call a tool. When something needs your consent, a native window asks you; no script can answer it.\n\n' +
    'Servers are added, and what you allowed is looked at and taken back, in the MCP settings: a window of its own, out of reach of this page.',
});

await host.ready;
const count = await loadExtensions().catch((error) => {
  addMessage({ name: 'Extensions', text: String(error), kind: 'note' });
  return 0;
});
byId('status').textContent = count === 1 ? '1 extension' : `${count} extensions`;
document.documentElement.dataset.ready = 'true';

export {};
