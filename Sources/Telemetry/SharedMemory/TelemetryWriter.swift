import Glibc
import Media
import Schedule

extension TelemetryMap {
    /// Which end of the stream.
    public enum Leg: Int, Sendable, CaseIterable { case input, output }

    /// Writes a stream's map. A call makes no system call, takes no lock and allocates nothing.
    ///
    /// Every count is one word that changes by one store. So the books are exact whenever the worker is killed: in flight is
    /// what was opened and has no fate. The next writer gives those frames the fate ``DropReason/shutdown`` and goes on from
    /// the counts that it finds.
    ///
    /// Each method says which thread may call it. A map has one writer at a time.
    public final class Writer: Sendable {
        private let words: MappedWords
        /// What the legs' counters of the earlier writers add up to, and the same of the outputs that go on.
        private let earlierLegs: [LegFigures]
        private let earlierOutputs: Lock<[LegFigures]>
        /// What an earlier writer left for this one.
        public let resumePoint: ResumePoint
        /// The number of the first frame that this writer opens.
        let firstFrame: UInt64

        /// Maps the map, and balances the books of a writer that was killed.
        /// - Parameter descriptor: open for reading and writing. It may be closed afterwards.
        public init(_ descriptor: Int32) throws(TelemetryMapError) {
            let reader = try Reader(descriptor)
            words = try MappedWords(descriptor, isWritable: true)
            let found = reader.snapshot()
            earlierLegs = [found.inputLeg, found.outputLeg]
            earlierOutputs = Lock(found.outputs.map(\.leg))
            resumePoint = reader.resumePoint()
            firstFrame = found.books.originals + found.books.synthesised + found.books.repeated
            closeLeftFrames()
            words.advance(TelemetryLayout.writersWord)
            words.store(UInt64(getpid()), at: TelemetryLayout.processWord)
            words.store(UInt64(signed: MonotonicTime.now().nanoseconds), at: TelemetryLayout.startedWord)
            write(found.gauges.ofANewWriter)
            for leg in Leg.allCases { write(LegFigures(), of: leg) }
            for leg in Leg.allCases { write([], of: leg) }
        }

        /// Drops the frames that the earlier writer had in flight. At most as many as it had tickets: a frame that vanished
        /// without a fate remains visible.
        private func closeLeftFrames() {
            var living = words[TelemetryLayout.inFlight]
            for kind in FrameKind.allCases {
                var closed = words[TelemetryLayout.emitted + Int(kind.rawValue)]
                closed &+= words[TelemetryLayout.bypassed + Int(kind.rawValue)]
                for reason in DropReason.allCases { closed &+= words[TelemetryLayout.dropWord(kind, reason)] }
                let opened = words[TelemetryLayout.opened + Int(kind.rawValue)]
                let left = min(opened > closed ? opened - closed : 0, living)
                words.advance(TelemetryLayout.dropWord(kind, .shutdown), by: left)
                living -= left
            }
            words.store(0, at: TelemetryLayout.inFlight)
            let output = TelemetryLayout.output
            let closed = words[output + OutputWord.sent.rawValue] &+ words[output + OutputWord.dropped.rawValue]
            let offered = words[output + OutputWord.offered.rawValue]
            words.advance(output + OutputWord.dropped.rawValue, by: offered > closed ? offered - closed : 0)
            words.store(0, at: output + OutputWord.queued.rawValue)
        }

        // MARK: Frames; called by the ledger under its lock

        @inline(__always) func open(_ kind: FrameKind) { words.advance(TelemetryLayout.opened + Int(kind.rawValue)) }

        @inline(__always) func close(_ record: FrameRecord, as fate: FrameFate) {
            switch fate {
            case .emitted, .bypassed:
                let fates = fate == .emitted ? TelemetryLayout.emitted : TelemetryLayout.bypassed
                words.advance(fates + Int(record.kind.rawValue))
                var misses: UInt64 = 0
                Latency.measure(record, missed: &misses) { series, time in observe(time, series) }
                if misses > 0 { words.advance(TelemetryLayout.misses, by: misses) }
            case .dropped(let reason):
                words.advance(TelemetryLayout.dropWord(record.kind, reason))
            }
            let number = words[TelemetryLayout.recordsWritten]
            let slot = Int(number % UInt64(TelemetryLayout.recordCount))
            let start = TelemetryLayout.records + slot * TelemetryLayout.recordStride
            words.write(number: number, at: start) { RecordWords.write(record, fate, words, at: start) }
            words.publish(number &+ 1, at: TelemetryLayout.recordsWritten)
        }

