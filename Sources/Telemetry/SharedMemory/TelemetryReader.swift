import Glibc
import Media
import Schedule

extension TelemetryMap {
    /// Reads a stream's map. It believes nothing: a worker that was taken over may write anything at any time. Values that no
    /// worker writes count as zero and in ``StreamSnapshot/faults``; records are skipped.
    ///
    /// Thread-safe.
    public final class Reader: Sendable {
        private enum Memory: Sendable {
            case mapped(MappedWords)
            /// Somebody may cut this file at any time. So it is read and not mapped.
            case file(OwnedFile)
            case words([UInt64])
        }

        private let memory: Memory

        /// - Parameter descriptor: open for reading. It may be closed afterwards.
        public init(_ descriptor: Int32) throws(TelemetryMapError) {
            let place = "descriptor \(descriptor)"
            memory = try Self.memory(descriptor, place)
        }

        /// Opens a file: a crash report's, that of `burnish relay --telemetry`, or `/proc/PID/fd/N`.
        public init(path: String) throws(TelemetryMapError) {
            // A pipe without a writer would wait for one.
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw .system("\(path) cannot be read") }
            defer { close(descriptor) }
            memory = try Self.memory(descriptor, path)
        }

        /// A copy of a map, such as a crash report's.
        public init(bytes: [UInt8]) throws(TelemetryMapError) {
            let words = (0..<bytes.count / 8).map { index in
                (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[index * 8 + $1]) << (8 * UInt64($1)) }
            }
            try TelemetryMap.check(size: bytes.count, header: words, "the copy")
            memory = .words(words)
        }

        /// A copy of a whole map, for the fuzzer: the header is not checked.
        init(words: [UInt64]) {
            precondition(words.count == TelemetryLayout.wordCount)
            memory = .words(words)
        }

        private static func memory(_ descriptor: Int32, _ place: String) throws(TelemetryMapError) -> Memory {
            guard let size = TelemetryMap.size(of: descriptor) else {
                throw TelemetryMapError(.notAMap, "\(place) is no file")
            }
            try TelemetryMap.check(size: size, header: TelemetryMap.read(descriptor, 0..<16), place)
            if MemoryFile.keepsItsSize(descriptor) { return .mapped(try MappedWords(descriptor, isWritable: false)) }
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0 else { throw .system("\(place) cannot be read") }
            return .file(OwnedFile(copy))
        }

        /// A copy of some words. What a cut file no longer has is zero.
        private func copy(_ range: Range<Int>) -> [UInt64] {
            switch memory {
            case .mapped(let words): return words.copy(range)
            case .words(let words): return Array(words[range])
            case .file(let file):
                let words = TelemetryMap.read(file.descriptor, range)
                return words + Array(repeating: 0, count: range.count - words.count)
            }
        }

        /// All bytes of the map, to be kept as a file.
        public func bytes() -> [UInt8] {
            copy(0..<TelemetryLayout.wordCount).flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
        }

        /// What the map says now. Copies 66 KB and allocates. Numbers that change at the same time may be a frame apart.
        public func snapshot() -> StreamSnapshot { MapWords(copy(0..<TelemetryLayout.records)).snapshot() }

        /// What a worker that dies now would leave for its successor.
        public func resumePoint() -> ResumePoint { MapWords(copy(0..<TelemetryLayout.records)).resumePoint() }

        /// The records of the frames that were closed last, oldest first, at most ``recordCapacity``. Copies 345 KB twice and
        /// allocates.
        /// - Returns: `torn` counts records that were left out: those that are being written just now, and those with values
        ///   that no worker writes.
        public func records(last count: Int = recordCapacity) -> (frames: [ClosedFrame], torn: Int) {
            let ring = TelemetryLayout.records
            let range = ring..<ring + TelemetryLayout.recordCount * TelemetryLayout.recordStride
            let words = copy(range)
            // A record whose sequence number is still the same was not written meanwhile.
            let again = copy(range)
            return RingWords(words, again).records(last: count)
        }

        /// The records of the frames that were closed in the last seconds before the newest one, oldest first.
        public func records(lastSeconds seconds: Double) -> (frames: [ClosedFrame], torn: Int) {
            let (frames, torn) = records()
            let limit = Int64(seconds > 0 ? min(seconds, 1e6) * 1e9 : 0)
            let stamps = frames.map { $0.record.newestStamp?.nanoseconds }
            guard let newest = stamps.lazy.compactMap({ $0 }).max() else { return (frames, torn) }
            return (zip(frames, stamps).filter { ($1 ?? newest) >= newest - limit }.map(\.0), torn)
        }

        /// How many records a map keeps: 30 seconds at 60 frames a second.
        public static var recordCapacity: Int { TelemetryLayout.recordCount }
    }
}

/// A descriptor, closed in `deinit`.
private final class OwnedFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
}

