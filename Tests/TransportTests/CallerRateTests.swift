import CSRTArrival
import Glibc
import Media
import Testing
@testable import Packets
@testable import SRT

/// How many callers and handshakes pass, in virtual time.
struct CallerRateTests {
    private func at(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func oneAddressHasABurstThenItsRate() {
        var rate = CallerRate()
        let burst = Int(rate.perAddress.burst)
        var first = 0
        for _ in 0..<1_000 where rate.admits("a", at: at(0)) { first += 1 }
        #expect(first == burst)
        let other = rate.admits("b", at: at(0))
        #expect(other, "another address is not the worse for it")
        var admitted = 0
        for millisecond in 1...10_000 where rate.admits("a", at: at(Int64(millisecond))) { admitted += 1 }
        #expect(admitted == 10 * Int(rate.perAddress.perSecond))
        // A pause fills the bucket, but no further than to its rim.
        var later = 0
        for _ in 0..<1_000 where rate.admits("a", at: at(1_000_000)) { later += 1 }
        #expect(later == burst)
    }

    @Test func manyAddressesShareALimit() {
        var rate = CallerRate()
        var first = 0
        for caller in 0..<1_000 where rate.admits("\(caller)", at: at(0)) { first += 1 }
        #expect(first == Int(rate.inAll.burst))
        var admitted = 0
        for millisecond in 1...10_000 where rate.admits("\(millisecond)", at: at(Int64(millisecond))) { admitted += 1 }
        #expect(admitted == 10 * Int(rate.inAll.perSecond))
    }

    @Test func theOperatorMaySetAnotherRate() {
        for perSecond in [1, 20, 1_000] {
            var rate = CallerRate(perSecond: perSecond)
            for millisecond in 0..<10_000 { _ = rate.admits("\(millisecond)", at: at(Int64(millisecond))) }
            var admitted = 0
            for millisecond in 10_000..<20_000 where rate.admits("\(millisecond)", at: at(Int64(millisecond))) { admitted += 1 }
            #expect(abs(admitted - 10 * perSecond) <= 1)
            #expect(rate.perAddress.perSecond == max(1, Int64(perSecond) / 2))
        }
    }

    // MARK: Handshakes

    @Test func handshakesHaveALimitForEachAddressAndOneForAll() throws {
        let gate = burnish_srt_gate_create()
        defer { burnish_srt_gate_release(gate) }
        func passes(_ host: String, port: UInt16 = 9, conclusion: Bool = false, at milliseconds: Int64) -> Bool {
            SocketAddress.numeric(host: host, port: port)!.withSockaddr { from, _ in
                burnish_srt_gate_passes(gate, from, conclusion, milliseconds * 1_000_000)
            }
        }
        let own = burnish_srt_handshakes_per_address
        let all = Int(burnish_srt_handshakes_in_all.burst)
        // Ports make no difference, nor do addresses of one IPv6 customer.
        #expect((0..<1_000).count { passes("192.0.2.1", port: UInt16($0), at: 1_000) } == Int(own.burst))
        #expect((0..<1_000).count { passes("2001:db8:0:1::\($0)", at: 1_000) } == Int(own.burst))
        #expect(passes("2001:db8:0:2::1", at: 1_000) && passes("192.0.2.2", at: 1_000))
        #expect((1_001...2_000).count { passes("192.0.2.1", at: Int64($0)) } == Int(own.per_second))
        // Made-up addresses: a table of a thousand does not grow, and all together have a limit.
        #expect((0..<20_000).count { passes("10.\($0 / 65_536).\($0 / 256 % 256).\($0 % 256)", at: 60_000) } == all)
        #expect(!passes("192.0.2.3", at: 60_000))
        #expect(passes("192.0.2.3", at: 60_001))
        // Conclusions have less. Inductions pass beside them.
        #expect(
            (0..<150).count { _ in passes("192.0.2.4", conclusion: true, at: 120_000) }
                == Int(burnish_srt_conclusions_per_address.burst))
        #expect(passes("192.0.2.4", at: 120_000))
        #expect(
            (0..<2_000).count { passes("10.0.\($0 / 256).\($0 % 256)", conclusion: true, at: 180_000) }
                == Int(burnish_srt_conclusions_in_all.burst))
    }
}
