import Endpoint
import Testing

@testable import WebRTC

/// Pictures that are offered in several sizes (simulcast).
struct CallSimulcastTests {
    /// As OBS and Chromium write it: no sources, names in any order.
    static func video(_ lines: String) -> String {
        CallOfferTests.video.split(separator: "\n").filter { !$0.hasPrefix("a=ssrc") }.map { $0 + "\n" }.joined() + """
            a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
            a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id

            """ + lines
    }

    static func read(_ lines: String, _ kind: CallKind = .publisher) throws -> (CallOffer, MediaSection) {
        let text = CallOfferTests.head + video(lines) + CallOfferTests.audio
        let offer = try CallOfferTests.read(
            kind == .publisher ? text : text.replacing("a=sendonly", with: "a=recvonly"), kind,
            kind == .publisher ? .publisher : .viewer)
        return (offer, try SessionDescription(parsing: offer.answer(CallOfferTests.peerAnswer).text).media[0])
    }

    @Test(arguments: [["q", "h", "f"], ["f", "h", "q"], ["0", "1", "2", "3"]]) func allLayersAreAnsweredInTheirOrder(
        names: [String]
    )
        throws
    {
        let lines = names.map { "a=rid:\($0) send\n" }.joined() + "a=simulcast:send \(names.joined(separator: ";"))\n"
        let (offer, video) = try Self.read(lines)
        #expect(offer.tracks[0].layers == names)
        #expect(video.values(of: "rid") == names.map { "\($0) recv" })
        #expect(video.values(of: "simulcast") == ["recv \(names.joined(separator: ";"))"])
        let extensions = Dictionary(uniqueKeysWithValues: video.headerExtensions.map { ($0.uri, $0.id) })
        #expect(extensions[CallRules.layerName] == 10 && extensions[CallRules.repeatedLayerName] == 11)
    }

    /// Paused ones count. Of several forms of a layer the first is taken that the format can have.
    @Test(
        arguments: [
            ("a=rid:a send\na=rid:b send\na=simulcast:send a;~b", ["a", "b"]),
            ("a=rid:a send pt=96\na=rid:b send pt=109;max-width=640\na=rid:c send\na=simulcast:send a,b;c", ["b", "c"]),
            ("a=rid:a send pt=96\na=rid:b send\na=simulcast:recv x send a;b", ["b"]),
            ("a=rid:a send\na=rid:b recv\na=simulcast:send a;b;none", ["a"]), ("a=rid:only send", ["only"]),
            ("a=rid:a send\na=simulcast:recv a", ["a"]), ("a=rid:a.b send\na=rid: send\na=simulcast:send", []),
        ] as [(String, [String])]) func formsOfLayersAreRead(lines: String, names: [String]) throws
    {
        let (offer, video) = try Self.read(lines + "\n")
        #expect(offer.tracks[0].layers == names)
        #expect(video.values(of: "rid") == names.map { "\($0) recv" } && video.has("simulcast") == (names.count > 1))
    }

    @Test func wherePicturesHaveOneSizeNothingIsSaidOfLayers() throws {
        let (_, plain) = try Self.read("")
        #expect(!plain.headerExtensions.contains { $0.uri.hasSuffix("stream-id") } && !plain.has("rid"))
        let (viewer, answer) = try Self.read("a=rid:a send\na=rid:b send\na=simulcast:send a;b\n", .viewer)
        #expect(viewer.tracks[0].layers.isEmpty && !answer.has("simulcast"))
    }

    /// The older form: the description names the sources of all layers.
    @Test func layersMayBeNamedByTheirSources() throws {
        let text = CallOfferTests.edited(
            ("a=ssrc-group:FID 11 12", "a=ssrc-group:SIM 11 13\na=ssrc-group:FID 11 12\na=ssrc-group:FID 13 14"))
        let track = try CallOfferTests.read(text).tracks[0]
        #expect(track.layerSources == [11, 13] && track.retransmissionSources == [11: 12, 13: 14] && track.layers.isEmpty)
    }

    @Test(arguments: [9, 64]) func moreLayersThanAnybodySendsAreRefused(count: Int) {
        let names = (0..<count).map { "\($0)" }
        let lines = names.map { "a=rid:\($0) send\n" }.joined() + "a=simulcast:send \(names.joined(separator: ";"))\n"
        let fault = CallOfferTests.fault(CallOfferTests.head + Self.video(lines) + CallOfferTests.audio)
        #expect(fault?.contains("\(count) sizes") == true, "\(fault ?? "taken")")
    }
}
