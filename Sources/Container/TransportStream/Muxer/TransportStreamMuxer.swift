import Media

/// Writes access units and passed-through PES payloads as transport stream messages (ISO/IEC 13818-1). It holds nothing
/// back: when a call returns, every byte of the unit is emitted. The receiver knows without waiting for the next unit
/// that this one is complete: from the PES length, or, for video units beyond its 16 bits, from the stuffing in the
/// last packet.
///
/// libavformat's muxer is not used because it wants audio as frames with codec parameters, where we have PES payloads
/// to pass on untouched, and because it ties its clock to its own interleaving.
///
/// Confined to one thread at a time; allocates in `init` and ``adopt(_:)`` only. Continuity counters run on over an output's
/// reconnection.
///
/// In a multiplex, other programs' packets go out between its own messages, as they are (``writePackets(_:arrival:emit:)``).
///
/// `emit` receives messages of one to seven packets, borrowed for the call.
@safe public final class TransportStreamMuxer {
    /// The tables are repeated when the stream has advanced by this much (67 ms) and before every keyframe.
    private static let tableInterval: Int64 = 6000
    /// Clock references are to be no further apart than this (40 ms, the recommendation of ETSI TR 101 290).
    private static let longestClockInterval: Int64 = 3600
    /// Where video units come too seldom for that, a clock reference goes out with another stream's unit when the last
    /// one is this old (19 ms; an AAC frame lasts 21).
    private static let clockInterval: Int64 = 1700
    /// Where another stream has run on for so long since a video unit (140 ms), the video has stopped, or comes too seldom. It is
    /// more than the sound that some multiplexes send in a bunch, because a clock that runs ahead of the video cannot go back.
    private static let longestRun: Int64 = 12_600
    /// Where only other programs' packets go out, the tables are repeated when so much time has passed (100 ms; ETSI TR 101 290
    /// wants an association every 500 ms).
    private static let tablesBesideOthersInterval = Nanoseconds.milliseconds(100)
    /// A clock that moves by more than this (1 s) does not follow from the one before.
    private static let jump: Int64 = 90_000

    public let layout: TransportStreamLayout
    private var tables: ProgramTables
    private var message = MessageBuffer()
    /// Whether packets of other programs have to wait for the tables, and when the tables went out last beside such packets.
    private var othersNeedTables = true
    private var lastTablesBesideOthers = MonotonicTime(nanoseconds: 0)
    private var tablesCameWithUnit = false
    /// The next continuity counters of the association, the map, the video, and each passed stream.
    private var counters: [UInt8]
    private var lastTables: Int64?
    private var lastClock: Int64?
    private var lastVideo: Int64?
    private var isVideoSlow = false
    /// How many video units were written, and how far each passed stream has run on since the last one.
    private var videoUnits = 0
    private var runs: [Run]
    /// The `stream_id` of each passed stream, as it came last.
    private var streamIDs: [UInt8]

    /// A stream's progress, whatever its distance from the video.
    private struct Run {
        var last: Int64 = 0
        var length: Int64 = 0
        var videoUnits = -1
    }

    /// - Throws: when the layout has more streams than a program map can hold.
    public convenience init(_ layout: TransportStreamLayout = TransportStreamLayout()) throws(ContainerError) {
        try self.init(layout, continuing: nil)
    }

    /// Continues the transport stream of a previous muxer for the same receivers: counters and clock run on. Where the
    /// layout is another one, the next unit starts with tables of a new version.
    /// - Parameters:
    ///   - multiplex: what else the stream holds.
    ///   - previous: must not be used any more.
    /// - Throws: when the layout has more streams than a program map can hold.
    public init(
        _ layout: TransportStreamLayout, in multiplex: Multiplex? = nil, continuing previous: TransportStreamMuxer?
    ) throws(ContainerError) {
        let isSameLayout = previous?.layout == layout
        let tables = try ProgramTables(layout, in: multiplex, after: previous?.tables, isSameLayout: isSameLayout)
        self.layout = layout
        self.tables = tables
        let isSame = isSameLayout && tables.version == previous?.tables.version
        // Streams that are gone keep their counters, because they may come back.
        var counters = previous?.counters ?? []
        let missing = 3 + layout.passedStreams.count - counters.count
        if missing > 0 { counters += [UInt8](repeating: 0, count: missing) }
        self.counters = counters
        lastTables = isSame ? previous?.lastTables : nil
        lastClock = previous?.lastClock
        lastVideo = previous?.lastVideo
        isVideoSlow = previous?.isVideoSlow ?? false
        runs = Array(repeating: Run(), count: layout.passedStreams.count)
        streamIDs = layout.passedStreams.map(\.streamID)
    }

