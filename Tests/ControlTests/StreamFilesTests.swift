import Foundation
import ServiceConfiguration
import Settings
import Testing
import WorkerProtocol

@testable import Control

@Suite struct StreamFilesTests {
    private func definition(input: String, output: String = "udp://127.0.0.1:9") throws -> StreamDefinition {
        StreamDefinition(name: "a", input: try StreamLeg(input), outputs: [try StreamLeg(output)])
    }

    private func target(_ number: Int32) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
    }

    @Test func theInputComesFirstAndAnOutputIsAppendedTo() throws {
        let folder = try Folder()
        try Data("in".utf8).write(to: folder.file("in.ts"))
        try Data("old".utf8).write(to: folder.file("out.ts"))
        let both = try definition(input: folder.path + "/in.ts", output: folder.path + "/out.ts")
        let files = try StreamFiles.open(of: both, configured: both, below: [])
        #expect(try files.map { try target($0.number) } == [folder.path + "/in.ts", folder.path + "/out.ts"])
        #expect(write(files[1].number, "new", 3) == 3)
        #expect(try String(contentsOf: folder.file("out.ts"), encoding: .utf8) == "oldnew")
        #expect(try StreamFiles.open(of: definition(input: "srt://127.0.0.1:9"), configured: nil, below: []).isEmpty)
    }

    /// The worker waits for the reader, and the other outputs need not.
    @Test func aPipeThatNobodyReadsIsOpened() throws {
        let folder = try Folder()
        #expect(mkfifo(folder.path + "/out", 0o600) == 0)
        let stream = try definition(input: "srt://127.0.0.1:9", output: folder.path + "/out")
        let files = try StreamFiles.open(of: stream, configured: stream, below: [])
        #expect(try files.map { try target($0.number) } == [folder.path + "/out"])
    }

    /// A worker may open no socket of TCP. All calls of a stream share one, which comes at the place of the first.
    @Test func callsByTCPGetAListeningSocket() throws {
        let folder = try Folder()
        func isListening(_ number: Int32) -> Bool {
            var (value, size) = (Int32(0), socklen_t(4))
            return getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value == 1
        }
        func open(_ input: String, _ outputs: String...) throws -> [PassedDescriptor] {
            let legs = try outputs.map { try StreamLeg($0) }
            let stream = StreamDefinition(name: "a", input: try StreamLeg(input), outputs: legs)
            #expect(StreamFiles.areNeeded(for: stream))
            return try StreamFiles.open(of: stream, configured: stream, below: [])
        }
        let both = try open("whip:a?tcp=0", folder.path + "/out.ts", "whep:a?tcp=0")
        #expect(both.count == 2 && isListening(both[0].number) && !isListening(both[1].number))
        let later = try open("whip:a", folder.path + "/out.ts", "whep:a?tcp=0")
        #expect(later.count == 2 && !isListening(later[0].number) && isListening(later[1].number))
        var (address, size) = (sockaddr_in6(), socklen_t(28))
        _ = withUnsafeMutableBytes(of: &address) {
            getsockname(later[1].number, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
        let taken = UInt16(bigEndian: address.sin6_port)
        do {
            _ = try open("whip:a?tcp=\(taken)", "udp://127.0.0.1:9")
            Issue.record("a port was taken twice")
        } catch let fault as StreamFiles.Fault {
            #expect(fault.description == "whip:a?tcp=\(taken): TCP port \(taken): Address already in use")
        }
    }

    @Test func theFaultNamesTheFile() throws {
        let missing = try definition(input: "/nowhere/in.ts")
        do {
            _ = try StreamFiles.open(of: missing, configured: missing, below: [])
            Issue.record("a file that is not there was opened")
        } catch {
            #expect(error.description == "/nowhere/in.ts: No such file or directory")
        }
    }

    /// A description is no recording: an old one is replaced.
    @Test func aDescriptionIsWrittenAnew() throws {
        let folder = try Folder()
        try Data("an older and longer one".utf8).write(to: folder.file("out.sdp"))
        let stream = try definition(input: "udp://127.0.0.1:9", output: folder.path + "/out.sdp?to=127.0.0.1:5004")
        #expect(StreamFiles.areNeeded(for: stream))
        let files = try StreamFiles.open(of: stream, configured: stream, below: [])
        #expect(try files.map { try target($0.number) } == [folder.path + "/out.sdp"])
        #expect(write(files[0].number, "new", 3) == 3)
        #expect(try String(contentsOf: folder.file("out.sdp"), encoding: .utf8) == "new")
        // Nothing outside of the folders is emptied.
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(of: stream, configured: nil, below: [folder.path + "/sub"])
        }
        #expect(try String(contentsOf: folder.file("out.sdp"), encoding: .utf8) == "new")
        #expect(mkfifo(folder.path + "/pipe.sdp", 0o600) == 0)
        let pipe = try definition(input: "udp://127.0.0.1:9", output: folder.path + "/pipe.sdp?to=127.0.0.1:5004")
        #expect(throws: StreamFiles.Fault.self) { _ = try StreamFiles.open(of: pipe, configured: pipe, below: []) }
    }

    /// Those that are read go as text, those that are written as descriptors.
    @Test func aWorkerGetsDescriptionsAsText() throws {
        let text = "v=0\nc=IN IP4 sfu.example\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
        let environment = ConfigurationEnvironment { (path, _) throws(ConfigurationEnvironment.ReadFailure) in
            Array((text + "s=\(path)\n").utf8)
        }
        let stream = try ServiceConfiguration(
            "streams: {a: {input: /in.sdp, outputs: ['/x.sdp?to=far.example:6004', /to.sdp, 'udp://h:1', /out.ts]}}",
            environment: environment
        ).streams[0]
        let assignment = stream.assignment
        #expect(assignment.descriptions.map(\.text) == [text + "s=/in.sdp\n", text + "s=/to.sdp\n"])
        #expect(assignment.outputs == ["/x.sdp?to=far.example:6004", "/to.sdp", "udp://h:1", "/out.ts"])
        // A worker may have only these resolved.
        #expect(stream.hosts == ["sfu.example", "far.example", "h"])
        #expect(StreamLeg.largestDescription == SDPText.largest)
        #expect(StreamDefinition.largestDescriptions == SDPText.largestTogether)
    }

    /// Every way out of the folder that a path or a link could be.
    @Test func nothingLeadsOutOfTheFolders() throws {
        let (folder, outside) = (try Folder(), try Folder())
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path + "/sub", withIntermediateDirectories: false)
        try Data("x".utf8).write(to: folder.file("sub/in.ts"))
        try Data("secret".utf8).write(to: outside.file("secret.ts"))
        try files.createSymbolicLink(atPath: folder.path + "/link.ts", withDestinationPath: outside.path + "/secret.ts")
        try files.createSymbolicLink(atPath: folder.path + "/way", withDestinationPath: outside.path)
        try files.createSymbolicLink(atPath: outside.path + "/back", withDestinationPath: folder.path)
        func open(_ path: String) throws {
            _ = try StreamFiles.open(
                of: definition(input: path), configured: nil, below: [folder.path])
        }
        try open(folder.path + "/sub/in.ts")
        // A link that leads back inside is not outside.
        try open(outside.path + "/back/sub/in.ts")
        for path in [
            "/link.ts", "/way/secret.ts", "/sub/../../\(outside.path.split(separator: "/").last!)/secret.ts", "-other/x.ts",
        ] {
            #expect(throws: StreamFiles.Fault.self, "\(path)") { try open(folder.path + path) }
        }
        let output = try definition(input: "udp://127.0.0.1:9", output: folder.path + "/way/new.ts")
        #expect(throws: StreamFiles.Fault.self) { _ = try StreamFiles.open(of: output, configured: nil, below: [folder.path]) }
        #expect(!files.fileExists(atPath: outside.path + "/new.ts"), "a refused output must not be made")
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(
                of: definition(input: folder.path + "/sub/in.ts"), configured: nil, below: [])
        }
    }

    /// The API changes one leg of a stream of the configuration: the other may stay where the configuration put it.
    @Test func eachLegIsJudgedByItself() throws {
        let (folder, outside) = (try Folder(), try Folder())
        try Data("x".utf8).write(to: outside.file("in.ts"))
        let configured = try definition(input: outside.path + "/in.ts")
        let changed = try definition(input: outside.path + "/in.ts", output: folder.path + "/out.ts")
        #expect(try StreamFiles.open(of: changed, configured: configured, below: [folder.path]).count == 2)
        let other = try definition(input: outside.path + "/other.ts", output: folder.path + "/out.ts")
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(of: other, configured: configured, below: [folder.path])
        }
        // A configured input is no permission to write there.
        let output = try definition(input: outside.path + "/in.ts", output: outside.path + "/in.ts")
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(of: output, configured: configured, below: [folder.path])
        }
    }

    /// A table comes last. It may lie anywhere where the configuration file names it, for the stream or for all of them.
    @Test func theTableOfTheSettingsComesLast() throws {
        let (folder, outside) = (try Folder(), try Folder())
        for place in [folder, outside] { try Data("x".utf8).write(to: place.file("a.cube")) }
        func stream(_ table: String) throws -> StreamDefinition {
            var stream = try definition(input: "udp://127.0.0.1:9", output: folder.path + "/out.ts")
            stream.values = try StreamValues(["lut": table])
            return stream
        }
        let (own, other) = (folder.path + "/a.cube", outside.path + "/a.cube")
        #expect(StreamFiles.areNeeded(for: try stream(own)))
        let files = try StreamFiles.open(of: stream(own), configured: nil, below: [folder.path])
        #expect(try files.map { try target($0.number) } == [folder.path + "/out.ts", own])
        #expect(throws: StreamFiles.Fault.self) {
            _ = try StreamFiles.open(of: stream(other), configured: nil, below: [folder.path])
        }
        #expect(try StreamFiles.open(of: stream(other), configured: nil, free: [other], below: [folder.path]).count == 2)
        let fault = #expect(throws: ServiceFault.self) {
            _ = try StreamFiles.open([("lut", own), ("overlay", other)], free: [own], below: [folder.path])
        }
        #expect(fault?.key == "overlay" && fault?.kind == .invalid)
    }
}
