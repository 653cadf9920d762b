/**
 * Bytes of a dtype as numbers.
 *
 * Every dtype becomes the smallest JavaScript array that holds it: floats of 8 bits and less
 * by the tables that the bundle ships. 64-bit integers are rounded above 2^53.
 */

export type Numbers = Float32Array | Float64Array | Int32Array | Uint8Array;
export type Tables = Readonly<Record<string, readonly (number | null)[]>>;

export interface Value {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly values: Numbers;
}

const BYTES: Record<string, number> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  float16: 2,
  bfloat16: 2,
  int32: 4,
  uint32: 4,
  float32: 4,
  int64: 8,
  uint64: 8,
  float64: 8,
  complex64: 8,
  complex128: 16,
};

/** Bytes of an element as NumPy stores it; small types take a whole byte. */
export function itemBytes(dtype: string): number {
  return BYTES[dtype] ?? 1;
}

export function isSync(dtype: string): boolean {
  return /(barrier|semaphore)$/.test(dtype);
}

export function isBarrier(dtype: string): boolean {
  return dtype.endsWith("barrier");
}

/** Bytes on the device, small types packed. */
export function sizeBytes(dtype: string, shape: readonly number[]): number {
  const elements = count(shape);
  if (isSync(dtype)) return elements * (isBarrier(dtype) ? 8 : 4);
  const digits = /\d+/.exec(dtype);
  return Math.floor((elements * (digits ? Number(digits[0]) : 8) + 7) / 8);
}

export function count(shape: readonly number[]): number {
  let product = 1;
  for (const size of shape) product *= size;
  return product;
}

/** An array for `length` elements of a dtype, zeros. */
export function emptyNumbers(dtype: string, length: number): Numbers {
  if (dtype === "bool" || dtype === "uint8") return new Uint8Array(length);
  if (/^(float64|uint32|u?int64|complex128)$/.test(dtype)) return new Float64Array(length);
  if (/^u?int\d+$/.test(dtype)) return new Int32Array(length);
  return new Float32Array(length);
}

/** Numbers of raw little-endian bytes; complex numbers give their real parts. */
export function decodeNumbers(
  bytes: Uint8Array<ArrayBuffer>,
  dtype: string,
  tables: Tables,
): Numbers {
  const { buffer } = bytes;
  switch (dtype) {
    case "bool":
    case "uint8":
      return new Uint8Array(buffer);
    case "int8":
      return Int32Array.from(new Int8Array(buffer));
    case "int16":
      return Int32Array.from(new Int16Array(buffer));
    case "uint16":
      return Int32Array.from(new Uint16Array(buffer));
    case "int32":
      return new Int32Array(buffer);
    case "uint32":
      return Float64Array.from(new Uint32Array(buffer));
    case "int64":
      return Float64Array.from(new BigInt64Array(buffer), Number);
    case "uint64":
      return Float64Array.from(new BigUint64Array(buffer), Number);
    case "float32":
      return new Float32Array(buffer);
    case "float64":
      return new Float64Array(buffer);
    case "bfloat16":
      return brain(new Uint16Array(buffer));
    case "float16":
      return half(new Uint16Array(buffer));
    case "complex64":
      return new Float32Array(buffer).filter((_, i) => i % 2 === 0);
    case "complex128":
      return new Float64Array(buffer).filter((_, i) => i % 2 === 0);
    default:
      return byTable(bytes, dtype, tables);
  }
}

/** Types of 8 bits and less: one entry of the table per bit pattern, null for NaN. */
function byTable(bytes: Uint8Array, dtype: string, tables: Tables): Numbers {
  const table = tables[dtype];
  const out = emptyNumbers(dtype, bytes.length);
  if (!table) return out.fill(Number.NaN);
  const mask = table.length - 1;
  const plain = Float32Array.from(table, (value) => value ?? Number.NaN);
  for (let i = 0; i < bytes.length; i++) out[i] = plain[bytes[i] & mask];
  return out;
}

function brain(bits: Uint16Array): Float32Array {
  const wide = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) wide[i] = bits[i] << 16;
  return new Float32Array(wide.buffer);
}

let halves: Float32Array | null = null;

/** Every 16-bit pattern is worked out once: reading a table is many times faster. */
function half(bits: Uint16Array): Float32Array {
  halves ??= Float32Array.from({ length: 1 << 16 }, (_, pattern) => halfOf(pattern));
  const out = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) out[i] = halves[bits[i]];
  return out;
}

function halfOf(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A number for a narrow place: integers whole, floats with up to `digits` digits. */
export function formatNumber(value: number, dtype: string, digits = 4): string {
  if (dtype === "bool") return value ? "True" : "False";
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (/^u?int/.test(dtype)) return String(value);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4)
    return value.toExponential(Math.max(digits - 2, 0)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}