    /// Continues the transport stream of a muxer of another process for the same receivers. Its layout is not known, so the tables
    /// get a new version.
    /// - Throws: when the layout has more streams than a program map can hold.
    public init(
        _ layout: TransportStreamLayout, in multiplex: Multiplex? = nil, resuming end: MultiplexEnd
    ) throws(ContainerError) {
        self.layout = layout
        let tables = try ProgramTables(layout, in: multiplex, version: (end.tableVersion + 1) & 31)
        self.tables = tables
        counters = (0..<3 + layout.passedStreams.count).map { place in
            end.counters[tables.addresses.identifier(ofCounter: place)].map { ($0 + 1) & 15 } ?? 0
        }
        runs = Array(repeating: Run(), count: layout.passedStreams.count)
        streamIDs = layout.passedStreams.map(\.streamID)
    }

    /// The last continuity counter that was emitted of each packet identifier.
    /// - Parameter body: called with each identifier and its counter; 15 where none was emitted yet.
    public func forEachCounter(_ body: (_ pid: UInt16, _ last: UInt8) -> Void) {
        for place in 0..<min(counters.count, 3 + layout.passedStreams.count) {
            body(tables.addresses.identifier(ofCounter: place), (counters[place] + 15) & 15)
        }
    }

    /// The newest version of the tables, 0 to 31.
    public var tableVersion: UInt8 { tables.version }

    /// Makes the next unit start with the tables, for a receiver that has just connected.
    public func restart() {
        lastTables = nil
        (othersNeedTables, tablesCameWithUnit) = (true, false)
    }

    /// Learns what else the stream holds from now on. The next message brings the tables where they say something else then.
    /// - Returns: whether this program is known by another number or other packet identifiers than before.
    public func adopt(_ multiplex: Multiplex?) -> Bool {
        // The map has the same size as before, so it fits.
        guard let new = try? ProgramTables(layout, in: multiplex, after: tables, isSameLayout: true) else { return false }
        if new.version != tables.version { restart() }
        defer { tables = new }
        return !new.addresses.isSame(as: tables.addresses)
    }

    /// Emits packets of other programs as they are. The tables go before them where receivers need them.
    /// - Parameters:
    ///   - packets: one to seven; borrowed for the call.
    ///   - arrival: when they came: the clock that the tables are repeated by, also where this program has no units.
    public func writePackets(
        _ packets: UnsafeRawBufferPointer, arrival: MonotonicTime, emit: (UnsafeRawBufferPointer) -> Void
    ) {
        if tablesCameWithUnit {
            tablesCameWithUnit = false
            lastTablesBesideOthers = arrival
        } else if othersNeedTables || arrival - lastTablesBesideOthers >= Self.tablesBesideOthersInterval {
            othersNeedTables = false
            lastTablesBesideOthers = arrival
            unsafe copyTables(emit)
            unsafe message.flush(emit)
        }
        unsafe emit(packets)
    }

