import Endpoint
import Media
import Synchronization

/// Receives the tracks of a call in their sender's order: a session and the wire that carries its packets.
///
/// ``receive(into:until:)``, ``needsKeyframe(_:)``, ``wantsKeyframe(every:)`` and ``sayGoodbye()`` belong to one thread; everything else
/// may be called from any.
package final class MediaSource: Sendable {
    private let wire: any RTPWire
    private let figures = Lock(LegFigures())
    private let receiver: ThreadConfined<Receiver>

    /// - Parameters:
    ///   - latency: how long packets are waited for at most; nil for the usual.
    ///   - bitRate: the most bits a second that the sender is to send; nil for the usual.
    ///   - pictureSize: tells the sizes of a picture apart that is sent in several.
    package init(
        _ wire: any RTPWire, latency: Nanoseconds?, bitRate: Int? = nil, leftOut: [String] = [],
        pictureSize: PictureSizeReader? = nil
    ) {
        self.wire = wire
        receiver = ThreadConfined(
            Receiver(wire, Wishes(latency: latency, bitRate: bitRate, pictureSize: pictureSize), leftOut))
    }

    /// Those of the present call. For the thread that receives.
    package var tracks: [RTPTrack] { receiver.use { $0.tracks } }
    package var localPort: UInt16 { wire.place?.port ?? 0 }
    package var negotiatedWindow: Nanoseconds { figures.withLock { $0.window } }
    package func interrupt() { wire.interrupt() }
    package func statistics() -> LegFigures { figures.withLock { $0 } }

    package func needsKeyframe(_ isNeeded: Bool) { receiver.use { $0.needsKeyframe(isNeeded) } }
    package func wantsKeyframe(every interval: Nanoseconds?) { receiver.use { $0.wantsKeyframe(every: interval) } }
    package var lastHeard: MonotonicTime? { receiver.use { $0.lastHeard } }
    package func sayGoodbye() { receiver.use { $0.sayGoodbye() } }

    package func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        receiver.use { receiver in
            let received = unsafe receiver.receive(into: buffer, until: limit)
            figures.withLock { receiver.write(&$0) }
            return received
        }
    }

    /// What the operator wants of a sender; nil for the usual.
    private struct Wishes {
        var latency: Nanoseconds?
        var bitRate: Int?
        var pictureSize: PictureSizeReader?
    }

    @safe private struct Receiver: ~Copyable {
        private(set) var tracks: [RTPTrack]
        private var call: Int
        private var session: RTPReceiveSession
        private let wire: any RTPWire
        private let wishes: Wishes
        private var window: Nanoseconds
        /// Of the calls before.
        private var earlier = LegFigures()
        private var droppedByWire: Int64 = 0
        private let datagram = UnsafeMutableRawBufferPointer.allocate(byteCount: RTPFeed.largest, alignment: 64)
        private var hasReportedPort = false
        private var begun: Set<Int> = []
        private var isConnected = false
        private(set) var lastHeard: MonotonicTime?
        /// Everything that had come by then was read.
        private var readUpTo = MonotonicTime(nanoseconds: 0)
        private var pending: [LegEvent] = []
        private var sequence: Int64 = 0
        private var connections: Int64 = 0
        private var packets: Int64 = 0
        private var bytes: Int64 = 0

        init(_ wire: any RTPWire, _ wishes: Wishes, _ leftOut: [String]) {
            self.wire = wire
            self.wishes = wishes
            let present = wire.call
            (tracks, call) = (present.tracks, present.number)
            let (configuration, window) = Self.configuration(present.tracks, wishes, isAuthentic: wire.isAuthentic)
            self.window = window
            session = RTPReceiveSession(present.tracks, configuration)
            pending = leftOut.map { .leftOut($0) }
        }

        /// So much later than the others a picture may come without being late, where lost packets are sent again.
        private static let usualWindow = Nanoseconds.milliseconds(100)

        private static func configuration(
            _ tracks: [RTPTrack], _ wishes: Wishes, isAuthentic: Bool
        ) -> (RTPReceiveSession.Configuration, window: Nanoseconds) {
            var configuration = RTPReceiveSession.Configuration()
            configuration.isAuthentic = isAuthentic
            configuration.pictureSize = wishes.pictureSize
            let repairs = tracks.contains { $0.feedback.contains(.retransmission) }
            if let rate = wishes.bitRate { configuration.bitRate = UInt64(rate) }
            if let latency = wishes.latency {
                configuration.reordering = repairs ? min(latency, configuration.reordering) : latency
                configuration.longestHold = latency
            }
            return (configuration, wishes.latency ?? (repairs ? usualWindow : configuration.reordering))
        }

        /// Begins with the wire's present call.
        private mutating func beginCall() {
            let present = wire.call
            var figures = LegFigures()
            write(&figures)
            earlier = figures
            // The wire counts on.
            earlier.packetsDropped -= droppedByWire
            if isConnected { pending.append(.disconnected(reason: present.endReason)) }
            (isConnected, begun, lastHeard) = (false, [], nil)
            (tracks, call) = (present.tracks, present.number)
            let (configuration, window) = Self.configuration(present.tracks, wishes, isAuthentic: wire.isAuthentic)
            self.window = window
            session = RTPReceiveSession(present.tracks, configuration)
        }

        deinit { unsafe datagram.deallocate() }

        mutating func needsKeyframe(_ isNeeded: Bool) { session.needsKeyframe = isNeeded }
        mutating func wantsKeyframe(every interval: Nanoseconds?) { session.keyframeWish = interval }

        mutating func sayGoodbye() {
            unsafe session.goodbye { [wire] packet, track in unsafe wire.sendFeedback(packet, track: track) }
        }

        mutating func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
            precondition(buffer.count >= PacketRing.room, "the buffer must hold the largest payload")
            if !hasReportedPort {
                hasReportedPort = true
                if let place = wire.place { return .event(.listening(place)) }
            }
            var (reads, turns) = (0, 0)
            while true {
                if wire.callNumber != call { beginCall() }
                if let event = nextEvent() { return .event(event) }
                if let (arrival, count) = unsafe session.next(at: readUpTo, into: buffer) {
                    return .message(message(arrival, count))
                }
                sendFeedback()
                let asked = MonotonicTime.now()
                if let reading = unsafe wire.read(into: datagram) {
                    // Another socket may have one that came before.
                    if wire.keepsOrder { readUpTo = max(readUpTo, min(reading.arrival, asked)) }
                    packets += 1
                    bytes += Int64(reading.byteCount)
                    let packet = unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(datagram)[..<reading.byteCount])
                    let isOurs = unsafe session.receive(
                        packet, arrival: reading.arrival, track: reading.track, isFromPeer: reading.isFromPeer)
                    if isOurs {
                        wire.confirm()
                        lastHeard = reading.arrival
                    }
                    reads += 1
                    // A flood does not hold the reader for ever.
                    if reads % 64 == 0, .now() >= limit { return .idle }
                    continue
                }
                readUpTo = asked
                // A gap that is abandoned, feedback or an end: what handles each stands at the loop's beginning.
                let timer = session.nextTimer
                if let timer, timer <= asked, turns < Self.mostTurns {
                    turns += 1
                    continue
                }
                guard .now() < limit else { return .idle }
                let next = timer.map { max($0, asked + Self.leastWait) } ?? limit
                guard wire.wait(until: min(limit, next)) else { return .idle }
                turns = 0
            }
        }

        /// What is due is handled in so many turns of the loop; then the thread waits a little in any case.
        private static let mostTurns = 4
        private static let leastWait = Nanoseconds.milliseconds(0.5)

        private mutating func sendFeedback() {
            unsafe session.nextFeedback(at: .now()) { [wire] packet, track in unsafe wire.sendFeedback(packet, track: track) }
        }

        private mutating func message(_ arrival: RTPArrival, _ count: Int) -> Message {
            sequence += 1
            var message = Message(
                byteCount: count, arrival: arrival.arrival, sourceTime: arrival.sourceTime, sequence: sequence)
            message.packet = arrival
            return message
        }

        private mutating func nextEvent() -> LegEvent? {
            if !pending.isEmpty { return pending.removeFirst() }
            guard let event = session.nextEvent(at: readUpTo) else { return nil }
            switch event {
            case .began(let track):
                let isAnother = !begun.insert(track).inserted
                if isConnected, isAnother {
                    pending.append(.connected(Connection(peer: wire.peer, window: window)))
                    begun = [track]
                    connections += 1
                    return .disconnected(reason: "another source has taken its place")
                }
                guard !isConnected else { return nextEvent() }
                isConnected = true
                connections += 1
                return .connected(Connection(peer: wire.peer, window: window))
            case .ended(let reason):
                (isConnected, begun, lastHeard) = (false, [], nil)
                return .disconnected(reason: reason)
            // Only where nobody is served is there no connection.
            case .refused(let reason): return isConnected ? .leftOut(reason) : .refused(reason: reason)
            case .alignedByArrival: return .alignedByArrival
            case .reportsContradict(let track, let seconds):
                let codec = tracks[track].formats[0].codec
                return .reportsContradict(
                    track: "\(codec.isVideo ? "pictures" : "sound") (\(codec.encoding))", milliseconds: Int(seconds * 1_000))
            case .keyframeWithheld: return .keyframeWithheld
            case .receivesLayer(let size, let count): return .receivesLayer(size, of: count)
            }
        }

        mutating func write(_ figures: inout LegFigures) {
            figures.isConnected = isConnected
            figures.connections = connections
            figures.window = isConnected ? window : .zero
            figures.roundTripTime = isConnected ? session.roundTrip ?? .zero : .zero
            figures.packetsReceived = packets
            figures.bytesReceived = bytes
            let losses = session.losses
            figures.packetsLost = earlier.packetsLost + losses.found
            figures.packetsRetransmitted = earlier.packetsRetransmitted + losses.repaired
            droppedByWire = wire.packetsDropped
            figures.packetsCarried = earlier.packetsCarried + losses.carried
            figures.packetsDropped = earlier.packetsDropped + losses.abandoned + droppedByWire
            figures.packetsUnexpected = earlier.packetsUnexpected + session.unexpected
            figures.packetsOfOtherLayers = earlier.packetsOfOtherLayers + session.leftOut
            figures.picturesRefused = wire.picturesRefused
            figures.reports = earlier.reports + session.reports
            figures.reportsRejected = earlier.reportsRejected + session.reportsRejected
        }
    }
}
