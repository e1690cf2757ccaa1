import Media
import Schedule

/// Frame records as a trace for https://ui.perfetto.dev: a track for each stage, flows that follow a frame from stage to stage,
/// and counters. The file is protobuf; field numbers are those of Perfetto's `protos/perfetto/trace`.
public enum PerfettoTrace {
    /// Bytes of a trace.
    /// - Parameters:
    ///   - name: the stream's, shown as the name of the process.
    ///   - process: the worker's number.
    ///   - wallOffset: wall clock minus monotonic clock.
    public static func bytes(
        of frames: [ClosedFrame], name: String, process: Int32 = 0, wallOffset: Nanoseconds = .zero
    ) -> [UInt8] {
        var writer = TraceWriter()
        writer.begin(name: name, process: process, first: frames.compactMap(\.record.oldestStamp).min(), wallOffset)
        writer.write(TraceEvents(frames))
        return writer.bytes
    }
}

extension FrameRecord {
    /// The time of the first point that the frame passed. The clock starts at zero.
    fileprivate var oldestStamp: MonotonicTime? {
        Stamp.allCases.compactMap { self[$0] }.filter { $0.nanoseconds >= 0 }.min()
    }
}

/// Tracks of a trace. The raw value is the track's place from top to bottom.
enum TraceTrack: Int, CaseIterable {
    case receive, complete, waitForDecoder, decode, waitForEnhancement, enhance, waitForEncoder, encode, send
    case dropped
    // Counters.
    case latency, slack, rung, tier, inFlight

    var name: String {
        switch self {
        case .receive: "receive"
        case .complete: "complete"
        case .waitForDecoder: "wait for decoder"
        case .decode: "decode"
        case .waitForEnhancement: "wait for enhancement"
        case .enhance: "enhance"
        case .waitForEncoder: "wait for encoder"
        case .encode: "encode"
        case .send: "send"
        case .dropped: "dropped"
        case .latency: "latency"
        case .slack: "deadline slack"
        case .rung: "rung"
        case .tier: "tier"
        case .inFlight: "frames in flight"
        }
    }

    /// The stamps at which a frame enters and leaves the stage; nil for what is no stage.
    var stamps: (Stamp, Stamp)? {
        switch self {
        case .receive: (.firstPacket, .lastPacket)
        case .complete: (.lastPacket, .complete)
        case .waitForDecoder: (.complete, .decodeIn)
        case .decode: (.decodeIn, .decodeOut)
        case .waitForEnhancement: (.decodeOut, .enhanceIn)
        case .enhance: (.enhanceIn, .enhanceOut)
        case .waitForEncoder: (.enhanceOut, .encodeIn)
        case .encode: (.encodeIn, .encodeOut)
        case .send: (.encodeOut, .sent)
        default: nil
        }
    }

    /// `CounterDescriptor.Unit`: times, or a number; nil for what is no counter.
    var counterUnit: UInt64? {
        switch self {
        case .latency, .slack: 1
        case .rung, .tier, .inFlight: 2
        default: nil
        }
    }
}

/// The events of a trace in the order of time.
struct TraceEvents {
    enum Kind {
        /// A frame enters a stage. Its figures are told once, in the first.
        case begin(frame: Int, isFirst: Bool, isLast: Bool)
        case end
        case dropped(frame: Int, DropReason)
        case value(Int64)
    }

    struct Event {
        var time: Int64
        var track: TraceTrack
        /// Frames that are in a stage at the same time lie in lanes of its track, since slices of a lane may not overlap.
        var lane: Int
        var kind: Kind
    }

    let frames: [ClosedFrame]
    private(set) var events: [Event] = []
    /// How many lanes each track has, by its raw value.
    private(set) var lanes = [Int](repeating: 0, count: TraceTrack.allCases.count)

    init(_ frames: [ClosedFrame]) {
        self.frames = frames
        addSlices()
        addCounters()
        // Stable: at one time, what ends stands before what begins, as in its lane.
        let order = events.indices.sorted { (events[$0].time, $0) < (events[$1].time, $1) }
        events = order.map { events[$0] }
    }

    private func time(_ record: FrameRecord, _ stamp: Stamp) -> Int64? {
        record[stamp].flatMap { $0.nanoseconds >= 0 ? $0.nanoseconds : nil }
    }

    private mutating func addSlices() {
        struct Slice {
            var start, end: Int64
            var frame: Int
        }
        var slices = [[Slice]](repeating: [], count: TraceTrack.allCases.count)
        var (firstTrack, lastTrack) = ([TraceTrack?](), [TraceTrack?]())
        for (index, frame) in frames.enumerated() {
            var passed: [TraceTrack] = []
            for track in TraceTrack.allCases {
                guard let (from, to) = track.stamps, let start = time(frame.record, from), let end = time(frame.record, to),
                    start <= end
                else { continue }
                slices[track.rawValue].append(Slice(start: start, end: end, frame: index))
                passed.append(track)
            }
            firstTrack.append(passed.first)
            lastTrack.append(passed.last)
            if case .dropped(let reason) = frame.fate, let at = frame.record.newestStamp, at.nanoseconds >= 0 {
                events.append(Event(time: at.nanoseconds, track: .dropped, lane: 0, kind: .dropped(frame: index, reason)))
                lanes[TraceTrack.dropped.rawValue] = 1
            }
        }
        for track in TraceTrack.allCases {
            var ends: [Int64] = []
            for slice in slices[track.rawValue].sorted(by: { ($0.start, $0.end) < ($1.start, $1.end) }) {
                var lane = ends.firstIndex { $0 <= slice.start } ?? ends.count
                // More frames than this are in no stage; a map with made-up stamps could have any number.
                if lane == 32 { lane = 31 }
                if lane == ends.count { ends.append(0) }
                ends[lane] = slice.end
                let isFirst = firstTrack[slice.frame] == track
                let isLast = lastTrack[slice.frame] == track
                events.append(
                    Event(
                        time: slice.start, track: track, lane: lane,
                        kind: .begin(frame: slice.frame, isFirst: isFirst, isLast: isLast)))
                events.append(Event(time: slice.end, track: track, lane: lane, kind: .end))
            }
            lanes[track.rawValue] = max(lanes[track.rawValue], ends.count)
        }
    }

    private mutating func addCounters() {
        var changes: [(time: Int64, change: Int64)] = []
        for frame in frames {
            let record = frame.record
            func add(_ track: TraceTrack, _ time: Int64, _ value: Int64) {
                events.append(Event(time: time, track: track, lane: 0, kind: .value(value)))
                lanes[track.rawValue] = 1
            }
            if let planned = time(record, .planned) {
                add(.rung, planned, Int64(record.rung))
                add(.tier, planned, Int64(record.tier))
            }
            if let sent = time(record, .sent), frame.fate.isSent, record.kind != .repeated {
                if let latency = record.time(from: .lastPacket, to: .sent) { add(.latency, sent, latency.count) }
                if let deadline = record.deadline { add(.slack, sent, deadline.nanoseconds - sent) }
            }
            if let first = record.oldestStamp, let last = record.newestStamp, last >= first {
                changes += [(first.nanoseconds, 1), (last.nanoseconds, -1)]
            }
        }
        var inFlight: Int64 = 0
        for (time, change) in changes.sorted(by: { $0 < $1 }) {
            inFlight += change
            events.append(Event(time: time, track: .inFlight, lane: 0, kind: .value(inFlight)))
            lanes[TraceTrack.inFlight.rawValue] = 1
        }
    }
}
