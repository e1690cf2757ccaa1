import SRT
import Telemetry
import Testing
@testable import Relay

/// SRT peers on their way through the telemetry map.
@Suite struct MapPeersTests {
    @Test(arguments: [
        ("192.0.2.7:4000", "0.0.0.0:9000", "0.0.0.0:9000"), ("127.0.0.1:1", "127.0.0.1:65535", "0.0.0.0:65535"),
        ("[2001:db8::7]:4000", "[::]:9000", "[::]:9000"), ("[::1]:4000", "[::1]:9000", "[::]:9000"),
    ])
    func aPeerComesBackAsItWas(peer: String, local: String, later: String) throws {
        let farewell = SRTFarewell(peer: peer, socket: 0xFEDC_BA98, local: local)
        let map = try TelemetryMap.create()
        let first = try TelemetryMap.Writer(map)
        first.write([try #require(LegPeer(farewell))], of: .output)
        let second = try TelemetryMap.Writer(map)
        #expect(second.resumePoint.farewells == [SRTFarewell(peer: peer, socket: 0xFEDC_BA98, local: later)])
    }

    @Test(arguments: [("unknown address", "0.0.0.0:9000"), ("host:1", "0.0.0.0:9000"), ("127.0.0.1:1", "0.0.0.0"), ("", "")])
    func whatIsNoAddressIsLeftOut(peer: String, local: String) {
        #expect(LegPeer(SRTFarewell(peer: peer, socket: 1, local: local)) == nil)
    }

    /// A worker that was taken over could have written anything.
    @Test func aPeerThatCannotBeToldIsLeftOut() {
        var end = ResumePoint()
        end.inputPeers = [
            LegPeer(address: [127, 0, 0, 1], port: 1, localPort: 0, peerSocket: 1),
            LegPeer(address: [127, 0, 0, 1], port: 0, localPort: 1, peerSocket: 1),
            LegPeer(address: [127, 0, 0, 1], port: 1, localPort: 1, peerSocket: 0),
        ]
        #expect(end.farewells.isEmpty)
    }
}