        @inline(__always) private func observe(_ time: Nanoseconds, _ series: Latency.Series) {
            let start = TelemetryLayout.histogram(series)
            let time = max(time, .zero)
            words.advance(start + Histogram.bucket(of: time))
            words.advance(start + Histogram.bucketCount, by: UInt64(time.count))
            let largest = start + Histogram.bucketCount + 1
            if words[largest] < UInt64(time.count) { words.store(UInt64(time.count), at: largest) }
        }

        // MARK: Counts; any thread

        /// A ticket was made. It counts before its frame does, and ends after it: the books of a killed worker tell a frame in
        /// flight from one that vanished.
        @inline(__always) func beginTicket() { words.add(1, at: TelemetryLayout.inFlight) }
        @inline(__always) func endTicket() { words.add(.max, at: TelemetryLayout.inFlight) }

        @inline(__always) func add(_ counter: StreamCounters.Counter, _ n: UInt64) {
            words.add(n, at: TelemetryLayout.counters + counter.rawValue)
        }

        @inline(__always) func add(_ step: StepKind, _ time: UInt64) {
            let start = TelemetryLayout.steps + 2 * Int(step.rawValue)
            words.add(1, at: start)
            words.add(time, at: start + 1)
        }

        // MARK: Output units; one thread at a time

        enum OutputWord: Int { case offered, sent, dropped, queued }

        /// Says which outputs there are. Books of an output that an earlier writer had go on: what was queued there is dropped. Those
        /// of others begin at zero.
        /// - Parameter identities: a number for each output, not 0. The first 12 outputs are kept.
        func begin(outputs identities: [UInt64]) {
            earlierOutputs.withLock { earlier in
                var known = earlier
                earlier = []
                for output in 0..<TelemetryLayout.mostOutputs {
                    let start = OutputWords.start(output)
                    let identity = output < identities.count ? max(1, identities[output]) : 0
                    if identity != 0, words[start + OutputWords.identity] == identity, output < known.count {
                        dropLeft(at: start)
                    } else {
                        for word in 0..<TelemetryLayout.outputStride { words.store(0, at: start + word) }
                        if output < known.count { known[output] = LegFigures() }
                    }
                    if identity != 0 { earlier.append(output < known.count ? known[output] : LegFigures()) }
                    words.store(identity, at: start + OutputWords.identity)
                }
            }
        }

        /// Balances the books of an output.
        private func dropLeft(at start: Int) {
            var closed = words[start + OutputWords.sent]
            for reason in OutputDropReason.allCases { closed &+= words[start + OutputWords.dropped + Int(reason.rawValue)] }
            let offered = words[start + OutputWords.offered]
            let shutdown = start + OutputWords.dropped + Int(OutputDropReason.shutdown.rawValue)
            words.advance(shutdown, by: offered > closed ? offered - closed : 0)
            words.store(0, at: start + OutputWords.queued)
        }

        @inline(__always) private func advance(_ output: Int, _ word: Int) {
            guard output < TelemetryLayout.mostOutputs else { return }
            words.advance(OutputWords.start(output) + word)
        }

        @inline(__always) func countOffered(_ output: Int) {
            words.advance(TelemetryLayout.output + OutputWord.offered.rawValue)
            advance(output, OutputWords.offered)
        }

        @inline(__always) func countSent(_ output: Int) {
            words.advance(TelemetryLayout.output + OutputWord.sent.rawValue)
            advance(output, OutputWords.sent)
        }

        @inline(__always) func countDropped(_ output: Int, _ reason: OutputDropReason) {
            words.advance(TelemetryLayout.output + OutputWord.dropped.rawValue)
            advance(output, OutputWords.dropped + Int(reason.rawValue))
        }

        /// - Parameters:
        ///   - n: units that wait at each output.
        ///   - outputs: how many outputs there are.
        @inline(__always) func setQueued(_ n: Int, outputs: Int) {
            words.store(UInt64(n * outputs), at: TelemetryLayout.output + OutputWord.queued.rawValue)
            for output in 0..<min(outputs, TelemetryLayout.mostOutputs) {
                words.store(UInt64(n), at: OutputWords.start(output) + OutputWords.queued)
            }
        }

        // MARK: Figures; the observer

