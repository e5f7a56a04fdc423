// Precedence, refusals and defaults of the configuration.

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { DEFAULT_LIMITS, MEMORY_BYTES_MIN } from "../../src/broker/limits.ts";
import { ConfigError, type ConfigSources, defaultConfig, loadCommand } from "../../src/config.ts";
import { keyOf, SETTINGS, variableOf } from "../../src/config/settings.ts";

function sources(
  args: string[],
  environment: Record<string, string> = {},
  files: Record<string, string> = {},
): ConfigSources {
  return {
    args,
    environment: () => environment,
    readTextFile: (path) => {
      const text = files[path];
      if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'\nat somewhere`);
      return text;
    },
  };
}

function run(...given: Parameters<typeof sources>) {
  const command = loadCommand(sources(...given));
  if (command.kind !== "run") throw new Error(`expected run, got ${command.kind}`);
  return command.config;
}

function refusal(...given: Parameters<typeof sources>): string {
  const error = assertThrows(() => loadCommand(sources(...given)), ConfigError);
  assertEquals(error.message.includes("\n"), false, "a refusal is one line");
  return error.message;
}

Deno.test("loadCommand() gives the defaults when nothing is set", () => {
  const config = run([]);
  assertEquals(config, defaultConfig());
  assertEquals(config.bind, "127.0.0.1");
  assertEquals([config.amqpPort, config.httpPort], [5672, 15672]);
  assertEquals(config.limits, { ...DEFAULT_LIMITS });
});

Deno.test("loadCommand() reads every main flag in both spellings", () => {
  const config = run([
    "--bind",
    "::1",
    "--amqp-port=0",
    "--http-port",
    "8080",
    "--log-level=debug",
  ]);
  assertEquals(config.bind, "::1");
  assertEquals([config.amqpPort, config.httpPort], [0, 8080]);
  assertEquals(config.logLevel, "debug");
});

Deno.test("loadCommand() accepts --memory bare, with a value and from the environment", () => {
  const isInMemory = (...given: Parameters<typeof sources>) => run(...given).isInMemory;
  assertEquals(run([]).dataDir, "reprise-data");
  assertEquals(isInMemory([]), false);
  assertEquals(isInMemory(["--memory"]), true);
  assertEquals(isInMemory(["--memory=true", "--amqp-port", "1"]), true);
  assertEquals(isInMemory([], { REPRISE_MEMORY: "true" }), true);
  assertEquals(isInMemory(["--memory=false"], { REPRISE_MEMORY: "true" }), false);
  assertEquals(isInMemory(["--memory", "--memory=false", "--data-dir", "a"]), false);
});

/** Where a configuration keeps its data. */
function place(...given: Parameters<typeof sources>): string | null {
  const { isInMemory, dataDir } = run(...given);
  return isInMemory ? null : dataDir;
}

Deno.test("loadCommand() refuses memory and a data folder in one source, whatever their order", () => {
  const refused = "exclude each other, use one of them";
  for (const args of [["--data-dir", "a", "--memory"], ["--memory", "--data-dir=a"]]) {
    assertEquals(refusal(args), `--memory and --data-dir ${refused}`);
  }
  const environment = { REPRISE_DATA_DIR: "a", REPRISE_MEMORY: "true" };
  assertEquals(refusal([], environment), `REPRISE_MEMORY=true and REPRISE_DATA_DIR ${refused}`);
  for (const f of ['{"dataDir": "a", "memory": true}', '{"memory": true, "dataDir": "a"}']) {
    assertEquals(refusal(["--config", "f"], {}, { f }), `f: memory and dataDir ${refused}`);
  }
  // A contradiction is one also where a stronger source would settle it.
  assertStringIncludes(refusal(["--memory"], environment), refused);
});

