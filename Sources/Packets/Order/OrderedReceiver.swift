import Media

/// Receives messages in the sender's order: the loop that SRT and RTP share.
///
/// It delivers what is due, holds what came past a gap, and abandons a gap when its deadline has passed and everything
/// that had come by then has been read: what is missing may still lie in the socket or the library. Owned by one thread.
@safe package struct OrderedReceiver<Feed: PacketFeed & ~Copyable>: ~Copyable {
    private var feed: Feed
    private var hold: HoldBuffer
    /// A packet that an event or a gap comes before, and memory for a copy of its contents.
    private var pending: ArrivedPacket?
    private let aside: UnsafeMutableRawBufferPointer
    private let room: Int

    /// After so many reads that gave no message, the receiver asks whether to return: a flood does not hold it for ever.
    private static var mostReadsWithoutMessage: Int { 64 }

    /// - Parameters:
    ///   - capacity: how far past a missing message others are held. The system gives the memory when it is used.
    ///   - room: the most bytes that a message may have. A larger one counts as lost.
    package init(_ feed: consuming Feed, capacity: Int, room: Int) {
        self.feed = feed
        self.room = room
        hold = HoldBuffer(capacity: capacity, room: room)
        unsafe aside = .allocate(byteCount: room, alignment: 64)
    }

    deinit { unsafe aside.deallocate() }

    package mutating func receive(into buffer: UnsafeMutableRawBufferPointer, until limit: MonotonicTime) -> Received {
        var withoutMessage = 0
        while true {
            if let event = feed.nextEvent() { return .event(event) }
            if feed.hasChangedConnection() {
                hold.reset()
                pending = nil
            }
            if let message = unsafe hold.popDue(into: buffer) { return .message(message) }
            if feed.isLeaving, let received = leave() { return received }
            if let packet = pending {
                if let received = unsafe file(packet, into: buffer) { return received }
                continue
            }
            if let deadline = hold.gapDeadline, deadline <= feed.readUpTo { return gap(hold.skipGap()) }
            if withoutMessage == Self.mostReadsWithoutMessage {
                withoutMessage = 0
                if feed.mustReturn(at: limit) { return .idle }
            }
            switch unsafe feed.read(into: buffer, &hold) {
            case .packet(let packet):
                withoutMessage += 1
                if let received = unsafe file(packet, into: buffer) { return received }
            case .event(let event): return .event(event)
            case .noMessage: withoutMessage += 1
            case .empty:
                if feed.isLeaving { continue }
                if let deadline = hold.gapDeadline, deadline <= feed.readUpTo { continue }
                switch feed.wait(until: min(limit, hold.gapDeadline ?? limit)) {
                case .ready: continue
                case .interrupted: return .idle
                case .timedOut: if .now() >= limit { return .idle }
                }
            }
        }
    }

    /// Lets the source go when nothing of it is held any more.
    private mutating func leave() -> Received? {
        let missing = hold.skipGap()
        if missing > 0 { return gap(missing) }
        guard hold.count == 0 else { return nil }
        hold.reset()
        return feed.leave().map { .event($0) }
    }

    private mutating func gap(_ messages: Int64) -> Received {
        feed.recordGap(messages: messages)
        return .event(.gap(messages: messages))
    }

    /// Delivers a packet or holds it, or returns what comes before it.
    /// - Returns: nil when the packet is held or cannot be used.
    private mutating func file(_ packet: ArrivedPacket, into buffer: UnsafeMutableRawBufferPointer) -> Received? {
        let message = packet.message
        // The packet of a source that takes another one's place: that one goes first.
        if feed.isLeaving {
            setAside(packet)
            return nil
        }
        if let event = feed.eventBeforePacket() {
            setAside(packet)
            return .event(event)
        }
        if packet.restartsClock || hold.isFar(message.sequence) {
            setAside(packet)
            // Nothing that is missing before it is worth a wait. What is held before it is delivered before it.
            let missing = hold.skipGap(before: message.sequence)
            if missing > 0 { return gap(missing) }
            if packet.restartsClock {
                pending?.restartsClock = false
                return .event(.clockReset)
            }
        }
        pending = nil
        guard message.byteCount <= room else {
            let packets = packet.packets
            return hold.skip(message.sequence, packets: packets) ? gap(Int64(packets)) : nil
        }
        precondition(message.byteCount <= buffer.count, "the buffer must hold the message")
        let contents = unsafe packet.contents
        switch unsafe hold.accept(
            message, contents, packets: packet.packets, gapDeadline: packet.gapDeadline)
        {
        case .deliver:
            if unsafe contents.baseAddress != UnsafeRawPointer(buffer.baseAddress) {
                unsafe buffer.copyMemory(from: contents)
            }
            return .message(message)
        case .held, .duplicate: return nil
        }
    }

    /// Keeps a packet until what comes before it has been returned.
    private mutating func setAside(_ packet: ArrivedPacket) {
        let count = unsafe min(packet.contents.count, room)
        if unsafe packet.contents.baseAddress != UnsafeRawPointer(aside.baseAddress) {
            unsafe aside.copyMemory(from: UnsafeRawBufferPointer(rebasing: packet.contents[..<count]))
        }
        pending = packet
        unsafe pending?.contents = UnsafeRawBufferPointer(rebasing: aside[..<count])
    }
}
