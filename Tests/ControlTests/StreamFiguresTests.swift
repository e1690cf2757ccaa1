import Media
import Schedule
import Telemetry
import Testing

@testable import Control

/// Rates and the last hour of a stream, without time.
@Suite struct StreamFiguresTests {
    let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func snapshot(second: Int, frames: Int = 30) -> StreamSnapshot {
        var snapshot = StreamSnapshot()
        let ledger = Ledger(keeping: 16)
        for frame in 0..<second * frames {
            let ticket = ledger.open(.original, presentation: MediaTime(ticks: Int64(frame) * 3000))
            ledger.close(ticket, as: frame % 30 == 0 ? .dropped(.late) : frame % 30 == 1 ? .dropped(.outputDown) : .emitted)
        }
        snapshot.books = ledger.books
        snapshot.inputLeg.isConnected = true
        snapshot.inputLeg.bytesReceived = Int64(second) * 125_000
        snapshot.outputs = [OutputFigures(), OutputFigures()]
        snapshot.outputs[0].leg.bytesSent = Int64(second) * 250_000
        snapshot.outputs[0].receivers = 2
        return snapshot
    }

    @Test func ratesAreThoseOfTheLastSeconds() {
        var meters = StreamMeters()
        #expect(meters.bitRateIn == nil && meters.bitRateOut(0) == nil)
        for second in 1...20 { meters.observe(snapshot(second: second), at: start + .seconds(Double(second))) }
        #expect(meters.bitRateIn == 1_000_000 && meters.frameRateIn == 30)
        #expect(meters.bitRateOut(0) == 2_000_000 && meters.bitRateOut(1) == 0 && meters.bitRateOut(2) == nil)
        // A source that has gone has no rate, which is another thing than none.
        var gone = snapshot(second: 20)
        gone.inputLeg.isConnected = false
        meters.observe(gone, at: start + .seconds(21))
        #expect(meters.bitRateIn == nil && meters.frameRateIn == nil)
    }

    @Test func anHourIsKeptAndNoMore() {
        var history = StreamHistory()
        for second in 0...40 {
            history.observe(snapshot(second: second), .flowing, at: start + .seconds(Double(second)), wallOffset: 1000)
        }
        let samples = history.samples(last: 3600)
        #expect(samples.map(\.time) == [1011, 1021, 1031, 1041])
        #expect(samples.allSatisfy { $0.bitRateIn == 1_000_000 && $0.bitRateOut == 2_000_000 && $0.viewers == 2 })
        // One frame of each second came too late. Those that nobody watched are no losses.
        #expect(samples.map(\.dropped) == [10, 10, 10, 10])
        #expect(history.samples(last: 15).map(\.time) == [1031, 1041])
        // A tick that comes a little early ends its step all the same.
        history.observe(snapshot(second: 50), .flowing, at: start + .seconds(49.99), wallOffset: 1000)
        #expect(history.samples(last: 10).map(\.time) == [1050.99])
        history = StreamHistory()
        history.observe(snapshot(second: 40), .flowing, at: start + .seconds(40.0), wallOffset: 1000)
        let last = snapshot(second: 40)
        for step in 1...400 {
            history.observe(last, .waiting, at: start + .seconds(Double(40 + 10 * step)), wallOffset: 1000)
        }
        let all = history.samples(last: 3600)
        // The last 360 of 400.
        #expect(all.count == StreamHistory.capacity && all.last?.time == 5041 && all.first?.time == 1451)
        #expect(all.allSatisfy { $0.state == .waiting && $0.dropped == 0 && $0.latencyP50 == nil && $0.bitRateIn == 0 })
    }

    @Test func aSampleIsAsSmallAsThePageSays() { #expect(MemoryLayout<HistorySample>.stride <= 112) }
}
