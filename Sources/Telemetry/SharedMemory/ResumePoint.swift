import Media

/// How far a stream's output has come: what a worker needs to go on where a dead one ended.
public struct OutputPosition: Hashable, Sendable, BitwiseCopyable {
    /// Of the newest picture that was sent, on the output's timeline.
    public var presentation = MediaTime(ticks: 0)
    public var decode = MediaTime(ticks: 0)
    /// When it was sent.
    public var sent = MonotonicTime(nanoseconds: 0)
    /// When the frame that it shows had arrived.
    public var arrival = MonotonicTime(nanoseconds: 0)
    /// The source time that went out with it.
    public var stamp = MonotonicTime(nanoseconds: 0)
    /// Ticks that the output's timeline is ahead of the source's time stamps.
    public var sourceOffset: Int64 = 0
    /// The time of one frame.
    public var interval = Nanoseconds.zero
    public var epoch: UInt32 = 0
    public var sourceClock: UInt32 = 0
    /// The version of the program's tables, 0 to 31.
    public var tableVersion: UInt8 = 0
    /// What receivers over RTP know the sender by; nil elsewhere.
    public var rtp: RTPPosition?

    public init() {}
}

/// How far an RTP sender has come (RFC 3550, 5.1).
public struct RTPPosition: Hashable, Sendable, BitwiseCopyable {
    /// The synchronisation source.
    public var source: UInt32
    /// The next packet's sequence number.
    public var sequence: UInt16
    /// The time stamp at time zero of the monotonic clock.
    public var timestampBase: UInt32

    public init(source: UInt32, sequence: UInt16, timestampBase: UInt32) {
        self.source = source
        self.sequence = sequence
        self.timestampBase = timestampBase
    }
}

/// The other end of a connection. A successor may tell it that the connection is gone.
public struct LegPeer: Hashable, Sendable {
    /// 4 bytes (IPv4) or 16 (IPv6), as on the network.
    public var address: [UInt8]
    public var port: UInt16
    /// The interface of an IPv6 link-local address; else 0.
    public var scope: UInt32
    /// The local port of the connection.
    public var localPort: UInt16
    /// SRT's numbers of the socket at the peer and of ours; else 0.
    public var peerSocket: UInt32
    public var localSocket: UInt32

    /// - Precondition: the address has 4 or 16 bytes.
    public init(
        address: [UInt8], port: UInt16, scope: UInt32 = 0, localPort: UInt16, peerSocket: UInt32 = 0, localSocket: UInt32 = 0
    ) {
        precondition(address.count == 4 || address.count == 16)
        self.address = address
        self.port = port
        self.scope = scope
        self.localPort = localPort
        self.peerSocket = peerSocket
        self.localSocket = localSocket
    }
}

/// The continuity counter of a stream in the output's multiplex: the last value that was sent.
public struct ContinuityCounter: Hashable, Sendable, BitwiseCopyable {
    /// At most 8191.
    public var identifier: UInt16
    /// At most 15.
    public var value: UInt8

    public init(identifier: UInt16, value: UInt8) {
        self.identifier = identifier
        self.value = value
    }
}

/// What a successor finds in its predecessor's map. Every value is within its range; whether it makes sense is for the
/// successor to judge, since a worker that was taken over could have written anything.
public struct ResumePoint: Hashable, Sendable {
    /// Nil when no picture was sent.
    public var position: OutputPosition?
    public var continuity: [ContinuityCounter] = []
    public var inputPeers: [LegPeer] = []
    public var outputPeers: [LegPeer] = []

    public init() {}
}

/// Translates the resume area. Numbers of a group lie behind its sequence number.
enum ResumeWords {
    static func write(_ position: OutputPosition, _ words: MappedWords, at start: Int) {
        words.store(UInt64(signed: position.presentation.ticks), at: start + 1)
        words.store(UInt64(signed: position.decode.ticks), at: start + 2)
        words.store(UInt64(signed: position.sent.nanoseconds), at: start + 3)
        words.store(UInt64(signed: position.stamp.nanoseconds), at: start + 4)
        words.store(UInt64(signed: position.sourceOffset), at: start + 5)
        words.store(UInt64(signed: position.interval.count), at: start + 6)
        words.store(UInt64(position.epoch) | UInt64(position.sourceClock) << 32, at: start + 7)
        words.store(UInt64(position.tableVersion), at: start + 8)
        words.store(UInt64(signed: position.arrival.nanoseconds), at: start + 9)
        let rtp = position.rtp
        words.store(rtp.map(word) ?? 0, at: start + senderWord)
        words.store(UInt64(rtp?.timestampBase ?? 0), at: start + 11)
    }

