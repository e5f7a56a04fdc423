// The gate over the folders: what is planted is found, and the house as it stands has nothing to find.
// Runs under Deno alone, which knows the imports of every file.
import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Arrow, draw, findCircle, problems, unusedDoors } from "../../../scripts/folders.ts";
import { folderProblem, FOLDERS } from "../../../scripts/lint/folders.ts";

function arrows(...pairs: [from: string, to: string][]): Arrow[] {
  return pairs.map(([from, to]) => ({ from: `src/${from}`, to: `src/${to}` }));
}

function caught(from: string, to: string, text: string): void {
  assertStringIncludes(folderProblem(`src/${from}`, `src/${to}`) ?? "nothing", text);
}

Deno.test("draw() counts imports between folders, rooms without folders as one", () => {
  const drawing = draw(arrows(
    ["broker/queue/queue.ts", "broker/retry/retries.ts"],
    ["broker/queue/settlement.ts", "broker/retry/rules.ts"],
    ["broker/queue/queue.ts", "broker/queue/consumer.ts"],
    ["broker/broker.ts", "broker/limits.ts"],
    ["amqp/frame.ts", "lib/bytes.ts"],
  ));
  assertEquals(
    [...drawing].map(([folder, targets]) => [folder, ...targets]),
    [
      ["broker/queue", ["broker/retry", 2]],
      ["broker/broker.ts", ["broker", 1]],
      ["amqp", ["lib", 1]],
    ],
  );
});

Deno.test("findCircle() names the folders of a circle and finds none in a tree", () => {
  const tree = arrows(
    ["broker/queue/a.ts", "broker/retry/a.ts"],
    ["broker/topology/a.ts", "broker/queue/a.ts"],
    ["broker/topology/a.ts", "broker/retry/a.ts"],
  );
  assertEquals(findCircle(draw(tree)), null);
  const ring = [...tree, ...arrows(["broker/retry/a.ts", "broker/topology/a.ts"])];
  assertEquals(findCircle(draw(ring)), [
    "broker/queue",
    "broker/retry",
    "broker/topology",
    "broker/queue",
  ]);
});

Deno.test("folderProblem() refuses arrows against the order, inner files and unknown folders", () => {
  caught("broker/retry/retries.ts", "broker/queue/queue.ts", "against the order");
  caught("broker/limits.ts", "broker/queue/queue.ts", "against the order");
  caught("broker/topology/vhost.ts", "broker/broker.ts", "against the order");
  caught("broker/queue/queue.ts", "broker/retry/due_messages.ts", "is inside broker/retry");
  caught("session/channel.ts", "broker/retry/due_messages.ts", "is inside broker/retry");
  caught("broker/broker.ts", "broker/novelty/a.ts", "table of folders");
  caught("broker/novelty/a.ts", "broker/limits.ts", "table of folders");
  caught("session/channel.ts", "broker/novelty/a.ts", "table of folders");
  assertEquals(
    folderProblem("src/broker/queue/queue.ts", "src/broker/retry/retries.ts"),
    undefined,
  );
  assertEquals(folderProblem("src/broker/retry/a.ts", "src/broker/retry/b.ts"), undefined);
  assertEquals(folderProblem("core-wasm/a/b.ts", "core-wasm/c/d.ts"), undefined);
});

Deno.test("unusedDoors() names the doors that only their own folder uses", () => {
  const used = Object.entries(FOLDERS).flatMap(([room, folders]) =>
    folders.flatMap(({ name, doors = [] }) =>
      doors.map((door): [string, string] => ["server.ts", `${room}/${name}/${door}`])
    )
  );
  assertEquals(unusedDoors(arrows(...used)), []);
  const inner = used.map(([from, to]): [string, string] =>
    to === "store/upkeep/keeper.ts" ? ["store/upkeep/rescue.ts", to] : [from, to]
  );
  assertEquals(unusedDoors(arrows(...inner)), ["store/upkeep/keeper.ts"]);
});

Deno.test("problems() reports a planted arrow once and a circle of rooms", () => {
  const found = problems(arrows(
    ["broker/queue/queue.ts", "session/channel.ts"],
    ["session/channel.ts", "broker/queue/queue.ts"],
  )).filter((line) => !line.includes("door"));
  assertEquals(found, [
    "src/broker/queue/queue.ts: broker may not import session: against the direction of the layers",
    "a circle of folders: broker/queue -> session -> broker/queue",
  ]);
});
