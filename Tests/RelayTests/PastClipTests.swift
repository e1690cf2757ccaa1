import Codec
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import TestStreams
import Testing
import Transport

@testable import Relay

/// Clips of what has gone out.
@Suite(.timeLimit(.minutes(5))) struct PastClipTests {
    /// A file in memory.
    private final class Written: Sendable {
        let bytes = Lock<[UInt8]>([])
        /// Fails when it would become larger.
        let room: Int

        init(room: Int = .max) { self.room = room }

        @Sendable func write(_ new: UnsafeRawBufferPointer, _ place: Int64) -> String? {
            let new = Array(new)
            return bytes.withLock { bytes in
                let end = Int(place) + new.count
                guard end <= room else { return "No space left on device" }
                if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
                bytes.replaceSubrange(Int(place)..<end, with: new)
                return nil
            }
        }
    }

    private typealias Answers = BoundedQueue<Result<PastClip, PastFault>>

    /// A relay whose encoder stops before picture 45 of 60: a keyframe each 15 came in.
    private func withRelay(_ body: (Relay, Scratch, Past, Halt) throws -> Void) throws {
        let scratch = try Scratch()
        let stream = try TestStream.program([TestStream.Part(frames: 60, audioStreams: 1)])
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(600)
        configuration.settings.tier = .base
        configuration.options.past = .seconds(600)
        configuration.options.pastMemory = 8_000_000
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        let (halt, encoded) = (Halt(), Count())
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                if encoded.next() == 45 { halt.pass() }
                return nil
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        halt.await()
        try body(relay, scratch, try #require(relay.channels.past), halt)
        thread.join()
    }

    /// A clip is what was sent, picture for picture, and with its sound.
    @Test func aClipIsWhatWasSent() throws {
        try withRelay { relay, scratch, past, halt in
            let units = past.output.withUnits { units in (0..<units.count).map { units[$0] } }
            let sent = units.filter(\.isPicture)
            try #require(sent.count == 45 && units.count > 80)
            let answers = Answers(capacity: 4)
            let (ts, mp4) = (Written(), Written())
            for (container, file) in [(ClipContainer.ts, ts), (.mp4, mp4)] {
                let late = relay.cutClip(from: sent[0].time, to: sent[30].time, as: container, write: file.write) {
                    _ = answers.push($0)
                }
                #expect(late == .zero)
                let clip = try #require(try answers.pop(until: .now() + .seconds(60))?.get())
                #expect(clip.pictures == 31 && clip.length == sent[30].time - sent[0].time && clip.refused == 0)
                #expect(clip.bytes == Int64(file.bytes.withLock { $0.count }))
            }
            halt.goOn()
            var bytes: [UInt8] = []
            let expected = sent[...30].map { unit in
                _ = past.output.read(unit.number, into: &bytes)
                return bytes
            }
            let stream = ts.bytes.withLock { $0 }
            #expect(TestStream.payloads(in: stream) == expected)
            #expect(TestStream.passed(in: stream).units.count >= 29)
            let reader = try FileReader(path: try scratch.write(mp4.bytes.withLock { $0 }, to: "clip.mp4"))
            var pictures = 0
            while let item = try reader.next() { if case .picture = consume item { pictures += 1 } }
            #expect(pictures == 31)
        }
    }

    /// What a better clip is made of: what came in, picture for picture, with the sound that went out.
    @Test func aClipOfWhatCameInHasItsPicturesAndTheSound() throws {
        try withRelay { relay, _, past, halt in
            let came = past.input.withUnits { units in (0..<units.count).map { units[$0] } }
            try #require(came.count >= 45 && came[0].isEntry)
            let (answers, file) = (Answers(capacity: 1), Written())
            relay.cutClip(from: came[0].time, to: came[30].time, as: .ts, ofInput: true, write: file.write) {
                _ = answers.push($0)
            }
            let clip = try #require(try answers.pop(until: .now() + .seconds(60))?.get())
            halt.goOn()
            var bytes: [UInt8] = []
            let expected = came.filter { $0.time <= came[30].time }.map { unit in
                _ = past.input.read(unit.number, into: &bytes)
                return bytes
            }
            #expect(clip.pictures == expected.count && expected.count >= 31)
            let stream = file.bytes.withLock { $0 }
            #expect(TestStream.payloads(in: stream) == expected)
            #expect(TestStream.passed(in: stream).units.count >= 29)
        }
    }

    /// It waits for what is yet to come, and begins at the entry point before the time that was asked for.
    @Test func aClipReachesIntoTheFuture() throws {
        try withRelay { relay, _, past, halt in
            let newest = past.output.withUnits { $0[$0.count - 1].time }
            let answers = Answers(capacity: 1)
            let file = Written()
            relay.cutClip(from: newest, to: .now() + .seconds(30), as: .ts, write: file.write) { _ = answers.push($0) }
            halt.goOn()
            // The stream ends meanwhile: the clip has all until then.
            let clip = try #require(try answers.pop(until: .now() + .seconds(60))?.get())
            let pictures = TestStream.units(in: file.bytes.withLock { $0 })
            #expect(clip.pictures == pictures.count && pictures.first?.isKeyframe == true && clip.pictures >= 15)
        }
    }

    @Test func whatCannotBeCutIsAClearFault() throws {
        try withRelay { relay, _, past, halt in
            let answers = Answers(capacity: 8)
            func fault(_ from: MonotonicTime, _ to: MonotonicTime, _ file: Written = Written(), _ as: ClipContainer = .ts)
                -> PastFault?
            {
                relay.cutClip(from: from, to: to, as: `as`, write: file.write) { _ = answers.push($0) }
                if case .failure(let fault)? = answers.pop(until: .now() + .seconds(60)) { return fault }
                return nil
            }
            let now = MonotonicTime.now()
            // What begins later than asked says so.
            let oldest = past.output.withUnits { $0[0].time }
            let late = relay.cutClip(from: oldest - .seconds(3), to: oldest, as: .ts, write: Written().write) {
                _ = answers.push($0)
            }
            #expect(late == .seconds(3) && (try? answers.pop(until: .now() + .seconds(60))?.get()) != nil)
            #expect(fault(now, now - .seconds(1))?.kind == .conflict)
            #expect(fault(now, now + .seconds(3600))?.kind == .conflict)
            #expect(fault(now - .seconds(3600), now - .seconds(3000))?.kind == .missing)
            // A full disk.
            for container in ClipContainer.allCases {
                let full = fault(now - .seconds(600), now, Written(room: 2000), container)
                #expect(full?.description.contains("No space left") == true, "\(container): \(String(describing: full))")
            }
            // Clips that go on are as many as there may be; the next one is refused.
            for _ in 0..<ClipDesk.most {
                relay.cutClip(from: now, to: .now() + .seconds(50), as: .ts, write: Written().write) { _ = answers.push($0) }
            }
            #expect(fault(now, .now() + .seconds(50))?.kind == .busy)
            halt.goOn()
            for _ in 0..<ClipDesk.most { #expect(answers.pop(until: .now() + .seconds(60)) != nil) }
        }
    }

    /// A fragmented file that breaks off can be played up to there.
    @Test func aFragmentedFileThatBreaksOffPlays() throws {
        let stream = try TestStream.video(frames: 60)
        var rest = stream[...]
        let file = Written(room: 150_000)
        _ = try? MovieCopy.run(
            isFragmented: true,
            reading: { target in
                let count = min(target.count, rest.count)
                target.copyBytes(from: rest.prefix(count))
                rest = rest.dropFirst(count)
                return count
            }, writing: { file.write($0, $1) == nil })
        let scratch = try Scratch()
        let whole = file.bytes.withLock { $0 }
        let reader = try FileReader(path: try scratch.write(Array(whole.prefix(whole.count * 2 / 3)), to: "cut.mp4"))
        var pictures = 0
        while let item = try? reader.next() { if case .picture = consume item { pictures += 1 } }
        #expect(pictures >= 15, "\(pictures) of \(whole.count) bytes")
    }
}
