import Media

/// Reads what has gone out from an entry point on, as a transport stream that begins there.
///
/// Confined to one thread.
struct PastReader {
    enum Step {
        /// So many bytes have been added.
        case wrote
        /// Nothing more is there yet.
        case waits
        /// What comes next has left the ring.
        case gone
        /// A picture that belongs behind the end.
        case reachedEnd
    }

    private let ring: PastRing
    private(set) var next: UInt64
    private var unit: [UInt8] = []
    private var muxer = UnitMuxer()
    /// The first picture's and the newest picture's.
    private(set) var times: (first: MonotonicTime, last: MonotonicTime)?
    private(set) var pictures = 0
    /// The newest picture that was read is one at which a decoder can begin.
    private(set) var isAtEntry = false

    init(_ ring: PastRing, from number: UInt64) { (self.ring, next) = (ring, number) }

    /// Where a clip begins: the last entry point that had left by a time, or the oldest.
    static func start(of time: MonotonicTime, in ring: PastRing) -> UInt64? {
        ring.withUnits { units in
            var found: UInt64?
            for index in 0..<units.count {
                let unit = units[index]
                guard unit.isPicture, unit.isEntry else { continue }
                if found != nil, unit.time > time { break }
                found = unit.number
            }
            return found
        }
    }

    /// Adds the next unit to the stream.
    /// - Parameters:
    ///   - end: asked of each picture, whether it lies behind the end; such a picture is read again by another reader.
    ///   - bytes: packets are added.
    mutating func step(into bytes: inout [UInt8], isBehindEnd: (PastUnit) -> Bool) -> Step {
        guard next < ring.nextNumber else { return .waits }
        guard let read = ring.read(next, into: &unit) else { return .gone }
        if read.isPicture, isBehindEnd(read) { return .reachedEnd }
        next += 1
        guard muxer.write(read, unit, layout: { ring.layout($0) }, into: &bytes) else { return .wrote }
        if read.isPicture {
            pictures += 1
            isAtEntry = read.isEntry
            times = (times?.first ?? read.time, read.time)
        }
        return .wrote
    }
}
