// Finds connection.close-ok in bytes that can no longer be cut into frames, after a frame error. The
// client can thus still read our close and end the connection in good order. connection.ts uses it.

// type 1, channel 0, 4 bytes of payload, class 10, method 51, end octet
const CLOSE_OK = Uint8Array.of(1, 0, 0, 0, 0, 0, 4, 0, 10, 0, 51, 0xce);

/** Looks for the one frame, however its bytes are split into chunks. */
export class CloseOkSearch {
  readonly #last = new Uint8Array(CLOSE_OK.length);
  #isFound = false;

  /** Returns true once the frame has come. */
  offer(bytes: Uint8Array): boolean {
    for (let i = 0; i < bytes.length && !this.#isFound; i++) {
      this.#last.copyWithin(0, 1);
      this.#last[CLOSE_OK.length - 1] = bytes[i]!;
      this.#isFound = bytes[i] === 0xce && this.#matches();
    }
    return this.#isFound;
  }

  #matches(): boolean {
    for (let i = 0; i < CLOSE_OK.length; i++) {
      if (this.#last[i] !== CLOSE_OK[i]) return false;
    }
    return true;
  }
}
