// What has just been done, said in passing, with a way back where there is one.

export type Toast = { id: number; text: string; action?: { label: string; run: () => void } };

/** Long enough to read and reach; a toast with a way back stays longer. */
const STAYS_MS = 5000;
const STAYS_WITH_ACTION_MS = 15_000;

class Toasts {
  list = $state<Toast[]>([]);
  private next = 0;

  say(text: string, action?: Toast['action']): void {
    const id = ++this.next;
    this.list.push(action ? { id, text, action } : { id, text });
    setTimeout(() => this.end(id), action ? STAYS_WITH_ACTION_MS : STAYS_MS);
  }

  end(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