    /// Emits one video access unit.
    /// - Parameters:
    ///   - unit: one access unit as its format has it in transport streams (H.264: Annex B, beginning with a delimiter);
    ///     borrowed for the call.
    ///   - isKeyframe: marks a random access point.
    ///   - isTimed: false writes no time stamps: receivers derive them. The times still move the clock.
    public func writeVideo(
        _ unit: UnsafeRawBufferPointer, presentationTime: MediaTime, decodeTime: MediaTime, isKeyframe: Bool,
        isTimed: Bool = true, emit: (UnsafeRawBufferPointer) -> Void
    ) {
        if isKeyframe || isTableDue(at: decodeTime.ticks, backwards: true) {
            unsafe writeTables(at: decodeTime.ticks, emit)
        }
        if let lastVideo { isVideoSlow = decodeTime.ticks - lastVideo > Self.longestClockInterval }
        lastVideo = decodeTime.ticks
        videoUnits += 1
        let clock = nextClock(decodeTime.ticks - layout.clockLead)
        let header = OutgoingPESHeader(
            streamID: layout.video?.streamID ?? 0xe0, presentationTime: isTimed ? presentationTime : nil,
            decodeTime: !isTimed || decodeTime == presentationTime ? nil : decodeTime, payload: unit.count, isAligned: true)
        var field = OutgoingAdaptationField(clock: clock.ticks, isJump: clock.isJump, isRandomAccess: isKeyframe)
        let firstRoom = TransportPacket.size - 4 - field.length
        let rest = header.length + unit.count - firstRoom
        // Without a length only stuffing tells the end, so there must be some. One byte in the first packet moves the
        // end.
        if !header.hasLength, rest >= 0, rest % (TransportPacket.size - 4) == 0 { field.stuffing = 1 }
        unsafe writePES(header, unit, pid: tables.addresses.video, counter: 2, field, emit)
        unsafe message.flush(emit)
    }