Deno.test("loadCommand() takes memory or a data folder from the strongest source that says", () => {
  const memory = { REPRISE_MEMORY: "true" };
  const folder = { REPRISE_DATA_DIR: "e" };
  const memoryFile = { f: '{"memory": true}' };
  const folderFile = { f: '{"dataDir": "f"}' };
  const file = ["--config", "f"];
  assertEquals(place(["--data-dir", "a"], memory), "a");
  assertEquals(place(["--memory"], folder), null);
  assertEquals(place(["--data-dir", "a", ...file], {}, memoryFile), "a");
  assertEquals(place(file, folder, memoryFile), "e");
  assertEquals(place(file, memory, folderFile), null);
  assertEquals(place(file, {}, memoryFile), null);
  // Taking memory back gives what the others say.
  assertEquals(place(["--memory=false"], folder), "e");
  assertEquals(place(["--memory=false", ...file], memory, folderFile), "f");
  assertEquals(place(["--memory=false"], memory), "reprise-data");
  assertEquals(place(file, { REPRISE_MEMORY: "false" }, memoryFile), "reprise-data");
  // Saying no to memory beside a folder contradicts nothing.
  assertEquals(place(["--data-dir", "a", "--memory=false"]), "a");
  assertEquals(place([], { ...folder, REPRISE_MEMORY: "false" }), "e");
  assertEquals(place(file, {}, { f: '{"memory": false, "dataDir": "f"}' }), "f");
});

Deno.test("loadCommand() takes the data folder from every source", () => {
  assertEquals(run(["--data-dir", "/tmp/x"]).dataDir, "/tmp/x");
  assertEquals(run([], { REPRISE_DATA_DIR: "y z" }).dataDir, "y z");
  assertEquals(run(["--config", "f"], {}, { f: '{"dataDir": "x"}' }).dataDir, "x");
  assertEquals(run(["--data-dir=a"], { REPRISE_MEMORY: "true" }).dataDir, "a");
  assertStringIncludes(refusal(["--data-dir="]), '--data-dir: "" is not accepted, use the path');
});

Deno.test("loadCommand() reads how the store is to work", () => {
  const config = run(["--no-sync", "--disk-free-min", "50M"]);
  assertEquals([config.isSynced, config.diskFreeBytesMin], [false, 50 * 1024 * 1024]);
  assertEquals(run([]).isSynced, true);
  assertEquals(run(["--no-sync=false"], { REPRISE_NO_SYNC: "true" }).isSynced, true);
  const file = '{"noSync": true, "diskFreeMin": 1000}';
  const fromFile = run(["--config", "f"], {}, { f: file });
  assertEquals([fromFile.isSynced, fromFile.diskFreeBytesMin], [false, 1000]);
});

Deno.test("loadCommand() reads amounts of bytes with units", () => {
  const mib = 1024 * 1024;
  const amounts: [string, number][] = [
    ["200000000", 200_000_000],
    ["300000k", 300_000 * 1024],
    ["512M", 512 * mib],
    ["512MB", 512 * mib],
    ["512MiB", 512 * mib],
    ["2g", 2048 * mib],
    ["1T", mib * mib],
    ["1Gi", 1024 * mib],
    ["1.5G", 1536 * mib],
    ["0.5 GiB", 512 * mib],
    ["20M", 20 * mib],
  ];
  for (const [text, bytes] of amounts) {
    assertEquals(run(["--disk-free-min", text]).diskFreeBytesMin, bytes, text);
  }
  for (const text of ["", "1.5", "1.G", ".5G", "-1", "1X", "M", "1e9", "9999999999T"]) {
    assertStringIncludes(refusal([`--disk-free-min=${text}`]), "--disk-free-min: ");
  }
});

