// A form from a tool's JSON Schema: the simple fields as fields, anything else as JSON text. The schema is untrusted; it
// only decides which inputs are shown.

export type Field = {
  name: string;
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'json';
  required: boolean;
  description: string;
  choices: string[];
};

/** More than this is no form any more. */
const MOST_FIELDS = 40;

/** The fields of an object schema; `undefined` where only JSON text will do. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  if (!isObject(schema) || (schema.type !== undefined && schema.type !== 'object')) return undefined;
  if (['anyOf', 'oneOf', 'allOf', '$ref', 'patternProperties'].some((key) => key in schema)) return undefined;
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const names = Object.keys(properties);
  if (names.length > MOST_FIELDS) return undefined;
  return names.map((name) => {
    const property = isObject(properties[name]) ? properties[name] : {};
    const choices =
      Array.isArray(property.enum) && property.enum.every((one) => typeof one === 'string') ? property.enum : [];
    return {
      name,
      kind: choices.length > 0 ? 'choice' : kindOf(property.type),
      required: required.includes(name),
      description: typeof property.description === 'string' ? property.description : '',
      choices: choices as string[],
    };
  });
}

/** What was filled in as JSON text of the arguments; throws a SyntaxError that names the field. An empty field is absent. */
export function argumentsOf(fields: Field[], values: Record<string, string>): string {
  const parts: string[] = [];
  for (const field of fields) {
    const value = values[field.name] ?? '';
    if (value === '' && !(field.kind === 'text' && field.required)) continue;
    parts.push(`${JSON.stringify(field.name)}:${jsonOf(field, value)}`);
  }
  return `{${parts.join(',')}}`;
}

function jsonOf(field: Field, value: string): string {
  if (field.kind === 'text' || field.kind === 'choice') return JSON.stringify(value);
  // Numbers keep their digits: the text goes on as it is.
  const text = value.trim();
  try {
    const parsed: unknown = JSON.parse(text);
    if (field.kind === 'number' && typeof parsed !== 'number') throw new SyntaxError('not a number');
  } catch (error) {
    throw new SyntaxError(`${field.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return text;
}

function kindOf(type: unknown): Field['kind'] {
  if (type === 'string') return 'text';
  if (type === 'number' || type === 'integer') return 'number';
  if (type === 'boolean') return 'boolean';
  return 'json';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
