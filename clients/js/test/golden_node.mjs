// node golden_node.mjs BUILD_FOR_TESTS VECTORS QUESTIONNAIRES ROUNDS: prints what came out as JSON.
import { readFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import vm from "node:vm";
import "./golden.mjs";

globalThis.crypto ??= webcrypto;
const [build, ...files] = process.argv.slice(2);
vm.runInThisContext(`${readFileSync(build, "utf8")};globalThis.lopubTesting = lopubTesting`);
const vectors = files.map((file) => JSON.parse(readFileSync(file, "utf8")));
console.log(JSON.stringify(globalThis.checkGolden(globalThis.lopubTesting, ...vectors)));