Deno.test("loadCommand() reads an amount of bytes alike in every source and setting", () => {
  const bytes = 20 * 1024 * 1024;
  const settings = SETTINGS.filter(({ accepted }) => accepted.startsWith("an amount of bytes"));
  assertEquals(settings.length, 2 + Object.keys(DEFAULT_LIMITS).filter(isBytes).length);
  for (const setting of settings) {
    const key = keyOf(setting);
    const large = key === "maxMemory" || key === "memoryBytesMax";
    const text = large ? "200M" : key === "inputBytesPerTurn" ? "8M" : "12M";
    const file = setting.group === undefined ? { [key]: text } : { limits: { [key]: text } };
    const fromFlag = run([`--${setting.name}=${text}`]);
    assertEquals(run([], { [variableOf(setting)]: text }), fromFlag, setting.name);
    assertEquals(run(["--config", "f"], {}, { f: JSON.stringify(file) }), fromFlag, setting.name);
  }
  assertEquals(run(["--message-bytes-max", "20M"]).limits.messageBytesMax, bytes);
  assertEquals(
    refusal(["--frame-bytes-max=1K"]),
    '--frame-bytes-max: "1K" is not accepted, use an amount of bytes from 4K to 16M, ' +
      "like 900K, 20M, 1.5G or 1500000000",
  );
});

function isBytes(key: string): boolean {
  return key.includes("Bytes");
}

Deno.test("loadCommand() refuses a size of messages that does not fit into their memory", () => {
  assertEquals(
    refusal(["--max-memory", "256M", "--message-bytes-max", "13M"]),
    'message-bytes-max: "13M" is not accepted, use at most 12M, ' +
      "an eighth of the memory of messages (96M)",
  );
  const { limits } = run(["--max-memory", "256M", "--message-bytes-max", "12M"]);
  assertEquals(limits.messageBytesMax, 12 * 1024 * 1024);
  // The default is lowered to what fits.
  run(["--max-memory", "256M"]);
});

Deno.test("loadCommand() gives messages what --max-memory leaves, or what is said", () => {
  const mib = 1024 * 1024;
  assertEquals(run(["--max-memory", "256M"]).limits.memoryBytesMax, 96 * mib);
  // The least that works: what is left beside the program is the least memory of messages.
  assertEquals(run(["--max-memory", "156M"]).limits.memoryBytesMax, MEMORY_BYTES_MIN);
  assertStringIncludes(refusal(["--max-memory", "155M"]), "use an amount of bytes from 156M");
  assertStringIncludes(refusal(["--memory-bytes-max", "15M"]), "use an amount of bytes from 16M");
  const both = ["--memory-bytes-max", "50000000", "--max-memory", "1G"];
  assertEquals(run(both).limits.memoryBytesMax, 50_000_000);
  const environment = { REPRISE_MEMORY_BYTES_MAX: "50000000", REPRISE_MAX_MEMORY: "1G" };
  assertEquals(run([], environment).limits.memoryBytesMax, 50_000_000);
  assertEquals(run(["--max-memory", "256M"], environment).limits.memoryBytesMax, 96 * mib);
});

Deno.test("loadCommand() knows the command that checks a folder", () => {
  const check = (args: string[], environment = {}) => loadCommand(sources(args, environment));
  assertEquals(check(["check"]), { kind: "check", dataDir: "reprise-data" });
  assertEquals(check(["check", "--data-dir", "x"]), { kind: "check", dataDir: "x" });
  const fromEnvironment = check(["check"], { REPRISE_DATA_DIR: "y" });
  assertEquals(fromEnvironment, { kind: "check", dataDir: "y" });
  assertEquals(check(["check", "--help"]).kind, "help");
  assertStringIncludes(refusal(["check", "--amqp-port", "1"]), "unknown flag of check --amqp-port");
  assertStringIncludes(refusal(["check", "x"]), "unknown argument x");
  const inMemory = { REPRISE_MEMORY: "true" };
  assertStringIncludes(refusal(["check"], inMemory), "nothing to check, use --data-dir");
  assertEquals(check(["check", "--data-dir", "x"], inMemory), { kind: "check", dataDir: "x" });
});

