import Media
import Schedule

/// A closed frame as the words of the map's ring. Word 0 is the sequence number; the others are here.
enum RecordWords {
    /// The bits of word 2 beside kind, fate, tier and rung.
    private enum Flag {
        static let lateUnit: UInt64 = 1 << 32
        static let keyframe: UInt64 = 1 << 33
        static let reference: UInt64 = 1 << 34
        static let damaged: UInt64 = 1 << 35
        static let all = lateUnit | keyframe | reference | damaged
    }

    /// The fate of a frame that went out as it came.
    private static let bypassed: UInt64 = 0xFF
    /// Stands for a value that the frame does not have.
    private static let none = UInt64(signed: .min)

    @inline(__always) static func write(_ record: FrameRecord, _ fate: FrameFate, _ words: MappedWords, at start: Int) {
        words.store(record.id, at: start + 1)
        var facts = UInt64(record.kind.rawValue) | UInt64(record.tier) << 16 | UInt64(record.rung) << 24
        switch fate {
        case .emitted: break
        case .bypassed: facts |= bypassed << 8
        case .dropped(let reason): facts |= UInt64(reason.rawValue + 1) << 8
        }
        if record.isLateUnit { facts |= Flag.lateUnit }
        if record.isKeyframe { facts |= Flag.keyframe }
        if record.isReference { facts |= Flag.reference }
        if record.isDamaged { facts |= Flag.damaged }
        words.store(facts, at: start + 2)
        words.store(UInt64(signed: record.presentation.ticks), at: start + 3)
        words.store(UInt64(record.epoch) | UInt64(record.sourceClock) << 32, at: start + 4)
        words.store(record.sourceTime.map { UInt64(signed: $0.nanoseconds) } ?? none, at: start + 5)
        words.store(record.deadline.map { UInt64(signed: $0.nanoseconds) } ?? none, at: start + 6)
        words.store(record.untimedStep.map(UInt64.init(signed:)) ?? none, at: start + 7)
        words.store(pair(record.tilesComputed, record.tilesReused), at: start + 8)
        words.store(pair(record.tilesWanted, record.synthesisedRequested), at: start + 9)
        words.store(record.decodeTime.map { UInt64(signed: $0.count) } ?? none, at: start + 10)
        words.store(record.baseTime.map { UInt64(signed: $0.count) } ?? none, at: start + 11)
        words.store(record.tileTime.map { UInt64(signed: $0.count) } ?? none, at: start + 12)
        for stamp in 0..<FrameRecord.stampCount {
            words.store(UInt64(signed: record.nanoseconds(ofStamp: stamp)), at: start + 13 + stamp)
        }
    }

    @inline(__always) private static func pair(_ low: Int32, _ high: Int32) -> UInt64 {
        UInt64(UInt32(bitPattern: low)) | UInt64(UInt32(bitPattern: high)) << 32
    }

    /// - Parameter words: the record's, its sequence number first.
    /// - Returns: nil where a value is none that a worker writes.
    static func read(_ words: ArraySlice<UInt64>) -> ClosedFrame? {
        guard words.count == TelemetryLayout.recordStride else { return nil }
        func word(_ index: Int) -> UInt64 { words[words.startIndex + index] }
        let facts = word(2)
        guard facts & ~(Flag.all | 0xFFFF_FFFF) == 0,
            let kind = FrameKind(rawValue: UInt8(truncatingIfNeeded: facts)),
            let tier = Tier(rawValue: UInt8(truncatingIfNeeded: facts >> 16)),
            facts >> 24 & 0xFF <= StreamGauges.lastRung
        else { return nil }
        var fate = FrameFate.emitted
        if let number = UInt8(exactly: facts >> 8 & 0xFF), number > 0 {
            if UInt64(number) == bypassed {
                fate = .bypassed
            } else {
                guard let reason = DropReason(rawValue: number - 1) else { return nil }
                fate = .dropped(reason)
            }
        }
        let ticks = Int64(bitPattern: word(3))
        guard Bounds.ticks.contains(ticks) else { return nil }
        var record = FrameRecord(id: word(1), kind: kind, presentation: MediaTime(ticks: ticks))
        record.tier = tier.rawValue
        record.rung = UInt8(truncatingIfNeeded: facts >> 24)
        record.isLateUnit = facts & Flag.lateUnit != 0
        record.isKeyframe = facts & Flag.keyframe != 0
        record.isReference = facts & Flag.reference != 0
        record.isDamaged = facts & Flag.damaged != 0
        record.epoch = UInt32(truncatingIfNeeded: word(4))
        record.sourceClock = UInt32(truncatingIfNeeded: word(4) >> 32)
        var isValid = true
        func number(_ index: Int, _ bounds: ClosedRange<Int64>) -> Int64? {
            if word(index) == none { return nil }
            let value = Int64(bitPattern: word(index))
            if !bounds.contains(value) { isValid = false }
            return value
        }
        func count(_ index: Int, _ shift: UInt64) -> Int32 {
            let value = Int32(truncatingIfNeeded: word(index) >> shift)
            if !Bounds.tiles.contains(value) { isValid = false }
            return value
        }
        record.sourceTime = number(5, Bounds.time).map(MonotonicTime.init(nanoseconds:))
        record.deadline = number(6, Bounds.time).map(MonotonicTime.init(nanoseconds:))
        record.untimedStep = number(7, Bounds.ticks)
        record.tilesComputed = count(8, 0)
        record.tilesReused = count(8, 32)
        record.tilesWanted = count(9, 0)
        record.synthesisedRequested = count(9, 32)
        record.decodeTime = number(10, Bounds.duration).map(Nanoseconds.init)
        record.baseTime = number(11, Bounds.duration).map(Nanoseconds.init)
        record.tileTime = number(12, Bounds.duration).map(Nanoseconds.init)
        for stamp in Stamp.allCases {
            record[stamp] = number(13 + stamp.rawValue, Bounds.time).map(MonotonicTime.init(nanoseconds:))
        }
        return isValid ? ClosedFrame(record: record, fate: fate) : nil
    }
}

/// What a reader believes. Within these bounds no difference or conversion of a reader overflows.
enum Bounds {
    /// Also exact as a Double, and in JSON.
    static let count: UInt64 = 1 << 53
    /// 146 years of the monotonic clock; a little before its start, where deadlines and source times may lie.
    static let time: ClosedRange<Int64> = -(1 << 50)...(1 << 62)
    /// 11 days.
    static let duration: ClosedRange<Int64> = -(1 << 50)...(1 << 50)
    /// 99 years of the 90 kHz clock, both ways.
    static let ticks: ClosedRange<Int64> = -(1 << 48)...(1 << 48)
    static let tiles: ClosedRange<Int32> = 0...1_000_000
    static let side: UInt64 = 65_535
    static let cores = 0.0...65_536.0
    static let rate = 0.0...1_000_000.0
    static let past = 0.0...86_400.0
}
