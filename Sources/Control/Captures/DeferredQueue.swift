import Media
import WorkerProtocol

/// What is to be made later, the oldest first, and what has become of it. The files are the truth: this follows them.
///
/// A pure value.
struct DeferredQueue: Sendable {
    /// What becomes of a request for something better later. Each has one outcome.
    enum Outcome: String, CaseIterable, Sendable {
        case made, failed, expired, refused
    }

    /// One that waits.
    struct Item: Hashable, Sendable {
        var entry: DeferredFolder.Entry
        /// How often its making has failed.
        var failures = 0
        /// It is not tried again before.
        var notBefore: MonotonicTime?
    }

    /// How many may wait, and how many bytes they may take.
    static let most = 256
    static let mostBytes: Int64 = 1 << 30
    /// What has not been made by then stays as it is, in seconds.
    static let longestWait = 24 * 3600.0
    /// How often the making of one may fail.
    static let mostFailures = 3
    private static let pause = Nanoseconds.seconds(10)

    private(set) var items: [Item] = []
    private(set) var outcomes: [Outcome: Int] = [:]
    /// How many are being taken in.
    private var arriving = 0

    var bytes: Int64 { items.reduce(0) { $0 + $1.entry.bytes } }

    /// Why no more is taken in; nil where there is room.
    var fullness: String? {
        if items.count + arriving >= Self.most { return "\(items.count) stills and clips wait to be made well" }
        if bytes >= Self.mostBytes { return "what waits to be made well takes \(bytes >> 20) MiB" }
        return nil
    }

    /// Begins to take one in. ``arrive(_:)`` ends it.
    mutating func begin() { arriving += 1 }

    /// - Parameter entry: nil where it did not come to that.
    mutating func arrive(_ entry: DeferredFolder.Entry?) {
        arriving -= 1
        if let entry { items.append(Item(entry: entry)) }
    }

    mutating func count(_ outcome: Outcome) { outcomes[outcome, default: 0] += 1 }

    /// Follows another folder, or the same one anew.
    mutating func replace(_ entries: [DeferredFolder.Entry]) { items = entries.map { Item(entry: $0) } }

    /// The next one to work on.
    func next(at now: MonotonicTime) -> DeferredFolder.Entry? {
        let due = items.filter { $0.notBefore.map { $0 <= now } ?? true }
        // A clip takes as long as hundreds of stills.
        return (due.first { $0.entry.job.kind == .still } ?? due.first)?.entry
    }

    /// - Returns: false where there is none such.
    @discardableResult mutating func remove(_ entry: DeferredFolder.Entry, _ outcome: Outcome) -> Bool {
        guard let index = items.firstIndex(where: { $0.entry == entry }) else { return false }
        items.remove(at: index)
        count(outcome)
        return true
    }

    /// Its making has failed.
    /// - Returns: whether it will be tried again.
    mutating func fail(_ entry: DeferredFolder.Entry, at now: MonotonicTime) -> Bool {
        guard let index = items.firstIndex(where: { $0.entry == entry }) else { return false }
        items[index].failures += 1
        items[index].notBefore = now + Self.pause * Int64(items[index].failures)
        if items[index].failures < Self.mostFailures { return true }
        remove(entry, .failed)
        return false
    }

    /// Those that have waited too long.
    /// - Parameters:
    ///   - time: in seconds since 1970.
    ///   - running: is worked on, and stays.
    mutating func expire(at time: Double, except running: DeferredFolder.Entry?) -> [DeferredFolder.Entry] {
        let old = items.map(\.entry).filter { $0 != running && time - $0.job.time > Self.longestWait }
        for entry in old { remove(entry, .expired) }
        return old
    }

    func contains(_ number: Int, of stream: String, _ kind: DeferredJob.Kind = .still) -> Bool {
        items.contains { $0.entry.job.stream == stream && $0.entry.job.number == number && $0.entry.job.kind == kind }
    }
}