Deno.test("loadCommand() lets flags win over the environment and the environment over the file", () => {
  const file = '{"amqpPort": 1, "httpPort": 2, "logLevel": "error"}';
  const environment = {
    REPRISE_CONFIG: "a.json",
    REPRISE_HTTP_PORT: "3",
    REPRISE_LOG_LEVEL: "info",
  };
  const config = run(["--log-level", "debug"], environment, { "a.json": file });
  assertEquals([config.amqpPort, config.httpPort, config.logLevel], [1, 3, "debug"]);
});

Deno.test("loadCommand() takes --config over REPRISE_CONFIG", () => {
  const files = { "a.json": '{"amqpPort": 1}', "b.json": '{"amqpPort": 2}' };
  assertEquals(run(["--config", "b.json"], { REPRISE_CONFIG: "a.json" }, files).amqpPort, 2);
});

Deno.test("loadCommand() sets every limit from flag, environment and file", () => {
  for (const key of Object.keys(DEFAULT_LIMITS) as (keyof typeof DEFAULT_LIMITS)[]) {
    const value = key === "channelMax" ? 9 : key === "memoryBytesMax" ? 20_000_000 : 2_000_000;
    const usable = ["heartbeatSeconds"].includes(key) ? 7 : value;
    const dashed = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const variable = `REPRISE_${dashed.replaceAll("-", "_").toUpperCase()}`;
    const amount = /connectionCountMax$/i.test(key) ? 99 : usable;
    assertEquals(run([`--${dashed}`, String(amount)]).limits[key], amount, dashed);
    assertEquals(run([], { [variable]: String(amount) }).limits[key], amount, variable);
    const files = { f: JSON.stringify({ limits: { [key]: amount } }) };
    assertEquals(run(["--config", "f"], {}, files).limits[key], amount, key);
  }
});

Deno.test("loadCommand() refuses an unknown flag with the accepted ones", () => {
  const message = refusal(["--amqp-prot", "1"]);
  assertStringIncludes(
    message,
    "unknown flag --amqp-prot, did you mean --amqp-port? accepted: --bind --amqp-port",
  );
  assertStringIncludes(message, "--help");
  assertStringIncludes(refusal(["--amqpPort", "1"]), "did you mean --amqp-port?");
  assertStringIncludes(refusal(["--data-directory", "x"]), "did you mean --data-dir?");
  assertStringIncludes(refusal(["--log-level=warning"]), '"warning" is not accepted, did you mean');
  assertStringIncludes(refusal(["--nonsense"]), "unknown flag --nonsense, accepted: --bind");
  assertStringIncludes(refusal(["serve"]), "unknown argument serve");
  assertStringIncludes(refusal(["chekc"]), "unknown argument chekc, did you mean check?");
});

Deno.test("loadCommand() refuses a wrong value with the accepted ones", () => {
  assertEquals(
    refusal(["--amqp-port", "x"]),
    '--amqp-port: "x" is not accepted, use a whole number from 0 to 65535',
  );
  for (const port of ["-1", "65536", "1.5", "", " 1", "1e3", "0x10"]) {
    assertStringIncludes(refusal([`--amqp-port=${port}`]), "--amqp-port");
  }
  assertEquals(
    refusal([], { REPRISE_LOG_LEVEL: "loud" }),
    'REPRISE_LOG_LEVEL: "loud" is not accepted, use debug, info, warn, error',
  );
  assertEquals(
    refusal(["--config", "f"], {}, { f: '{"limits": {"channelMax": 0}}' }),
    "f: limits.channelMax: 0 is not accepted, use a whole number from 1 to 65535",
  );
  assertStringIncludes(refusal(["--memory=no"]), "--memory");
});

Deno.test("loadCommand() refuses a flag without its value", () => {
  assertStringIncludes(refusal(["--bind"]), "--bind: a value is missing");
  assertStringIncludes(refusal(["--bind", "--memory"]), "--bind: a value is missing");
  assertStringIncludes(refusal(["--config"]), "--config: a value is missing");
});

