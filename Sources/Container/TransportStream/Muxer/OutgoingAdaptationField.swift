/// The adaptation field of a transport packet that goes out (ISO/IEC 13818-1, 2.4.3.4): clock reference, flags,
/// stuffing.
struct OutgoingAdaptationField {
    /// The program clock reference in 90 kHz ticks (any, it is wrapped to 33 bits); nil for none.
    var clock: Int64?
    /// The clock does not follow from the one before.
    var isJump = false
    var isRandomAccess = false
    /// Bytes of stuffing. A field of nothing but its length byte has one.
    var stuffing = 0
    private var hasFlags: Bool { clock != nil || isJump || isRandomAccess }

    init(clock: Int64? = nil, isJump: Bool = false, isRandomAccess: Bool = false, stuffing: Int = 0) {
        self.clock = clock
        self.isJump = isJump
        self.isRandomAccess = isRandomAccess
        self.stuffing = stuffing
    }

    /// The field's bytes with its length byte; 0 when the packet has no field.
    var length: Int { (hasFlags ? 2 + (clock == nil ? 0 : 6) : 0) + stuffing }

    func write(to field: UnsafeMutablePointer<UInt8>) {
        unsafe field[0] = UInt8(length - 1)
        if length == 1 { return }
        unsafe field[1] = (isJump ? 0x80 : 0) | (isRandomAccess ? 0x40 : 0) | (clock == nil ? 0 : 0x10)
        var at = 2
        if let clock {
            // 33 bits of 90 kHz, 6 reserved, 9 of 27 MHz (always 0).
            let base = UInt64(bitPattern: clock) & 0x1_ffff_ffff
            while at < 6 {
                unsafe field[at] = UInt8(truncatingIfNeeded: base >> UInt64(8 * (5 - at) + 1))
                at += 1
            }
            unsafe field[at] = UInt8(truncatingIfNeeded: base & 1) << 7 | 0x7e
            unsafe field[at + 1] = 0
            at += 2
        }
        while at < length {
            unsafe field[at] = 0xff
            at += 1
        }
    }
}
