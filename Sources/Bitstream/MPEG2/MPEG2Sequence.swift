import Media

/// A sequence header with the extensions that follow it (ITU-T H.262, 6.2.2; ISO/IEC 11172-2 has the header alone).
struct MPEG2Sequence: Sendable {
    private(set) var parameters: VideoParameters
    private let sizeBits: (columns: Int, rows: Int)
    private let aspectCode: Int
    private let rate: Rational?
    private(set) var isMPEG1 = true

    /// Table 6-4.
    private static let rates: [(Int64, Int64)] = [
        (24000, 1001), (24, 1), (25, 1), (30000, 1001), (30, 1), (50, 1), (60000, 1001), (60, 1),
    ]

    /// - Parameter unit: a sequence header, from the byte behind the start code on. Any bytes at all.
    init(_ unit: UnsafeRawBufferPointer) throws(BitstreamFault) {
        guard unit.count >= 8, unsafe unit[0] == 0xB3 else { throw .notAParameterSet }
        var r = unsafe RBSPReader(unit, hasPrevention: false)
        sizeBits = (r.bits(12), r.bits(12))
        parameters = try VideoParameters(
            codec: .mpeg2Video, size: VideoParameters.checked(width: sizeBits.columns, height: sizeBits.rows))
        aspectCode = r.bits(4)
        let code = r.bits(4)
        rate = 1...8 ~= code ? Rational(Self.rates[code - 1].0, Self.rates[code - 1].1) : nil
        parameters.frameRate = rate
    }

    /// Reads an extension.
    /// - Parameter unit: from the byte behind the start code on.
    mutating func read(_ unit: UnsafeRawBufferPointer, _ type: MPEG2UnitType) throws(BitstreamFault) {
        var r = unsafe RBSPReader(unit, hasPrevention: false)
        r.skip(4)
        if type == .sequenceExtension {
            isMPEG1 = false
            // The escape bit, the profile, the level.
            r.skip(1)
            (parameters.profile, parameters.level) = (UInt16(r.bits(3)), UInt8(r.bits(4)))
            parameters.isProgressive = r.flag()
            parameters.chromaFormat = r.bits(2)
            let (columns, rows) = (r.bits(2) << 12 | sizeBits.columns, r.bits(2) << 12 | sizeBits.rows)
            r.skip(12 + 1 + 8)
            // `low_delay`: no picture is shown later than one that follows it.
            parameters.reordering = r.flag() ? 0 : nil
            let (n, d) = (Int64(r.bits(2) + 1), Int64(r.bits(5) + 1))
            guard !r.isExhausted else { throw .truncated }
            guard 1...3 ~= parameters.chromaFormat else { throw .invalid(field: "chroma_format") }
            parameters.size = try VideoParameters.checked(width: columns, height: rows)
            parameters.frameRate = rate.map { Rational($0.numerator * n, $0.denominator * d) }
            setAspect(width: columns, height: rows)
        } else if type == .displayExtension {
            r.skip(3)
            if r.flag() {
                parameters.color.primaries = UInt8(r.bits(8))
                parameters.color.transfer = UInt8(r.bits(8))
                parameters.color.matrix = UInt8(r.bits(8))
            }
            let width = r.bits(14)
            r.skip(1)
            let height = r.bits(14)
            guard !r.isExhausted else { throw .truncated }
            if width > 0, height > 0 { setAspect(width: width, height: height) }
        }
    }

    /// MPEG-2's codes are shapes of the displayed area (table 6-3).
    private mutating func setAspect(width: Int, height: Int) {
        let shapes: [Int: (Int64, Int64)] = [2: (4, 3), 3: (16, 9), 4: (221, 100)]
        if aspectCode == 1 {
            parameters.color.sampleAspectRatio = Rational(1, 1)
        } else if let shape = shapes[aspectCode] {
            parameters.color.sampleAspectRatio = Rational(shape.0 * Int64(height), shape.1 * Int64(width))
        }
    }
}

/// Follows the sequence headers of a stream. Allocates when one is new, and not when it is repeated.
struct MPEG2Sequences: Sendable {
    private(set) var current: MPEG2Sequence?
    private(set) var lastFault: BitstreamFault?
    /// The newest header and its extensions as they came.
    private(set) var kept = KeptParameterSets()

    var newest: VideoParameters? { current?.parameters }

    init() {}

    /// - Parameter unit: a sequence header or one of its extensions, from the byte behind the start code on.
    mutating func read(_ unit: UnsafeRawBufferPointer, _ type: MPEG2UnitType) {
        do throws(BitstreamFault) {
            switch type {
            case .sequence:
                if unsafe kept.holds(unit) { return }
                current = unsafe try MPEG2Sequence(unit)
                kept.removeAll()
                unsafe kept.keep(unit, key: 0)
            case .sequenceExtension, .displayExtension:
                if unsafe current == nil || kept.holds(unit) { return }
                // All of it or nothing.
                var extended = current!
                unsafe try extended.read(unit, type)
                current = extended
                unsafe kept.keep(unit, key: type == .sequenceExtension ? 1 : 2)
            default: break
            }
        } catch {
            lastFault = error
        }
    }
}