Deno.test("loadCommand() refuses unknown variables of ours and leaves others alone", () => {
  assertStringIncludes(
    refusal([], { REPRISE_AMQP_PROT: "1" }),
    "unknown environment variable REPRISE_AMQP_PROT, did you mean REPRISE_AMQP_PORT? accepted: ",
  );
  assertEquals(run([], { PATH: "/bin", REPRISED: "1" }), defaultConfig());
});

Deno.test("loadCommand() leaves alone what Kubernetes sets for a service of that name", () => {
  const links = {
    REPRISE_SERVICE_HOST: "10.0.0.1",
    REPRISE_SERVICE_PORT: "5672",
    REPRISE_SERVICE_PORT_AMQP: "5672",
    REPRISE_PORT: "tcp://10.0.0.1:5672",
    REPRISE_PORT_5672_TCP: "tcp://10.0.0.1:5672",
    REPRISE_PORT_5672_TCP_PROTO: "tcp",
  };
  assertEquals(run([], links), defaultConfig());
  assertEquals(run([], { ...links, REPRISE_AMQP_PORT: "7" }).amqpPort, 7);
  assertStringIncludes(refusal([], { REPRISE_PORTS: "1" }), "unknown environment variable");
  assertStringIncludes(refusal([], { REPRISE_SERVICES: "1" }), "unknown environment variable");
});

Deno.test("loadCommand() refuses a file that is missing, not JSON, or has unknown names", () => {
  assertMatch(
    refusal(["--config", "no.json"]),
    /^cannot read the configuration file no\.json: ENOENT/,
  );
  assertMatch(refusal(["--config", "f"], {}, { f: "{" }), /^f: not JSON at line 1, column 2: /);
  assertStringIncludes(refusal(["--config", "f"], {}, { f: "[]" }), "f: [] is not accepted");
  assertStringIncludes(
    refusal(["--config", "f"], {}, { f: '{"port": 1}' }),
    'f: unknown setting "port", accepted: bind amqpPort',
  );
  assertStringIncludes(
    refusal(["--config", "f"], {}, { f: '{"limits": {"x": 1}}' }),
    'f: limits: unknown limit "x", accepted: connectionCountMax',
  );
  assertStringIncludes(
    refusal(["--config", "f"], {}, { f: '{"amqp-port": 1}' }),
    'f: unknown setting "amqp-port", did you mean amqpPort? accepted: ',
  );
  assertStringIncludes(
    refusal(["--config", "f"], {}, { f: '{"amqpPort": "5672"}' }),
    'f: amqpPort: "5672" is not accepted, use a whole number',
  );
});

Deno.test("loadCommand() reads users from the file and from the environment", () => {
  const users = [{ name: "app", password: "secret" }, {
    name: "guest",
    password: "x",
    tags: ["monitoring"],
  }];
  const expected = [
    { name: "app", password: "secret", tags: [], loopbackOnly: false },
    { name: "guest", password: "x", tags: ["monitoring"], loopbackOnly: true },
  ];
  assertEquals(run(["--config", "f"], {}, { f: JSON.stringify({ users }) }).users, expected);
  assertEquals(run([], { REPRISE_USERS: JSON.stringify(users) }).users, expected);
});

