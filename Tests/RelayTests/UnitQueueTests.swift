import Codec
import Media
import Schedule
import Telemetry
import Testing
import Transport
@testable import Relay

@Suite struct UnitQueueTests {
    private let books = StreamBooks(keyframes: Keyframes())

    /// Adds a unit of one byte, its number.
    private func add(_ number: UInt8, to queue: UnitQueue, isKeyframe: Bool = false, mayWait: Bool = false) {
        [number].withUnsafeBytes {
            let ticket = books.ledger.open(.original, presentation: MediaTime(ticks: Int64(number)))
            queue.add(ticket, $0, flags: [], isKeyframe: isKeyframe, mayWait: mayWait)
        }
    }

    /// Takes a unit as the decoder does.
    private func decode(from queue: UnitQueue) -> UInt8? {
        guard let unit = queue.pop() else { return nil }
        let buffer = unit.buffer!
        let number = buffer.bytes[0]
        queue.recycle(buffer)
        if let ticket = unit.intoTicket() { books.ledger.close(ticket, as: .emitted) }
        return number
    }

    private func rest(of queue: UnitQueue) -> [UInt8] {
        queue.close()
        var numbers: [UInt8] = []
        while let number = decode(from: queue) { numbers.append(number) }
        return numbers
    }

    private func expectBooks(emitted: UInt64, overload: UInt64, shutdown: UInt64 = 0) {
        let counts = books.ledger.books
        #expect(counts.balance && counts.inFlight == 0, "\(counts)")
        #expect(counts.emitted == emitted && counts[.overload] == overload && counts[.shutdown] == shutdown, "\(counts)")
    }

    /// What the schedule decides by before the decoder.
    @Test func knowsWhetherAKeyframeWaits() {
        let queue = UnitQueue(capacity: 4, books: books)
        #expect(!queue.keyframeWaits)
        for n in 0..<4 { add(UInt8(n), to: queue, isKeyframe: n == 1) }
        // There is no room for this one, so it does not wait.
        add(4, to: queue)
        #expect(decode(from: queue) == 0 && queue.keyframeWaits)
        #expect(decode(from: queue) == 1 && !queue.keyframeWaits)
        #expect(rest(of: queue) == [2, 3])
        expectBooks(emitted: 4, overload: 1)
    }

    /// Nobody waits for the keyframe after it while those before it are too old.
    @Test func aKeyframeTakesThePlaceOfAllInAFullQueue() {
        let queue = UnitQueue(capacity: 4, books: books)
        for n in 0..<6 { add(UInt8(n), to: queue, isKeyframe: n == 0) }
        add(6, to: queue, isKeyframe: true)
        add(7, to: queue)
        #expect(rest(of: queue) == [6, 7] && !queue.keyframeWaits)
        let counts = books.ledger.books
        #expect(counts.balance && counts.inFlight == 0 && counts.emitted == 2, "\(counts)")
        #expect(counts[.overload] == 2 && counts[.noKeyframe] == 4, "\(counts)")
    }

    @Test func aSourceThatCanWaitLosesNothing() {
        let queue = UnitQueue(capacity: 16, books: books)
        for n in 0..<12 { add(UInt8(n), to: queue, isKeyframe: n % 4 == 0, mayWait: true) }
        #expect(rest(of: queue) == Array(0..<12))
        expectBooks(emitted: 12, overload: 0)
    }

    /// A unit that follows a lost one is of no use, although there is room for it again.
    @Test func aFullQueueTakesNothingUntilAKeyframeComes() {
        let queue = UnitQueue(capacity: 4, books: books)
        for n in 0..<6 { add(UInt8(n), to: queue) }
        #expect(decode(from: queue) == 0 && decode(from: queue) == 1)
        add(6, to: queue)
        add(7, to: queue, isKeyframe: true)
        add(8, to: queue)
        #expect(rest(of: queue) == [2, 3, 7, 8])
        expectBooks(emitted: 6, overload: 3)
    }

    @Test func whatComesAfterTheEndIsShutDown() {
        let queue = UnitQueue(capacity: 4, books: books)
        queue.close()
        add(0, to: queue, isKeyframe: true)
        #expect(rest(of: queue).isEmpty)
        expectBooks(emitted: 0, overload: 0, shutdown: 1)
    }

    /// Units of any size, and the bytes behind them that decoders read are zero.
    @Test func buffersGrowAndKeepTheirPadding() {
        let buffer = UnitBuffer(capacity: 16)
        for count in [3, 16, 17, 5000, 40] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 | 1) }
            bytes.withUnsafeBytes { buffer.fill($0) }
            #expect(Array(buffer.bytes) == bytes)
            let behind = UnsafeRawBufferPointer(start: buffer.bytes.baseAddress! + count, count: UnitBuffer.padding)
            #expect(behind.allSatisfy { $0 == 0 })
        }
    }
}

@Suite struct TicketShelfTests {
    private let ledger = Ledger()

    private func ticket(_ number: Int64) -> FrameTicket {
        ledger.open(.original, presentation: MediaTime(ticks: number))
    }

    /// The presentation time that a ticket was made with; the ticket is closed.
    private func number(of ticket: consuming FrameTicket?) -> Int64? {
        guard let ticket else { return nil }
        let number = ticket.record.presentation.ticks
        ledger.close(ticket, as: .emitted)
        return number
    }

    /// Puts a ticket on the shelf; the number of the one that made room.
    private func put(_ key: Int64, on shelf: inout TicketShelf) -> Int64? { number(of: shelf.put(ticket(key), key: key)) }
    private func remove(_ key: Int64, from shelf: inout TicketShelf) -> Int64? { number(of: shelf.remove(key: key)) }
    private func removeAll(from shelf: inout TicketShelf) -> Int {
        var count = 0
        while number(of: shelf.removeAny()) != nil { count += 1 }
        return count
    }

    @Test func ticketsComeBackByTheirNumbersInAnyOrder() {
        var shelf = TicketShelf()
        let evicted = (0..<32).compactMap { put($0, on: &shelf) }
        let keys = (0..<32).map { Int64($0 * 7 % 32) }
        let removed = keys.map { remove($0, from: &shelf) }
        let (again, left) = (remove(3, from: &shelf), removeAll(from: &shelf))
        #expect(evicted.isEmpty && removed == keys)
        #expect(again == nil && left == 0)
        #expect(ledger.books.inFlight == 0 && ledger.books.balance)
    }

    @Test func aFullShelfGivesUpItsOldest() {
        var shelf = TicketShelf()
        let evicted = (100..<134).compactMap { put($0, on: &shelf) }
        let removed = [remove(100, from: &shelf), remove(133, from: &shelf)]
        let left = removeAll(from: &shelf)
        #expect(evicted == [100, 101] && removed == [nil, 133] && left == 31)
        #expect(ledger.books.inFlight == 0 && ledger.books.balance)
    }

    /// A shelf that is given up with tickets on it has lost frames: the books show them.
    @Test func whatIsLeftOnAShelfIsMissingInTheBooks() {
        do {
            var shelf = TicketShelf()
            _ = put(1, on: &shelf)
            #expect(ledger.books.inFlight == 1)
        }
        #expect(!ledger.books.balance)
    }
}
