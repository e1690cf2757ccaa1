import Container
import Media
import Synchronization

/// Channel: coded units of the output on their way into a recording.
///
/// - Writers: whoever sends, under the send stage's lock (``take(_:head:_:)``), and whoever changes the settings (``open()``,
///   ``close()``).
/// - Reader: ``Recorder``, on its thread.
///
/// The units lie in one block of memory, which is taken when recording begins. Where the reader is so slow that the block is full,
/// units are dropped up to the next entry point that finds room. So sending never waits for a disk.
///
/// Thread-safe. The writer holds the lock for as long as it takes to copy one unit; the reader copies without it. While nothing is
/// recorded, the writer loads one atomic.
final class Recording: KeptUnits {
    fileprivate struct State: ~Copyable {
        var memory: Memory?
        var isOpen = false
        /// The oldest unit's place in the index, and how many there are.
        var first = 0
        var count = 0
        /// Where the next unit lies, if it fits there.
        var end = 0
        /// Nobody can use what comes before the next entry point.
        var awaitsEntry = true
        /// Something has been kept since recording began.
        var hasBegun = false
        var layouts: [TransportStreamLayout] = []
        /// The number of the first of them.
        var firstLayout = 0
    }

    /// Written once. The unit that the reader has lies still until ``removeFirst()``.
    fileprivate final class Memory: Sendable {
        let block: AlignedMemory
        let index: AlignedMemory

        init(byteCount: Int, units: Int) {
            block = AlignedMemory(byteCount: byteCount)
            index = AlignedMemory(byteCount: units * MemoryLayout<PastUnit>.stride)
            // The system maps it now, so that no later write waits for that.
            unsafe block.pointer().initializeMemory(as: UInt8.self, repeating: 0, count: block.byteCount)
            unsafe index.pointer().initializeMemory(as: UInt8.self, repeating: 0, count: index.byteCount)
        }

        func unit(_ place: Int) -> PastUnit { unsafe index.pointer().assumingMemoryBound(to: PastUnit.self)[place] }

        func set(_ unit: PastUnit, _ place: Int) {
            unsafe index.pointer().assumingMemoryBound(to: PastUnit.self)[place] = unit
        }
    }

    private let state = Lock(State())
    private let keeping = Atomic<Bool>(false)
    private let dropped = Atomic<UInt64>(0)
    private let byteCount: Int
    private let units: Int
    private static let mostLayouts = 64

    /// - Parameters:
    ///   - byteCount: the block's size.
    ///   - units: how many units wait at most.
    init(byteCount: Int, units: Int = 8192) { (self.byteCount, self.units) = (byteCount, units) }

    /// Whether units are kept.
    var isOpen: Bool { keeping.load(ordering: .relaxed) }

    // MARK: Whoever changes the settings

    func open() {
        let isMissing = state.withLock { $0.memory == nil }
        let memory = isMissing ? Memory(byteCount: byteCount, units: units) : nil
        state.withLock { state in
            if state.memory == nil { state.memory = memory }
            if !state.isOpen { (state.awaitsEntry, state.hasBegun) = (true, false) }
            state.isOpen = true
            keeping.store(true, ordering: .relaxed)
        }
    }

    /// Keeps no more. What is there can still be read.
    func close() {
        state.withLock { state in
            state.isOpen = false
            keeping.store(false, ordering: .relaxed)
        }
    }

    // MARK: The writer

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

    /// Keeps a copy of a unit where there is room.
    /// - Parameters: as ``PastRing/keep(_:head:_:)`` has them.
    /// - Returns: whether it was kept.
    func take(_ unit: PastUnit, head: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            guard state.isOpen, let memory = state.memory else { return false }
            let isEntry = unit.isPicture && unit.isEntry
            guard isEntry || !state.awaitsEntry else {
                // Before the first entry point nothing is missing.
                if state.hasBegun { dropped.add(1, ordering: .relaxed) }
                return false
            }
            let size = max(1, head.count + bytes.count)
            guard let place = state.room(for: size, in: memory, mostUnits: units) else {
                state.awaitsEntry = true
                dropped.add(1, ordering: .relaxed)
                return false
            }
            var unit = unit
            (unit.headCount, unit.byteCount, unit.offset) = (head.count, head.count + bytes.count, place)
            let target = unsafe memory.block.pointer(at: place)
            if let base = head.baseAddress { unsafe target.copyMemory(from: base, byteCount: head.count) }
            if let base = bytes.baseAddress { unsafe (target + head.count).copyMemory(from: base, byteCount: bytes.count) }
            memory.set(unit, (state.first + state.count) % units)
            state.count += 1
            state.end = place + size
            (state.awaitsEntry, state.hasBegun) = (false, true)
            return true
        }
    }

    // MARK: The reader

    /// The oldest unit, which stays until ``removeFirst()``; nil while there is none.
    var first: PastUnit? { state.withLock { $0.count > 0 ? $0.memory?.unit($0.first) : nil } }

    /// Copies the bytes of ``first``.
    /// - Parameter bytes: is replaced.
    func read(_ unit: PastUnit, into bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        guard let memory = state.withLock({ $0.memory }) else { return }
        unsafe bytes.append(
            contentsOf: UnsafeRawBufferPointer(start: memory.block.pointer(at: unit.offset), count: unit.byteCount))
    }

    func removeFirst() {
        state.withLock { state in
            guard state.count > 0 else { return }
            state.first = (state.first + 1) % units
            state.count -= 1
            if state.count == 0 { state.end = 0 }
        }
    }

    func layout(_ number: Int) -> TransportStreamLayout? {
        state.withLock { state in
            let place = number - state.firstLayout
            return state.layouts.indices.contains(place) ? state.layouts[place] : nil
        }
    }

    /// How many units found no room since the last call.
    func takeDropped() -> UInt64 { dropped.exchange(0, ordering: .relaxed) }
}

extension Recording.State {
    /// Where the next unit can lie; nil where there is no room.
    fileprivate mutating func room(for size: Int, in memory: Recording.Memory, mostUnits: Int) -> Int? {
        guard count < mostUnits, size <= memory.block.byteCount else { return nil }
        guard count > 0 else { return 0 }
        let start = memory.unit(first).offset
        if end > start {
            // What is there lies in one piece.
            if end + size <= memory.block.byteCount { return end }
            return size < start ? 0 : nil
        }
        return end + size < start ? end : nil
    }
}
