import Media
import Testing

@testable import Control

@Suite struct EventGateTests {
    private func time(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 5) + .seconds(seconds) }
    private func refused(_ peer: Int) -> EventGate.Event { .init(kind: .inputRefused, text: "192.0.2.\(peer): no") }

    @Test func anEventThatComesAgainIsCounted() {
        var gate = EventGate()
        #expect(gate.receive(refused(1), at: time(0)) == [refused(1)])
        #expect(gate.receive(refused(2), at: time(0.1)) == [refused(2)])
        for index in 0..<1000 { #expect(gate.receive(refused(1), at: time(0.2 + Double(index) / 1000)).isEmpty) }
        #expect(gate.expire(time(9)).isEmpty)
        let summary = EventGate.Event(kind: .inputRefused, text: "192.0.2.1: no (1000 times more within 11 s)")
        #expect(gate.expire(time(11)) == [summary])
        #expect(gate.receive(refused(1), at: time(12)) == [refused(1)], "it is news again")
        #expect(gate.expire(time(40)).isEmpty)
    }

    @Test func differentEventsThatComeTooFastAreLeftOutAndCounted() {
        var gate = EventGate()
        let recorded = (0..<1000).reduce(0) { $0 + gate.receive(refused($1), at: time(0)).count }
        #expect(recorded == Int(EventGate.burst))
        #expect(gate.expire(time(1)).map(\.text) == ["950 events were left out: they came too fast"])
        // From then on as many as the rate allows.
        let later = (0..<10_000).reduce(0) { $0 + gate.receive(refused(5000 + $1), at: time(1 + Double($1) / 100)).count }
        #expect((200...205).contains(later), "\(later)")
    }

    @Test func eachEndOfAConnectionIsRecorded() {
        var gate = EventGate()
        let (up, down) = (EventGate.Event(kind: .inputUp, text: "up"), EventGate.Event(kind: .inputDown, text: "down"))
        for index in 0..<20 {
            #expect(gate.receive(up, at: time(Double(index))) == [up])
            #expect(gate.receive(down, at: time(Double(index) + 0.5)) == [down])
        }
    }

    @Test func nothingIsLostOfWhatComesSlowly() {
        var gate = EventGate()
        for index in 0..<500 {
            #expect(gate.receive(refused(index), at: time(Double(index))) == [refused(index)])
        }
    }
}
