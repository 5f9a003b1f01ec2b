// Builds the client: an ES module and a classic script, minified, with source maps and the hashes that pages name them by.
//
//   node build.mjs                 into the Python package, where it is committed
//   node build.mjs --out FOLDER    elsewhere
//   node build.mjs --package       into dist, for npm, with the licence
//   node build.mjs --testing FILE  the build for tests, whose random bytes are handed in; never shipped
//   node build.mjs --plain FOLDER  both as UglifyJS names everything, and what could be named otherwise: for names.py
//
// The same sources, names and lock file give the same bytes.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import uglify from "uglify-js";
import { bindingsOf, renamed } from "./naming.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const shared = { absWorkingDir: here, bundle: true, target: "es2022", charset: "ascii", legalComments: "none", logLevel: "warning", write: false };
const banner = "/* lopub, Apache-2.0 */";

/** Names of properties that only the client itself uses; with those that begin with an underscore, they are shortened. */
const INTERNAL = [
  "areFew", "below", "canDraw", "changes", "channel", "charge", "checkQuestionnaire", "derived", "differs", "distance", "draw", "few", "fits", "following", "isNew", "isOrdered", "isPermanent", "isWhole",
  "largestBlock", "lifetimeLoss", "longestReport", "lossOf", "lower", "maskBytes", "mostOf", "mostWidth", "noise", "own", "position", "prefix", "refresh", "refusal", "room", "row", "sizes", "spell", "start", "take", "weights", "widest",
];
const LETTERS = [..."$_ZYXWVUTSRQPONMLKJIHGFEDCBAzqjxkvbywghfdmpculosiarnte"];
const mangleProps = new RegExp(`^(_.*|${INTERNAL.join("|")})$`);

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : (process.argv[at + 1] ?? "");
};

/** One script of an entry and all that it needs, small; its source map, too. Tests run code that went the same way. */
async function bundled(file, entry, format, options) {
  const found = await build({ ...shared, format, entryPoints: [entry], outfile: file, minifySyntax: true, sourcemap: "external", sourcesContent: true, ...options });
  const [map, { text }] = found.outputFiles;
  const { code, map: smallMap, error } = uglify.minify(text, {
    module: format === "esm", toplevel: format === "esm", compress: { passes: 3, varify: false, inline: false }, output: { ascii_only: true, preamble: banner },
    sourceMap: { content: map.text, url: `${basename(file)}.map`, includeSources: true },
  });
  if (error) throw error;
  return { code: `${code}\n`, map: mapWithin(smallMap, basename(file)) };
}

/** Each bundle: its code, its map, and the short names of its properties. */
async function* bundles(folder) {
  for (const [name, format, entry] of [["lopub.mjs", "esm", "src/index.ts"], ["lopub.js", "iife", "src/classic.ts"]]) {
    const mangleCache = await shortProperties(entry, format);
    yield { name, properties: Object.values(mangleCache), ...(await bundled(join(folder, name), entry, format, { mangleProps, mangleCache })) };
  }
}

/** Letters for the properties that are shortened; last those that UglifyJS likes best for variables, so that it does not write { a } for { a: a }, which could no longer be named apart. */
async function shortProperties(entry, format) {
  const { mangleCache } = await build({ ...shared, format, entryPoints: [entry], mangleProps, mangleCache: {} });
  return Object.fromEntries(Object.keys(mangleCache).sort().map((name, i) => [name, LETTERS[i]]));
}

const hashOf = (text) => createHash("sha256").update(text).digest("hex");

/** The code with the names that names.py has found for it; a code that has changed since keeps its own. */
function wellNamed(name, code, properties) {
  const { of, names } = JSON.parse(readFileSync(join(here, "names.json"), "utf8"))[name] ?? {};
  if (of === hashOf(code)) return renamed(code, names.split(" "), properties);
  console.warn(`${name} has changed since its names were found: run \`npm run names\``);
  return code;
}

async function ship(folder) {
  mkdirSync(folder, { recursive: true });
  const integrity = {};
  for await (const { name, code: plain, map, properties } of bundles(folder)) {
    const code = wellNamed(name, plain, properties);
    writeFileSync(join(folder, name), code);
    writeFileSync(join(folder, `${name}.map`), map);
    integrity[name] = `sha384-${createHash("sha384").update(code).digest("base64")}`;
    console.log(`${name}  ${code.length} bytes, ${gzipSync(code, { level: 9 }).length} gzipped  ${integrity[name]}`);
  }
  writeFileSync(join(folder, "integrity.json"), `${JSON.stringify(integrity, null, 1)}\n`);
}

async function plain(folder) {
  mkdirSync(folder, { recursive: true });
  for await (const { name, code, properties } of bundles(folder)) writeFileSync(join(folder, `${name}.json`), JSON.stringify({ of: hashOf(code), code, bindings: bindingsOf(code, properties) }));
}

/** Sources by their names within clients/js, wherever the map lies. */
function mapWithin(text, file) {
  const map = JSON.parse(text);
  return `${JSON.stringify({ ...map, file, sourceRoot: "clients/js", sources: map.sources.map((source) => source.replace(/^.*?(src\/[^/]+)$/, "$1")) })}\n`;
}

async function testing(file) {
  const handedIn = { name: "handed-in", setup: ({ onResolve }) => onResolve({ filter: /^\.\/entropy$/ }, () => ({ path: join(here, "test/entropy.ts") })) };
  writeFileSync(file, (await bundled(file, "test/testing.ts", "iife", { globalName: "lopubTesting", plugins: [handedIn] })).code);
}

if (option("--testing") !== undefined) await testing(resolve(option("--testing")));
else if (option("--plain") !== undefined) await plain(resolve(option("--plain")));
else if (option("--package") !== undefined) {
  await ship(join(here, "dist"));
  copyFileSync(join(root, "LICENSE"), join(here, "LICENSE"));
} else await ship(resolve(option("--out") ?? join(root, "src/lopub/pages/client")));
