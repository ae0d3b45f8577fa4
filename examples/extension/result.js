// @ts-check
// What comes back, block by block. A link is shown and not followed, a picture is drawn from its own bytes, and a block of
// a type that is not known yet is shown as it came.

import { element } from './element.js';

/**
 * @typedef {import('tauri-plugin-mcp-host-api').McpContentBlock} Block
 * @typedef {import('tauri-plugin-mcp-host-api').McpToolResult} Result
 */

/** More than this makes a page slow; the rest is said to be there. */
const MOST_CHARACTERS = 20_000;
/** Pictures that a browser draws without running anything. SVG is not one of them. */
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const SOUNDS = /^audio\/(mpeg|mp4|ogg|wav|webm|x-wav|flac)$/;

/** @param {Result} result */
export function renderResult(result) {
  const node = element('div', { class: 'mcp-result', 'data-is-error': String(result.isError) });
  node.append(
    element(
      'p',
      { class: result.isError ? 'mcp-failed' : 'mcp-hint' },
      `${result.isError ? 'The tool reports failure' : 'Done'} · ${result.durationMs} ms · audit record ${result.auditSeq}`,
    ),
    ...renderBlocks(result.content),
  );
  if (result.truncated) {
    const { keptBytes, originalBytes } = result.truncated;
    node.append(element('p', { class: 'mcp-hint' }, `Cut by the host: ${keptBytes} of ${originalBytes} bytes`));
  }
  // The text keeps what JavaScript's numbers cannot.
  const structured =
    result.structuredContentJson ??
    (result.structuredContent === undefined ? '' : JSON.stringify(result.structuredContent, null, 2));
  if (structured) node.append(element('p', { class: 'mcp-strong' }, 'Structured'), text(structured));
  return node;
}

/** @param {Block[]} blocks */
export function renderBlocks(blocks) {
  return blocks.map(renderBlock);
}

/** @param {Block} block @returns {HTMLElement} */
function renderBlock(block) {
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'image':
      return PICTURES.test(block.mimeType)
        ? element('img', { alt: 'Image from the tool', src: `data:${block.mimeType};base64,${block.data}` })
        : binary(block.mimeType, block.data);
    case 'audio':
      return SOUNDS.test(block.mimeType)
        ? element('audio', { controls: '', src: `data:${block.mimeType};base64,${block.data}` })
        : binary(block.mimeType, block.data);
    case 'resource_link':
      return element(
        'p',
        {},
        `${block.title ?? block.name} `,
        element('code', {}, block.uri),
        ...(block.description ? [element('span', { class: 'mcp-hint' }, ` ${block.description}`)] : []),
      );
    case 'resource': {
      const { resource } = block;
      const content =
        resource.text === undefined ? renderBlob(resource.mimeType ?? '', resource.blob) : text(resource.text);
      return element('div', {}, element('p', { class: 'mcp-hint' }, resource.uri), content);
    }
    default:
      return element(
        'div',
        {},
        element('p', { class: 'mcp-hint' }, `A block of type “${block.originalType}”`),
        text(JSON.stringify(block.raw, null, 2)),
      );
  }
}

/** @param {string} type @param {string} base64 */
function renderBlob(type, base64) {
  return PICTURES.test(type)
    ? element('img', { alt: 'Image from the resource', src: `data:${type};base64,${base64}` })
    : binary(type, base64);
}

/** @param {string} type @param {string} base64 */
function binary(type, base64) {
  return element('p', { class: 'mcp-hint' }, `${type || 'binary'}, ${Math.floor((base64.length * 3) / 4)} bytes`);
}

/** @param {string} whole */
function text(whole) {
  const rest = whole.length - MOST_CHARACTERS;
  const shown = rest > 0 ? `${whole.slice(0, MOST_CHARACTERS)}\n… ${rest} more characters` : whole;
  return element('pre', { tabindex: '0' }, shown);
}
