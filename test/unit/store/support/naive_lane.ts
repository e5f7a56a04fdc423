// The ready messages of a lane as a sorted list: what every lane has to agree with.

/** A ready message. */
export interface Held {
  position: number;
  ref: number;
  entry: number;
  expiryMs: number;
}

/** A lane that is plainly right. */
export class NaiveLane {
  ready: Held[] = [];
  nextPosition = 1;

  push(ref: number, entry: number, expiryMs: number): number {
    this.ready.push({ position: this.nextPosition, ref, entry, expiryMs });
    return this.nextPosition++;
  }

  restore(held: Held): void {
    this.ready.push(held);
    this.ready.sort((a, b) => a.position - b.position);
  }
}
