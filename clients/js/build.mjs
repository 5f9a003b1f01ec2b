// Builds the client: an ES module and a classic script, minified, with source maps and the hashes
// by
// which pages name them.
//
//   node build.mjs                 into the Python package, where it is committed
//   node build.mjs --out FOLDER    elsewhere
//   node build.mjs --package       into dist, for npm, with the licence
//   node build.mjs --testing FILE  the build for tests, whose random bytes are handed in; never
// shipped
//
// The same sources and lock file give the same bytes.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const shared = {
  absWorkingDir: here,
  banner: { js: "/* lopub, Apache-2.0 */" },
  bundle: true,
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  minify: true,
  target: "es2022",
  write: false,
};
const BUNDLES = {
  "lopub.mjs": { format: "esm", entry: "src/index.ts" },
  "lopub.js": { format: "iife", entry: "src/classic.ts" },
};

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : (process.argv[at + 1] ?? "");
};

/** One script with its source map. Tests run code that was built in the same way. */
async function bundled(file, entry, options) {
  const { outputFiles } = await build({
    ...shared,
    entryPoints: [entry],
    outfile: file,
    sourcemap: "linked",
    sourceRoot: "clients/js",
    ...options,
  });
  const [map, { text }] = outputFiles;
  return { code: text, map: withPlainNames(map.text) };
}

/** Sources by their names within clients/js, wherever the map lies. */
function withPlainNames(text) {
  const map = JSON.parse(text);
  const sources = map.sources.map((source) => source.replace(/^.*?(src\/[^/]+)$/, "$1"));
  return `${JSON.stringify({ ...map, sources })}\n`;
}

async function ship(folder) {
  mkdirSync(folder, { recursive: true });
  const integrity = {};
  for (const [name, { entry, format }] of Object.entries(BUNDLES)) {
    const { code, map } = await bundled(join(folder, name), entry, { format });
    writeFileSync(join(folder, name), code);
    writeFileSync(join(folder, `${name}.map`), map);
    integrity[name] = `sha384-${createHash("sha384").update(code).digest("base64")}`;
    const size = `${code.length} bytes, ${gzipSync(code, { level: 9 }).length} gzipped`;
    console.log(`${name}  ${size}  ${integrity[name]}`);
  }
  writeFileSync(join(folder, "integrity.json"), `${JSON.stringify(integrity, null, 1)}\n`);
}

async function testing(file) {
  const entropy = join(here, "test/entropy.ts");
  const handedIn = {
    name: "handed-in",
    setup: ({ onResolve }) => onResolve({ filter: /^\.\/entropy$/ }, () => ({ path: entropy })),
  };
  const options = { format: "iife", globalName: "lopubTesting", plugins: [handedIn] };
  writeFileSync(file, (await bundled(file, "test/testing.ts", options)).code);
}

if (option("--testing") !== undefined) await testing(resolve(option("--testing")));
else if (option("--package") !== undefined) {
  await ship(join(here, "dist"));
  copyFileSync(join(root, "LICENSE"), join(here, "LICENSE"));
} else await ship(resolve(option("--out") ?? join(root, "src/lopub/pages/client")));
