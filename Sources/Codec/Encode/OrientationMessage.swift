import Media

/// Puts the display orientation SEI (ITU-T H.264, D.1.27) into keyframes of a stream whose pictures are to be turned for
/// display. libx264's wrapper cannot.
struct OrientationMessage {
    /// The NAL unit, with a start code.
    private let unit: [UInt8]
    private var memory: [UInt8] = []

    /// Nil where pictures are upright.
    init?(_ orientation: Orientation) {
        guard orientation != .upright else { return nil }
        // Not cancelled, both flips, 16 bits of rotation, repetition period 1 (until the next keyframe, as ue(v) 010), no
        // extension, then a one to fill the last byte.
        let flips: UInt32 = (orientation.isFlippedHorizontally ? 2 : 0) + (orientation.isFlippedVertically ? 1 : 0)
        let bits = flips << 21 | UInt32(orientation.rotation) << 5 | 0b01001
        // No two of these bytes in a row are followed by one that would need an emulation prevention byte: the last is at
        // least 9.
        unit = [0, 0, 0, 1, 6, 47, 3, UInt8(bits >> 16 & 255), UInt8(bits >> 8 & 255), UInt8(bits & 255), 0x80]
    }

    /// The access unit with the message before its first slice. Valid until the next call. Allocates only when a unit is
    /// larger than any before.
    mutating func insert(
        into coded: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        let place = unsafe Self.firstSlice(of: coded)
        memory.removeAll(keepingCapacity: true)
        unsafe memory.append(contentsOf: coded[..<place])
        memory.append(contentsOf: unit)
        unsafe memory.append(contentsOf: coded[place...])
        unsafe memory.withUnsafeBytes { unsafe body($0) }
    }

    /// Where the start code of the first slice is; the end where there is none.
    private static func firstSlice(of coded: UnsafeRawBufferPointer) -> Int {
        var at = 0
        while at + 3 < coded.count {
            if unsafe coded[at] == 0, unsafe coded[at + 1] == 0, unsafe coded[at + 2] == 1 {
                let type = unsafe coded[at + 3] & 31
                if type == 1 || type == 5 { return unsafe at > 0 && coded[at - 1] == 0 ? at - 1 : at }
                at += 4
            } else {
                at += 1
            }
        }
        return coded.count
    }
}