extension FrameRecord {
    /// The time of the last point that the frame passed.
    public var newestStamp: MonotonicTime? {
        // Without an array: a reader asks 1,800 records.
        var newest = Int64.min
        for number in 0..<Self.stampCount { newest = max(newest, nanoseconds(ofStamp: number)) }
        return newest == .min ? nil : MonotonicTime(nanoseconds: newest)
    }
}

/// Words of a map that are checked one by one. What no worker writes is zero, and counts as a fault.
struct CheckedWords {
    private let words: [UInt64]
    private(set) var faults = 0

    init(_ words: [UInt64]) { self.words = words }

    /// What is there, unchecked.
    subscript(index: Int) -> UInt64 { words[index] }

    mutating func count(_ index: Int, upTo most: UInt64 = Bounds.count) -> UInt64 {
        if words[index] <= most { return words[index] }
        faults += 1
        return 0
    }

    mutating func duration(_ index: Int) -> Nanoseconds {
        let value = Int64(bitPattern: words[index])
        if (0...Bounds.duration.upperBound).contains(value) { return Nanoseconds(value) }
        faults += 1
        return .zero
    }
}

/// The words of a map before its ring.
struct MapWords {
    private let words: [UInt64]

    init(_ words: [UInt64]) { self.words = words }

    func snapshot() -> StreamSnapshot {
        var snapshot = StreamSnapshot()
        var faults = 0
        func count(_ index: Int) -> UInt64 {
            if words[index] <= Bounds.count { return words[index] }
            faults += 1
            return 0
        }
        func time(_ index: Int, _ bounds: ClosedRange<Int64> = 0...Bounds.duration.upperBound) -> Int64 {
            let value = Int64(bitPattern: words[index])
            if bounds.contains(value) { return value }
            faults += 1
            return 0
        }
        func share(_ index: Int, _ bounds: ClosedRange<Double>) -> Double {
            let value = Double(bitPattern: words[index])
            if bounds.contains(value) { return value }
            faults += 1
            return 0
        }
        func size(_ index: Int) -> PictureSize {
            let (width, height) = (words[index] & 0xFFFF_FFFF, words[index] >> 32)
            guard width <= Bounds.side, height <= Bounds.side else {
                faults += 1
                return PictureSize(width: 0, height: 0)
            }
            return PictureSize(width: Int(width), height: Int(height))
        }

        snapshot.writers = count(TelemetryLayout.writersWord)
        snapshot.process = Int32(exactly: count(TelemetryLayout.processWord)) ?? 0
        snapshot.startedAt = MonotonicTime(nanoseconds: time(TelemetryLayout.startedWord, Bounds.time))
        snapshot.wallOffset = Nanoseconds(time(TelemetryLayout.wallOffsetWord, Bounds.time))
        snapshot.recordsWritten = count(TelemetryLayout.recordsWritten)

        snapshot.books.originals = count(TelemetryLayout.opened + Int(FrameKind.original.rawValue))
        snapshot.books.synthesised = count(TelemetryLayout.opened + Int(FrameKind.synthesised.rawValue))
        snapshot.books.repeated = count(TelemetryLayout.opened + Int(FrameKind.repeated.rawValue))
        snapshot.books.inFlight = count(TelemetryLayout.inFlight)
        for kind in FrameKind.allCases {
            snapshot.books.emitted += count(TelemetryLayout.emitted + Int(kind.rawValue))
            snapshot.books.bypassed += count(TelemetryLayout.bypassed + Int(kind.rawValue))
            for reason in DropReason.allCases {
                snapshot.books.drop(kind, reason, count(TelemetryLayout.dropWord(kind, reason)))
            }
        }

        let output = TelemetryLayout.output
        snapshot.output.offered = count(output)
        snapshot.output.sent = count(output + 1)
        snapshot.output.dropped = count(output + 2)
        snapshot.output.queued = count(output + 3)

        for counter in StreamCounters.Counter.allCases {
            snapshot.counters[counter] = count(TelemetryLayout.counters + counter.rawValue)
        }

        for step in StepKind.allCases {
            let start = TelemetryLayout.steps + 2 * Int(step.rawValue)
            snapshot.steps[step] = StepFigures(pictures: count(start), time: Nanoseconds(Int64(count(start + 1))))
        }

        let gauges = TelemetryLayout.gauges
        if words[gauges] > UInt64(StreamGauges.lastRung) + 1 { faults += 1 }
        snapshot.gauges.rung = (1...UInt64(StreamGauges.lastRung) + 1).contains(words[gauges]) ? UInt8(words[gauges] - 1) : nil
        snapshot.gauges.coresLeast = share(gauges + 1, Bounds.cores)
        snapshot.gauges.coresSynthesising = share(gauges + 2, Bounds.cores)
        snapshot.gauges.rate = share(gauges + 3, Bounds.rate)
        snapshot.gauges.inputSize = size(gauges + 4)
        snapshot.gauges.outputSize = size(gauges + 5)
        snapshot.gauges.writtenAt = MonotonicTime(nanoseconds: time(gauges + 6, Bounds.time))
        let (step, preset) = (words[gauges + 7] & 0xff, words[gauges + 7] >> 8)
        if step > 0, step <= UInt64(StreamGauges.Output.lastStep) + 1, preset < UInt64(EncoderPreset.allCases.count) {
            snapshot.gauges.output = StreamGauges.Output(step: UInt8(step - 1), preset: EncoderPreset.allCases[Int(preset)])
        } else if words[gauges + 7] != 0 {
            faults += 1
        }
        snapshot.gauges.content = UInt8(exactly: words[gauges + 8]).flatMap { StreamGauges.Content(rawValue: $0) }
        if words[gauges + 8] != 0, snapshot.gauges.content == nil { faults += 1 }
        let better = words[gauges + 9]
        if better > 0, better <= UInt64(EncoderPreset.allCases.count) {
            snapshot.gauges.better = StreamGauges.Better(
                size: size(gauges + 10), preset: EncoderPreset.allCases[Int(better) - 1],
                cores: share(gauges + 11, Bounds.cores))
        } else if better != 0 {
            faults += 1
        }

        snapshot.gauges.pastInput.bytes = count(gauges + 12)
        snapshot.gauges.pastInput.seconds = share(gauges + 13, Bounds.past)
        snapshot.gauges.pastOutput.bytes = count(gauges + 14)
        snapshot.gauges.pastOutput.seconds = share(gauges + 15, Bounds.past)

        var checked = CheckedWords(words)
        snapshot.inputLeg = OutputWords.leg(&checked, at: TelemetryLayout.legs)
        snapshot.outputLeg = OutputWords.leg(&checked, at: TelemetryLayout.legs + TelemetryLayout.legStride)
        snapshot.outputs = OutputWords.outputs(&checked)
        faults += checked.faults

        for series in Latency.Series.allCases {
            let start = TelemetryLayout.histogram(series)
            let buckets = (start..<start + Histogram.bucketCount).map(count)
            // The sum of a long life may be far more than a frame's time.
            let sum = time(start + Histogram.bucketCount, 0...(1 << 62))
            let largest = time(start + Histogram.bucketCount + 1, 0...(1 << 62))
            snapshot.latency[series] = Histogram(buckets: buckets, sum: Nanoseconds(sum), largest: Nanoseconds(largest))
        }
        snapshot.latency.misses = count(TelemetryLayout.misses)
        snapshot.faults = faults
        return snapshot
    }