    static func position(_ words: ArraySlice<UInt64>) -> OutputPosition? {
        func number(_ index: Int) -> Int64 { Int64(bitPattern: words[words.startIndex + index]) }
        guard Bounds.ticks.contains(number(1)), Bounds.ticks.contains(number(2)), Bounds.time.contains(number(3)),
            Bounds.time.contains(number(4)), Bounds.ticks.contains(number(5)), Bounds.duration.contains(number(6)),
            (0...31).contains(number(8)), Bounds.time.contains(number(9))
        else { return nil }
        var position = OutputPosition()
        position.presentation = MediaTime(ticks: number(1))
        position.decode = MediaTime(ticks: number(2))
        position.sent = MonotonicTime(nanoseconds: number(3))
        position.stamp = MonotonicTime(nanoseconds: number(4))
        position.sourceOffset = number(5)
        position.interval = Nanoseconds(number(6))
        position.epoch = UInt32(truncatingIfNeeded: number(7))
        position.sourceClock = UInt32(truncatingIfNeeded: number(7) >> 32)
        position.tableVersion = UInt8(number(8))
        position.arrival = MonotonicTime(nanoseconds: number(9))
        if number(10) < 0 {
            position.rtp = RTPPosition(
                source: UInt32(truncatingIfNeeded: number(10)), sequence: UInt16(truncatingIfNeeded: number(10) >> 32),
                timestampBase: UInt32(truncatingIfNeeded: number(11)))
        }
        return position
    }

    /// The word of a position that has the RTP sender's source and sequence number.
    static let senderWord = 10

    static func word(_ sender: RTPPosition) -> UInt64 { 1 << 63 | UInt64(sender.sequence) << 32 | UInt64(sender.source) }

    static func word(_ counter: ContinuityCounter) -> UInt64 {
        1 << 32 | UInt64(counter.identifier) << 8 | UInt64(counter.value)
    }

    static func continuity(_ word: UInt64) -> ContinuityCounter? {
        let (identifier, value) = (word >> 8 & 0xFF_FFFF, word & 0xFF)
        guard word >> 32 == 1, identifier < 8192, value < 16 else { return nil }
        return ContinuityCounter(identifier: UInt16(identifier), value: UInt8(value))
    }

    static func write(_ peers: some Collection<LegPeer>, _ words: MappedWords, at start: Int) {
        words.store(UInt64(peers.count), at: start + 1)
        for (index, peer) in peers.enumerated() {
            let at = start + 2 + index * TelemetryLayout.peerWords
            words.store(UInt64(peer.address.count) | UInt64(peer.port) << 16 | UInt64(peer.localPort) << 32, at: at)
            for half in 0..<2 {
                let bytes = peer.address.dropFirst(half * 8).prefix(8)
                words.store(
                    bytes.enumerated().reduce(0) { $0 | UInt64($1.element) << (8 * UInt64($1.offset)) }, at: at + 1 + half)
            }
            words.store(UInt64(peer.peerSocket) | UInt64(peer.localSocket) << 32, at: at + 3)
            words.store(UInt64(peer.scope), at: at + 4)
        }
    }

    static func peers(_ words: ArraySlice<UInt64>) -> [LegPeer]? {
        let count = words[words.startIndex + 1]
        guard count <= TelemetryLayout.peersOfALeg else { return nil }
        var peers: [LegPeer] = []
        for index in 0..<Int(count) {
            let at = words.startIndex + 2 + index * TelemetryLayout.peerWords
            let length = words[at] & 0xFFFF
            guard length == 4 || length == 16 else { return nil }
            let bytes = (0..<16).map { UInt8(truncatingIfNeeded: words[at + 1 + $0 / 8] >> (8 * UInt64($0 % 8))) }
            peers.append(
                LegPeer(
                    address: Array(bytes.prefix(Int(length))), port: UInt16(truncatingIfNeeded: words[at] >> 16),
                    scope: UInt32(truncatingIfNeeded: words[at + 4]),
                    localPort: UInt16(truncatingIfNeeded: words[at] >> 32),
                    peerSocket: UInt32(truncatingIfNeeded: words[at + 3]),
                    localSocket: UInt32(truncatingIfNeeded: words[at + 3] >> 32)))
        }
        return peers
    }
}
