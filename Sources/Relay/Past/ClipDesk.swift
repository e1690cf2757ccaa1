import Codec
import Media

/// A clip that has been cut.
public struct PastClip: Hashable, Sendable {
    public var bytes: Int64
    public var pictures: Int
    /// From the first picture to the last.
    public var length: Nanoseconds
    /// Units that MP4 does not hold, and that are left out.
    public var refused = 0
}

/// What a clip or a recording is written as.
public enum ClipContainer: String, CaseIterable, Sendable { case ts, mp4 }

/// Cuts clips of what has gone out, as it was sent, each on a thread of its own of low priority. A clip may reach into the future.
///
/// Thread-safe. At most ``most`` are cut at a time.
final class ClipDesk: Sendable {
    typealias Answer = @Sendable (Result<PastClip, PastFault>) -> Void
    /// Writes bytes at a place of the file.
    /// - Returns: why that cannot be done; nil when it was.
    typealias Writing = @Sendable (UnsafeRawBufferPointer, _ place: Int64) -> String?

    @safe struct Request: Sendable {
        /// By the machine's clock.
        let from, to: MonotonicTime
        let container: ClipContainer
        /// Of what came in, as a transport stream, with what went out beside it.
        let isOfInput: Bool
        let write: Writing
        let answer: Answer
    }

    private struct State {
        var threads: [Int: StageThread] = [:]
        var newest = 0
        var running: Set<Int> = []
        var isClosed = false
    }

    private let past: Past?
    private let state = Lock(State())

    static let most = 4
    /// How far a clip may reach into the future.
    static let longestFuture = Nanoseconds.seconds(60)
    /// How often a clip looks for what has gone out since.
    private static let pollInterval = Nanoseconds.milliseconds(20)
    /// How long after its end a clip waits for a picture behind it.
    private static let timeout = Nanoseconds.seconds(1)

    init(_ past: Past?) { self.past = past }

    /// Begins to cut a clip. The answer comes once, on another thread, or at once with a fault.
    /// - Returns: how much later than asked the clip begins, since the past goes back no further.
    func request(_ request: Request) -> Nanoseconds {
        let (late, fault) = begin(request)
        if let fault { request.answer(.failure(fault)) }
        return late
    }

    private func begin(_ request: Request) -> (late: Nanoseconds, fault: PastFault?) {
        guard let past else { return (.zero, .off) }
        var late = Nanoseconds.zero
        let now = MonotonicTime.now()
        guard request.from < request.to else {
            return (.zero, PastFault(.conflict, "the clip ends before it begins: give from before to"))
        }
        guard request.to - now <= Self.longestFuture else {
            return (.zero, PastFault(.conflict, "a clip reaches at most 60s into the future: record more"))
        }
        if request.from <= now {
            let (ring, side): (PastRing, StreamPicture.Side) = request.isOfInput ? (past.input, .before) : (past.output, .after)
            if let lack = ring.lack { return (.zero, lack.fault(side)) }
            if let oldest = ring.withUnits({ $0.count > 0 ? $0[0].time : nil }) {
                guard request.to >= oldest else {
                    return (
                        .zero, PastFault(.missing, "what was sent then has left: set a longer past or a larger past-memory")
                    )
                }
                late = max(.zero, oldest - request.from)
            }
        }
        let fault: PastFault? = state.withLock { state in
            if state.isClosed { return .ended }
            // Those that have ended cost nothing to join.
            for number in state.threads.keys where !state.running.contains(number) {
                state.threads.removeValue(forKey: number)?.join()
            }
            guard state.running.count < Self.most else {
                return PastFault(.busy, "\(Self.most) clips are being cut: try again later")
            }
            state.newest += 1
            let number = state.newest
            state.running.insert(number)
            state.threads[number] = StageThread(name: "clip", niceness: 10) { [self] in
                let result = Result { () throws(PastFault) in try cut(request, past) }
                _ = self.state.withLock { $0.running.remove(number) }
                request.answer(result)
            }
            return nil
        }
        return (late, fault)
    }

