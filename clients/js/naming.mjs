// Names that compress well. A minifier names variables by how often they occur, but gzip cares about what stands around them. So names.py
// looks for better ones, each for another of the same length: places in the code, and so its source map, stay as they are. Here they are
// put in. Nothing else can change: the new code is read again, and every name must mean what the old one meant.

import ts from "typescript";

/** What holds declarations; the scopes of parameters and of the body behind them count as one. */
const isScope = (node) =>
  ts.isSourceFile(node) || ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isForStatement(node) || ts.isForInStatement(node) || ts.isForOfStatement(node) || ts.isCatchClause(node) ||
  (ts.isBlock(node) && !ts.isFunctionLike(node.parent) && !ts.isCatchClause(node.parent));

function scopeOf(node) {
  do node = node.parent;
  while (node && !isScope(node));
  return node;
}

const isVar = (node) => ts.isVariableDeclaration(node) && ts.isVariableDeclarationList(node.parent) && !(node.parent.flags & ts.NodeFlags.BlockScoped);

/** The scope that a declaration belongs to. */
function homeOf(declaration) {
  if (ts.isFunctionExpression(declaration) || ts.isClassExpression(declaration)) return declaration; // it knows its own name
  let owner = declaration;
  while (ts.isBindingElement(owner)) owner = owner.parent.parent;
  let home = scopeOf(owner);
  while (isVar(owner) && !ts.isSourceFile(home) && !ts.isFunctionLike(home)) home = scopeOf(home);
  return home;
}

const isShorthand = ({ parent }) => ts.isShorthandPropertyAssignment(parent) || (ts.isBindingElement(parent) && !parent.propertyName && !parent.dotDotDotToken && ts.isObjectBindingPattern(parent.parent));

/** Whether an identifier names a property, and nothing else. */
function isProperty(node) {
  const { parent } = node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  if (ts.isExportSpecifier(parent)) return !!parent.propertyName && parent.name === node;
  return parent.name === node && (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent) || ts.isPropertyDeclaration(parent));
}

function parsed(code) {
  const options = { allowJs: true, noLib: true, noResolve: true, types: [], target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 }, isCode = (name) => name === "code.mjs";
  const file = ts.createSourceFile("code.mjs", code, options.target, true, ts.ScriptKind.JS);
  const host = { ...ts.createCompilerHost(options), getSourceFile: (name) => (isCode(name) ? file : undefined), fileExists: isCode, readFile: () => code };
  return { file, checker: ts.createProgram(["code.mjs"], options, host).getTypeChecker() };
}

/** What an identifier stands for, where the code declares it. */
function symbolOf(node, checker) {
  if (ts.isShorthandPropertyAssignment(node.parent)) return checker.getShorthandAssignmentValueSymbol(node.parent);
  return ts.isExportSpecifier(node.parent) ? checker.getExportSpecifierLocalTargetSymbol(node.parent) : checker.getSymbolAtLocation(node);
}

/** All that names stand for, in the order of the code: where each is written, and the scopes in which it must mean nothing else; isFixed: what must keep its name. Properties that were shortened have one
 * scope of their own. */
export function bindingsOf(code, properties) {
  const { file, checker } = parsed(code), found = new Map(), ids = new Map();
  const add = (key, node, isFixed, scopes) => {
    if (!found.has(key)) found.set(key, { name: node.text, isFixed: false, places: [], scopes: new Set() });
    const binding = found.get(key);
    binding.places.push(node.getStart(file));
    binding.isFixed ||= isFixed;
    for (const scope of scopes) binding.scopes.add(ids.get(scope) ?? (ids.set(scope, ids.size), ids.size - 1));
  };
  const visit = (node) => {
    ts.forEachChild(node, visit);
    if (!ts.isIdentifier(node)) return;
    const isMember = isProperty(node);
    if ((isMember || isShorthand(node)) && properties.includes(node.text)) add(`property ${node.text}`, node, !isMember, ["properties"]);
    if (isMember) return;
    const symbol = symbolOf(node, checker), declaration = symbol?.declarations?.[0], home = declaration && homeOf(declaration), scopes = home ? [home] : [];
    for (let scope = scopeOf(node); scope && scope !== home; scope = scopeOf(scope)) scopes.push(scope);
    add(declaration ? symbol : `global ${node.text}`, node, !declaration || isShorthand(node), scopes);
  };
  visit(file);
  return [...found.values()].map((binding) => ({ ...binding, isProperty: binding.scopes.has(ids.get("properties")), scopes: [...binding.scopes] }));
}

/** The code with other names, in the order of its bindings. */
export function renamed(code, names, properties) {
  const signs = [...code], bindings = bindingsOf(code, properties);
  bindings.forEach(({ name, places, isFixed }, i) => {
    if (names[i]?.length !== name.length || (isFixed && names[i] !== name)) throw new Error(`'${names[i]}' cannot stand for '${name}'`);
    for (const place of places) signs.splice(place, name.length, ...names[i]);
  });
  const result = signs.join(""), meant = (each) => JSON.stringify(each.map(({ places, isFixed }) => [places, isFixed]));
  if (meant(bindingsOf(result, names.filter((_, i) => bindings[i].isProperty))) !== meant(bindings)) throw new Error("a name means something else");
  return result;
}
