import Endpoint
import Media
import Synchronization
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

/// Multicast groups on an interface that somebody chooses, and hosts with several addresses.
struct MulticastTests {
    /// By the interface's name and by its address. The system would choose another one, or none.
    @Test(arguments: ["udp", "rtp"], ["lo", "127.0.0.1"]) func aGroupOnAChosenInterface(scheme: String, interface: String)
        throws
    {
        let group = "239.255.\(scheme == "udp" ? 41 : 42).\(interface == "lo" ? 1 : 2)"
        let reader = try Reader("\(scheme)://@\(group):0?iface=\(interface)")
        let sink = try Sink(StreamURL("\(scheme)://\(group):\(reader.source.localPort)?iface=\(interface)&ttl=3"))
        for i in 0..<20 {
            #expect(sink.send(numbered(i)) == .sent)
            #expect(reader.nextNumber() == i)
        }
    }

    @Test func whatIsNoInterfaceIsNamed() {
        for (url, text) in [
            ("udp://239.255.43.1:9000?iface=nosuch0", "no interface 'nosuch0'"),
            ("udp://127.0.0.1:9000?iface=lo", "multicast groups"),
            ("rtp://239.255.43.1:9000?iface=nosuch0", "no interface 'nosuch0'"),
        ] {
            #expect { _ = try Sink(StreamURL(url)) } throws: { ($0 as? TransportError)?.message.contains(text) == true }
        }
        for url in ["udp://239.255.43.1:0?ttl=2", "rtp://239.255.43.1:0?ttl=2"] {
            #expect { _ = try Source(StreamURL(url)) } throws: {
                ($0 as? TransportError)?.message.contains("ttl is for outputs") == true
            }
        }
    }

    @Test func keysOfAURL() throws {
        let udp = UDPEndpoint(host: "239.1.1.1", port: 5, multicast: MulticastOptions(interface: "eth1", ttl: 16))
        #expect(
            try StreamURL("udp://239.1.1.1:5?ttl=16&iface=eth1") == .udp(udp)
                && udp.description == "udp://239.1.1.1:5?iface=eth1&ttl=16")
        let rtp = RTPEndpoint(host: "239.1.1.1", port: 6, latency: .zero, multicast: MulticastOptions(interface: "192.0.2.7"))
        #expect(try StreamURL("rtp://@239.1.1.1:6?latency=0&iface=192.0.2.7") == .rtp(rtp))
        #expect(try StreamURL(rtp.description) == .rtp(rtp))
    }

    /// A call to a host counts as failed when each of its addresses has had its try, and not before.
    @Test func eachAddressHasItsTry() throws {
        // Nobody answers at the first ones.
        let resolver = MadeUpResolver { _, answer in answer(.success(["127.0.0.9", "127.0.0.8", "127.0.0.1"])) }
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20&passphrase=0123456789")
        var endpoint = SRTEndpoint(
            mode: .caller, host: "burnish.invalid", port: reader.source.localPort, passphrase: Secret("0123456789"))
        let link = try SRTLink(endpoint, direction: .output, resolver: resolver)
        defer { link.stop() }
        var sawFailure = false
        let limit = MonotonicTime.now() + Reader.timeout
        while link.socket.load(ordering: .acquiring) < 0, .now() < limit {
            if link.failureBeforeFirstConnection != nil { sawFailure = true }
            (MonotonicTime.now() + .milliseconds(1)).sleep()
        }
        #expect(
            link.socket.load(ordering: .acquiring) >= 0 && !sawFailure && !link.hasUntriedAddress.load(ordering: .acquiring))
        // All refuse: then it has failed.
        endpoint.passphrase = Secret("another one")
        let same = MadeUpResolver { _, answer in answer(.success(["127.0.0.1", "127.0.0.1"])) }
        let refused = try SRTLink(endpoint, direction: .output, resolver: same)
        defer { refused.stop() }
        while refused.failureBeforeFirstConnection == nil, .now() < limit { (MonotonicTime.now() + .milliseconds(1)).sleep() }
        #expect(refused.failureBeforeFirstConnection?.code == .refused)
    }

    /// A datagram leg opens at the first address where that is possible.
    @Test func anAddressThatCannotBeUsedIsPassedOver() throws {
        let resolver = MadeUpResolver { _, answer in answer(.success(["192.0.2.1", "127.0.0.9", "127.0.0.1"])) }
        var tried: [String] = []
        func open(_ good: String) throws(TransportError) -> UInt16 {
            tried = []
            return try NameLookup.open(host: "burnish.invalid", port: 9, place: "here", resolver: resolver) {
                address throws(TransportError) in
                tried.append(address.host)
                guard address.host == good else { throw TransportError(.cannotBind, place: "here", "not \(address.host)") }
                return address.port
            }
        }
        #expect(try open("127.0.0.9") == 9 && tried == ["192.0.2.1", "127.0.0.9"])
        #expect { _ = try open("none") } throws: { ($0 as? TransportError)?.message == "not 192.0.2.1" }
        #expect(tried.count == 3)
    }
}
