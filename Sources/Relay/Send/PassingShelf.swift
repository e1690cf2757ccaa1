/// Passing units that wait for the picture of their time, in the order in which they came.
///
/// Confined to the send stage's lock. Its memory is allocated by `init`.
struct PassingShelf: ~Copyable {
    struct Entry {
        let unit: PassingUnit
        /// Its place on the timeline was settled when it came.
        let isSettled: Bool
        /// Calls got it as soon as it came.
        let callsHaveIt: Bool
    }

    private var entries: [Entry?]
    private var start = 0
    private(set) var count = 0

    init(capacity: Int) { entries = [Entry?](repeating: nil, count: capacity) }

    var isFull: Bool { count == entries.count }
    var first: Entry? { count > 0 ? entries[start] : nil }

    /// - Precondition: it is not full.
    mutating func append(_ entry: Entry) {
        precondition(!isFull, "the shelf is full")
        entries[(start + count) % entries.count] = entry
        count += 1
    }

    /// - Precondition: it is not empty.
    mutating func removeFirst() {
        precondition(count > 0, "the shelf is empty")
        entries[start] = nil
        start = (start + 1) % entries.count
        count -= 1
    }
}
