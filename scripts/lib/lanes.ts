// Works off pieces of work side by side, in several lanes. A piece may have to wait for another, or be
// alone: then it comes last, when nothing else runs. Used by scripts/ci.ts; it does not know what they do.

/** What is known of a piece of work. */
export interface Piece {
  readonly name: string;
  /** Name of a piece before it that must have ended. */
  readonly after?: string;
  /** Whether nothing may run beside it. */
  readonly isAlone?: boolean;
}

/** Does every piece, the first ones first; the results are in the order of the pieces. */
export async function runLanes<P extends Piece, R>(
  pieces: readonly P[],
  laneCount: number,
  work: (piece: P) => Promise<R>,
): Promise<R[]> {
  const unknown = pieces.find(({ after }) =>
    after !== undefined && pieces.every(({ name, isAlone }) => name !== after || isAlone === true)
  );
  if (unknown !== undefined) throw new Error(`${unknown.name} waits for what is not there`);
  const results = new Map<string, R>();
  const waiting = pieces.filter(({ isAlone }) => isAlone !== true);
  // What others wait for and what runs: a lane that finds nothing waits for the next end.
  let wake = Promise.withResolvers<void>();
  const lane = async (): Promise<void> => {
    while (waiting.length > 0) {
      const next = waiting.findIndex(({ after }) => after === undefined || results.has(after));
      if (next < 0) {
        await wake.promise;
        continue;
      }
      const [piece] = waiting.splice(next, 1);
      results.set(piece!.name, await work(piece!));
      wake.resolve();
      wake = Promise.withResolvers();
    }
  };
  await Promise.all(Array.from({ length: laneCount }, lane));
  for (const piece of pieces) {
    if (piece.isAlone === true) results.set(piece.name, await work(piece));
  }
  return pieces.map(({ name }) => results.get(name)!);
}
