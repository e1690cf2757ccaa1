import Media
import Synchronization

/// Reads RTP packets and reports from their sockets.
///
/// It serves one source at a time. Another one is served when the present one has been silent for ``silenceTimeout``, and is
/// refused and reported before. Owned by one thread.
@safe struct RTPFeed: PacketFeed, ~Copyable {
    /// A source that has been silent for so long gives way to another, as an SRT caller does.
    static let silenceTimeout = Nanoseconds.seconds(1)
    /// A source that has been silent for so long is gone; libsrt's timeout too.
    static let connectionTimeout = Nanoseconds.seconds(5)
    /// A payload of more bytes is refused; jumbo frames carry less.
    static let largest = 9216

    private let sockets: RTPSockets
    private let window: Nanoseconds
    private let bell: Bell
    private let figures: RTPFigures

    /// A packet's fixed header. Its other bytes go into the reader's buffer.
    private let head = UnsafeMutableRawBufferPointer.allocate(byteCount: RTPHeader.byteCount, alignment: 16)
    /// An RTCP datagram.
    private let rtcp = UnsafeMutableRawBufferPointer.allocate(byteCount: largest, alignment: 64)
    private var hasReportedPort = false
    private var packetsSinceReports = 0
    private(set) var readUpTo = MonotonicTime(nanoseconds: 0)

    // The present source; nil where there is none.
    private var source: UInt32?
    /// The source of the packet that was read last, where it is a new one.
    private var newSource: (id: UInt32, sender: SocketAddress, arrival: MonotonicTime)?
    private var order = RTPOrder()
    private var clock = RTPClock()
    private var lastHeard = MonotonicTime(nanoseconds: 0)
    /// The present source has said goodbye, which may overtake what it sent before.
    private var saidGoodbye = false
    /// Why the present source is to go, once what it sent has been read.
    private var leaveReason: String?
    /// What has been complained of since the last source came: once is enough.
    private var complaints: Set<Complaint> = []

    /// Reports are read at least once in so many packets.
    private static let packetsPerReportRead = 64
    /// More reports at a time come from nobody that counts.
    private static let mostReportsPerRead = 16
    /// How long a source's last packets may come behind its goodbye.
    private static let lastPacketsTimeout = Nanoseconds.milliseconds(20)
    /// How long the thread sleeps at most before it looks again whether the source is gone.
    private static let longestWait = Nanoseconds.seconds(1)

    /// Why a datagram is not one of the stream.
    private enum Complaint { case payloadType, notRTP, otherSource }

    init(_ sockets: consuming RTPSockets, window: Nanoseconds, bell: Bell, figures: RTPFigures) {
        self.sockets = sockets
        self.window = window
        self.bell = bell
        self.figures = figures
    }

    deinit {
        unsafe head.deallocate()
        unsafe rtcp.deallocate()
    }

    mutating func nextEvent() -> LegEvent? {
        guard !hasReportedPort else { return nil }
        hasReportedPort = true
        return .listening(sockets.stream.place("rtp"))
    }

    mutating func hasChangedConnection() -> Bool { false }

    var isLeaving: Bool { leaveReason != nil }

    mutating func leave() -> LegEvent? {
        guard let reason = leaveReason else { return nil }
        leaveReason = nil
        saidGoodbye = false
        source = nil
        figures.isConnected.store(false, ordering: .relaxed)
        return .disconnected(reason: reason)
    }

    mutating func eventBeforePacket() -> LegEvent? {
        guard let next = newSource else { return nil }
        newSource = nil
        source = next.id
        lastHeard = next.arrival
        complaints.removeAll(keepingCapacity: true)
        figures.isConnected.store(true, ordering: .relaxed)
        figures.connections.add(1, ordering: .relaxed)
        return .connected(Connection(peer: "\(next.sender)", window: window))
    }

    mutating func mustReturn(at limit: MonotonicTime) -> Bool { sockets.stream.mustReturn(for: bell, at: limit) }

