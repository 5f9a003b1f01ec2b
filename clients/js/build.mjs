// Builds the client: an ES module and a classic script, minified, with source maps and the hashes that pages name them by.
//
//   node build.mjs                 into the Python package, where it is committed
//   node build.mjs --out FOLDER    elsewhere
//   node build.mjs --testing FILE  the build for tests, whose random bytes are handed in; never shipped
//   node build.mjs --assigned      writes src/assigned.ts from the golden vectors
//
// The same sources and lock file give the same bytes.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../..");
const shared = { absWorkingDir: here, bundle: true, target: "es2022", charset: "ascii", legalComments: "none", logLevel: "warning", write: false };
const banner = { js: "/* lopub client, Apache-2.0: the same bytes as `npm run build` in clients/js gives */" };

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : (process.argv[at + 1] ?? "");
};

async function ship(folder) {
  mkdirSync(folder, { recursive: true });
  const integrity = {};
  for (const [name, format] of [["lopub.mjs", "esm"], ["lopub.js", "iife"]]) {
    const { outputFiles } = await build({
      ...shared, banner, format, globalName: "lopub", entryPoints: ["src/index.ts"], outfile: join(folder, name),
      minify: true, mangleProps: /^_/, sourcemap: true, sourceRoot: "clients/js", sourcesContent: true,
    });
    for (const { path, text } of outputFiles) {
      writeFileSync(path, path.endsWith(".map") ? mapWithin(text) : text);
      if (path.endsWith(".map")) continue;
      integrity[name] = `sha384-${createHash("sha384").update(text).digest("base64")}`;
      console.log(`${name}  ${text.length} bytes, ${gzipSync(text, { level: 9 }).length} gzipped  ${integrity[name]}`);
    }
  }
  writeFileSync(join(folder, "integrity.json"), `${JSON.stringify(integrity, null, 1)}\n`);
}

/** Sources by their names within clients/js, wherever the map lies. */
function mapWithin(text) {
  const map = JSON.parse(text);
  return `${JSON.stringify({ ...map, sources: map.sources.map((source) => source.replace(/^.*?(src\/[^/]+)$/, "$1")) })}\n`;
}

async function testing(file) {
  const handedIn = { name: "handed-in", setup: ({ onResolve }) => onResolve({ filter: /^\.\/entropy$/ }, () => ({ path: join(here, "test/entropy.ts") })) };
  const { outputFiles } = await build({ ...shared, format: "iife", globalName: "lopubTesting", entryPoints: ["test/testing.ts"], outfile: file, plugins: [handedIn] });
  writeFileSync(file, outputFiles[0].text);
}

function assigned() {
  const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_", file = join(here, "src/assigned.ts");
  const runs = JSON.parse(readFileSync(join(root, "tests/golden/vectors.json"), "utf8")).assigned.map((run) => run.split("-").map((n) => parseInt(n, 16)));
  let last = 0, packed = "";
  for (const bound of runs.flatMap(([first, end = first]) => [first, end + 1])) {
    let n = bound - last;
    for (last = bound; n >= 32; n = n >> 5) packed += digits[32 + (n % 32)];
    packed += digits[n];
  }
  const [head] = readFileSync(file, "utf8").split("export");
  writeFileSync(file, `${head}export const ASSIGNED =\n  "${packed}";\n`);
}

if (option("--testing") !== undefined) await testing(resolve(option("--testing")));
else if (option("--assigned") !== undefined) assigned();
else await ship(resolve(option("--out") ?? join(root, "src/lopub/pages/client")));
