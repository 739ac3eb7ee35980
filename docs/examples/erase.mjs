// node erase.mjs projector.json < vectors.json > clean.json
import { readFileSync } from "node:fs";
const length = (x) => Math.sqrt(x.reduce((sum, v) => sum + v * v, 0));
const unit = (x, least, n = length(x)) => {
  if (!(n > least && n < Infinity)) throw new Error("this vector has no direction");
  return x.map((v) => v / n);
};
function erase(p, raw) {
  if (raw.length !== p.dim) throw new Error(`not ${p.dim} numbers but ${raw.length}`);
  const x = p.normalise ? unit(raw, 0) : raw;
  const found = Array(p.rank).fill(0);
  const note = (v, i) => (p.dual ?? p.basis)[i].forEach((b, k) => (found[k] += v * b));
  x.forEach((v, i) => note(v - (p.mean?.[i] ?? 0), i));
  const y = x.map((v, i) => v - p.basis[i].reduce((sum, a, k) => sum + a * found[k], 0));
  return p.normalise ? unit(y, p.residue) : y;
}
const p = JSON.parse(readFileSync(process.argv[2], "utf8"));
const off = (t) => length(erase(p, t.raw).map((v, i) => v - t.clean[i])) > t.tolerance;
if (p.format !== "efface.projector-json/1" || p.tests.some(off)) throw new Error("a bad port");
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((x) => erase(p, x))));