    mutating func recordGap(messages: Int64) { figures.dropped.add(messages, ordering: .relaxed) }

    mutating func read(into buffer: UnsafeMutableRawBufferPointer, _: inout HoldBuffer) -> Reading {
        let now = MonotonicTime.now()
        if let datagram = unsafe sockets.stream.receive(head, buffer) {
            readUpTo = datagram.time
            packetsSinceReports += 1
            if packetsSinceReports >= Self.packetsPerReportRead { readReports() }
            return unsafe sort(datagram, buffer)
        }
        readUpTo = now
        readReports()
        if source != nil, now - lastHeard >= (saidGoodbye ? Self.lastPacketsTimeout : Self.connectionTimeout) {
            leaveReason =
                saidGoodbye ? "the sender said goodbye" : "nothing has come for \(Int(Self.connectionTimeout.seconds)) s"
        }
        return .empty
    }

    mutating func wait(until limit: MonotonicTime) -> Descriptor.Readiness {
        let longest = MonotonicTime.now() + (saidGoodbye ? Self.lastPacketsTimeout : Self.longestWait)
        return sockets.stream.wait(or: bell, until: min(limit, longest))
    }

    // MARK: Packets

    /// What a datagram is whose fixed header lies in ``head`` and whose other bytes lie in the reader's buffer.
    private mutating func sort(
        _ datagram: DatagramSocket.Arrived, _ buffer: UnsafeMutableRawBufferPointer
    ) -> Reading {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<max(0, datagram.byteCount - head.count)])
        if unsafe datagram.byteCount >= head.count && RTCPDatagram.isPlausible(secondByte: head[1]) && head[0] >> 6 == 2 {
            // Reports on the stream's own port (RFC 5761).
            guard unsafe rest.count <= rtcp.count - head.count else { return .noMessage }
            unsafe rtcp.copyMemory(from: UnsafeRawBufferPointer(head))
            unsafe UnsafeMutableRawBufferPointer(rebasing: rtcp[head.count...]).copyMemory(from: rest)
            applyReport(of: datagram)
            return .noMessage
        }
        guard datagram.byteCount >= RTPHeader.byteCount,
            let header = unsafe RTPHeader(reading: Span(_unsafeBytes: UnsafeRawBufferPointer(head)))
        else {
            return refuse(.notRTP, datagram)
        }
        guard !datagram.isCut,
            let payload = unsafe header.body(in: Span(_unsafeBytes: rest), from: 0)?.payload, payload.count <= Self.largest
        else {
            return refuse(.notRTP, datagram)
        }
        // Some encoders use a type of the dynamic range.
        guard
            unsafe header.payloadType == RTPHeader.transportStream
                || Self.areTransportPackets(UnsafeRawBufferPointer(rebasing: rest[payload]))
        else {
            return refuse(.payloadType, datagram, type: header.payloadType)
        }
        guard isServed(header.source, at: datagram.time) else {
            return refuse(.otherSource, datagram)
        }
        return unsafe accept(header, UnsafeRawBufferPointer(rebasing: rest[payload]), datagram)
    }

    /// Whether a payload is a row of whole transport packets.
    private static func areTransportPackets(_ payload: UnsafeRawBufferPointer) -> Bool {
        guard payload.count >= 188, payload.count % 188 == 0 else { return false }
        return stride(from: 0, to: payload.count, by: 188).allSatisfy { unsafe payload[$0] == 0x47 }
    }

    /// Whether packets of this source are accepted: there is no other, or it has given way.
    private func isServed(_ other: UInt32, at time: MonotonicTime) -> Bool {
        source == nil || source == other || saidGoodbye || time - lastHeard >= Self.silenceTimeout
    }

    private mutating func accept(
        _ header: RTPHeader, _ payload: UnsafeRawBufferPointer, _ datagram: DatagramSocket.Arrived
    ) -> Reading {
        var message = Message(byteCount: payload.count, arrival: datagram.time, sourceTime: nil, sequence: 0)
        var restarted = false
        if header.source != source {
            if source != nil { leaveReason = "another source has taken its place" }
            begin(header, datagram, &message)
        } else {
            let place: RTPOrder.Place
            switch order.judge(header.sequence, timestamp: header.timestamp) {
            case .at(let found): place = found
            case .unexpected:
                figures.unexpected.add(1, ordering: .relaxed)
                return .noMessage
            case .startsAnew:
                // Nothing of it continues what was before.
                leaveReason = "its packet numbers began anew"
                begin(header, datagram, &message)
                return .packet(unsafe packet(message, payload))
            }
            lastHeard = datagram.time
            count(message)
            figures.lost.add(max(0, place.step - 1), ordering: .relaxed)
            message.sequence = place.number
            (message.sourceTime, restarted) = clock.map(
                timestamp: header.timestamp, arrival: datagram.time, isNext: place.step > 0)
        }
        return .packet(unsafe packet(message, payload, restartsClock: restarted))
    }

    private func packet(
        _ message: Message, _ payload: UnsafeRawBufferPointer, restartsClock: Bool = false
    ) -> ArrivedPacket {
        unsafe ArrivedPacket(
            message: message, gapDeadline: message.arrival + window, restartsClock: restartsClock, contents: payload)
    }

    /// A source's first packet.
    private mutating func begin(_ header: RTPHeader, _ datagram: DatagramSocket.Arrived, _ message: inout Message) {
        newSource = (header.source, datagram.sender, datagram.time)
        clock = RTPClock()
        message.sequence = order.begin(at: header.sequence, timestamp: header.timestamp)
        message.sourceTime = clock.map(timestamp: header.timestamp, arrival: message.arrival).time
        count(message)
    }

    private func count(_ message: Message) {
        figures.received.add(1, ordering: .relaxed)
        figures.bytes.add(Int64(message.byteCount), ordering: .relaxed)
    }

    // MARK: Unexpected datagrams

    /// Counts a datagram, and reports once for each reason why it cannot be used.
    private mutating func refuse(
        _ reason: Complaint, _ datagram: DatagramSocket.Arrived, type: UInt8 = 0
    ) -> Reading {
        figures.unexpected.add(1, ordering: .relaxed)
        guard complaints.insert(reason).inserted else { return .noMessage }
        let sender = datagram.sender
        let text =
            switch reason {
            case .payloadType:
                "payload type \(type) from \(sender) is not that of MPEG-TS: send MPEG-TS as type 33 (ffmpeg: -f rtp_mpegts)"
            case .notRTP:
                "what comes from \(sender) is no RTP: send MPEG-TS over RTP (ffmpeg: -f rtp_mpegts), or receive plain"
                    + " MPEG-TS with udp://"
            case .otherSource: "\(sender) sends while another source is served"
            }
        return .event(.refused(reason: text))
    }

    // MARK: Reports

    private mutating func readReports() {
        packetsSinceReports = 0
        let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        for _ in 0..<Self.mostReportsPerRead {
            guard let datagram = unsafe sockets.reports.receive(none, rtcp) else { return }
            applyReport(of: datagram)
        }
    }

    /// Applies the RTCP datagram that lies in ``rtcp``.
    private mutating func applyReport(of datagram: DatagramSocket.Arrived) {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: rtcp[..<datagram.byteCount])
        guard !datagram.isCut, let parsed = unsafe RTCPDatagram(reading: Span(_unsafeBytes: bytes)) else {
            figures.unexpected.add(1, ordering: .relaxed)
            return
        }
        guard let source else { return }
        if let report = parsed.report, report.source == source {
            let before = clock.reportsRejected
            clock.apply(report, arrival: datagram.time)
            figures.reports.add(1, ordering: .relaxed)
            figures.reportsRejected.add(clock.reportsRejected - before, ordering: .relaxed)
        }
        if parsed.goodbye == source { saidGoodbye = true }
    }
}
