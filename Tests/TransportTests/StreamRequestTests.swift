import Endpoint
import Media
import Packets
import Testing
@testable import SRT

/// What stream IDs say, and which leg of a port they mean.
struct StreamRequestTests {
    @Test(arguments: ["", "cam", "#!", "#!r=cam", "#!/bin/sh", "publish:cam", " #!::r=cam", "cam,m=publish"])
    func otherTextIsPlain(text: String) {
        #expect(StreamRequest(parsing: text) == .plain(text))
    }

    @Test func everyKey() {
        var keys = StreamRequest.Keys()
        keys.resource = "studio/cam=1"
        keys.mode = .publish
        keys.user = "ann"
        keys.host = "relay.example"
        keys.session = "77"
        keys.type = "stream"
        #expect(
            StreamRequest(parsing: "#!::u=ann,r=studio/cam=1,h=relay.example,s=77,t=stream,m=publish,acme_key=x")
                == .keyed(keys))
        #expect(
            StreamRequest(parsing: "#!::m=request")
                == .keyed(
                    {
                        var it = StreamRequest.Keys(); it.mode = .request; return it
                    }()))
    }

    @Test(arguments: [
        "#!:", "#!::", "#!:r=cam", "#!::r", "#!::r=", "#!::=cam", "#!::r=cam,", "#!::,r=cam", "#!::r=cam,,m=publish",
        "#!::r=cam,r=mic", "#!::m=Publish", "#!::m=both", "#!::x=1", "#!:{r:cam}", "#!::a_key=1,a_key=2",
        "#!::r=\(String(repeating: "x", count: 600))",
    ])
    func whatCannotBeReadIsMalformed(text: String) {
        #expect(StreamRequest(parsing: text) == .malformed)
    }

    // MARK: Routing

    private static let studio: [CallerRouting.Candidate] = [
        .init(streamID: "cam", direction: .input), .init(streamID: "cam", direction: .output),
        .init(streamID: "mic", direction: .input), .init(streamID: "wall", direction: .output),
        .init(streamID: "#!::r=raw", direction: .input),
    ]

    @Test(
        arguments: [
            ("mic", .leg(2)), ("wall", .leg(3)), ("#!::r=raw", .leg(4)),
            // Both directions have it: to receive is the default.
            ("cam", .leg(1)), ("#!::r=cam", .leg(1)), ("#!::r=cam,m=request", .leg(1)), ("#!::r=cam,m=publish", .leg(0)),
            ("#!::r=mic,m=publish,u=ann", .leg(2)), ("#!::r=wall", .leg(3)),
            ("#!::r=mic", .refused(.wrongMode)), ("#!::r=wall,m=publish", .refused(.wrongMode)),
            ("#!::r=cam,m=bidirectional", .refused(.wrongMode)),
            ("", .refused(.unknownStream)), ("Cam", .refused(.unknownStream)), ("cam ", .refused(.unknownStream)),
            ("#!::r=door,m=publish", .refused(.unknownStream)), ("#!::m=publish", .refused(.unknownStream)),
            ("#!::r=cam,t=file", .refused(.malformedStreamID)), ("#!::r", .refused(.malformedStreamID)),
        ] as [(String, CallerRouting.Choice)])
    func aPortWithManyStreams(text: String, choice: CallerRouting.Choice) {
        #expect(CallerRouting.choose(text, among: Self.studio) == choice)
    }

    @Test(
        arguments: [
            ("", .leg(0)), ("anything", .leg(0)), ("#!::r=x", .leg(0)), ("#!::r=x,m=publish", .leg(0)),
            ("#!:nonsense", .leg(0)),
            ("#!::r=x,m=request", .refused(.wrongMode)), ("#!::m=bidirectional", .refused(.wrongMode)),
        ] as [(String, CallerRouting.Choice)])
    func anInputWithoutAStreamIDTakesWhoeverSends(text: String, choice: CallerRouting.Choice) {
        #expect(CallerRouting.choose(text, among: [.init(streamID: nil, direction: .input)]) == choice)
    }

    @Test func aPortThatIsBeingClosedHasNobody() {
        #expect(CallerRouting.choose("cam", among: []) == .refused(.unknownStream))
    }
}
