// What a person does with a server. One act at a time for each, kept while they look at other pages.

import { commands, type HostServer, type McpServerStatus } from '../bindings';
import { Act } from './act.svelte';
import type { Step } from './diagnose';
import { host } from './host.svelte';
import { t } from './i18n.svelte';
import { line } from './inert';
import type { Key } from './messages';
import { router } from './route.svelte';
import { toasts } from './toast.svelte';

/** An act on a server, and what it is in words. */
export class ServerAct extends Act {
  doing = $state<Key>('doing.connect');
  /** It ends by an answer in a native dialog. */
  asks = $state(false);
  /** How it can be taken back, where it can. */
  cancel = $state<() => void>();
}

const acts = new Map<string, ServerAct>();

export function actOf(id: string): ServerAct {
  let act = acts.get(id);
  if (!act) {
    act = new ServerAct();
    acts.set(id, act);
  }
  return act;
}

type How = { doing: Key; asks?: boolean; cancel?: () => void };

export async function perform(id: string, how: How, work: () => Promise<unknown>): Promise<boolean> {
  const act = actOf(id);
  if (act.busy) return false;
  act.doing = how.doing;
  act.asks = how.asks ?? false;
  act.cancel = how.cancel;
  const done = await act.run(work);
  await host.refresh();
  if (host.servers[id]) await host.load(id).catch(() => {});
  return done;
}

const disconnect = (serverId: string) => commands.adminDisconnectServer({ serverId });

export const server = {
  connect: (serverId: string) =>
    perform(serverId, { doing: 'doing.connect', cancel: () => void disconnect(serverId).catch(() => {}) }, () =>
      commands.adminConnectServer({ serverId }),
    ),
  disconnect: (serverId: string) => perform(serverId, { doing: 'doing.disconnect' }, () => disconnect(serverId)),
  restart: (serverId: string) =>
    perform(serverId, { doing: 'doing.restart', cancel: () => void disconnect(serverId).catch(() => {}) }, () =>
      commands.adminRestartServer({ serverId }),
    ),
  confirm: (serverId: string) =>
    perform(serverId, { doing: 'doing.confirm', asks: true }, () => commands.adminConfirmServer({ serverId })),
  setEnabled: (serverId: string, enabled: boolean) =>
    perform(serverId, { doing: enabled ? 'doing.enable' : 'doing.disable' }, () =>
      commands.adminSetServerEnabled({ serverId, enabled }),
    ),

  /** Out of the file; the way back is to add the same entry again. */
  async remove(status: McpServerStatus, details: HostServer): Promise<boolean> {
    const { key, entry } = details;
    const removed = await perform(status.id, { doing: 'doing.remove' }, () =>
      commands.adminRemoveServer({ serverId: status.id }),
    );
    if (!removed) return false;
    delete host.servers[status.id];
    toasts.say(t('removed', { name: line(status.displayName, 40) }), {
      label: t('undo'),
      run: () =>
        void perform(status.id, { doing: 'doing.undo', asks: true }, () =>
          commands.adminAddServer({ key, snippet: entry }),
        ),
    });
    return true;
  },

  /** The one next step of a diagnosis. `edit` is the page's own: it opens a form. */
  step(step: Exclude<Step, 'edit'>, id: string): void {
    if (step === 'log') router.go({ page: 'servers', server: id, tab: 'log' });
    else if (step === 'enable') void server.setEnabled(id, true);
    else void server[step](id);
  },
};

/** Brings the dialog that waits for an answer of the person's own act to the front. */
export async function raiseOwn(): Promise<void> {
  const own = host.overview?.waiting.find((one) => one.caller === 'settings');
  if (own) await commands.adminRaiseWaiting({ id: own.id }).catch(() => {});
}