    /// Emits one PES payload of a stream that is passed through.
    /// - Parameters:
    ///   - stream: its index in ``TransportStreamLayout/passedStreams``.
    ///   - header: the PES packet's as it came, borrowed for the call; empty for a new one.
    ///   - presentationTime: nil where the input had none.
    ///   - decodeTime: nil where it is the same.
    public func writePassed(
        stream: Int, header original: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0),
        _ payload: UnsafeRawBufferPointer, presentationTime: MediaTime?, decodeTime: MediaTime? = nil,
        emit: (UnsafeRawBufferPointer) -> Void
    ) {
        if let ticks = (decodeTime ?? presentationTime)?.ticks {
            if isTableDue(at: ticks, backwards: false) { unsafe writeTables(at: ticks, emit) }
            unsafe writeClockIfDue(at: ticks - layout.clockLead, run: run(of: stream, to: ticks), emit)
        }
        // A payload that came with a length may be a few bytes too long for our header. Then its rest gets another
        // header.
        let passed = layout.passedStreams[stream]
        if original.count > 3 { unsafe streamIDs[stream] = original[3] }
        let limit = passed.isVideo ? Int.max : OutgoingPESHeader.longestPayload(behind: original.count)
        var rest = unsafe payload[...]
        var (time, decode) = (presentationTime, presentationTime == nil ? nil : decodeTime)
        var isFirst = true
        repeat {
            let part = unsafe rest.prefix(limit)
            let header =
                unsafe isFirst && original.count >= 6
                ? OutgoingPESHeader(as: original, presentationTime: time, decodeTime: decode, payload: part.count)
                : OutgoingPESHeader(
                    streamID: streamIDs[stream], presentationTime: time, decodeTime: decode, payload: part.count)
            isFirst = false
            var field = OutgoingAdaptationField()
            // Without a length only stuffing tells the end.
            let room = TransportPacket.size - 4
            if !header.hasLength, unsafe (header.length + part.count) % room == 0 { field.stuffing = 1 }
            unsafe writePES(
                header, UnsafeRawBufferPointer(rebasing: part), pid: tables.addresses.passed(stream),
                counter: 3 + stream, field, emit)
            unsafe rest = rest.dropFirst(part.count)
            (time, decode) = (nil, nil)
        } while unsafe !rest.isEmpty
        unsafe message.flush(emit)
    }

    private func isTableDue(at ticks: Int64, backwards: Bool) -> Bool {
        guard let lastTables else { return true }
        return ticks - lastTables >= Self.tableInterval || backwards && ticks < lastTables
    }

    private func writeTables(at ticks: Int64, _ emit: (UnsafeRawBufferPointer) -> Void) {
        lastTables = ticks
        (othersNeedTables, tablesCameWithUnit) = (false, true)
        unsafe copyTables(emit)
    }

    private func copyTables(_ emit: (UnsafeRawBufferPointer) -> Void) {
        unsafe copy(tables.association, counter: 0, emit)
        unsafe copy(tables.map, counter: 1, emit)
    }

    private func copy(_ table: [UInt8], counter: Int, _ emit: (UnsafeRawBufferPointer) -> Void) {
        for start in stride(from: 0, to: table.count, by: TransportPacket.size) {
            let packet = unsafe message.nextPacket(emit)
            for i in 0..<TransportPacket.size { unsafe packet[i] = table[start + i] }
            unsafe packet[3] = 0x10 | nextCount(counter)
        }
    }

    private func nextCount(_ index: Int) -> UInt8 {
        defer { counters[index] = (counters[index] + 1) & 15 }
        return counters[index]
    }

    /// The clock never goes back, except at a jump of the stream's time line. The jump is marked.
    private func nextClock(_ wanted: Int64) -> (ticks: Int64, isJump: Bool) {
        guard let last = lastClock else {
            lastClock = wanted
            return (wanted, false)
        }
        let isJump = abs(wanted - last) > Self.jump
        let ticks = isJump ? wanted : max(wanted, last + 1)
        lastClock = ticks
        return (ticks, isJump)
    }

    /// How far a passed stream has run on since the last video unit. Leaps do not count.
    private func run(of stream: Int, to ticks: Int64) -> Int64 {
        let step = ticks - runs[stream].last
        runs[stream].last = ticks
        if runs[stream].videoUnits != videoUnits {
            runs[stream].videoUnits = videoUnits
            runs[stream].length = 0
        } else if (0...Self.jump).contains(step) {
            runs[stream].length += step
        }
        return runs[stream].length
    }

    /// Writes a packet with nothing but a clock reference, where video units come too seldom to carry them, or none has come.
    /// - Parameter run: how far the stream has run on since the last video unit.
    private func writeClockIfDue(at ticks: Int64, run: Int64, _ emit: (UnsafeRawBufferPointer) -> Void) {
        guard isVideoSlow || layout.video == nil || lastVideo == nil || run > Self.longestRun else { return }
        var isJump = false
        if let last = lastClock {
            isJump = abs(ticks - last) > Self.jump
            let mayJump = layout.video == nil || run > Self.jump
            guard isJump && mayJump || (Self.clockInterval..<Self.jump).contains(ticks - last) else { return }
        }
        lastClock = ticks
        let packet = unsafe message.nextPacket(emit)
        let field = OutgoingAdaptationField(clock: ticks, isJump: isJump, stuffing: TransportPacket.size - 4 - 8)
        // No payload: the counter stays as it was.
        let counter = layout.clockPlace
        let pid = tables.addresses.identifier(ofCounter: counter)
        let count = (counters[counter] + 15) & 15
        unsafe writeHeader(packet, pid: pid, isStart: false, hasPayload: false, count)
        unsafe field.write(to: packet + 4)
    }

    private func writeHeader(
        _ packet: UnsafeMutablePointer<UInt8>, pid: UInt16, isStart: Bool, hasPayload: Bool, _ count: UInt8,
        hasField: Bool = true
    ) {
        unsafe packet[0] = 0x47
        unsafe packet[1] = (isStart ? 0x40 : 0) | UInt8(pid >> 8 & 0x1f)
        unsafe packet[2] = UInt8(pid & 0xff)
        unsafe packet[3] = (hasField ? 0x20 : 0) | (hasPayload ? 0x10 : 0) | count
    }

    private func writePES(
        _ header: OutgoingPESHeader, _ payload: UnsafeRawBufferPointer, pid: UInt16, counter: Int,
        _ first: OutgoingAdaptationField,
        _ emit: (UnsafeRawBufferPointer) -> Void
    ) {
        var field = first
        var done = 0
        var isStart = true
        repeat {
            let packet = unsafe message.nextPacket(emit)
            let head = isStart ? header.length : 0
            let wanted = head + payload.count - done
            let room = TransportPacket.size - 4 - field.length
            if wanted < room { field.stuffing += room - wanted }
            let hasField = field.length > 0
            unsafe writeHeader(
                packet, pid: pid, isStart: isStart, hasPayload: true, nextCount(counter), hasField: hasField)
            if hasField { unsafe field.write(to: packet + 4) }
            let body = unsafe packet + 4 + field.length
            if isStart { unsafe header.write(to: body) }
            let count = TransportPacket.size - 4 - field.length - head
            if count > 0 {
                unsafe UnsafeMutableRawPointer(body + head).copyMemory(
                    from: payload.baseAddress! + done, byteCount: count)
            }
            done += count
            field = OutgoingAdaptationField()
            isStart = false
        } while done < payload.count
    }
}
