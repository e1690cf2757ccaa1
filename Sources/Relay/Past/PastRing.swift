import Container
import Media

/// The last seconds of coded units, in one block of memory that is taken once. What leaves are whole groups of pictures, the oldest
/// first, so what is there always begins with an entry point. A group that alone is larger than the block is not kept.
///
/// Thread-safe. The writer holds a lock for as long as it takes to copy one unit, and so does a reader. Nothing allocates but
/// ``add(_:)``.
final class PastRing: Sendable {
    /// Why nothing is there, as far as the ring knows.
    enum Lack: Sendable {
        /// No entry point has come.
        case nothingCame
        /// The newest group of pictures is larger than the block.
        case groupTooLarge
        /// A privacy mask is set.
        case masked
    }

    /// How much is there.
    struct Extent: Equatable, Sendable {
        var bytes = 0
        var time = Nanoseconds.zero
    }

    fileprivate struct State: ~Copyable {
        let block: AlignedMemory
        /// ``PastUnit`` values, in a ring of their own.
        let index: AlignedMemory
        let capacity: Int
        /// The oldest unit's place in the index, and how many there are.
        var first = 0
        var count = 0
        /// The number of the next unit.
        var next: UInt64 = 0
        /// Where the next unit lies, if it fits there.
        var end = 0
        var bytes = 0
        var lack = Lack.nothingCame
        var isOpen = true
        /// Pictures with an older mask are not kept.
        var leastMask = 0
        var layouts: [TransportStreamLayout] = []
        /// The number of the first of them.
        var firstLayout = 0
    }

    private let state: Lock<State>
    private let duration: Nanoseconds
    private static let mostLayouts = 64

    /// Takes all memory, and has the system map it, so that no later write waits for that.
    /// - Parameters:
    ///   - byteCount: what the block and its index take together, at least 64 KiB.
    ///   - duration: what is older leaves.
    init(byteCount: Int, duration: Nanoseconds) {
        let stride = MemoryLayout<PastUnit>.stride
        // 240 pictures a second with two streams of sound. The index takes at most an eighth.
        let capacity = min(1024 + Int(duration.seconds * 400), max(64, byteCount / 8 / stride))
        let block = AlignedMemory(byteCount: byteCount - capacity * stride)
        let index = AlignedMemory(byteCount: capacity * stride)
        unsafe block.pointer().initializeMemory(as: UInt8.self, repeating: 0, count: block.byteCount)
        unsafe index.pointer().initializeMemory(as: UInt8.self, repeating: 0, count: index.byteCount)
        state = Lock(State(block: block, index: index, capacity: capacity))
        self.duration = duration
    }

    // MARK: The writer

