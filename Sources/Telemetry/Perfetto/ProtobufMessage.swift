/// Writes one protobuf message: fields as varints, fixed words and byte strings. Only what Perfetto traces need. The encoding is
/// that of https://protobuf.dev/programming-guides/encoding.
struct ProtobufMessage {
    private(set) var bytes: [UInt8] = []

    /// The low three bits of a field's key.
    private enum WireType: UInt64 { case varint = 0, fixed64 = 1, lengthDelimited = 2 }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func key(_ field: UInt64, _ type: WireType) { varint(field << 3 | type.rawValue) }

    mutating func add(_ field: UInt64, _ value: UInt64) {
        key(field, .varint)
        varint(value)
    }

    /// An int32 or int64: negative numbers take ten bytes.
    mutating func add(_ field: UInt64, signed value: Int64) { add(field, UInt64(bitPattern: value)) }

    mutating func add(_ field: UInt64, fixed value: UInt64) {
        key(field, .fixed64)
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
    }

    mutating func add(_ field: UInt64, _ text: String) {
        key(field, .lengthDelimited)
        varint(UInt64(text.utf8.count))
        bytes += text.utf8
    }

    /// A message within this one.
    mutating func add(_ field: UInt64, _ body: (inout ProtobufMessage) -> Void) {
        var message = ProtobufMessage()
        body(&message)
        key(field, .lengthDelimited)
        varint(UInt64(message.bytes.count))
        bytes += message.bytes
    }
}
