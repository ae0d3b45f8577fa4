// Values on their way to the host: read once, and refused where JSON could not say them.

import { invalidInput } from './error';

/** As deep as the host reads. */
const MAX_DEPTH = 128;

/**
 * A plain copy of `value` as `JSON.stringify` would write it, made in one pass, so that a getter or a Proxy cannot show
 * one thing now and another later. What JSON would change silently (`NaN` to `null`, a Map to `{}`) or cannot write (a
 * cycle, a BigInt, half a surrogate pair) is `mcp.invalid_input` with the JSON pointer of the place.
 */
export function plainJson(value: unknown, path: string): unknown {
  return copy(value, path, '', []);
}

function copy(given: unknown, path: string, key: string, above: object[]): unknown {
  let value = given;
  if (typeof value === 'object' && value !== null) {
    const toJson: unknown = (value as { toJSON?: unknown }).toJSON;
    if (typeof toJson === 'function') value = toJson.call(value, key);
    if (value instanceof String || value instanceof Number || value instanceof Boolean) value = value.valueOf();
  }
  switch (typeof value) {
    case 'undefined':
    case 'boolean':
      return value;
    case 'string':
      return text(value, path);
    case 'number':
      if (!Number.isFinite(value)) throw invalidInput(path, `\`${value}\` cannot be written as JSON`);
      return value;
    case 'object':
      return value === null ? null : container(value, path, above);
    case 'bigint':
      throw invalidInput(path, 'a BigInt cannot be written as JSON; give the call as `argumentsJson`');
    default:
      throw invalidInput(path, `a ${typeof value} cannot be written as JSON`);
  }
}

function container(value: object, path: string, above: object[]): unknown {
  if (above.includes(value)) throw invalidInput(path, 'the value contains itself');
  if (above.length >= MAX_DEPTH) throw invalidInput(path, `the value is nested deeper than ${MAX_DEPTH} levels`);
  above.push(value);
  let result: unknown;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (let index = 0; index < value.length; index++) {
      list.push(copy(value[index], `${path}/${index}`, String(index), above) ?? null);
    }
    result = list;
  } else {
    if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      throw invalidInput(path, `a ${value.constructor.name} cannot be written as JSON`);
    }
    // No prototype: `__proto__` is a key like any other.
    const fields: Record<string, unknown> = Object.create(null);
    for (const key of Object.keys(value)) {
      const place = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      const field = copy((value as Record<string, unknown>)[key], place, key, above);
      if (field !== undefined) fields[text(key, place)] = field;
    }
    result = fields;
  }
  above.pop();
  return result;
}

function text(value: string, path: string): string {
  if (/\p{Surrogate}/u.test(value)) throw invalidInput(path, 'the text contains half of a surrogate pair');
  return value;
}
