/** Results by key; only the last few are kept. */

export class Recent<T> {
  private readonly kept = new Map<string, T>();

  constructor(private readonly most: number) {}

  /** The result of a key, made if it is not there. */
  of(key: string, make: () => T): T {
    const found = this.kept.get(key) ?? make();
    // The last one used goes to the end.
    this.kept.delete(key);
    this.kept.set(key, found);
    if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value as string);
    return found;
  }
}