        /// Writes the present gauges, and the present as their time.
        public func write(_ gauges: StreamGauges) {
            let start = TelemetryLayout.gauges
            words.store(gauges.rung.map { UInt64($0) + 1 } ?? 0, at: start)
            words.store(gauges.coresLeast.bitPattern, at: start + 1)
            words.store(gauges.coresSynthesising.bitPattern, at: start + 2)
            words.store(gauges.rate.bitPattern, at: start + 3)
            words.store(Self.word(gauges.inputSize), at: start + 4)
            words.store(Self.word(gauges.outputSize), at: start + 5)
            words.store(UInt64(signed: MonotonicTime.now().nanoseconds), at: start + 6)
            words.store(gauges.output.map { UInt64($0.step) + 1 | UInt64($0.preset.place) << 8 } ?? 0, at: start + 7)
            words.store(UInt64(gauges.content?.rawValue ?? 0), at: start + 8)
            words.store(gauges.better.map { UInt64($0.preset.place) + 1 } ?? 0, at: start + 9)
            words.store(gauges.better.map { Self.word($0.size) } ?? 0, at: start + 10)
            words.store((gauges.better?.cores ?? 0).bitPattern, at: start + 11)
            words.store(gauges.pastInput.bytes, at: start + 12)
            words.store(gauges.pastInput.seconds.bitPattern, at: start + 13)
            words.store(gauges.pastOutput.bytes, at: start + 14)
            words.store(gauges.pastOutput.seconds.bitPattern, at: start + 15)
        }

        private static func word(_ size: PictureSize) -> UInt64 {
            UInt64(UInt32(clamping: size.width)) | UInt64(UInt32(clamping: size.height)) << 32
        }

        /// Writes a leg's figures.
        /// - Parameter figures: counters since this writer began; those of earlier writers are added.
        public func write(_ figures: LegFigures, of leg: Leg) {
            let all = figures.adding(totalsOf: earlierLegs[leg.rawValue])
            OutputWords.write(all, words, at: TelemetryLayout.legs + leg.rawValue * TelemetryLayout.legStride)
        }

        /// Writes the figures of an output, but not its books. Takes a lock that nobody else holds for long.
        /// - Parameter figures: counters since this writer began; those of earlier writers are added.
        public func write(_ figures: OutputFigures, of output: Int) {
            let earlier = earlierOutputs.withLock { output < $0.count ? $0[output] : nil }
            guard let earlier, output < TelemetryLayout.mostOutputs else { return }
            let start = OutputWords.start(output)
            words.store(UInt64(figures.state.rawValue), at: start + OutputWords.state)
            words.store(UInt64(clamping: figures.receivers), at: start + OutputWords.receivers)
            OutputWords.write(figures.leg.adding(totalsOf: earlier), words, at: start + OutputWords.leg)
        }

        // MARK: What a successor goes on from; one thread at a time for each call

        /// How far the output has come, written with every picture that was sent.
        public func write(_ position: OutputPosition) {
            let (number, start) = nextCopy(TelemetryLayout.positions, TelemetryLayout.positionStride)
            words.write(number: number, at: start) { ResumeWords.write(position, words, at: start) }
        }

        /// How far the RTP sender has come after units that are no pictures. One word of the newest position changes.
        public func write(_ sender: RTPPosition) {
            let (_, next) = nextCopy(TelemetryLayout.positions, TelemetryLayout.positionStride)
            let newest = 2 * TelemetryLayout.positions + TelemetryLayout.positionStride - next
            words.store(ResumeWords.word(sender), at: newest + ResumeWords.senderWord)
        }

        /// The last continuity counter that was sent of a stream of the multiplex.
        /// - Parameter place: the stream's place in the output's layout, below 32. Others are ignored.
        public func write(_ counter: ContinuityCounter, at place: Int) {
            guard (0..<TelemetryLayout.continuityCount).contains(place) else { return }
            words.store(ResumeWords.word(counter), at: TelemetryLayout.continuity + place)
        }

        /// The peers that a leg is connected with, written when they change. The first 32 are kept.
        public func write(_ peers: [LegPeer], of leg: Leg) {
            let (number, start) = nextCopy(
                TelemetryLayout.peers + leg.rawValue * 2 * TelemetryLayout.peersStride, TelemetryLayout.peersStride)
            let kept = peers.prefix(TelemetryLayout.peersOfALeg)
            words.write(number: number, at: start) { ResumeWords.write(kept, words, at: start) }
        }

        /// The copy of a group that is to be written: the one that is not the newest, or that is torn.
        private func nextCopy(_ start: Int, _ stride: Int) -> (number: UInt64, start: Int) {
            let (first, second) = (words[start], words[start + stride])
            let newest = max(first & 1 == 0 ? first : 0, second & 1 == 0 ? second : 0)
            let number = newest / 2
            return (number, start + (first == newest ? stride : 0))
        }
    }
}

extension StreamGauges {
    /// What holds before a new worker has received anything.
    fileprivate var ofANewWriter: StreamGauges {
        var gauges = self
        gauges.rate = 0
        (gauges.output, gauges.better, gauges.content) = (nil, nil, nil)
        return gauges
    }
}
