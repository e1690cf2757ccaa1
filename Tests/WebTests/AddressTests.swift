import Control
import Endpoint
import Testing

@testable import Web

/// What people copy to reach a stream.
@Suite struct AddressTests {
    static let reach = StreamAddress.Reach(
        authority: "relay.example:8080", usesTLS: true, publishersNeedToken: true, viewersNeedToken: false)

    private func address(
        _ url: String, isInput: Bool = true, passphrase: Bool = false, streamID: Bool = false, token: Bool = false,
        reach: StreamAddress.Reach = Self.reach
    ) throws -> StreamAddress? {
        var stream = StreamStatus(name: "a", state: .waiting, input: "", outputs: [], settings: [:])
        stream.ends = [
            .init(isInput: isInput, try StreamURL(url), hasPassphrase: passphrase, hasStreamID: streamID, hasToken: token)
        ]
        return StreamAddress.all(of: stream, reach).first
    }

    @Test func aListenerOnAllAddressesIsReachedAsTheServiceIs() throws {
        let address = try #require(try address("srt://:9000?mode=listener&latency=80", passphrase: true, streamID: true))
        #expect(
            address.url == "srt://relay.example:9000?mode=caller&streamid=STREAMID&passphrase=PASSPHRASE&latency=80")
        #expect(address.secrets == ["streamid", "passphrase"] && address.mode == "listener" && !address.isLoopback)
        // FFmpeg counts the latency in microseconds.
        #expect(
            address.ffmpeg?.hasSuffix(
                "-f mpegts 'srt://relay.example:9000?mode=caller&streamid=STREAMID&passphrase=PASSPHRASE&latency=80000'")
                == true)
        #expect(address.obs?.contains("Service Custom, Server srt://relay.example:9000?mode=caller") == true)
    }

    @Test(arguments: [
        ("srt://127.0.0.1:9000?mode=listener", "srt://127.0.0.1:9000?mode=caller", true),
        ("srt://[::]:9000?mode=listener", "srt://relay.example:9000?mode=caller", false),
        ("srt://[2001:db8::1]:9000?mode=listener", "srt://[2001:db8::1]:9000?mode=caller", false),
        ("srt://cam.example:9000", "srt://:9000?mode=listener", false),
        ("srt://127.0.0.1:9000", "srt://:9000?mode=listener", true),
        ("srt://peer.example:9000?mode=rendezvous", "srt://relay.example:9000?mode=rendezvous", false),
        ("udp://:5000", "udp://relay.example:5000", false), ("udp://239.1.1.1:5000", "udp://239.1.1.1:5000", false),
        ("rtp://127.0.0.1:5000", "rtp://127.0.0.1:5000", true),
        ("whip:studio", "https://relay.example:8080/whip/studio", false),
    ])
    func inputs(url: String, other: String, isLoopback: Bool) throws {
        let address = try #require(try address(url))
        #expect(address.url == other && address.isLoopback == isLoopback)
        #expect(address.ffmpeg?.contains("'\(other.replacing("://:", with: "://0.0.0.0:"))") == true, "\(address.ffmpeg ?? "")")
    }

    @Test(arguments: [
        ("srt://:9001?mode=listener", "srt://relay.example:9001?mode=caller", "ffplay"),
        ("udp://192.0.2.1:5000", "udp://:5000", "'udp://@:5000'"),
        ("udp://239.1.1.1:5000", "udp://239.1.1.1:5000", "'udp://@239.1.1.1:5000'"),
        ("rtp://[ff02::5]:5000", "rtp://[ff02::5]:5000", "'rtp://@[ff02::5]:5000'"),
    ])
    func outputs(url: String, other: String, player: String) throws {
        let address = try #require(try address(url, isInput: false))
        #expect(address.url == other && address.ffmpeg?.contains(player) == true)
    }

    @Test func callsNeedATokenWhereThereIsOne() throws {
        let whip = try #require(try address("whip:studio"))
        #expect(whip.secrets == ["token"] && whip.obs?.hasSuffix("Bearer Token TOKEN") == true)
        let whep = try #require(try address("whep:studio", isInput: false))
        #expect(whep.secrets == [] && whep.ffmpeg == nil && whep.obs == nil)
        #expect(try address("whep:studio", isInput: false, token: true)?.secrets == ["token"])
    }

    @Test func filesHaveNone() throws {
        #expect(try address("/srv/a.ts") == nil)
        #expect(try address("/srv/a.sdp") == nil)
    }

    @Test func theInterfaceShowsThem() async throws {
        try await serving { client async throws in
            let stream = try await client.get("/api/v1/streams/cam1").json
            let addresses = try #require(stream["addresses"] as? [[String: Any]])
            #expect(addresses.count == 4)
            #expect((addresses[0]["url"] as? String)?.hasPrefix("srt://") == true)
            #expect(addresses[0]["secrets"] as? [String] == ["passphrase"])
        }
    }
}
