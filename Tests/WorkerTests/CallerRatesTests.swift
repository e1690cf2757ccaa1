import Media
import Testing
import WorkerProtocol

@testable import Worker

/// The rates of connections, without time.
@Suite struct CallerRatesTests {
    let start = MonotonicTime(nanoseconds: 0)

    private func caller(_ id: UInt64, _ leg: Caller.Leg, second: Int64) -> Caller {
        var caller = Caller(id: id, leg: leg, peer: "192.0.2.1:1", streamID: "", connectedAt: 0)
        (caller.figures.bytesReceived, caller.figures.bytesSent) = (125_000 * second, 250_000 * second)
        (caller.figures.packetsReceived, caller.figures.packetsSent, caller.figures.packetsLost) = (
            90 * second, 100 * second, 10 * second
        )
        return caller
    }

    @Test func theLastSecondsCount() {
        var rates = CallerRates()
        #expect(rates.rated(caller(1, .input, second: 0)).bitRate == nil)
        for second in 0...20 {
            let all = [caller(1, .input, second: Int64(second)), caller(2, .output, second: Int64(second))]
            rates.observe(all, at: start + .seconds(Double(second)))
        }
        let input = rates.rated(caller(1, .input, second: 20))
        #expect(input.bitRate == 1_000_000 && input.loss == 0.1)
        var told = caller(2, .output, second: 20)
        #expect(rates.rated(told).bitRate == 2_000_000 && rates.rated(told).loss == 0.1)
        // What viewers report themselves is nearer to the truth.
        told.loss = 0.5
        #expect(rates.rated(told).loss == 0.5)
        // A connection that has gone is forgotten.
        rates.observe([], at: start + .seconds(21))
        #expect(rates.rated(caller(1, .input, second: 20)).bitRate == nil)
    }
}
