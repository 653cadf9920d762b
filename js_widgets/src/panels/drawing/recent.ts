/** Results by key; only the last few are kept. */

export class Recent<T> {
  private readonly kept = new Map<string, T>();

  constructor(
    private readonly most: number,
    private readonly dropped: (result: T) => void = () => {},
  ) {}

  /** The result of a key, made if it is not there. */
  of(key: string, make: () => T): T {
    const found = this.kept.get(key) ?? make();
    // The last one used goes to the end.
    this.kept.delete(key);
    this.kept.set(key, found);
    if (this.kept.size > this.most) {
      const [[oldest, result]] = this.kept;
      this.kept.delete(oldest);
      this.dropped(result);
    }
    return found;
  }
}
