import Media
import Schedule

/// Writes the packets of a Perfetto trace. One sequence of packets, so that interned names hold for all of them.
struct TraceWriter {
    private var trace = ProtobufMessage()
    var bytes: [UInt8] { trace.bytes }

    // Field numbers of TracePacket.
    private enum Packet {
        static let clockSnapshot: UInt64 = 6
        static let timestamp: UInt64 = 8
        static let sequence: UInt64 = 10
        static let trackEvent: UInt64 = 11
        static let internedData: UInt64 = 12
        static let sequenceFlags: UInt64 = 13
        static let defaults: UInt64 = 59
        static let trackDescriptor: UInt64 = 60
    }

    private static let sequence: UInt64 = 1
    /// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE`.
    private static let clearsState: UInt64 = 1
    private static let needsState: UInt64 = 2

    /// The numbers of `BuiltinClock`.
    private enum Clock {
        static let realtime: UInt64 = 1
        static let monotonic: UInt64 = 3
    }

    /// What slices are called: the kinds, then drops by reason.
    private static let names = FrameKind.allCases.map(\.name) + DropReason.allCases.map { "dropped: \($0.name)" }
    private static func name(_ kind: FrameKind) -> UInt64 { UInt64(kind.rawValue) + 1 }
    private static func name(_ reason: DropReason) -> UInt64 { UInt64(FrameKind.allCases.count) + UInt64(reason.rawValue) + 1 }

    /// What is told of a frame. The raw value is the name's interned number.
    private enum Fact: UInt64, CaseIterable {
        case frame = 1, presentation, fate, tier, rung, keyframe, tilesComputed, tilesReused, tilesWanted, damaged

        var name: String {
            switch self {
            case .frame: "frame"
            case .presentation: "presentation (90 kHz)"
            case .fate: "fate"
            case .tier: "tier"
            case .rung: "rung"
            case .keyframe: "keyframe"
            case .tilesComputed: "tiles computed"
            case .tilesReused: "tiles reused"
            case .tilesWanted: "tiles wanted"
            case .damaged: "damaged"
            }
        }
    }

    private mutating func packet(_ flags: UInt64 = needsState, _ body: (inout ProtobufMessage) -> Void) {
        trace.add(1) { packet in
            packet.add(Packet.sequence, Self.sequence)
            packet.add(Packet.sequenceFlags, flags)
            body(&packet)
        }
    }

    private static let processTrack: UInt64 = 1
    /// The track of a lane. Lanes of one name below one parent are shown as one track.
    private static func identifier(_ track: TraceTrack, _ lane: Int) -> UInt64 { UInt64(100 + track.rawValue * 100 + lane) }

    /// The clocks, the names, and the track that stands above all others.
    mutating func begin(name: String, process: Int32, first: MonotonicTime?, _ wallOffset: Nanoseconds) {
        let start = max(0, first?.nanoseconds ?? 0)
        packet(Self.clearsState) { packet in
            // All times are of the monotonic clock.
            packet.add(Packet.defaults) { $0.add(58, Clock.monotonic) }
            packet.add(Packet.internedData) { data in
                for (index, name) in Self.names.enumerated() {
                    data.add(2) { entry in
                        entry.add(1, UInt64(index) + 1)
                        entry.add(2, name)
                    }
                }
                for fact in Fact.allCases {
                    data.add(3) { entry in
                        entry.add(1, fact.rawValue)
                        entry.add(2, fact.name)
                    }
                }
            }
        }
        packet { packet in
            packet.add(Packet.clockSnapshot) { snapshot in
                let times = [(Clock.monotonic, start), (Clock.realtime, max(0, start &+ wallOffset.count))]
                for (clock, time) in times {
                    snapshot.add(1) { entry in
                        entry.add(1, clock)
                        entry.add(2, UInt64(time))
                    }
                }
                snapshot.add(2, Clock.monotonic)
            }
        }
        packet { packet in
            packet.add(Packet.trackDescriptor) { track in
                track.add(1, Self.processTrack)
                track.add(3) { descriptor in
                    descriptor.add(1, signed: Int64(max(1, process)))
                    descriptor.add(6, "burnish \(name)")
                }
                // Explicit: the stages from top to bottom.
                track.add(11, 3)
            }
        }
    }

    mutating func write(_ events: TraceEvents) {
        for track in TraceTrack.allCases {
            for lane in 0..<events.lanes[track.rawValue] {
                packet { packet in
                    packet.add(Packet.trackDescriptor) { descriptor in
                        descriptor.add(1, Self.identifier(track, lane))
                        descriptor.add(2, track.name)
                        descriptor.add(5, Self.processTrack)
                        if let unit = track.counterUnit { descriptor.add(8) { $0.add(3, unit) } }
                        descriptor.add(12, signed: Int64(track.rawValue))
                    }
                }
            }
        }
        for event in events.events {
            packet { packet in
                packet.add(Packet.timestamp, UInt64(event.time))
                packet.add(Packet.trackEvent) { Self.write(event, events.frames, &$0) }
            }
        }
    }

    private static func write(_ event: TraceEvents.Event, _ frames: [ClosedFrame], _ message: inout ProtobufMessage) {
        message.add(11, identifier(event.track, event.lane))
        switch event.kind {
        case .begin(let frame, let isFirst, let isLast):
            let frame = frames[frame]
            message.add(9, 1)
            message.add(10, name(frame.record.kind))
            if isFirst { annotate(frame, &message) }
            // A flow leads from slice to slice. It ends with the frame.
            message.add(isLast && frame.fate.isSent ? 48 : 47, fixed: frame.record.id &+ 1)
        case .end:
            message.add(9, 2)
        case .dropped(let frame, let reason):
            message.add(9, 3)
            message.add(10, name(reason))
            message.add(48, fixed: frames[frame].record.id &+ 1)
        case .value(let value):
            message.add(9, 4)
            message.add(30, signed: value)
        }
    }

    private static func annotate(_ frame: ClosedFrame, _ message: inout ProtobufMessage) {
        func add(_ fact: Fact, _ value: (inout ProtobufMessage) -> Void) {
            message.add(4) { annotation in
                annotation.add(1, fact.rawValue)
                value(&annotation)
            }
        }
        func add(_ fact: Fact, _ number: Int64) { add(fact) { $0.add(4, signed: number) } }
        func add(_ fact: Fact, _ text: String) { add(fact) { $0.add(6, text) } }
        let record = frame.record
        add(.frame, Int64(truncatingIfNeeded: record.id))
        add(.presentation, record.presentation.ticks)
        add(.fate, frame.fate.name)
        add(.tier, Tier(rawValue: record.tier)?.name ?? "unknown")
        add(.rung, Int64(record.rung))
        if record.kind == .original {
            add(.tilesComputed, Int64(record.tilesComputed))
            add(.tilesReused, Int64(record.tilesReused))
            add(.tilesWanted, Int64(record.tilesWanted))
        }
        if record.isKeyframe { add(.keyframe) { $0.add(2, 1) } }
        if record.isDamaged { add(.damaged) { $0.add(2, 1) } }
    }
}
