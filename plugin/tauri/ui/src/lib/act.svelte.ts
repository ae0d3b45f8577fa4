// One thing that the person does: whether it is going on, whether it takes long, what it failed with.

/** What takes longer than this shows that it goes on. */
const SLOW_MS = 1000;

export class Act {
  busy = $state(false);
  /** It has been going on for more than a second. */
  slow = $state(false);
  error = $state<unknown>();

  /** Runs `work` unless it is running already. Resolves to whether it succeeded; never rejects. */
  async run(work: () => Promise<unknown>): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.error = undefined;
    const timer = setTimeout(() => {
      this.slow = true;
    }, SLOW_MS);
    try {
      await work();
      return true;
    } catch (error) {
      this.error = error ?? new Error('unknown');
      return false;
    } finally {
      clearTimeout(timer);
      this.busy = false;
      this.slow = false;
    }
  }
}

/** Runs `work` once at a time; what is asked for meanwhile is one further run. */
export function coalesced(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let again = false;
  return () => {
    if (running) {
      again = true;
      return running;
    }
    running = (async () => {
      try {
        do {
          again = false;
          await work();
        } while (again);
      } finally {
        running = undefined;
      }
    })();
    return running;
  };
}
