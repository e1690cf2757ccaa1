import Testing

@testable import Control

@Suite struct EventLogTests {
    @Test func eventsAreNumberedAndBounded() {
        let log = EventLog(clock: { 1000 })
        for index in 0..<5000 { log.record(.message, stream: "a", "\(index)") }
        #expect(log.lastNumber == 5000)
        #expect(log.events.count >= EventLog.capacity && log.events.count <= EventLog.capacity + 100)
        #expect(log.events.last?.text == "4999")
        #expect(zip(log.events, log.events.dropFirst()).allSatisfy { $1.number == $0.number + 1 })
    }

    @Test func aSubscriberGetsWhatItMissedAndThenTheRest() async {
        let log = EventLog(clock: { 1000 })
        for index in 1...5 { log.record(.message, "\(index)") }
        var events = log.events(since: 3).makeAsyncIterator()
        log.record(.crashed, stream: "a", "6")
        log.finish()
        var texts: [String] = []
        while let event = await events.next() { texts.append(event.text) }
        #expect(texts == ["4", "5", "6"])
    }

    /// The page follows a service that was restarted meanwhile.
    @Test func aSubscriberOfAnEarlierRunGetsAll() async {
        let log = EventLog(clock: { 1000 })
        for index in 1...3 { log.record(.message, "\(index)") }
        let events = log.events(since: 4)
        log.finish()
        var numbers: [UInt64] = []
        for await event in events { numbers.append(event.number) }
        #expect(numbers == [1, 2, 3])
    }

    @Test func aSubscriberThatDoesNotReadCostsBoundedMemoryAndCanTell() async {
        let log = EventLog(clock: { 1000 })
        let events = log.events(since: 0)
        for index in 1...5000 { log.record(.message, "\(index)") }
        log.finish()
        var numbers: [UInt64] = []
        for await event in events { numbers.append(event.number) }
        #expect(numbers.count <= EventLog.capacity + 100 && numbers.last == 5000)
    }

    @Test func subscribersAreBoundedAndMakeRoomWhenTheyLeave() async {
        let log = EventLog(clock: { 1000 })
        var all: [AsyncStream<ServiceEvent>] = []
        for _ in 0..<EventLog.mostSubscribers { all.append(log.events(since: 0)) }
        var refused = log.events(since: 0).makeAsyncIterator()
        #expect(await refused.next() == nil)
        all = []
        var accepted = log.events(since: 0).makeAsyncIterator()
        log.record(.message, "x")
        #expect(await accepted.next()?.text == "x")
    }
}

@Suite struct LineReaderTests {
    @Test func linesComeWhole() {
        var reader = LineReader()
        #expect(reader.read(Array("one\ntw".utf8), at: 0) == ["one"])
        #expect(reader.read(Array("o\n\nthree".utf8), at: 0) == ["two"])
        #expect(reader.finish() == ["three"])
        #expect(reader.kept == ["one", "two", "three"])
    }

    @Test func whatCouldForgeTheLogIsTakenOut() {
        var reader = LineReader()
        #expect(reader.read([27, 91, 65, 13, 66, 10], at: 0) == [" [A B"])
        #expect(reader.read([0xFF, 10], at: 0) == ["\u{FFFD}"])
    }

    @Test func longLinesAreCut() {
        var reader = LineReader()
        let lines = reader.read([UInt8](repeating: 65, count: 100_000) + [10], at: 0)
        #expect(lines == [String(repeating: "A", count: LineReader.longestLine) + " …"])
    }

    @Test func aFloodIsCountedAndKeptForTheReport() {
        var reader = LineReader()
        let flood = Array((0..<1000).map { "line \($0)\n" }.joined().utf8)
        #expect(reader.read(flood, at: 0).count == 200)
        #expect(reader.kept.count == LineReader.mostKept && reader.kept.last == "line 999")
        #expect(reader.read(Array("after\n".utf8), at: 1) == ["(800 lines were left out)", "after"])
    }
}
