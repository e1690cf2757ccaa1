import Media
import Synchronization

/// Receives MPEG-TS over RTP in the sender's order, with source times.
///
/// One source at a time: another one is served when the present one has been silent for ``givesWayAfter``, and left out and
/// told of before. `receive` belongs to one thread; everything else may be called from any.
@safe final class RTPSource: @unchecked Sendable {
    /// A source that has been silent for so long gives way to another, as an SRT caller does.
    static let givesWayAfter = Nanoseconds.seconds(1)
    /// A source that has been silent for so long is gone; libsrt's limit too.
    static let goneAfter = Nanoseconds.seconds(5)

    private let stream: DatagramSocket
    /// The port above, for sender reports.
    private let reports: DatagramSocket
    private let bell = Bell()
    private let window: Nanoseconds

    private let isConnected = Atomic<Bool>(false)
    private let connections = Atomic<Int64>(0)
    private let received = Atomic<Int64>(0)
    private let bytes = Atomic<Int64>(0)
    private let lost = Atomic<Int64>(0)
    private let dropped = Atomic<Int64>(0)
    private let foreign = Atomic<Int64>(0)
    private let reported = Atomic<Int64>(0)
    private let leftOut = Atomic<Int64>(0)

    /// Packets that wait for a missing one.
    private var hold: HoldBuffer
    /// A packet's fixed header, and what comes after it where the reader's buffer must wait.
    private let head = UnsafeMutableRawBufferPointer.allocate(byteCount: RTPHeader.byteCount, alignment: 16)
    private let aside = UnsafeMutableRawBufferPointer.allocate(byteCount: largest, alignment: 64)
    /// The packet that lies aside until what must be told before it has been.
    private var waiting: Waiting?
    private var announced = false
    private var sinceReports = 0
    /// What had come by then has been read: what is missing is given up by this time, and not while it lies in the socket.
    private var readUpTo = MonotonicTime(nanoseconds: 0)

    // The present source; nil where there is none.
    private var source: UInt32?
    private var order = RTPOrder()
    private var clock = RTPClock()
    private var lastHeard = MonotonicTime(nanoseconds: 0)
    /// The present source has said goodbye, which may overtake what it sent before.
    private var saidGoodbye = false
    /// Why the present source is to be let go of, once what it sent has been read.
    private var leaving: String?
    /// What has been complained of since the last source came: once is enough.
    private var told: Set<Complaint> = []

    /// A payload of more bytes is refused; jumbo frames carry less.
    private static let largest = 9216
    /// How far past a missing packet others are held: 80 ms at 100 Mb/s. The system gives the memory when it is used.
    private static let mostHeld = 1024
    /// Reports are looked for at least once in so many packets.
    private static let reportsEvery = 64

    private struct Waiting {
        var message: Message
        var source: UInt32
        var sender: SocketAddress
        /// Source times jump at it, which has not been told yet.
        var isRestart = false
    }

    /// What a datagram is that is none of the stream's.
    private enum Complaint { case payloadType, noRTP, otherSource }

    init(_ endpoint: RTPEndpoint) throws(TransportError) {
        let sockets = try RTPSockets.bound(to: endpoint)
        stream = sockets.stream
        reports = sockets.reports
        window = endpoint.window
        hold = HoldBuffer(capacity: Self.mostHeld, room: Self.largest)
    }

    deinit {
        unsafe head.deallocate()
        unsafe aside.deallocate()
    }

    var localPort: UInt16 { stream.localPort }
    var negotiatedWindow: Nanoseconds { isConnected.load(ordering: .relaxed) ? window : .zero }
    func interrupt() { bell.ring() }

    func statistics() -> LegStatistics {
        var figures = LegStatistics()
        figures.connected = isConnected.load(ordering: .relaxed)
        figures.connections = connections.load(ordering: .relaxed)
        figures.window = negotiatedWindow
        figures.packetsReceived = received.load(ordering: .relaxed)
        figures.bytesReceived = bytes.load(ordering: .relaxed)
        figures.packetsLost = lost.load(ordering: .relaxed)
        figures.packetsDropped = dropped.load(ordering: .relaxed)
        figures.packetsForeign = foreign.load(ordering: .relaxed)
        figures.reports = reported.load(ordering: .relaxed)
        figures.reportsLeftOut = leftOut.load(ordering: .relaxed)
        return figures
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        if !announced {
            announced = true
            return .event(.listening(port: localPort))
        }
        var untold = 0
        while true {
            if let message = unsafe hold.takeDue(into: buffer) { return .message(message) }
            if let received = leaveIfDue() { return received }
            if waiting != nil {
                if let received = unsafe file(into: buffer) { return received }
                continue
            }
            if let patience = hold.patience, patience <= readUpTo { return gap(hold.skipHole()) }
            if untold == DatagramSocket.mostUntold {
                untold = 0
                if stream.mustLeave(for: bell, at: limit) { return .idle }
            }
            let now = MonotonicTime.now()
            if let datagram = unsafe stream.receive(head, buffer) {
                untold += 1
                readUpTo = datagram.time
                sinceReports += 1
                if sinceReports >= Self.reportsEvery { readReports() }
                if let received = unsafe take(datagram, buffer) { return received }
                continue
            }
            readUpTo = now
            if let patience = hold.patience, patience <= now { continue }
            readReports()
            if source != nil, now - lastHeard >= (saidGoodbye ? Self.lastPackets : Self.goneAfter) {
                leaving = saidGoodbye ? "the sender said goodbye" : "nothing has come for \(Int(Self.goneAfter.seconds)) s"
                continue
            }
            let wake = min(limit, hold.patience ?? limit)
            switch stream.wait(or: bell, until: min(wake, now + (saidGoodbye ? Self.lastPackets : Self.longestWait))) {
            case .ready: continue
            case .interrupted: return .idle
            case .timedOut: if .now() >= limit { return .idle }
            }
        }
    }

