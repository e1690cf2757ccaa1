import Codec
import Foundation
import Media
import Schedule
import Synchronization
import Telemetry
import Transport

/// What the stages of one stream share beside the queues between them.
final class StreamState: Sendable {
    let configuration: RelayConfiguration
    let ledger = Ledger()
    let counters = StreamCounters()
    /// What happened that somebody may want to read; the frame path offers and never waits.
    let events = BoundedQueue<RelayEvent>(capacity: 64)

    private let planner: Lock<Planner?> = Lock(nil)
    private let record = Lock(RungRecord())
    private let newestDeadline = Atomic<Int64>(0)
    private let arrivals = Atomic<Int>(0)
    private let encoding = Atomic<Int64>(0)
    private let decoding = Atomic<Int64>(-1)
    private let available: Atomic<UInt64>
    private let connected = Atomic<Bool>(false)
    private let changed = Atomic<Bool>(false)
    private let owed = Atomic<Bool>(false)
    private let held = Atomic<Int>(0)
    private let slots = Lock<(expected: Expectation, filled: Repeater.Filled?)>((Expectation(), nil))
    private let rate = Lock<Rational?>(nil)
    private let stopRequested = Atomic<Bool>(false)
    private let failure = Lock<RelayError?>(nil)

    /// The machine's cores that this process may use.
    let cores = ProcessorLimit.current.cores

    init(_ configuration: RelayConfiguration) {
        self.configuration = configuration
        available = Atomic(Self.bits(Cores(Double(cores))))
    }

    // MARK: The schedule

    /// Works with the planner under its lock; nil before the first picture's size is known.
    func withPlanner<Result: Sendable>(_ body: (inout Planner) -> Result) -> Result? {
        planner.withLock { planner in
            guard planner != nil else { return nil }
            return body(&planner!)
        }
    }

    /// Where the stream has stood on the ladder.
    var rungs: RungRecord { record.withLock { $0 } }
    func note(_ rung: Rung, at now: MonotonicTime) { record.withLock { $0.note(rung, at: now) } }

    /// The schedule is for such pictures from now on. What it has learnt of the machine, and where it stands, hold for
    /// another size too; where there is other work to choose from, it begins anew.
    func schedule(_ configuration: Planner.Configuration) {
        planner.withLock { planner in
            if planner?.configuration.differsInSizeOnly(from: configuration) == true {
                planner!.resize(input: configuration.input, output: configuration.output)
            } else {
                planner = Planner(configuration)
            }
        }
    }

    /// When the newest original that has arrived must be emitted.
    var newestEmitBy: MonotonicTime {
        MonotonicTime(nanoseconds: newestDeadline.load(ordering: .relaxed))
    }

    /// How many originals have arrived.
    var arrived: Int { arrivals.load(ordering: .relaxed) }
    func noteArrival(emitBy: MonotonicTime) {
        newestDeadline.store(emitBy.nanoseconds, ordering: .relaxed)
        arrivals.add(1, ordering: .relaxed)
    }

    /// Since when the encoder has been at work on a picture; nil when it is idle.
    var encoderBusySince: MonotonicTime? {
        get {
            let since = encoding.load(ordering: .relaxed)
            return since == 0 ? nil : MonotonicTime(nanoseconds: since)
        }
        set { encoding.store(newValue?.nanoseconds ?? 0, ordering: .relaxed) }
    }

