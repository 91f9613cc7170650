// SPDX-License-Identifier: Apache-2.0
// Continues a prompt greedily with llama.cpp, which the npm package node-llama-cpp brings compiled.
//
//   node llama_decode.mjs PACKAGE FILE.gguf OPTIONS
//
// PACKAGE is the folder of the package. OPTIONS is a JSON object: threads, prompt (ids) and steps. Prints one JSON
// object: tokens per second from the prompt to the last token, peak memory and the ids.
import path from "node:path";
import {pathToFileURL} from "node:url";

const [folder, file, options] = process.argv.slice(2);
const {threads, prompt, steps} = JSON.parse(options);
const {getLlama} = await import(pathToFileURL(path.join(folder, "dist", "index.js")).href);

const llama = await getLlama({build: "never", gpu: false, maxThreads: threads, logLevel: "error"});
const model = await llama.loadModel({modelPath: file});
const context = await model.createContext({contextSize: 512, threads});
const sequence = context.getSequence();
const ids = [];
const start = performance.now();
for await (const id of sequence.evaluate(prompt, {temperature: 0, yieldEogToken: true})) {
  ids.push(id);
  if (ids.length === steps) break;
}
const seconds = (performance.now() - start) / 1000;
console.log(JSON.stringify({
  tokens_per_second: steps / seconds,
  peak_rss_bytes: process.resourceUsage().maxRSS * 1024,
  ids,
}));
process.exit(0);
