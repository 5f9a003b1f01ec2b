// Builds the page's script and styles into the Python package, where they are committed. The client is
// a script of its own, see ../build.mjs.
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
const shipped = join(here, "../../../src/lopub/pages/contribute");
const folder = resolve(at < 0 ? shipped : process.argv[at + 1]);
const banner = "/* lopub page, Apache-2.0: `npm run build` in clients/js gives the same bytes */";

/** What is written of a built file. */
function contentOf(name, text) {
  if (name.endsWith(".css")) return text.replace(/\n?\/\*# sourceMappingURL.*$/s, "\n");
  if (!name.endsWith(".map")) return text;
  const map = JSON.parse(text);
  return `${JSON.stringify({ ...map, sources: map.sources.map((path) => basename(path)) })}\n`;
}

mkdirSync(folder, { recursive: true });
const { outputFiles } = await build({
  absWorkingDir: here,
  banner: { js: banner },
  bundle: true,
  charset: "utf8",
  entryNames: "page",
  entryPoints: ["main.ts", "page.css"],
  format: "iife",
  legalComments: "none",
  logLevel: "warning",
  minify: true,
  outdir: folder,
  sourceRoot: "clients/js/page",
  sourcemap: true,
  target: "es2022",
  write: false,
});
for (const { path, text } of outputFiles) {
  const name = basename(path);
  if (name.endsWith(".css.map")) continue;
  const content = contentOf(name, text);
  writeFileSync(join(folder, name), content);
  if (name.endsWith(".map")) continue;
  const hash = createHash("sha384").update(content).digest("base64");
  const size = `${content.length} bytes, ${gzipSync(content, { level: 9 }).length} gzipped`;
  console.log(`${name}  ${size}  sha384-${hash}`);
}
