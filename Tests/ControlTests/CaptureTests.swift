import Foundation
import Media
import Settings
import TestSupport
import Testing
import WorkerProtocol

@testable import Control

/// Stills and clips on the disk.
@Suite(.timeLimit(.minutes(3))) struct CaptureTests {
    @Test func numbersGoOnOverRestarts() throws {
        let folder = try Folder()
        let captures = CaptureFolder(folder.path + "/stills", stream: "cam1")
        for number in 1...3 {
            captures.abandon(try captures.begin(.still, "jpg"))
            let begun = try captures.begin(.still, "jpg")
            #expect(begun.number == number && begun.path.hasSuffix("/stills/cam1/still-\(number).jpg"))
            #expect(captures.find(.still, number) == nil, "it is not complete")
            try captures.complete(begun)
            #expect(captures.find(.still, number) == begun.path)
        }
        // One that a crash left half written keeps its number.
        _ = try captures.begin(.still, "jpg")
        #expect(try CaptureFolder(folder.path + "/stills", stream: "cam1").begin(.still, "png").number == 5)
        #expect(try captures.begin(.clip, "mp4").number == 1)
    }

    @Test func namesOfOthersAreNoNumbers() {
        let names = [
            "still-7.jpg": 7, "still-8.png.part": 8, "still-.jpg": nil, "still-x.jpg": nil, "clip-7.mp4": nil, "still--7": nil,
        ]
        for (name, number) in names { #expect(CaptureFolder.number(of: name, .still) == number, "\(name)") }
        #expect(CaptureFolder.number(of: "still-99999999999999999999.jpg", .still) == nil)
    }

    /// The oldest make room, and what a crash has left goes after two days, when no capture waits any more.
    @Test func captureFoldersAreBounded() throws {
        let folder = try Folder()
        let captures = CaptureFolder(folder.path, stream: "cam1")
        let now: Int64 = 1_700_000_000
        func make(_ name: String, age: Int64) throws {
            let path = captures.path + "/" + name
            try Data(count: 1000).write(to: URL(filePath: path))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(now - age))], ofItemAtPath: path)
        }
        try FileManager.default.createDirectory(atPath: captures.path, withIntermediateDirectories: true)
        for number in 1...4 { try make("still-\(number).jpg", age: 1000 - 100 * Int64(number)) }
        try make("clip-1.mp4", age: 5000)
        try make("clip-2.mp4.part", age: 200_000)
        try make("clip-3.mp4.part", age: 100_000)
        try make("notes.txt", age: 1_000_000)
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: captures.path)) ?? []).sorted() }
        captures.tidy(sparing: captures.path + "/still-4.jpg", now: now, most: 4)
        #expect(names == ["clip-3.mp4.part", "notes.txt", "still-1.jpg", "still-2.jpg", "still-3.jpg", "still-4.jpg"])
        captures.tidy(sparing: captures.path + "/still-1.jpg", now: now, mostBytes: 2500)
        #expect(names == ["clip-3.mp4.part", "notes.txt", "still-1.jpg", "still-4.jpg"])
    }

    /// A link in the place of a file is not followed, and a folder that cannot be made is a clear fault.
    @Test func linksAreNotFollowed() throws {
        let folder = try Folder()
        let captures = CaptureFolder(folder.path, stream: "cam1")
        try FileManager.default.createDirectory(atPath: captures.path, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: captures.path + "/still-1.jpg.part", withDestinationPath: folder.path + "/elsewhere")
        #expect(try captures.begin(.still, "jpg").number == 2)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/elsewhere"))
        #expect(throws: CaptureFolder.Fault.self) {
            try CaptureFolder("/proc/nowhere", stream: "cam1").begin(.still, "jpg")
        }
    }

    @Test func stillsAndClipsAreOnTheDisk() async throws {
        let bench = try SupervisorBench(["a"], settings: ["past": "20s"])
        let supervisor = bench.supervisor
        await supervisor.start()
        await bench.event(.started, of: "a")
        let still = try await supervisor.makeStill(of: "a", side: .after, at: .frame(48), as: .jpeg, width: 3840)
        #expect(still.number == 1 && still.state == .ready && still.frame == 48)
        #expect(try [UInt8](Data(contentsOf: URL(filePath: still.path))) == [0xFF, 0xD8, 1])
        #expect(try await supervisor.bestStill(1, of: "a", wait: .zero).still.bytes == [0xFF, 0xD8, 1])
        await #expect(throws: ServiceFault.self) { try await supervisor.bestStill(2, of: "a", wait: .zero) }
        await #expect(throws: ServiceFault(.notFound, "it has left")) {
            try await supervisor.makeStill(of: "a", side: .after, at: .frame(1), as: .jpeg, width: 3840)
        }
        let now = MonotonicTime.now()
        let clip = try await supervisor.makeClip(of: "a", from: now - .seconds(2), to: now, as: .mp4)
        #expect(clip.number == 1 && clip.path.hasSuffix("/a/clip-1.mp4"))
        await bench.event(.clip, of: "a") { $0.text.hasPrefix("clip 1, 2") }
        let done = try await supervisor.clip(1, of: "a")
        #expect(done.state == .ready && done.bytes == 4)
        // By the control socket.
        let line = await supervisor.answer("still * frame=48")
        #expect(line.isGood && line.text.contains("\"number\":2") && line.text.contains("still-2.jpg"), "\(line)")
        #expect(
            await supervisor.answer("still a at=soon")
                == ControlSocket.Answer(isGood: false, text: "name one picture: --at -2s, --frame or --rtp"))
        #expect(await supervisor.answer("still b frame=48").isGood == false)
        #expect(await supervisor.answer("clip-state a 1").text.contains("\"state\":\"ready\""))
        #expect(await supervisor.answer("still-state a 2").text.contains("\"state\":\"ready\""))
        #expect(await supervisor.answer("still-state a 77").isGood == false)
        #expect(await supervisor.answer("clip a from=x").text == PastTime.wanted("from"))
        // A refusal leaves no file.
        await #expect(throws: ServiceFault(.conflict, "the clip ends before it begins")) {
            try await supervisor.makeClip(of: "a", from: now, to: now - .seconds(2), as: .mp4)
        }
        await #expect(throws: ServiceFault.self) { try await supervisor.clip(2, of: "a") }
        // One that is being cut when its worker is killed has failed.
        let long = try await supervisor.makeClip(of: "a", from: now - .seconds(7200), to: now, as: .ts)
        #expect(long.state == .pending)
        kill(try await bench.process(of: "a"), SIGKILL)
        await bench.event(.clip, of: "a") { $0.text.contains("has failed") }
        #expect(try await supervisor.clip(long.number, of: "a").state == .failed)
        await supervisor.end()
    }

    @Test func aStreamWithoutAPastSaysSo() async throws {
        let bench = try SupervisorBench(["a"])
        await bench.supervisor.start()
        await bench.event(.started, of: "a")
        await #expect(throws: ServiceFault.self) {
            try await bench.supervisor.still(of: "a", side: .before, at: .frame(48), as: .jpeg, width: 3840)
        }
        await bench.supervisor.end()
    }
}
