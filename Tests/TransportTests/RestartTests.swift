import Endpoint
import Foundation
import Glibc
import Media
import TestSupport
import Testing
@testable import Packets
@testable import SRT
@testable import Transport

/// What is left of a process that is killed: its ports must be free at once, and its peers can be told.
@Suite(.serialized) struct RestartTests {
    private static let variable = "BURNISH_LISTEN_UNTIL_KILLED"

    /// The child's part: listens, and says what the killed connection's peer needs to hear.
    @Suite(.enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct ListeningChild {
        @Test func listen() throws {
            let folder = try #require(ProcessInfo.processInfo.environment[RestartTests.variable])
            let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
            try Data("\(reader.source.localPort)".utf8).write(
                to: URL(filePath: folder).appending(path: "port"), options: .atomic)
            try #require(reader.awaitConnection() != nil)
            try #require(reader.nextNumber() == 0)
            let farewells = reader.source.peers.compactMap(\.farewell)
            try JSONEncoder().encode(farewells).write(to: URL(filePath: folder).appending(path: "farewells"), options: .atomic)
            while true { _ = reader.next() }
        }
    }

    private func contents(of file: String, in folder: URL) -> Data? {
        let limit = MonotonicTime.now() + Reader.timeout
        while MonotonicTime.now() < limit {
            if let data = try? Data(contentsOf: folder.appending(path: file)), !data.isEmpty { return data }
            (MonotonicTime.now() + .milliseconds(5)).sleep()
        }
        return nil
    }

    @Test(.disabled(if: ProcessInfo.processInfo.environment[variable] != nil))
    func whatAKilledProcessLeaves() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let child = try startChild("RestartTests.ListeningChild", [Self.variable: folder.path])
        defer { child.terminate() }
        let port = try #require(contents(of: "port", in: folder).flatMap { UInt16(String(decoding: $0, as: UTF8.self)) })
        let sink = try Sink(StreamURL("srt://127.0.0.1:\(port)?latency=20"))
        #expect(sink.awaitPeer())
        #expect(sink.send(numbered(0)) == .sent)
        let data = try #require(contents(of: "farewells", in: folder))
        let farewells = try JSONDecoder().decode([SRTFarewell].self, from: data)
        try #require(farewells.count == 1)
        #expect(farewells[0].local == "127.0.0.1:\(port)" && farewells[0].peer.hasPrefix("127.0.0.1:"))

        kill(child.processIdentifier, SIGKILL)
        child.waitUntilExit()
        let killed = MonotonicTime.now()
        #expect(SRTFarewell.send(farewells) == 1)
        // The port is free at once, also right after the goodbye.
        let reader = try Reader("srt://127.0.0.1:\(port)?mode=listener&latency=20")
        #expect(sink.wait(for: { if case .disconnected = $0 { true } else { false } }) != nil)
        // Without the goodbye libsrt notices after five seconds.
        #expect(MonotonicTime.now() - killed < .seconds(4))
        #expect(reader.awaitConnection() != nil)
    }

    @Test func aFarewellNamesTheOtherEndsSocket() {
        #expect(SRTFarewell.packet(to: 0x0102_0304) == [0x80, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0])
    }

    @Test(arguments: ["", "nobody", "127.0.0.1", "burnish.invalid:9", "127.0.0.1:99999"])
    func aFarewellWithoutAnAddressGoesNowhere(text: String) {
        #expect(SRTFarewell.send([SRTFarewell(peer: text, socket: 1, local: "127.0.0.1:0")]) == 0)
        #expect(SRTFarewell.send([SRTFarewell(peer: "127.0.0.1:9", socket: 1, local: text)]) == 0)
    }

    // MARK: What a supervisor hands over

    @Test func filesByDescriptor() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "a.ts").path
        do {
            let sink = try Sink(path: "named/so.ts", adopting: open(path, O_WRONLY | O_CREAT, 0o600))
            #expect(sink.url == .file(path: "named/so.ts"))
            #expect(sink.send(numbered(1)) == .sent && sink.send(numbered(2)) == .sent)
        }
        let descriptor = open(path, O_RDONLY)
        do {
            let source = try Source(path: "named/so.ts", adopting: descriptor)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
            defer { buffer.deallocate() }
            for expected in 1...2 {
                guard case .message(let message) = source.receive(into: buffer, until: .now() + Reader.timeout) else {
                    Issue.record("no message")
                    return
                }
                #expect(number(of: Array(buffer[..<message.byteCount])) == expected)
            }
            #expect(source.receive(into: buffer, until: .now() + Reader.timeout) == .end)
        }
        #expect(fcntl(descriptor, F_GETFD) == -1, "it is closed with the source")
        let directory = open(folder.path, O_RDONLY)
        #expect(throws: TransportError.self) { _ = try Source(path: "named", adopting: directory) }
    }

    @Test func addressesOfAHostAreCalledInTurn() throws {
        let reader = try Reader("srt://127.0.0.1:0?mode=listener&latency=20")
        // Nobody listens on the first one.
        let resolver = MadeUpResolver { _, answer in answer(.success(["127.0.0.9", "not an address", "127.0.0.1"])) }
        let endpoint = SRTEndpoint(mode: .caller, host: "burnish.invalid", port: reader.source.localPort)
        let link = try SRTLink(endpoint, direction: .output, resolver: resolver)
        defer { link.stop() }
        #expect(reader.awaitConnection() != nil)
    }

    @Test func anAnswerWithoutAddressesIsAFault() {
        let resolver = MadeUpResolver { _, answer in
            answer(.success(["nonsense"]))
            answer(.success(["127.0.0.1"]))
        }
        let lookup = NameLookup.begin(host: "burnish.invalid", port: 9, place: "here", resolver: resolver)
        #expect(throws: TransportError.self) { try lookup.result?.get() }
        let written = NameLookup.begin(host: "::1", port: 9, place: "here", resolver: resolver)
        #expect(try! written.result?.get().map(\.description) == ["[::1]:9"])
    }
}
