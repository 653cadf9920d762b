// Builds pallas_debug/views/static/{widget,embed}.js; the banner holds a hash of the sources.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

// anywidget repeats the script in every widget's state, so it has to stay small: seven panels, 90 kB compressed.
const LIMIT = 300_000;
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

/** One line of CSS, as a string. */
const minified = {
  name: "minified",
  setup(build) {
    build.onLoad({ filter: /\.css$/ }, async (args) => {
      const text = readFileSync(args.path, "utf8");
      const { code } = await esbuild.transform(text, { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};

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
