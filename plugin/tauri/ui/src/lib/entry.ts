// An entry of servers.json as a form shows it, and back. What the form does not know stays as it was.

export type Pair = { name: string; value: string };

export type EntryForm = {
  transport: 'stdio' | 'http' | 'sse';
  displayName: string;
  command: string;
  /** One argument a line, exactly. */
  args: string;
  cwd: string;
  env: Pair[];
  url: string;
  headers: Pair[];
  autoConnect: boolean;
};

type Fields = Record<string, unknown>;

export function emptyForm(): EntryForm {
  return {
    transport: 'stdio',
    displayName: '',
    command: '',
    args: '',
    cwd: '',
    env: [],
    url: '',
    headers: [],
    autoConnect: false,
  };
}

/** The form of an entry; `undefined` where it holds what a form cannot show without loss. */
export function readEntry(text: string): { form: EntryForm; fields: Fields } | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    // Comments, trailing commas: its text is the only thing that shows all of it.
    return undefined;
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined;
  const entry = fields as Fields;
  const args = entry.args ?? [];
  if (!Array.isArray(args) || !args.every((one) => typeof one === 'string' && !/[\r\n]/.test(one))) return undefined;
  const env = pairs(entry.env);
  const headers = pairs(entry.headers);
  const texts = ['displayName', 'command', 'cwd', 'url'].every((key) =>
    ['undefined', 'string'].includes(typeof entry[key]),
  );
  if (!env || !headers || !texts) return undefined;
  const transport = transportOf(entry);
  if (!transport) return undefined;
  const text_ = (key: string) => (entry[key] as string | undefined) ?? '';
  return {
    fields: entry,
    form: {
      transport,
      displayName: text_('displayName'),
      command: text_('command'),
      args: args.join('\n'),
      cwd: text_('cwd'),
      env,
      url: text_('url'),
      headers,
      autoConnect: entry.autoConnect === true,
    },
  };
}

/** The entry as JSON text. `fields`: the entry it was read from. */
export function writeEntry(form: EntryForm, fields: Fields = {}): string {
  const entry: Fields = { ...fields };
  const set = (key: string, value: unknown, keep: boolean) => {
    if (keep) entry[key] = value;
    else delete entry[key];
  };
  const stdio = form.transport === 'stdio';
  const before = transportOf(fields);
  if (before !== form.transport || Object.keys(fields).length === 0) set('type', form.transport, !stdio);
  set('displayName', form.displayName.trim(), form.displayName.trim() !== '');
  set('command', form.command.trim(), stdio);
  set('args', form.args === '' ? [] : form.args.split('\n'), stdio && (form.args !== '' || 'args' in fields));
  set('cwd', form.cwd.trim(), stdio && form.cwd.trim() !== '');
  set('env', object(form.env), stdio && form.env.some((pair) => pair.name !== ''));
  set('url', form.url.trim(), !stdio);
  set('headers', object(form.headers), !stdio && form.headers.some((pair) => pair.name !== ''));
  set('autoConnect', form.autoConnect, form.autoConnect || 'autoConnect' in fields);
  return JSON.stringify(entry, null, 2);
}

function transportOf(entry: Fields): EntryForm['transport'] | undefined {
  switch (entry.type) {
    case undefined:
      return 'url' in entry && !('command' in entry) ? 'http' : 'stdio';
    case 'stdio':
    case 'sse':
      return entry.type;
    case 'http':
    case 'streamable-http':
    case 'streamableHttp':
      return 'http';
    default:
      return undefined;
  }
}

function pairs(value: unknown): Pair[] | undefined {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const list = Object.entries(value);
  if (!list.every(([, one]) => typeof one === 'string')) return undefined;
  return list.map(([name, one]) => ({ name, value: one as string }));
}

function object(list: Pair[]): Record<string, string> {
  return Object.fromEntries(list.filter((pair) => pair.name !== '').map((pair) => [pair.name.trim(), pair.value]));
}