    /// Keeps a copy of a unit, if it can be used.
    /// - Parameters:
    ///   - head: what is needed before the unit; empty for nothing.
    ///   - bytes: the unit; borrowed for the call.
    func keep(_ unit: PastUnit, head: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            guard state.isOpen, unit.maskNumber >= state.leastMask || !unit.isPicture else { return }
            let isEntry = unit.isPicture && unit.isEntry
            guard isEntry || state.count > 0 else { return }
            if isEntry { state.dropGroups(before: unit.time - duration) }
            guard let place = state.room(for: head.count + bytes.count, isEntry: isEntry) else {
                state.lack = .groupTooLarge
                return
            }
            var unit = unit
            (unit.number, unit.headCount, unit.byteCount, unit.offset) = (
                state.next, head.count, head.count + bytes.count, place
            )
            let target = unsafe state.block.pointer(at: place)
            if let base = head.baseAddress { unsafe target.copyMemory(from: base, byteCount: head.count) }
            if let base = bytes.baseAddress { unsafe (target + head.count).copyMemory(from: base, byteCount: bytes.count) }
            state.append(unit)
        }
    }

    /// Learns the layout of the units that come next.
    /// - Returns: its number, for ``PastUnit/layout``.
    func add(_ layout: TransportStreamLayout) -> Int {
        state.withLock { state in
            state.layouts.append(layout)
            if state.layouts.count > Self.mostLayouts {
                state.layouts.removeFirst()
                state.firstLayout += 1
            }
            return state.firstLayout + state.layouts.count - 1
        }
    }

    // MARK: Whoever sets masks

    /// Forgets everything, and keeps nothing until ``open()``.
    func close() {
        state.withLock { state in
            state.removeAll()
            (state.isOpen, state.lack) = (false, .masked)
        }
    }

    func open() {
        state.withLock { state in
            guard !state.isOpen else { return }
            (state.isOpen, state.lack) = (true, .nothingCame)
        }
    }

    /// Forgets everything if there may be pictures with an older mask, and keeps no such picture from now on.
    func forget(masksBefore number: Int) {
        state.withLock { state in
            guard number > state.leastMask else { return }
            state.leastMask = number
            state.removeAll()
        }
    }

    // MARK: Readers

    var extent: Extent {
        state.withLock { state in
            guard state.count > 0 else { return Extent() }
            return Extent(bytes: state.bytes, time: state.unit(state.count - 1).time - state.unit(0).time)
        }
    }

    /// Why there is nothing; nil where there is something.
    var lack: Lack? { state.withLock { $0.count > 0 ? nil : $0.lack } }

    /// The number of the next unit.
    var nextNumber: UInt64 { state.withLock { $0.next } }

    /// The units from the oldest to the newest for which `body` is to decide something, under the lock: it must be quick.
    func withUnits<Result>(_ body: (Units) -> Result) -> Result {
        state.withLock { state in
            unsafe body(
                Units(
                    count: state.count, first: state.first, capacity: state.capacity,
                    base: state.index.pointer().assumingMemoryBound(to: PastUnit.self)))
        }
    }

    /// The units that are there. Valid in ``withUnits(_:)`` only.
    @safe struct Units {
        let count: Int
        private let first: Int
        private let capacity: Int
        private let base: UnsafePointer<PastUnit>

        fileprivate init(count: Int, first: Int, capacity: Int, base: UnsafePointer<PastUnit>) {
            (self.count, self.first, self.capacity) = (count, first, capacity)
            unsafe self.base = base
        }

        /// 0 is the oldest.
        subscript(index: Int) -> PastUnit {
            precondition(index >= 0 && index < count)
            return unsafe base[(first + index) % capacity]
        }
    }

    /// Copies a unit.
    /// - Parameter bytes: is replaced.
    /// - Returns: nil where it has left.
    func read(_ number: UInt64, into bytes: inout [UInt8]) -> PastUnit? {
        bytes.removeAll(keepingCapacity: true)
        return state.withLock { state in
            guard state.count > 0, number < state.next, state.next - number <= UInt64(state.count) else { return nil }
            let unit = state.unit(state.count - Int(state.next - number))
            unsafe bytes.append(
                contentsOf: UnsafeRawBufferPointer(start: state.block.pointer(at: unit.offset), count: unit.byteCount))
            return unit
        }
    }

    /// The layout that was added last.
    var newestLayout: TransportStreamLayout? { state.withLock { $0.layouts.last } }

    func layout(_ number: Int) -> TransportStreamLayout? {
        state.withLock { state in
            let place = number - state.firstLayout
            return state.layouts.indices.contains(place) ? state.layouts[place] : nil
        }
    }
}

extension PastRing.State {
    /// - Parameter place: from 0, the oldest.
    func unit(_ place: Int) -> PastUnit {
        unsafe index.pointer().assumingMemoryBound(to: PastUnit.self)[(first + place) % capacity]
    }

    mutating func append(_ unit: PastUnit) {
        unsafe index.pointer().assumingMemoryBound(to: PastUnit.self)[(first + count) % capacity] = unit
        count += 1
        next += 1
        end = unit.offset + unit.byteCount
        bytes += unit.byteCount
    }

    private func beginsGroup(_ place: Int) -> Bool {
        let unit = unit(place)
        return unit.isPicture ? unit.isEntry : false
    }

    mutating func removeAll() { (first, count, end, bytes) = (0, 0, 0, 0) }

    private mutating func removeOldest() {
        bytes -= unit(0).byteCount
        first = (first + 1) % capacity
        count -= 1
        if count == 0 { removeAll() }
    }

    /// Removes the oldest unit and those behind it up to the next entry point.
    private mutating func dropGroup() {
        repeat {
            removeOldest()
            if count == 0 { return }
        } while !beginsGroup(0)
    }

    /// Removes the groups that ended before a time.
    mutating func dropGroups(before time: MonotonicTime) {
        while count > 0 {
            var second = 1
            while second < count, !beginsGroup(second) { second += 1 }
            guard second < count, unit(second).time <= time else { return }
            dropGroup()
        }
    }

    /// Makes room by removing groups.
    /// - Returns: where the unit is to lie; nil where it cannot be kept.
    mutating func room(for size: Int, isEntry: Bool) -> Int? {
        guard size <= block.byteCount else {
            removeAll()
            return nil
        }
        while count == capacity { dropGroup() }
        if end + size > block.byteCount {
            // Those that lie behind the end are the oldest.
            while count > 0, unit(0).offset >= end { dropGroup() }
            if count > 0 { end = 0 }
        }
        while count > 0, unit(0).offset >= end, unit(0).offset < end + size { dropGroup() }
        guard isEntry || count > 0 else { return nil }
        return end
    }
}
