import Bitstream
import Enhance
import Media
import Simulation
import Telemetry

/// The input is a weights file, of either kind, whose checksum is made right, since the fuzzer would not guess it.
func fuzzWeights(_ input: UnsafeRawBufferPointer) {
    var bytes = Array(input)
    if bytes.count >= 4 {
        let sum = crc32(bytes.dropLast(4))
        for i in 0..<4 { bytes[bytes.count - 4 + i] = UInt8(truncatingIfNeeded: sum >> UInt32(8 * i)) }
    }
    _ = try? SuperResolutionNetwork(bytes)
    _ = try? FusionNetwork(bytes)
}

private func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var register: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        register ^= UInt32(byte)
        for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xEDB8_8320) }
    }
    return ~register
}

/// The input is a `.cube` file. Colours within its domain, at its ends and far beyond are looked up.
func fuzzCube(_ input: UnsafeRawBufferPointer) {
    do throws(CubeFault) {
        let table = try CubeReader.read(Array(input))
        for level in [-1e9, -0.1, 0, 0.3, 1, 1.2, 1e9] {
            for color in [ColorVector(level, 0.5, 0.2), ColorVector(1, level, 0), ColorVector(repeating: level)] {
                let found = table(color)
                for channel in 0..<3 { precondition(found[channel].isFinite, "a colour becomes \(found)") }
            }
        }
    } catch {
        precondition(!error.description.contains("\n"), "a fault of several lines")
    }
}

/// The input is a PNG file.
func fuzzPNG(_ input: UnsafeRawBufferPointer) {
    do throws(PNGFault) {
        let chunks = try PNGChunks(Array(input))
        precondition(chunks.size.samples <= PNGChunks.mostSamples, "a large picture")
        precondition(chunks.bytes.count <= input.count, "more than there was")
        precondition((try? PNGChunks(chunks.bytes))?.bytes == chunks.bytes, "what was kept is another file")
    } catch {
        precondition(!error.description.contains("\n"), "a fault of several lines")
    }
}

/// The input is the text of an overlay.
func fuzzOverlay(_ input: UnsafeRawBufferPointer) {
    switch Overlay.read(String(decoding: input, as: UTF8.self)) {
    case nil: break
    case .failure(let fault): precondition(!fault.text.contains("\n"), "a fault of several lines")
    case .success(let overlay):
        precondition((try? Overlay.read(overlay.description)?.get()) == overlay, "an overlay does not survive being written")
    }
}

/// The input is a trace without its header line.
func fuzzTrace(_ input: UnsafeRawBufferPointer) {
    let text = Trace.header + "\n" + String(decoding: input, as: UTF8.self)
    guard let records = try? Trace.read(text) else { return }
    precondition((try? Trace.read(Trace.write(records))) == records, "a trace does not survive being written")
    _ = Trace.timeline(records)
    _ = Trace.order(records)
    _ = Trace.loads(records)
}