    /// The cores that others leave this stream.
    var availableCores: Cores {
        get {
            let bits = available.load(ordering: .relaxed)
            func half(_ bits: UInt64) -> Double { Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) }
            return Cores(dealt: half(bits), spare: half(bits >> 32))
        }
        set { available.store(Self.bits(newValue), ordering: .relaxed) }
    }

    /// Both in one word, so that they are read together.
    static func bits(_ cores: Cores) -> UInt64 {
        UInt64(Float(cores.dealt).bitPattern) | UInt64(Float(cores.spare).bitPattern) << 32
    }

    /// The frame whose unit is inside the decode thread: at work, or with its picture waiting for room.
    var unitInDecoder: UInt64? {
        get { UInt64(exactly: decoding.load(ordering: .relaxed)) }
        set { decoding.store(newValue.map { Int64($0) } ?? -1, ordering: .relaxed) }
    }

    /// Whether another original than this one is inside the decode thread, which may not have noticed yet that this one's
    /// picture has been taken from it.
    func decodesAnother(than id: UInt64) -> Bool { unitInDecoder.map { $0 != id } ?? false }

    // MARK: The slots of a constant rate

    /// An original has arrived, for this output time.
    func expect(_ time: MediaTime, emitBy: MonotonicTime) {
        slots.withLock { $0.expected.note(time, emitBy: emitBy) }
    }

    /// What the input is expected to bring next.
    var expected: Expectation { slots.withLock { $0.expected } }

    /// The newest slot that was filled because nothing had come for it; nil where there are no slots.
    var filled: Repeater.Filled? {
        get { slots.withLock { $0.filled } }
        set { slots.withLock { $0.filled = newValue } }
    }

    /// Frames that the decoder keeps until it gets more: they are not under way.
    var heldByDecoder: Int {
        get { held.load(ordering: .relaxed) }
        set { held.store(newValue, ordering: .relaxed) }
    }

    /// Whether originals have arrived that are neither out nor dropped yet.
    var isWorking: Bool { ledger.inFlight > heldByDecoder }

    // MARK: The ends of the stream

    /// Frames a second, as the source's headers have it; nil while nobody knows.
    var sourceRate: Rational? {
        get { rate.withLock { $0 } }
        set { rate.withLock { $0 = newValue } }
    }

    /// Another sender, or another clock: what was learnt of the source's times is void.
    func sourceHasChanged() { changed.store(true, ordering: .releasing) }
    /// Whether that has happened since the last call.
    func takeSourceChange() -> Bool { changed.exchange(false, ordering: .acquiring) }

    /// A keyframe of the source did not go out: the next picture owes one.
    func oweKeyframe() { owed.store(true, ordering: .releasing) }
    func takeOwedKeyframe() -> Bool { owed.exchange(false, ordering: .acquiring) }

    /// Whether somebody takes the output: enhancing for nobody would only heat the machine.
    var outputIsConnected: Bool {
        get { connected.load(ordering: .relaxed) }
        set { connected.store(newValue, ordering: .relaxed) }
    }

    var isStopping: Bool { stopRequested.load(ordering: .acquiring) }
    func stop() { stopRequested.store(true, ordering: .releasing) }

    /// The first failure that the stream cannot live with; later ones are its consequences.
    var firstFailure: RelayError? { failure.withLock { $0 } }

    func fail(_ error: RelayError) {
        failure.withLock { if $0 == nil { $0 = error } }
        stop()
    }

    func report(_ event: RelayEvent) { _ = events.offer(event) }
}

/// Something that happened to a stream, for people to read: one line each.
public enum RelayEvent: Sendable {
    case input(LegEvent)
    case output(LegEvent)
    case picture(input: PictureSize, output: PictureSize)
    case note(String)
}

extension RelayEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .input(let event): "input: \(event)"
        case .output(let event): "output: \(event)"
        case .picture(let input, let output): "picture: \(input) → \(output)"
        case .note(let text): text
        }
    }
}

/// What a stream cannot live with.
public enum RelayError: Error, Sendable {
    case transport(TransportError)
    case codec(CodecError)
    /// The input has no video that can be relayed.
    case input(String)
}

extension RelayError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .transport(let error): error.description
        case .codec(let error): error.description
        case .input(let text): text
        }
    }
}

/// The end of a relay that could not go on. What it had done until then is told all the same.
public struct RelayFailure: Error, Sendable {
    public var reason: RelayError
    /// Nil where it never began to run.
    public var report: RelayReport?

    init(_ reason: RelayError, _ report: RelayReport? = nil) {
        self.reason = reason
        self.report = report
    }
}

extension RelayFailure: CustomStringConvertible {
    public var description: String { reason.description }
}
