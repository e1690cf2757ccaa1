import Bitstream
import Media

/// One unit of an elementary stream: an access unit of the main video, or the payload of one PES packet of another
/// stream.
@safe public struct StreamUnit {
    /// Where a decoder can begin.
    public enum RandomAccess: UInt8, Sendable, BitwiseCopyable {
        case none
        /// An IDR picture.
        case instantaneousRefresh
        /// A picture with a recovery point message.
        case recoveryPoint
    }

    /// What is wrong with a unit.
    public struct Damage: OptionSet, Sendable, BitwiseCopyable {
        public let rawValue: UInt8
        @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
        /// Transport packets of it are missing, were marked as broken, or were scrambled.
        public static let packetsLost = Damage(rawValue: 1)
        /// It follows a torn unit, and no random access point came since.
        public static let followsTorn = Damage(rawValue: 2)
        /// The stream ended before the unit was known to be complete.
        public static let truncated = Damage(rawValue: 4)
    }

    /// The PID.
    public let stream: Int
    public let isMainVideo: Bool
    /// Counts the units of this stream from 0.
    public let serial: Int
    /// The unit; valid only until the handler returns.
    @unsafe public let bytes: UnsafeRawBufferPointer
    /// Nil for what has no stamp of its own: the second and later pictures of one PES packet (2.4.3.7).
    public let presentation: MediaTime?
    public let decode: MediaTime?
    /// When the message with its first packet arrived.
    public let firstArrival: MonotonicTime
    /// When the last of the messages with its packets arrived.
    public let lastArrival: MonotonicTime
    public let lastSourceTime: MonotonicTime?
    public let randomAccess: RandomAccess
    /// The decoding time went back or leapt by more than three seconds, or the multiplex announced a new clock.
    public let isDiscontinuity: Bool
    public let damage: Damage
    public let evidence: EndEvidence

    public var isKeyframe: Bool { randomAccess != .none }
    public var isDamaged: Bool { !damage.isEmpty }
}

/// What comes out of the demuxer.
public enum TransportStreamEvent {
    /// The program that is followed: its first map, or a changed one.
    case program(ProgramDescription)
    /// The main video's first or changed parameters; comes before the unit that they are for.
    case format(SequenceParameterSet)
    case unit(StreamUnit)
    /// The main video unit with this serial number was handed on before its end: a misleading multiplex. Its picture,
    /// and all up to the next random access point, are to be taken as damaged.
    case torn(serial: Int)
    /// Something of the stream did not come or cannot be used.
    /// - Parameter isMainVideo: whether it is known to be the main video's.
    case fault(StreamFault, isMainVideo: Bool)
}

/// What did not come, or cannot be used, of a transport stream.
public enum StreamFault: Hashable, Sendable, BitwiseCopyable {
    /// A continuity counter jumped: so many packets at least are missing.
    case gap(packets: Int)
    /// A packet with `transport_error_indicator` or an impossible adaptation field.
    case brokenPacket
    /// A packet, or the PES packet that begins in it, is encrypted.
    case scrambledPacket
    /// A unit was larger than the limit, and was dropped.
    case oversizedUnit(presentation: MediaTime?, isKeyframe: Bool)
}

/// What the demuxer has counted since it was made.
public struct TransportStreamCounters: Hashable, Sendable {
    public var packets = 0
    public var nullPackets = 0
    /// Bytes skipped in search of a packet's start.
    public var skippedBytes = 0
    /// How often the packets' alignment was lost.
    public var syncLosses = 0
    /// Packets with `transport_error_indicator` or an impossible adaptation field.
    public var brokenPackets = 0
    public var scrambledPackets = 0
    public var duplicatePackets = 0
    /// Jumps of a continuity counter.
    public var continuityGaps = 0
    /// The least number of packets that explains them.
    public var lostPackets = 0
    /// Packets of PIDs that no table names, or that are only counted.
    public var unusedPackets = 0
    public var sectionFaults = 0
    public var malformedHeaders = 0
    /// Units larger than the limit, dropped.
    public var oversizedUnits = 0
    public var damagedUnits = 0
    public var tornUnits = 0
    /// Units of the main video by how their end was known; index by ``EndEvidence/rawValue``.
    public var unitsByEvidence: EvidenceCounts = EvidenceCounts()
    /// Units of the other streams.
    public var passingUnits = 0
    /// Bytes of the main video that belong to no unit that could be begun.
    public var orphanBytes = 0

    public subscript(evidence: EndEvidence) -> Int { unitsByEvidence[evidence] }
}

/// A count for each ``EndEvidence``.
public struct EvidenceCounts: Hashable, Sendable {
    private var counts: (Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0)

    public subscript(evidence: EndEvidence) -> Int {
        get {
            switch evidence {
            case .length: counts.0
            case .stuffing: counts.1
            case .timer: counts.2
            case .delimiter: counts.3
            case .nextStart: counts.4
            case .endOfStream: counts.5
            case .flush: counts.6
            }
        }
        set {
            switch evidence {
            case .length: counts.0 = newValue
            case .stuffing: counts.1 = newValue
            case .timer: counts.2 = newValue
            case .delimiter: counts.3 = newValue
            case .nextStart: counts.4 = newValue
            case .endOfStream: counts.5 = newValue
            case .flush: counts.6 = newValue
            }
        }
    }

    public static func == (a: Self, b: Self) -> Bool { EndEvidence.allCases.allSatisfy { a[$0] == b[$0] } }
    public func hash(into hasher: inout Hasher) { for each in EndEvidence.allCases { hasher.combine(self[each]) } }
}
