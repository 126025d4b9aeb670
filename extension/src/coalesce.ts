// Work that may be asked for at any time: one at a time, and of those that wait only the last.

/** Runs `work` now, or once more after the present round, however often it was asked for meanwhile. */
export class Coalesced {
  private running: Promise<void> | undefined;
  private next: Promise<void> | undefined;

  constructor(private readonly work: () => Promise<void>) {}

  /** Settles with the round that began after this call. */
  request(): Promise<void> {
    if (this.next !== undefined) return this.next;
    if (this.running === undefined) return this.begin();
    const go = (): Promise<void> => {
      this.next = undefined;
      return this.begin();
    };
    this.next = this.running.then(go, go);
    return this.next;
  }

  private begin(): Promise<void> {
    const round = this.work().finally(() => {
      if (this.running === round) this.running = undefined;
    });
    this.running = round;
    return round;
  }
}

/** Calls `work` once things have been quiet for `quietMs`, and at the latest after `mostMs`. */
export class Debounced {
  private timer: NodeJS.Timeout | undefined;
  private since = 0;

  constructor(
    private readonly work: () => void,
    private readonly quietMs: number,
    private readonly mostMs: number,
  ) {}

  poke(): void {
    const now = Date.now();
    if (this.timer === undefined) this.since = now;
    else clearTimeout(this.timer);
    const wait = Math.max(0, Math.min(this.quietMs, this.since + this.mostMs - now));
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.work();
    }, wait);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