    /// Ends what is being cut: those clips hold what has been sent so far. May be called again.
    func close() {
        let threads = state.withLock { state in
            state.isClosed = true
            defer { state.threads = [:] }
            return Array(state.threads.values)
        }
        for thread in threads { thread.join() }
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func cut(_ request: Request, _ past: Past) throws(PastFault) -> PastClip {
        let ring = request.isOfInput ? past.input : past.output
        while PastReader.start(of: request.from, in: ring) == nil || request.from > .now() {
            if isClosed || .now() > request.to {
                throw PastFault(.missing, "nothing was sent then: somebody must receive the output")
            }
            (.now() + Self.pollInterval).sleep()
        }
        guard let start = PastReader.start(of: request.from, in: ring) else { throw .gone }
        let reader: any ClipReader
        if request.isOfInput {
            let input = InputReader(past, from: start)
            if let fault = input.fault { throw fault }
            reader = input
        } else {
            reader = PastReader(ring, from: start)
        }
        var source = ClipSource(reader, until: request.to) { [self] in isClosed }
        let file = unsafe ClipFile(request.write)
        var refused = 0
        switch request.container {
        case .ts:
            while let bytes = source.next() {
                guard unsafe bytes.withUnsafeBytes({ unsafe file.append($0) }) else { break }
            }
        case .mp4:
            do throws(CodecError) {
                refused = unsafe try MovieCopy.run(
                    isFragmented: false, reading: { unsafe source.fill($0) }, writing: { unsafe file.write($0, at: $1) })
            } catch {
                if file.fault == nil { throw source.fault ?? PastFault(.conflict, "\(error)") }
            }
        }
        if let fault = file.fault { throw PastFault(.conflict, "the clip cannot be written: \(fault)") }
        if let fault = source.fault { throw fault }
        guard let times = source.reader.times else { throw .gone }
        return PastClip(
            bytes: file.size, pictures: source.reader.pictures, length: times.last - times.first, refused: refused)
    }

    /// The transport stream of a clip, piece by piece. Waits for what is yet to come.
    private struct ClipSource {
        var reader: any ClipReader
        let end: MonotonicTime
        let isEnded: () -> Bool
        private(set) var fault: PastFault?
        private var buffer: [UInt8] = []
        /// So many bytes of it have been given.
        private var given = 0

        init(_ reader: any ClipReader, until end: MonotonicTime, isEnded: @escaping () -> Bool) {
            (self.reader, self.end, self.isEnded) = (reader, end, isEnded)
        }

        /// The next bytes; nil at the end.
        mutating func next() -> [UInt8]? {
            buffer.removeAll(keepingCapacity: true)
            while buffer.count < 1 << 16 {
                switch reader.step(into: &buffer, isBehindEnd: { [end] in $0.time > end }) {
                case .wrote: break
                case .gone:
                    fault = .gone
                    return nil
                case .reachedEnd: return buffer.isEmpty ? nil : buffer
                case .waits:
                    if !buffer.isEmpty { return buffer }
                    if isEnded() || .now() > end + ClipDesk.timeout { return nil }
                    (.now() + ClipDesk.pollInterval).sleep()
                }
            }
            return buffer
        }

        /// - Returns: how many bytes have been filled; 0 at the end.
        mutating func fill(_ target: UnsafeMutableRawBufferPointer) -> Int {
            if given == buffer.count {
                given = 0
                guard next() != nil else {
                    buffer.removeAll()
                    return 0
                }
            }
            let count = min(target.count, buffer.count - given)
            unsafe buffer.withUnsafeBytes {
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[given..<given + count]))
            }
            given += count
            return count
        }
    }

    /// Where a clip goes, and the first fault there.
    @safe private final class ClipFile {
        private let writing: Writing
        private(set) var fault: String?
        private(set) var size: Int64 = 0

        init(_ writing: @escaping Writing) { unsafe self.writing = unsafe writing }

        func append(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe write(bytes, at: size) }

        func write(_ bytes: UnsafeRawBufferPointer, at place: Int64) -> Bool {
            fault = unsafe fault ?? writing(bytes, place)
            size = max(size, place + Int64(bytes.count))
            return fault == nil
        }
    }
}
