// Builds the page's script and styles into the Python package, where they are committed. The client is a script of its own, see ../build.mjs.
//
//   node page/build.mjs                 into the Python package
//   node page/build.mjs --out FOLDER    elsewhere
//
// The same sources and lock file give the same bytes.

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf("--out");
const folder = resolve(at < 0 ? join(here, "../../../src/lopub/pages/contribute") : process.argv[at + 1]);
const banner = { js: "/* lopub page, Apache-2.0: the same bytes as `npm run build` in clients/js gives */" };

mkdirSync(folder, { recursive: true });
const { outputFiles } = await build({
  absWorkingDir: here, bundle: true, target: "es2022", charset: "utf8", legalComments: "none", logLevel: "warning", write: false,
  entryPoints: ["main.ts", "page.css"], entryNames: "page", outdir: folder, format: "iife", minify: true, banner, sourcemap: true, sourceRoot: "clients/js/page",
});
for (const { path, text } of outputFiles.filter(({ path }) => !path.endsWith(".css.map"))) {
  const isMap = path.endsWith(".map"), name = basename(path);
  const sources = (map) => ({ ...map, sources: map.sources.map((source) => basename(source)) });
  const told = isMap ? `${JSON.stringify(sources(JSON.parse(text)))}\n` : path.endsWith(".css") ? text.replace(/\n?\/\*# sourceMappingURL.*$/s, "\n") : text;
  writeFileSync(join(folder, name), told);
  if (!isMap) console.log(`${name}  ${told.length} bytes, ${gzipSync(told, { level: 9 }).length} gzipped  sha384-${createHash("sha384").update(told).digest("base64")}`);
}