    /// Lets the present source go when it is to leave and nothing of it is left.
    private func leaveIfDue() -> Received? {
        guard let reason = leaving else { return nil }
        let missing = hold.skipHole()
        if missing > 0 { return gap(missing) }
        // What is due is taken out before this is asked again.
        guard hold.count == 0 else { return nil }
        leaving = nil
        saidGoodbye = false
        source = nil
        isConnected.store(false, ordering: .relaxed)
        hold.reset()
        return .event(.disconnected(reason: reason))
    }

    private func gap(_ messages: Int64) -> Received {
        dropped.add(messages, ordering: .relaxed)
        return .event(.gap(messages: messages))
    }

    // MARK: Packets

    /// Takes a datagram whose fixed header lies in ``head`` and whose other bytes lie in the reader's buffer.
    /// - Returns: nil when there is nothing to tell.
    private func take(
        _ datagram: DatagramSocket.Arrived, _ buffer: UnsafeMutableRawBufferPointer
    ) -> Received? {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[..<max(0, datagram.byteCount - head.count)])
        if unsafe datagram.byteCount >= head.count && RTCPDatagram.isPlausible(secondByte: head[1]) && head[0] >> 6 == 2 {
            // Reports on the stream's own port (RFC 5761).
            guard unsafe rest.count <= aside.count - head.count else { return nil }
            unsafe aside.copyMemory(from: UnsafeRawBufferPointer(head))
            unsafe UnsafeMutableRawBufferPointer(rebasing: aside[head.count...]).copyMemory(from: rest)
            takeReport(of: datagram)
            return nil
        }
        guard datagram.byteCount >= RTPHeader.byteCount,
            let header = unsafe RTPHeader(reading: UnsafeRawBufferPointer(head))
        else {
            return refuse(.noRTP, datagram)
        }
        guard header.payloadType == RTPHeader.transportStream else {
            return refuse(.payloadType, datagram, type: header.payloadType)
        }
        guard !datagram.isCut, let payload = unsafe header.payload(in: rest), payload.count <= Self.largest else {
            return refuse(.noRTP, datagram)
        }
        guard isServed(header.source, at: datagram.time) else {
            return refuse(.otherSource, datagram)
        }
        return unsafe take(header, UnsafeRawBufferPointer(rebasing: rest[payload]), datagram, buffer)
    }

    /// Whether packets of this source are taken: there is no other, or it has given way.
    private func isServed(_ other: UInt32, at time: MonotonicTime) -> Bool {
        source == nil || source == other || saidGoodbye || time - lastHeard >= Self.givesWayAfter
    }

    private func take(
        _ header: RTPHeader, _ payload: UnsafeRawBufferPointer, _ datagram: DatagramSocket.Arrived,
        _ buffer: UnsafeMutableRawBufferPointer
    ) -> Received? {
        var message = Message(byteCount: payload.count, arrival: datagram.time, sourceTime: nil, sequence: 0)
        guard header.source == source else {
            if source != nil { leaving = "another source has taken its place" }
            begin(header, &message)
            unsafe putAside(Waiting(message: message, source: header.source, sender: datagram.sender), payload)
            return nil
        }
        let place: RTPOrder.Place
        switch order.judge(header.sequence, timestamp: header.timestamp) {
        case .at(let found): place = found
        case .astray:
            foreign.add(1, ordering: .relaxed)
            return nil
        case .anew:
            // Nothing of it goes on from what was before.
            leaving = "its packet numbers began anew"
            begin(header, &message)
            unsafe putAside(Waiting(message: message, source: header.source, sender: datagram.sender), payload)
            return nil
        }
        lastHeard = datagram.time
        count(message)
        lost.add(max(0, place.step - 1), ordering: .relaxed)
        message.sequence = place.number
        let (time, restarted) = clock.map(
            timestamp: header.timestamp, arrival: datagram.time, isNext: place.step > 0)
        message.sourceTime = time
        if restarted || hold.isFar(place.number) {
            unsafe putAside(
                Waiting(message: message, source: header.source, sender: datagram.sender, isRestart: restarted), payload)
            return nil
        }
        switch unsafe hold.accept(message, payload, patience: datagram.time + window) {
        case .deliver:
            // It mostly lies where it is to be.
            if unsafe payload.baseAddress != UnsafeRawPointer(buffer.baseAddress) {
                unsafe buffer.copyMemory(from: payload)
            }
            return .message(message)
        case .held, .duplicate: return nil
        }
    }

    /// A source's first packet.
    private func begin(_ header: RTPHeader, _ message: inout Message) {
        clock = RTPClock()
        message.sequence = order.begin(at: header.sequence, timestamp: header.timestamp)
        message.sourceTime = clock.map(timestamp: header.timestamp, arrival: message.arrival).time
        count(message)
    }

    private func count(_ message: Message) {
        received.add(1, ordering: .relaxed)
        bytes.add(Int64(message.byteCount), ordering: .relaxed)
    }

    private func putAside(_ packet: Waiting, _ payload: UnsafeRawBufferPointer) {
        unsafe aside.copyMemory(from: payload)
        waiting = packet
    }

    /// Tells what must be told before the packet that lies aside, and then files it.
    /// - Returns: nil when there is nothing to tell.
    private func file(into buffer: UnsafeMutableRawBufferPointer) -> Received? {
        guard let next = waiting else { return nil }
        let message = next.message
        guard next.source == source else {
            source = next.source
            lastHeard = message.arrival
            told.removeAll(keepingCapacity: true)
            isConnected.store(true, ordering: .relaxed)
            connections.add(1, ordering: .relaxed)
            return .event(.connected(Connection(peer: "\(next.sender)", window: window)))
        }
        if next.isRestart || hold.isFar(message.sequence) {
            // Nothing that is missing before it is worth a wait. What is there is read before it.
            let missing = hold.skipHole(before: message.sequence)
            if missing > 0 { return gap(missing) }
            if next.isRestart {
                waiting?.isRestart = false
                return .event(.clockReset)
            }
        }
        waiting = nil
        precondition(message.byteCount <= buffer.count, "the buffer must hold the message")
        let payload = unsafe UnsafeRawBufferPointer(rebasing: aside[..<message.byteCount])
        guard unsafe hold.accept(message, payload, patience: message.arrival + window) == .deliver else { return nil }
        unsafe buffer.copyMemory(from: payload)
        return .message(message)
    }

    // MARK: What is none of the stream's

    /// Counts a datagram, and says once for each reason why it is of no use.
    private func refuse(_ reason: Complaint, _ datagram: DatagramSocket.Arrived, type: UInt8 = 0) -> Received? {
        foreign.add(1, ordering: .relaxed)
        guard !told.contains(reason) else { return nil }
        told.insert(reason)
        let sender = datagram.sender
        let text =
            switch reason {
            case .payloadType:
                "payload type \(type) from \(sender) is no MPEG-TS: send that, as type 33 (ffmpeg: -f rtp_mpegts)"
            case .noRTP:
                "what comes from \(sender) is no RTP: send MPEG-TS over RTP (ffmpeg: -f rtp_mpegts), or receive plain"
                    + " MPEG-TS with udp://"
            case .otherSource: "\(sender) sends while another source is served"
            }
        return .event(.refused(reason: text))
    }

    // MARK: Reports

    private func readReports() {
        sinceReports = 0
        let none = unsafe UnsafeMutableRawBufferPointer(start: nil, count: 0)
        // More at a time are nobody's.
        for _ in 0..<16 {
            guard let datagram = unsafe reports.receive(none, aside) else { return }
            takeReport(of: datagram)
        }
    }

    /// Takes the RTCP datagram that lies in ``aside``, where no packet waits.
    private func takeReport(of datagram: DatagramSocket.Arrived) {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: aside[..<datagram.byteCount])
        guard !datagram.isCut, let rtcp = unsafe RTCPDatagram(reading: bytes) else {
            foreign.add(1, ordering: .relaxed)
            return
        }
        guard let source else { return }
        if let report = rtcp.report, report.source == source {
            let before = clock.reportsLeftOut
            clock.take(report, arrival: datagram.time)
            reported.add(1, ordering: .relaxed)
            leftOut.add(clock.reportsLeftOut - before, ordering: .relaxed)
        }
        if rtcp.goodbye == source { saidGoodbye = true }
    }

    /// How long a source's last packets may come behind its goodbye.
    private static let lastPackets = Nanoseconds.milliseconds(20)
    /// How long the thread sleeps at most before it sees whether the source is gone.
    private static let longestWait = Nanoseconds.seconds(1)
}
