// What a pure room may not reach for, and how a use of it is told from a property of the same name.
// Called by the rule no-ambient with each identifier; it reports nothing itself.

const REASONS: readonly (readonly [reason: string, names: string])[] = [
  ["time is passed in", "performance Temporal"],
  ["randomness is passed in", "crypto"],
  [
    "timers belong to the runtime",
    "setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate " +
    "queueMicrotask requestAnimationFrame requestIdleCallback AbortSignal",
  ],
  ["output goes through the logger port", "console reportError"],
  [
    "the runtime stays in src/runtime",
    "Deno Bun process Buffer require __dirname __filename globalThis fetch WebSocket EventSource " +
    "XMLHttpRequest Worker SharedWorker BroadcastChannel MessageChannel localStorage " +
    "sessionStorage navigator",
  ],
  ["the result depends on the machine", "Intl FinalizationRegistry WeakRef SharedArrayBuffer"],
  ["code is not made at run time", "eval Function"],
];

/** Names that are forbidden as such: not even for something local, so that no reader is misled. */
const FORBIDDEN: ReadonlyMap<string, string> = new Map(
  REASONS.flatMap(([reason, names]) => names.split(" ").map((name) => [name, reason] as const)),
);

/** Names that also make good local ones: forbidden unless the file declares them itself. */
const FORBIDDEN_UNDECLARED: ReadonlyMap<string, string> = new Map(
  "self window global scheduler caches location alert confirm prompt addEventListener postMessage"
    .split(" ").map((name) => [name, "the runtime stays in src/runtime"] as const),
);

/** The members of Math and Date that are pure. */
const DATE_MEMBERS = new Set(["UTC"]);
const MATH_IMPURE = new Set(["random"]);

type Node = Deno.lint.Node;

/** What is needed of a node to tell whether it is another one. */
interface Place {
  type: string;
  range: [start: number, end: number];
}

function isSame(a: Place | null | undefined, b: Place): boolean {
  return a?.range[0] === b.range[0] && a.range[1] === b.range[1] && a.type === b.type;
}

/** True where an identifier only names a member, a key or a label and refers to nothing. */
function isName(node: Deno.lint.Identifier): boolean {
  const parent = node.parent;
  switch (parent.type) {
    case "MemberExpression":
      return !parent.computed && isSame(parent.property, node);
    case "Property":
      return !parent.computed && !parent.shorthand && isSame(parent.key, node);
    case "MethodDefinition":
    case "PropertyDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
    case "TSAbstractMethodDefinition":
    case "TSAbstractPropertyDefinition":
      return !("computed" in parent && parent.computed) && isSame(parent.key, node);
    case "TSQualifiedName":
      return isSame(parent.right, node);
    case "ImportSpecifier":
      return isSame(parent.imported, node) && !isSame(parent.local, node);
    case "ExportSpecifier":
      return isSame(parent.exported, node) && !isSame(parent.local, node);
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
    case "MetaProperty":
      return true;
    default:
      return false;
  }
}

/** The member name where the identifier stands as `name.member`, else undefined. */
function memberOf(node: Deno.lint.Identifier): string | undefined {
  const parent = node.parent;
  if (parent.type !== "MemberExpression" || parent.computed) return undefined;
  if (!isSame(parent.object, node) || parent.property.type !== "Identifier") return undefined;
  return parent.property.name;
}

/** `new Date(ms)` and types are pure, `new Date()`, `Date()` and `Date.now` are not. */
function dateProblem(node: Deno.lint.Identifier): string | undefined {
  const parent = node.parent;
  const pure = parent.type === "TSTypeReference" ||
    (parent.type === "NewExpression" && parent.arguments.length > 0 &&
      isSame(parent.callee, node)) ||
    (parent.type === "BinaryExpression" && parent.operator === "instanceof") ||
    DATE_MEMBERS.has(memberOf(node) ?? "");
  return pure ? undefined : "the current time is passed in";
}

/** Only `Math.member` with a pure member: anything else could hide Math.random. */
function mathProblem(node: Deno.lint.Identifier): string | undefined {
  const member = memberOf(node);
  if (member !== undefined && !MATH_IMPURE.has(member)) return undefined;
  return "randomness is passed in";
}

/** Why the identifier may not stand in a pure room, or undefined where it may. */
export function ambientProblem(
  node: Deno.lint.Identifier,
  declared: ReadonlySet<string>,
): string | undefined {
  const { name } = node;
  if (isName(node)) return undefined;
  if (name === "Date") return dateProblem(node);
  if (name === "Math") return mathProblem(node);
  if (FORBIDDEN.has(name)) return FORBIDDEN.get(name);
  return declared.has(name) ? undefined : FORBIDDEN_UNDECLARED.get(name);
}

/** True where the identifier introduces a name: a variable, parameter, function, class or import. */
export function isDeclaration(node: Deno.lint.Identifier): boolean {
  let child: Node = node;
  let parent: Node | undefined = node.parent;
  while (parent !== undefined) {
    switch (parent.type) {
      case "Property":
        if (!isSame(parent.value, child)) return false;
        break;
      case "AssignmentPattern":
        if (!isSame(parent.left, child)) return false;
        break;
      case "ObjectPattern":
      case "ArrayPattern":
      case "RestElement":
        break;
      case "VariableDeclarator":
        return isSame(parent.id, child);
      case "CatchClause":
        return isSame(parent.param, child);
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return isSame(parent.id, child) || parent.params.some((param) => isSame(param, child));
      case "ClassDeclaration":
        return isSame(parent.id, child);
      case "ImportSpecifier":
      case "ImportDefaultSpecifier":
      case "ImportNamespaceSpecifier":
        return isSame(parent.local, child);
      default:
        return false;
    }
    child = parent;
    parent = parent.parent;
  }
  return false;
}
