// The topic exchange: patterns of words separated by dots, with `*` for one word and `#` for any number
// of words. Patterns share a trie. A key walks through it word by word with the set of nodes reached so
// far, so the cost is words × nodes reached, whatever the number of bindings and of `#`.
//
//   bindings a.*.c  a.#  b         key "a.x.c" reaches: a, a.#   then a.*, a.#   then a.*.c, a.#
//   root ─ a ─ * ─ c
//      │   └── #
//      └── b
//
// As in RabbitMQ, the empty key has no words, while "a." has two words, the second one empty.

import type { Binding } from "../routing/binding.ts";
import { BindingList } from "../routing/binding.ts";
import type { RouteMessage, RouteResult } from "../routing/route.ts";
import type { ExchangeType, RoutingTable } from "../routing/contract.ts";
import { extendWordHash, TopicWords, WORD_HASH_START } from "./topic_words.ts";

const DOT = 0x2e;

class TopicNode {
  readonly parent: TopicNode | null;
  /** Id of the word that leads to this node; -1 for the root, `*` and `#`. */
  readonly wordId: number;
  readonly isHash: boolean;
  children: Map<number, TopicNode> | null = null;
  star: TopicNode | null = null;
  hash: TopicNode | null = null;
  bindings: BindingList | null = null;
  /** The step whose set last took in this node. */
  reachedStep = 0;

  constructor(parent: TopicNode | null, wordId: number, isHash: boolean) {
    this.parent = parent;
    this.wordId = wordId;
    this.isHash = isHash;
  }

  get isUnused(): boolean {
    return this.bindings === null && this.children === null && this.star === null &&
      this.hash === null;
  }
}

class TopicTable implements RoutingTable {
  readonly #words = new TopicWords();
  readonly #root = new TopicNode(null, -1, false);
  #step = 0;
  // The nodes reached before and after a word; only the first `#reachedCount` and `#nextCount` are
  // valid.
  #reached: TopicNode[] = [];
  #reachedCount = 0;
  #next: TopicNode[] = [];
  #nextCount = 0;

  bind(binding: Binding): void {
    let node = this.#root;
    if (binding.routingKey !== "") {
      for (const word of binding.routingKey.split(".")) node = this.#descend(node, word);
    }
    node.bindings ??= new BindingList();
    node.bindings.add(binding);
  }

  #descend(node: TopicNode, word: string): TopicNode {
    if (word === "*") return node.star ??= new TopicNode(node, -1, false);
    if (word === "#") return node.hash ??= new TopicNode(node, -1, true);
    const known = this.#words.find(word);
    const child = node.children?.get(known);
    if (child !== undefined) return child;
    const added = new TopicNode(node, this.#words.acquire(word), false);
    node.children ??= new Map();
    node.children.set(added.wordId, added);
    return added;
  }

  unbind(binding: Binding): void {
    let node = this.#nodeOf(binding.routingKey);
    const bindings = node.bindings!;
    bindings.remove(binding);
    if (bindings.isEmpty) node.bindings = null;
    while (node.parent !== null && node.isUnused) {
      this.#detach(node);
      node = node.parent;
    }
  }

  #nodeOf(pattern: string): TopicNode {
    let node = this.#root;
    if (pattern === "") return node;
    for (const word of pattern.split(".")) {
      if (word === "*") node = node.star!;
      else if (word === "#") node = node.hash!;
      else node = node.children!.get(this.#words.find(word))!;
    }
    return node;
  }

  #detach(node: TopicNode): void {
    const parent = node.parent!;
    if (parent.star === node) {
      parent.star = null;
    } else if (parent.hash === node) {
      parent.hash = null;
    } else {
      parent.children!.delete(node.wordId);
      if (parent.children!.size === 0) parent.children = null;
      this.#words.release(node.wordId);
    }
  }

  match(routingKey: string, _message: RouteMessage, result: RouteResult): void {
    this.#step += 1;
    this.#reach(this.#root);
    this.#swap();
    if (routingKey !== "") this.#walk(routingKey);
    for (let i = 0; i < this.#reachedCount; i++) {
      const bindings = this.#reached[i]!.bindings;
      if (bindings !== null) result.addAll(bindings);
    }
  }

  #walk(routingKey: string): void {
    let start = 0;
    let hash = WORD_HASH_START;
    for (let at = 0; at < routingKey.length; at++) {
      const unit = routingKey.charCodeAt(at);
      if (unit !== DOT) {
        hash = extendWordHash(hash, unit);
        continue;
      }
      this.#takeWord(this.#words.findIn(routingKey, start, at, hash));
      if (this.#reachedCount === 0) return;
      start = at + 1;
      hash = WORD_HASH_START;
    }
    this.#takeWord(this.#words.findIn(routingKey, start, routingKey.length, hash));
  }

  // Adds the nodes that follow the reached nodes by one more word.
  #takeWord(wordId: number): void {
    this.#step += 1;
    for (let i = 0; i < this.#reachedCount; i++) {
      const node = this.#reached[i]!;
      if (node.isHash) this.#reach(node);
      if (node.star !== null) this.#reach(node.star);
      if (wordId < 0 || node.children === null) continue;
      const child = node.children.get(wordId);
      if (child !== undefined) this.#reach(child);
    }
    this.#swap();
  }

  // Adds a node and the chain of `#` below it, because `#` also matches no word.
  #reach(from: TopicNode): void {
    let node: TopicNode | null = from;
    while (node !== null && node.reachedStep !== this.#step) {
      node.reachedStep = this.#step;
      this.#next[this.#nextCount++] = node;
      node = node.hash;
    }
  }

  #swap(): void {
    const reached = this.#reached;
    this.#reached = this.#next;
    this.#reachedCount = this.#nextCount;
    this.#next = reached;
    this.#nextCount = 0;
  }
}

/** The type `topic`. */
export const TOPIC: ExchangeType = {
  name: "topic",
  usesRoutingKey: true,
  createTable: () => new TopicTable(),
};
