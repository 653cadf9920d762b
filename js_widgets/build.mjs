// Builds pallas_debug/views/static/{widget,embed}.js; the banner holds a hash of the sources.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

// anywidget repeats the script in every widget's state, so it has to stay small.
const LIMIT = 250_000;
const OUT = "../pallas_debug/views/static";

function sourceHash() {
  const sources = readdirSync("src", { recursive: true })
    .map((name) => `src/${String(name).replaceAll("\\", "/")}`)
    .filter((name) => /\.(ts|tsx|css)$/.test(name));
  const hash = createHash("sha256");
  for (const name of [...sources, "build.mjs", "package-lock.json"].sort()) {
    const text = readFileSync(name, "utf8").replaceAll("\r\n", "\n");
    hash.update(`${name}\0`).update(text).update("\0");
  }
  return hash.digest("hex");
}

/** The shadow root keeps our class names apart, so the prefix of most is left out. */
const shorter = (text) => text.replaceAll(/(?<![-\w])pd-(?!root\b|frame\b)/g, "");

/** One line of CSS: the stylesheets have no strings with spaces that matter. */
const minified = {
  name: "minified",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async (args) => {
      const text = shorter(readFileSync(args.path, "utf8"));
      const { code } = await esbuild.transform(text, { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
    build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, (args) => ({
      contents: shorter(readFileSync(args.path, "utf8")),
      loader: args.path.endsWith("x") ? "tsx" : "ts",
    }));
  },
};

// Members of our own classes and props: never in JSON (which is snake_case) nor in the DOM.
const INTERNAL = [
  "eventsOfThread lastOfThread eventsOfBuffer eventsOfBlock threadsOfBlock launchOf kernelOf",
  "bufferOf lineOf sourceOf scopeOf tickOf locOf opOf blockRow edgesAt changesOf lineCounts",
  "blockShape axisNames firstEvent lastEvent isAgent jaxVersion hasView cellWidth cellHeight",
  "rowStride columnStride rowHeight revealKey activeId currentModel focusOn selectBuffer",
  "writerOf valueText elementAt followAccess fetchMissing revealLane laneOf laneUnder hasAgents",
  "packsAt showBlock onZoom onPick peakEvent bySpace showRun addRun viewState kernelLoc endLine",
  "intsOrNone isHuge isHost isEndless eventAt ofLine makeKeys settings",
];

const common = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  plugins: [minified],
  mangleProps: new RegExp(`^(${INTERNAL.join(" ").replaceAll(" ", "|")})$`),
  banner: { js: `/* pallas_debug src-sha256:${sourceHash()} */` },
};
const jobs = [
  { ...common, entryPoints: ["src/widget.ts"], format: "esm", outfile: `${OUT}/widget.js` },
  {
    ...common,
    entryPoints: ["src/embed.ts"],
    format: "iife",
    globalName: "PallasDebug",
    outfile: `${OUT}/embed.js`,
  },
];

function table(result, outfile) {
  const bytes = readFileSync(outfile);
  const parts = new Map();
  for (const [name, { bytesInOutput }] of Object.entries(
    Object.values(result.metafile.outputs)[0].inputs,
  )) {
    const part =
      /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ??
      name
        .split("/")
        .slice(0, 3)
        .join("/")
        .replace(/\.\w+$/, "");
    parts.set(part, (parts.get(part) ?? 0) + bytesInOutput);
  }
  const name = outfile.split("/").at(-1);
  const row = (text, size, more = "") =>
    console.log(`${text.padEnd(26)}${String(size).padStart(9)}${more}`);
  row(name, bytes.length, `  (${gzipSync(bytes).length} gzipped, limit ${LIMIT})`);
  for (const [part, size] of [...parts].sort((a, b) => b[1] - a[1])) row(`  ${part}`, size);
  return bytes.length;
}

if (process.argv.includes("--watch")) {
  for (const job of jobs) await (await esbuild.context({ ...job, logLevel: "info" })).watch();
} else {
  const sizes = [];
  for (const job of jobs) sizes.push(table(await esbuild.build(job), job.outfile));
  if (Math.max(...sizes) > LIMIT) {
    console.error(`A bundle is larger than ${LIMIT} bytes.`);
    process.exit(1);
  }
}
