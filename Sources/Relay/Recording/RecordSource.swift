import Codec
import Media
import Settings

/// The units of one file of a recording, as a transport stream. It waits for what is yet to come, and ends before the keyframe at which
/// the next file begins.
///
/// Confined to the recorder's thread.
struct RecordSource {
    private let recording: Recording
    private let settings: RecordSettings
    /// What the recorder says while the source waits.
    private let turn: (RecordTurn) -> RecordTurn.Answer
    private var muxer: UnitMuxer
    private var unit: [UInt8] = []
    private var buffer: [UInt8] = []
    /// So many bytes of it have been given.
    private var given = 0
    private var begin: MonotonicTime?
    private var layout = -1
    private var sets: [UInt8] = []
    private var newestEntry = MonotonicTime(nanoseconds: 0)
    /// Units that were handed on since ``take()``.
    private var units: UInt64 = 0
    private(set) var isAtEnd = false
    private(set) var byteCount: Int64 = 0

    /// Keyframes further apart make a recording that cannot be searched.
    static let longestGroup = Nanoseconds.seconds(10)
    private static let pieceSize = 1 << 16

    init(
        _ recording: Recording, _ settings: RecordSettings, _ muxer: UnitMuxer,
        turn: @escaping (RecordTurn) -> RecordTurn.Answer
    ) {
        (self.recording, self.settings, self.muxer, self.turn) = (recording, settings, muxer, turn)
    }

    /// For the next file, whose counters run on.
    var usedMuxer: UnitMuxer { muxer }

    /// How many units were handed on since the last call.
    mutating func take() -> UInt64 {
        defer { units = 0 }
        return units
    }

    /// How long the file has become.
    func length(at time: MonotonicTime) -> Nanoseconds { begin.map { time - $0 } ?? .zero }

    /// The next bytes; nil at the end of the file. Never empty.
    mutating func next() -> [UInt8]? {
        buffer.removeAll(keepingCapacity: true)
        while !isAtEnd, buffer.count < Self.pieceSize {
            guard let head = recording.first else {
                if !buffer.isEmpty { break }
                var wants = RecordTurn()
                wants.needsKeyframe = needsKeyframe(at: .now())
                if turn(wants) == .end { isAtEnd = true }
                continue
            }
            recording.read(head, into: &unit)
            if head.isPicture, head.isEntry, endsBefore(head) {
                isAtEnd = true
                break
            }
            recording.removeFirst()
            if !muxer.write(head, unit, layout: { [recording] in recording.layout($0) }, into: &buffer) { continue }
            units += 1
            if needsKeyframe(at: head.time) { _ = turn(RecordTurn(needsKeyframe: true, waits: false)) }
        }
        byteCount += Int64(buffer.count)
        return buffer.isEmpty ? nil : buffer
    }

    /// Whether an entry point belongs into the next file.
    private mutating func endsBefore(_ head: PastUnit) -> Bool {
        newestEntry = head.time
        let found = settings.pattern?.container == .mp4 ? ParameterSetBytes.of(unit, head.codec) : []
        guard begin != nil else {
            (begin, layout, sets) = (head.time, head.layout, found)
            return false
        }
        if isFull(at: head.time) { return true }
        if settings.pattern?.container == .mp4, layout != head.layout || sets != found { return true }
        return turn(RecordTurn(waits: false)) != .goOn
    }

    private func isFull(at time: MonotonicTime) -> Bool {
        length(at: time) >= settings.every || settings.size.map { byteCount + Int64(buffer.count) >= $0 } ?? false
    }

    private func needsKeyframe(at time: MonotonicTime) -> Bool {
        begin != nil && (isFull(at: time) || time - newestEntry >= Self.longestGroup)
    }

    /// Fills a buffer.
    /// - Returns: how many bytes have been filled; 0 at the end.
    mutating func fill(_ target: UnsafeMutableRawBufferPointer) -> Int {
        if given == buffer.count {
            given = 0
            guard next() != nil else { return 0 }
        }
        let count = min(target.count, buffer.count - given)
        unsafe buffer.withUnsafeBytes {
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[given..<given + count]))
        }
        given += count
        return count
    }
}

/// What a ``RecordSource`` says to the recorder, and what it is told.
struct RecordTurn {
    enum Answer {
        case goOn
        /// Other settings hold: the file ends before the next keyframe.
        case next
        /// Nothing more comes.
        case end
    }

    var needsKeyframe = false
    /// There is nothing to write.
    var waits = true
}
