// What the window knows of the host. The host hints that something changed; the window asks for it again, so that what
// is shown is always what the host says now.

import { Channel } from '@tauri-apps/api/core';
import { commands, type HostHint, type HostOverview, type HostServer } from '../bindings';
import { coalesced } from './act.svelte';
import { language, nearest } from './i18n.svelte';

class Host {
  overview = $state<HostOverview>();
  /** Why there is no overview, or why it is stale. */
  error = $state<unknown>();
  version = $state('');
  /** Servers in full, as far as they have been asked for. */
  servers = $state<Record<string, HostServer>>({});
  /** Counted up when rules, pins or modes changed. */
  policy = $state(0);

  readonly refresh = coalesced(async () => {
    try {
      this.overview = await commands.adminGetOverview();
      this.error = undefined;
    } catch (error) {
      this.error = error;
    }
  });

  async start(): Promise<void> {
    try {
      const environment = await commands.adminGetEnvironment();
      this.version = environment.version;
      language.system = nearest(environment.language);
      await commands.adminWatch(new Channel<HostHint>((hint) => this.hear(hint)));
    } catch (error) {
      this.error = error;
    }
    await this.refresh();
  }

  /** Asks for one server in full. A failure is the caller's to show. */
  async load(id: string): Promise<void> {
    this.servers[id] = await commands.adminGetServer({ serverId: id });
  }

  private readonly loading = new Map<string, () => Promise<void>>();

  private reload(id: string): void {
    let load = this.loading.get(id);
    if (!load) {
      load = coalesced(async () => {
        try {
          await this.load(id);
        } catch {
          // It is gone, or the overview says what is wrong.
          delete this.servers[id];
        }
      });
      this.loading.set(id, load);
    }
    void load();
  }

  private hear(hint: HostHint): void {
    void this.refresh();
    switch (hint.type) {
      case 'server':
        if (this.servers[hint.serverId]) this.reload(hint.serverId);
        break;
      case 'policy':
      case 'all':
        this.policy++;
        for (const id of Object.keys(this.servers)) this.reload(id);
        break;
      case 'waiting':
        break;
    }
  }
}

export const host = new Host();
