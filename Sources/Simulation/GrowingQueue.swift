/// A first-in first-out queue that grows. It has no bound, because the simulator finds out whether a policy keeps its queues
/// bounded.
struct GrowingQueue<Element> {
    private var slots: [Element?] = Array(repeating: nil, count: 16)
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var first: Element? { slots[head] }
    subscript(index: Int) -> Element { slots[(head + index) & (slots.count - 1)]! }

    mutating func append(_ element: Element) {
        if count == slots.count {
            slots = (0..<count).map { self[$0] } + Array(repeating: nil, count: count)
            head = 0
        }
        slots[(head + count) & (slots.count - 1)] = element
        count += 1
    }

    mutating func removeFirst() -> Element {
        defer {
            slots[head] = nil
            head = (head + 1) & (slots.count - 1)
            count -= 1
        }
        return slots[head]!
    }
}