    func resumePoint() -> ResumePoint {
        var point = ResumePoint()
        point.position = newestCopy(TelemetryLayout.positions, TelemetryLayout.positionStride).flatMap(ResumeWords.position)
        point.continuity = (0..<TelemetryLayout.continuityCount).compactMap {
            ResumeWords.continuity(words[TelemetryLayout.continuity + $0])
        }
        func peers(_ leg: TelemetryMap.Leg) -> [LegPeer] {
            let start = TelemetryLayout.peers + leg.rawValue * 2 * TelemetryLayout.peersStride
            return newestCopy(start, TelemetryLayout.peersStride).flatMap(ResumeWords.peers) ?? []
        }
        point.inputPeers = peers(.input)
        point.outputPeers = peers(.output)
        return point
    }

    /// The newer of a group's two copies that is whole; nil when none was written.
    private func newestCopy(_ start: Int, _ stride: Int) -> ArraySlice<UInt64>? {
        [start, start + stride].filter { words[$0] != 0 && words[$0] & 1 == 0 }.max { words[$0] < words[$1] }
            .map { words[$0..<$0 + stride] }
    }
}

/// The words of a map's ring.
struct RingWords {
    private let words: [UInt64]
    /// The same, copied later.
    private let again: [UInt64]

    /// - Precondition: both are copies of the whole ring.
    init(_ words: [UInt64], _ again: [UInt64]) {
        self.words = words
        self.again = again
    }

    func records(last count: Int) -> (frames: [ClosedFrame], torn: Int) {
        var frames: [(number: UInt64, frame: ClosedFrame)] = []
        var torn = 0
        for slot in 0..<TelemetryLayout.recordCount {
            let start = slot * TelemetryLayout.recordStride
            let sequence = words[start]
            if sequence == 0 && again[start] == 0 { continue }
            guard sequence != 0, sequence & 1 == 0, sequence == again[start],
                (sequence / 2 - 1) % UInt64(TelemetryLayout.recordCount) == UInt64(slot),
                let frame = RecordWords.read(words[start..<start + TelemetryLayout.recordStride])
            else {
                torn += 1
                continue
            }
            frames.append((sequence / 2 - 1, frame))
        }
        frames.sort { $0.number < $1.number }
        // Records of one ring lie within one turn of it.
        let newest = frames.last?.number ?? 0
        let former = frames.firstIndex { newest - $0.number < UInt64(TelemetryLayout.recordCount) } ?? 0
        torn += former
        return (frames.dropFirst(former).suffix(max(0, count)).map(\.frame), torn)
    }
}
