/// Why a weights file cannot be used.
public struct NetworkFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public let message: String
    public var description: String { message }

    init(_ message: String) { self.message = message }
}

/// The contents of a weights file (.bnw; tools/train/README.md states the format), checked.
package struct NetworkFile {
    package struct Layer {
        var inputs: Int
        var outputs: Int
        var shift: Int
        /// [output][ky][kx][input], −64…63.
        var weights: [Int8]
        /// [bucket][output].
        var bias: [Int32]
        /// [bucket][output], 1…32767.
        var multipliers: [Int16]

        package init(
            inputs: Int, outputs: Int, shift: Int, weights: [Int8], bias: [Int32], multipliers: [Int16]
        ) {
            self.inputs = inputs
            self.outputs = outputs
            self.shift = shift
            self.weights = weights
            self.bias = bias
            self.multipliers = multipliers
        }

        func weight(_ output: Int, _ ky: Int, _ kx: Int, _ input: Int) -> Int8 {
            weights[((output * 3 + ky) * 3 + kx) * inputs + input]
        }
    }

    /// Upper edges of the quantiser's buckets.
    let edges: [UInt8]
    let layers: [Layer]

    static let version = 1

    init(_ bytes: [UInt8]) throws(NetworkFileError) {
        var reader = Reader(bytes: bytes, end: max(0, bytes.count - 4))
        guard bytes.count >= 24, Array(bytes[0..<4]) == Array("BNW1".utf8) else {
            throw NetworkFileError("not a weights file: it does not begin with BNW1")
        }
        reader.position = 4
        let version = try reader.number("version")
        guard version == Self.version else {
            throw NetworkFileError("weights of version \(version); this program reads version \(Self.version)")
        }
        let sum = crc32(bytes[..<(bytes.count - 4)])
        let stated = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[bytes.count - 4 + $1]) << (8 * $1) }
        guard sum == stated else {
            throw NetworkFileError("the weights' checksum is wrong: the file is damaged or cut short")
        }
        let scale = try reader.number("scale", in: 2...2)
        let layerCount = try reader.number("layer count", in: 2...16)
        let buckets = try reader.number("bucket count", in: 1...255)
        edges = try reader.bytes("edges", buckets).map { $0 }
        guard edges.last == 255, zip(edges, edges.dropFirst()).allSatisfy({ $0 < $1 }) else {
            throw NetworkFileError("the edges of the quantiser's buckets do not increase up to 255")
        }
        var layers: [Layer] = []
        for index in 0..<layerCount {
            layers.append(
                try reader.layer(
                    index, inputs: layers.last?.outputs ?? 1, buckets: buckets,
                    outputs: index == layerCount - 1 ? scale * scale : nil))
        }
        guard reader.position == reader.end else {
            throw NetworkFileError("\(reader.end - reader.position) bytes too many after the last layer")
        }
        self.layers = layers
    }

    private struct Reader {
        let bytes: [UInt8]
        let end: Int
        var position = 0

        mutating func bytes(_ what: String, _ count: Int) throws(NetworkFileError) -> ArraySlice<UInt8> {
            guard count <= end - position else { throw NetworkFileError("the weights end inside of \(what)") }
            defer { position += count }
            return bytes[position..<position + count]
        }

        mutating func number(
            _ what: String, in range: ClosedRange<Int> = 0...Int(UInt32.max)
        ) throws(NetworkFileError) -> Int {
            let value = try bytes(what, 4).reversed().reduce(0) { $0 << 8 | Int($1) }
            guard range.contains(value) else {
                throw NetworkFileError("the weights' \(what) is \(value), not in \(range)")
            }
            return value
        }

        mutating func layer(
            _ index: Int, inputs: Int, buckets: Int, outputs: Int?
        ) throws(NetworkFileError) -> Layer {
            let place = "layer \(index)"
            _ = try number("\(place) input count", in: inputs...inputs)
            let outputs = try number("\(place) output count", in: outputs.map { $0...$0 } ?? 1...64)
            _ = try number("\(place) kernel size", in: 3...3)
            let shift = try number("\(place) shift", in: 0...15)
            let weights = try bytes("\(place) weights", outputs * 9 * inputs).map { Int8(bitPattern: $0) }
            var bias: [Int32] = []
            for _ in 0..<buckets * outputs {
                bias.append(Int32(bitPattern: UInt32(try number("\(place) bias"))))
            }
            var multipliers: [Int16] = []
            for _ in 0..<buckets * outputs {
                let pair = try bytes("\(place) multipliers", 2)
                multipliers.append(Int16(bitPattern: UInt16(pair.first!) | UInt16(pair.last!) << 8))
            }
            guard weights.allSatisfy({ (-64...63).contains($0) }), bias.allSatisfy({ $0.magnitude <= 1 << 24 }),
                multipliers.allSatisfy({ $0 > 0 })
            else { throw NetworkFileError("\(place) has weights, biases or multipliers out of range") }
            return Layer(
                inputs: inputs, outputs: outputs, shift: shift, weights: weights, bias: bias, multipliers: multipliers)
        }
    }
}

/// CRC-32 as in zlib and IEEE 802.3.
private func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    var register: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        register ^= UInt32(byte)
        for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 0 ? 0 : 0xEDB8_8320) }
    }
    return ~register
}