Deno.test("loadCommand() refuses users with the entry and the rule, and shows no password", () => {
  const wrong: [string, string][] = [
    ["x", "not JSON at line 1, column 1: expected a value"],
    [
      '[{"name": "a", "password": "hunter2"',
      "not JSON at line 1, column 37: expected a comma or }",
    ],
    ['[{"name": "a", "password": "hunter2\n"}]', "column 28: expected text that ends with"],
    ['[{"name": "a", "password": "hunter2"}] hunter2', "column 40: expected the end of the text"],
    ['[{"name": "a", "name": "b", "password": "hunter2"}]', 'each name once, "name" stands there'],
    ["[]", "[] is not accepted, use at least one user"],
    ['{"a": "hunter2"}', "this value is not accepted, use a JSON array"],
    ['"hunter2"', "this value is not accepted, use a JSON array"],
    ['["hunter2"]', "user 1: this value is not accepted, use an object with name, password"],
    ['[{"name": "a"}]', 'user 1 ("a"): password is missing'],
    ['[{"password": "hunter2"}]', "user 1: name is missing"],
    ['[{"name": "", "password": "hunter2"}]', 'user 1: name: "" is not accepted, use text that is'],
    ['[{"name": "a", "password": ""}]', 'user 1 ("a"): password: this value is not accepted, use'],
    ['[{"name": "a", "password": ["hunter2"]}]', 'user 1 ("a"): password: this value is not'],
    [
      '[{"name": "b", "password": "x"}, {"name": "a", "password": "hunter2", "tags": ["adminstrator"]}]',
      'user 2 ("a"): tags: tag 1: "adminstrator" is not accepted, did you mean administrator? use administrator, monitor',
    ],
    ['[{"name": "a", "password": "hunter2", "tags": "monitoring"}]', "use a list of administrator"],
    [
      '[{"name": "a", "pasword": "hunter2"}]',
      'user 1 ("a"): unknown key "pasword", did you mean password? accepted: name password tags',
    ],
    [
      '[{"name": "a", "password": "hunter2"}, {"name": "a", "password": "hunter2"}]',
      'user 2 ("a"): the name is that of user 1, use unique names',
    ],
    [
      '[{"name": "a", "password": "hunter2", "loopbackOnly": 1}]',
      "loopbackOnly: 1 is not accepted",
    ],
    ["[".repeat(40), "at most 32 lists and objects"],
  ];
  for (const [text, expected] of wrong) {
    const fromVariable = refusal([], { REPRISE_USERS: text });
    assertStringIncludes(fromVariable, "REPRISE_USERS: ", text);
    assertStringIncludes(fromVariable, expected, text);
    const fromFile = refusal(["--config", "f"], {}, { f: `{"users": ${text}}` });
    assertStringIncludes(fromFile, "f: ", text);
    for (const message of [fromVariable, fromFile]) {
      assertEquals(message.includes("hunter2"), false, message);
    }
  }
});

Deno.test("loadCommand() shows no secret that stands in the wrong place", () => {
  const users = '[{"name": "a", "password": "hunter2"}]';
  const messages = [
    refusal([`--users=${users}`]),
    refusal(["--users", users]),
    refusal(["amqp://a:hunter2@host"]),
    refusal(["--config", "f"], {}, { f: `{"bind": ${users}}` }),
    refusal(["--config", "f"], {}, { f: `{"limits": ${users}}` }),
    refusal(["--config", "f"], {}, { f: `{"user": ${users}}` }),
    refusal(["--config", "f"], {}, { f: users }),
    refusal([], { REPRISE_USER: users }),
  ];
  for (const message of messages) assertEquals(message.includes("hunter2"), false, message);
  assertEquals(messages[0], '--users is no flag, use REPRISE_USERS or "users" in the file');
});

Deno.test("loadCommand() answers --help and --version before it reads anything else", () => {
  const silent: Omit<ConfigSources, "args"> = {
    environment: () => {
      throw new Error("not to be read");
    },
    readTextFile: () => {
      throw new Error("not to be read");
    },
  };
  const help = loadCommand({ args: ["--help"], ...silent });
  if (help.kind !== "help") throw new Error("expected help");
  for (const name of ["--bind", "--amqp-port", "--config", "--channel-max", "REPRISE_AMQP_PORT"]) {
    assertStringIncludes(help.text, name);
  }
  assertEquals(loadCommand({ args: ["--version"], ...silent }), { kind: "version" });
  assertEquals(loadCommand({ args: ["-h"], ...silent }).kind, "help");
});

Deno.test("loadCommand() says so when the environment may not be read", () => {
  const denied = {
    ...sources([]),
    environment: () => {
      throw new Error("Requires env access, run again with the --allow-env flag");
    },
  };
  const error = assertThrows(() => loadCommand(denied), ConfigError);
  assertStringIncludes(error.message, "cannot read the environment: Requires env access");
});
