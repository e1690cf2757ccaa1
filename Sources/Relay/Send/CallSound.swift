import Codec
import Media
import Telemetry

/// Transcodes one stream of sound to Opus for calls, on a thread of its own.
///
/// The send stage offers units and removes packets. It never waits for the transcoder: a unit that finds the queue full is lost,
/// and so is a packet. Each is counted, and so is what becomes of every unit:
///
///     units in = transcoded + broken + late + overrun + failed + in work
///
/// Thread-safe. Nothing here allocates in the steady state, outside libav.
final class CallSound: Sendable {
    /// A unit of the program's sound.
    struct Unit: Sendable {
        let codec: SoundCodec
        /// Of the first frame that begins in it; nil where it is not known.
        let presentation: MediaTime?
        /// The times of all units before were wrong by so many ticks.
        let moved: Int64
        /// The source time of its presentation.
        let stamp: MonotonicTime
    }

    /// 10 ms of Opus.
    struct Packet: Sendable {
        fileprivate let buffer: UnitBuffer
        let presentation: MediaTime
        /// The source time of its presentation.
        let stamp: MonotonicTime

        /// Do not use them after the packet was recycled.
        @unsafe var bytes: UnsafeRawBufferPointer { unsafe buffer.bytes }
    }

    typealias Making = @Sendable (SoundCodec) throws(CodecError) -> SoundTranscoder

    /// More than a second of AAC where each unit has one frame.
    static let mostUnits = 64
    /// More than a second.
    static let mostPackets = 128

    private let shared: Shared
    private let thread: Lock<StageThread?>

    /// Starts the thread.
    /// - Parameters:
    ///   - wake: raised when packets have been made.
    ///   - make: makes the transcoder, on the thread.
    init(
        wake: WakeUp, _ counters: StreamCounters, _ control: StreamControl,
        make: @escaping Making = { (codec) throws(CodecError) in try SoundTranscoder(codec) }
    ) {
        let shared = Shared(wake: wake, counters: counters)
        self.shared = shared
        thread = Lock(
            StageThread(name: "call sound") {
                var work = TranscodingWork(shared, control, make)
                work.run()
            })
    }

    deinit {
        shared.units.close()
        thread.withLock { $0.take() }?.detach()
    }

    /// Queues a copy of a unit.
    /// - Parameter bytes: borrowed for the call.
    /// - Returns: false when too many units wait already, so that this one is lost.
    func offer(_ bytes: UnsafeRawBufferPointer, _ unit: Unit) -> Bool {
        shared.counters.add(.callSoundIn)
        guard let buffer = shared.unitBuffers.claim() else {
            shared.counters.add(.callSoundOverrun)
            return false
        }
        unsafe buffer.fill(bytes)
        guard shared.units.offer(QueuedUnit(unit: unit, buffer: buffer)) == nil else {
            shared.unitBuffers.recycle(buffer)
            shared.counters.add(.callSoundOverrun)
            return false
        }
        return true
    }

    /// The next packet; nil when none is there now. It has to be recycled.
    func next() -> Packet? { shared.packets.pop(until: MonotonicTime(nanoseconds: 0)) }
    func recycle(_ packet: Packet) { shared.packetBuffers.recycle(packet.buffer) }

    /// Waits until all units that were offered have been transcoded. Their packets can be removed after that.
    func finish() {
        shared.units.close()
        thread.withLock { $0.take() }?.join()
    }

    fileprivate struct QueuedUnit: Sendable {
        let unit: Unit
        let buffer: UnitBuffer
    }

    /// What the two sides share.
    fileprivate final class Shared: Sendable {
        let units = BoundedQueue<QueuedUnit>(capacity: mostUnits)
        let packets = BoundedQueue<Packet>(capacity: mostPackets)
        // One more than wait: the one in hand.
        let unitBuffers = UnitBufferPool(count: mostUnits + 1, capacity: 2048)
        let packetBuffers = UnitBufferPool(count: mostPackets + 1, capacity: 512)
        let wake: WakeUp
        let counters: StreamCounters

        init(wake: WakeUp, counters: StreamCounters) {
            self.wake = wake
            self.counters = counters
        }

        /// Queues a copy of a packet, or counts it as lost.
        func add(_ bytes: UnsafeRawBufferPointer, at presentation: MediaTime, stamp: MonotonicTime) {
            guard let buffer = packetBuffers.claim() else { return counters.add(.callPacketsDropped) }
            unsafe buffer.fill(bytes)
            guard packets.offer(Packet(buffer: buffer, presentation: presentation, stamp: stamp)) != nil else { return }
            packetBuffers.recycle(buffer)
            counters.add(.callPacketsDropped)
        }
    }
}

