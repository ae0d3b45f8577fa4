// @ts-check
// Arguments from a JSON Schema: simple properties as fields, everything else as JSON. The schema comes from the server; it
// decides which inputs are shown, and nothing more.

import { element } from './element.js';

/** Two forms may have a field of the same name. */
let forms = 0;

/**
 * @param {unknown} schema
 * @returns {{ node: HTMLElement, read: () => string }} `read` gives the arguments as JSON text; throws where a field is wrong.
 */
export function argumentForm(schema) {
  const fields = simpleFields(schema);
  const prefix = `mcp-form-${++forms}`;
  if (!fields) {
    const box = /** @type {HTMLTextAreaElement} */ (
      element('textarea', { id: prefix, rows: '4', spellcheck: 'false', class: 'mcp-json' }, '{}')
    );
    const node = element('div', { class: 'mcp-field' }, element('label', { for: prefix }, 'Arguments, as JSON'), box);
    return { node, read: () => json('', box.value) };
  }

  const inputs = fields.map((field, index) => {
    const id = `${prefix}-${index}`;
    const input = /** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */ (inputFor(field, id));
    const label = element('label', { for: id }, field.required ? `${field.name} *` : field.name);
    const about = field.description ? [element('p', { class: 'mcp-hint' }, field.description)] : [];
    return { field, input, node: element('div', { class: 'mcp-field' }, label, input, ...about) };
  });
  return {
    node: element('div', {}, ...inputs.map((one) => one.node)),
    read: () => {
      const parts = inputs.flatMap(({ field, input }) => {
        // An empty field is an absent argument, unless it is a text that has to be there.
        if (input.value === '' && !(field.kind === 'text' && field.required)) return [];
        const text = field.kind === 'text' ? JSON.stringify(input.value) : json(field.name, input.value);
        return [`${JSON.stringify(field.name)}:${text}`];
      });
      return `{${parts.join(',')}}`;
    },
  };
}

/** @param {string} name @param {string} text */
function json(name, text) {
  try {
    JSON.parse(text);
  } catch (error) {
    const at = name ? `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` : '';
    const problem = error instanceof Error ? error.message : String(error);
    throw { code: 'mcp.invalid_input', message: `mcp.invalid_input: ${problem}`, details: { path: `/arguments${at}` } };
  }
  // Numbers keep the digits that were typed.
  return text.trim();
}

/** @typedef {{ name: string, kind: 'text' | 'choice' | 'json', choices: string[], hint: string, required: boolean, description: string }} Field */

/** @param {Field} field @param {string} id */
function inputFor(field, id) {
  if (field.kind === 'choice') {
    const options = ['', ...field.choices].map((one) => element('option', { value: one }, one));
    return element('select', { id }, ...options);
  }
  return element('input', { id, spellcheck: 'false', placeholder: field.hint });
}

/** @param {unknown} schema @returns {Field[] | undefined} */
function simpleFields(schema) {
  if (!isObject(schema) || ['anyOf', 'oneOf', 'allOf', '$ref'].some((key) => key in schema)) return undefined;
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const names = Object.keys(properties);
  if (names.length > 30) return undefined;
  return names.map((name) => {
    const property = isObject(properties[name]) ? properties[name] : {};
    const types = [property.type].flat().filter((one) => one !== 'null');
    const literal = types.length === 1 && types[0] === 'boolean' ? ['true', 'false'] : [];
    const choices = Array.isArray(property.enum) ? property.enum.map((one) => JSON.stringify(one)) : literal;
    return {
      name,
      kind: choices.length > 0 ? 'choice' : types.length === 1 && types[0] === 'string' ? 'text' : 'json',
      choices,
      hint: types.length === 1 && /^(string|number|integer)$/.test(String(types[0])) ? '' : 'JSON',
      required: required.includes(name),
      description: typeof property.description === 'string' ? property.description : '',
    };
  });
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
