import Endpoint
import Media
import Packets
import Synchronization
import Transport

/// A source with a buffer of its own, for tests that read message by message. Every wait has a generous limit that only
/// a failing test reaches.
final class Reader {
    let source: Source
    private(set) var events: [LegEvent] = []
    private let buffer: UnsafeMutableRawBufferPointer
    static let timeout = Nanoseconds.seconds(20)

    convenience init(_ url: String, room: Int = Message.largest) throws { try self.init(StreamURL(url), room: room) }

    init(_ url: StreamURL, room: Int = Message.largest) throws {
        source = try Source(url)
        buffer = .allocate(byteCount: room, alignment: 16)
    }

    deinit { buffer.deallocate() }

    /// The next message's bytes; events on the way are kept. Nil at the end or when time is up.
    func next(within timeout: Nanoseconds = Reader.timeout) -> (message: Message, bytes: [UInt8])? {
        let limit = MonotonicTime.now() + timeout
        while MonotonicTime.now() < limit {
            switch source.receive(into: buffer, until: limit) {
            case .message(let message): return (message, Array(buffer[..<message.byteCount]))
            case .event(let event): events.append(event)
            case .end, .failed: return nil
            case .idle: continue
            }
        }
        return nil
    }

    /// Which numbered message comes next.
    func nextNumber(within timeout: Nanoseconds = Reader.timeout) -> Int? {
        next(within: timeout).map { number(of: $0.bytes) }
    }

    /// Reads on until such an event has come (now or earlier).
    @discardableResult
    func wait(for wanted: (LegEvent) -> Bool) -> LegEvent? {
        let limit = MonotonicTime.now() + Self.timeout
        if let event = events.first(where: wanted) { return event }
        while MonotonicTime.now() < limit {
            if case .event(let event) = source.receive(into: buffer, until: limit) {
                events.append(event)
                if wanted(event) { return event }
            }
        }
        return nil
    }

    func awaitConnection() -> Connection? {
        guard case .connected(let connection) = wait(for: { if case .connected = $0 { true } else { false } }) else {
            return nil
        }
        return connection
    }

    /// Whether nothing is there now.
    var isIdle: Bool { source.receive(into: buffer, until: .now()) == .idle }

    func forget() { events.removeAll() }
}

extension Sink {
    func send(_ bytes: [UInt8], sourceTime: MonotonicTime? = nil) -> Sent {
        bytes.withUnsafeBytes { send($0, sourceTime: sourceTime) }
    }

    /// Waits for an event; events before it are dropped.
    func wait(for wanted: (LegEvent) -> Bool) -> LegEvent? {
        let limit = MonotonicTime.now() + Reader.timeout
        while MonotonicTime.now() < limit {
            guard let event = nextEvent() else {
                (MonotonicTime.now() + .milliseconds(1)).sleep()
                continue
            }
            if wanted(event) { return event }
        }
        return nil
    }

    func awaitPeer() -> Bool {
        wait(for: { if case .connected = $0 { true } else { false } }) != nil
    }
}

/// A message of `count` bytes that says which one it is.
func numbered(_ index: Int, count: Int = 1316) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: count)
    for i in 0..<4 { bytes[i] = UInt8(truncatingIfNeeded: index >> (8 * i)) }
    return bytes
}

func number(of bytes: [UInt8]) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) } }

/// Something that one thread does and another one waits for.
final class Flag: Sendable {
    private let isSet = Atomic<Bool>(false)
    func set() { isSet.store(true, ordering: .releasing) }

    /// Waits until it is set.
    /// - Returns: false when it has not been for as long as only a failing test waits.
    func wait() -> Bool {
        let limit = MonotonicTime.now() + Reader.timeout
        while !isSet.load(ordering: .acquiring) && .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        return isSet.load(ordering: .acquiring)
    }
}

/// A resolver that does what a test says.
struct MadeUpResolver: NameResolver {
    let body: @Sendable (String, @escaping @Sendable (Result<[String], NameFault>) -> Void) -> Void

    func lookUp(_ host: String, answer: @escaping @Sendable (Result<[String], NameFault>) -> Void) { body(host, answer) }
}