/// What the transcoder's thread does. Confined to it.
private struct TranscodingWork: ~Copyable {
    /// A transcoder that fails so often in a row is not made again.
    private static let mostFailures = 3
    /// After so many units in a row that cannot be decoded (a second of AAC), a line says so.
    private static let manyBroken = 50

    private let shared: CallSound.Shared
    private let control: StreamControl
    private let make: CallSound.Making
    private var codec: SoundCodec?
    private var transcoder: SoundTranscoder?
    /// In a row.
    private var failures = 0
    private var brokenInARow = 0
    /// The newest presentation that is known with its source time.
    private var origin: (presentation: MediaTime, stamp: MonotonicTime)?

    init(_ shared: CallSound.Shared, _ control: StreamControl, _ make: @escaping CallSound.Making) {
        self.shared = shared
        self.control = control
        self.make = make
    }

    mutating func run() {
        while let queued = shared.units.pop() {
            let outcome = unsafe transcode(queued.buffer.bytes, queued.unit)
            shared.unitBuffers.recycle(queued.buffer)
            shared.counters.add(outcome)
            shared.wake.raise()
        }
        guard let transcoder, let origin else { return }
        try? unsafe transcoder.endLine { [shared] packet, time in
            unsafe shared.add(packet, at: time, stamp: Self.stamp(of: time, origin))
        }
        shared.wake.raise()
    }

    private static func stamp(
        of time: MediaTime, _ origin: (presentation: MediaTime, stamp: MonotonicTime)
    ) -> MonotonicTime {
        origin.stamp + MediaTime(ticks: time - origin.presentation).nanoseconds
    }

    /// - Returns: what became of the unit.
    private mutating func transcode(_ bytes: UnsafeRawBufferPointer, _ unit: CallSound.Unit) -> StreamCounters.Counter {
        begin(unit.codec)
        guard let transcoder else { return .callSoundFailed }
        if unit.moved != 0 { transcoder.move(by: unit.moved) }
        if let presentation = unit.presentation { origin = (presentation, unit.stamp) }
        // The transcoder emits nothing before it has had a time.
        let origin = origin ?? (MediaTime(ticks: 0), unit.stamp)
        do throws(CodecError) {
            let outcome = unsafe try transcoder.push(bytes, at: unit.presentation) { [shared] packet, time in
                unsafe shared.add(packet, at: time, stamp: Self.stamp(of: time, origin))
            }
            failures = 0
            record(outcome, unit.codec)
            return switch outcome {
            case .transcoded: .callSoundTranscoded
            case .broken: .callSoundBroken
            case .late: .callSoundLate
            }
        } catch {
            fail(error)
            return .callSoundFailed
        }
    }

    /// Makes the transcoder for a format, where there is none and it has not failed too often.
    private mutating func begin(_ codec: SoundCodec) {
        let isOther = codec != self.codec
        if isOther { (self.codec, transcoder, failures, origin) = (codec, nil, 0, nil) }
        guard transcoder == nil, failures < Self.mostFailures else { return }
        do throws(CodecError) {
            transcoder = try make(codec)
            if isOther { control.report(.message("output: \(codec.name) is transcoded to Opus for calls")) }
        } catch {
            fail(error)
            failures = Self.mostFailures
        }
    }

    /// Some senders write units of zeros while they have no sound.
    private mutating func record(_ outcome: SoundTranscoder.Outcome, _ codec: SoundCodec) {
        guard outcome == .broken else {
            if outcome == .transcoded { brokenInARow = 0 }
            return
        }
        brokenInARow += 1
        guard brokenInARow == Self.manyBroken else { return }
        control.report(
            .message(
                "output: \(Self.manyBroken) units of \(codec.name) in a row cannot be decoded, so calls hear nothing of it;"
                    + " look at the sender's sound"))
    }

    private mutating func fail(_ error: CodecError) {
        transcoder = nil
        failures += 1
        if failures == 1 { control.report(.message("output: the sound for calls cannot be transcoded: \(error)")) }
    }
}
