// The time code of `burnish testsrc`, drawn and read as Sources/Measure does (TimeCode, TimeCodeLayout, TimeCodeReading).
// One code for all sources: this page reads what `burnish testsrc` drew, and `burnish probe` reads what this page drew.

const columns = 26, rows = 4, byteCount = 12
const black = 28, white = 228, quiet = 128 // RGB of the luma values 40, 212 and 126
const mixed = 0.2, mixedCellsOfIntact = 6, mixedCellsOfBroken = 4, leastRange = 48

/** CRC-24 of RFC 4880, section 6.1. */
function crc24(bytes) {
  let crc = 0xb704ce
  for (const byte of bytes) {
    crc ^= byte << 16
    for (let i = 0; i < 8; i++) {
      crc <<= 1
      if (crc & 0x1000000) crc ^= 0x1864cfb
    }
  }
  return crc & 0xffffff
}

/** The 96 bits as bytes: 48 of time in microseconds, 16 of number, 8 of source, 24 of CRC. */
export function encode(microseconds, number, source = 0) {
  const bytes = new Uint8Array(byteCount)
  let time = microseconds % 2 ** 48
  for (let i = 5; i >= 0; i--) {
    bytes[i] = time % 256
    time = Math.floor(time / 256)
  }
  bytes.set([number >> 8 & 255, number & 255, source], 6)
  const crc = crc24(bytes.subarray(0, 9))
  bytes.set([crc >> 16, crc >> 8 & 255, crc & 255], 9)
  return bytes
}

/** Null when the CRC is wrong. `near` is any time (µs) within four years of the capture. */
export function decode(bytes, near) {
  if (crc24(bytes.subarray(0, 9)) !== (bytes[9] << 16 | bytes[10] << 8 | bytes[11])) return null
  let wire = 0
  for (let i = 0; i < 6; i++) wire = wire * 256 + bytes[i]
  const captured = wire + Math.round((near - wire) / 2 ** 48) * 2 ** 48
  return { captured, number: bytes[6] << 8 | bytes[7] }
}

/** The side of a cell, in samples of a picture in landscape. */
const cell = (width, height) => Math.min(width / (columns + 1), height / (rows * 2))

/** What a reference cell shows; null for a cell that carries a bit. */
const reference = (column, row) =>
  column === 0 ? row & 1 : column === columns - 1 ? (row & 1) ^ 1 : null

export function draw(context, width, height, bytes) {
  const side = cell(width, height), edge = (i) => Math.round((i + 0.5) * side)
  const fill = (level, ...box) => {
    context.fillStyle = `rgb(${level} ${level} ${level})`
    context.fillRect(...box)
  }
  fill(quiet, 0, 0, Math.round(side * (columns + 1)), Math.round(side * (rows + 1)))
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const index = row * (columns - 2) + column - 1
      const bit = reference(column, row) ?? bytes[index >> 3] >> (7 - (index & 7)) & 1
      fill(bit ? white : black, edge(column), edge(row), edge(column + 1) - edge(column), edge(row + 1) - edge(row))
    }
  }
}

/** The mean of at most 8x8 samples of the middle half of a cell. */
function level({ data, stride, pixel }, side, column, row) {
  const samples = Math.max(2, Math.min(8, Math.floor(side / 2))), step = side / 2 / samples
  const left = (column + 0.75) * side + step / 2, top = (row + 0.75) * side + step / 2
  let sum = 0
  for (let j = 0; j < samples; j++) {
    const line = Math.floor(top + j * step) * stride
    for (let i = 0; i < samples; i++) sum += data[line + Math.floor(left + i * step) * pixel]
  }
  return sum / samples ** 2
}

/**
 * Reads the time code of a VideoFrame. `kind` is `code` (with number and captured), or `blended`, `damaged`, `absent`.
 * A picture is blended when several cells are neither black nor white: it mixes two frames, so it was synthesised.
 * Only the code's part of the luma plane is copied: reading a picture takes the page little time.
 */
export async function read(frame, near) {
  const { x, y, width, height } = frame.visibleRect, side = cell(width, height), even = (n) => Math.ceil(n / 2) * 2
  const rect = { x, y, width: Math.min(even(side * (columns + 1)), width & ~1), height: Math.min(even(side * (rows + 1)), height & ~1) }
  const isPlanar = /^(I4|NV)/.test(frame.format)
  const data = new Uint8Array(frame.allocationSize({ rect }))
  const [plane] = await frame.copyTo(data, { rect })
  const luma = { data, stride: plane.stride, pixel: isPlanar ? 1 : 4 }
  let low = 0, high = 0
  for (let row = 0; row < rows; row++) {
    for (const column of [0, columns - 1]) {
      if (reference(column, row)) high += level(luma, side, column, row) / rows
      else low += level(luma, side, column, row) / rows
    }
  }
  if (high - low < leastRange) return { kind: "absent" }
  const bytes = new Uint8Array(byteCount)
  let mixedCells = 0
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const share = (level(luma, side, column, row) - low) / (high - low), expected = reference(column, row)
      if (expected !== null) {
        if ((share > 0.5) !== (expected === 1)) return { kind: "absent" }
        continue
      }
      const index = row * (columns - 2) + column - 1
      if (share > 0.5) bytes[index >> 3] |= 128 >> (index & 7)
      if (share > mixed && share < 1 - mixed) mixedCells++
    }
  }
  const code = decode(bytes, near)
  if (mixedCells >= (code ? mixedCellsOfIntact : mixedCellsOfBroken)) return { kind: "blended" }
  return code ? { kind: "code", ...code } : { kind: "damaged" }
}
