import Codec
import Container
import Endpoint
import Foundation
import Media
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing

@testable import Relay

/// Recordings of what goes out.
@Suite(.timeLimit(.minutes(5))) struct RecordingTests {
    /// Files in memory, which can be full.
    private final class Disk: Sendable {
        private let files = Lock<[[UInt8]]>([])
        /// Asked before each write, and before a file is opened.
        private let fault: @Sendable (_ file: Int, _ size: Int) -> String?

        init(fault: @escaping @Sendable (_ file: Int, _ size: Int) -> String? = { _, _ in nil }) { self.fault = fault }

        var all: [[UInt8]] { files.withLock { $0 } }

        @Sendable func open(_ settings: RecordSettings) -> Result<RecordFile, RecordFault> {
            let number = files.withLock { files in
                files.append([])
                return files.count - 1
            }
            if let fault = fault(number, -1) { return .failure(RecordFault(fault)) }
            return .success(
                RecordFile(path: "/disk/\(number)") { [self] bytes, place in
                    if let fault = fault(number, Int(place) + bytes.count) { return fault }
                    let new = Array(bytes)
                    files.withLock { files in
                        let end = Int(place) + new.count
                        if files[number].count < end {
                            files[number] += [UInt8](repeating: 0, count: end - files[number].count)
                        }
                        files[number].replaceSubrange(Int(place)..<end, with: new)
                    }
                    return nil
                })
        }
    }

    /// A keyframe each second. Only a transport stream holds this sound.
    private static func program(_ frames: Int, as ending: String = "ts") throws -> [UInt8] {
        if ending == "mp4" { return try TestStream.video(frames: frames, keyframeEvery: 30) }
        return try TestStream.program(Array(repeating: TestStream.Part(frames: 30, audioStreams: 1), count: frames / 30))
    }

    /// Relays a file whose output is recorded.
    private func record(
        _ frames: Int, _ disk: Disk, as ending: String, size: Int64? = nil, _ scratch: Scratch,
        adjust: (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> (report: RelayReport, events: [String]) {
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try Self.program(frames, as: ending), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.settings.record.pattern = try RecordPattern("/disk/%H%M%S.\(ending)")
        configuration.settings.record.size = size
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.openRecording = disk.open
        configuration.recordingPauses = .zero ... .zero
        adjust(&configuration)
        var events: [String] = []
        let report = try Relay(configuration).run { observation in
            switch observation {
            case .event(.recording(let text)), .event(.recordingFailed(let text)): events.append(text)
            default: break
            }
        }
        #expect(report.frames.balance)
        return (report, events)
    }

    /// How many bytes such a recording has.
    private func total(_ frames: Int, as ending: String = "ts") throws -> Int {
        let (scratch, disk) = (try Scratch(), Disk())
        _ = try record(frames, disk, as: ending, scratch)
        return disk.all.reduce(0) { $0 + $1.count }
    }

    private func counter(_ report: RelayReport, _ name: String) -> UInt64 { report.counters[name] ?? 0 }

    /// Every picture and every unit of sound that goes out is in one of the files, once, and each file begins with a keyframe.
    @Test func everyUnitIsRecordedOnce() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        let (report, events) = try record(120, disk, as: "ts", size: Int64(try total(120) / 5), scratch)
        let sent = try scratch.read("out.ts")
        let files = disk.all
        #expect(files.count >= 3, "\(files.map(\.count))")
        #expect(files.flatMap { TestStream.payloads(in: $0) } == TestStream.payloads(in: sent))
        for file in files { #expect(TestStream.units(in: file).first?.isKeyframe == true) }
        let sound = TestStream.passed(in: sent).units.map(\.bytes)
        let recorded = files.flatMap { TestStream.passed(in: $0).units.map(\.bytes) }
        // What went out before the first picture cannot be played.
        #expect(recorded.count > 100 && recorded == Array(sound.suffix(recorded.count)) && sound.count - recorded.count < 12)
        #expect(counter(report, "recording_files") == UInt64(files.count))
        #expect(counter(report, "recording_bytes") == UInt64(files.reduce(0) { $0 + $1.count }))
        #expect(counter(report, "recording_units_dropped_slow") == 0 && counter(report, "recording_units_dropped_failed") == 0)
        #expect(events.count == files.count && events.allSatisfy { $0.hasPrefix("writes /disk/") }, "\(events)")
    }

    /// MP4 has the same pictures and the same sound, at the same distance from each other.
    @Test func fragmentedFilesHoldTheSame() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        let (report, _) = try record(120, disk, as: "mp4", size: Int64(try total(120, as: "mp4") / 5), scratch)
        let files = disk.all
        #expect(files.count >= 3 && counter(report, "recording_units_dropped_refused") == 0)
        var pictures = 0
        for (number, file) in files.enumerated() {
            let reader = try FileReader(path: try scratch.write(file, to: "\(number).mp4"))
            while let item = try reader.next() { if case .picture = consume item { pictures += 1 } }
        }
        #expect(pictures == TestStream.units(in: try scratch.read("out.ts")).count)
        #expect(counter(report, "recording_files") == UInt64(files.count))
        #expect(files.allSatisfy { Self.boxes(of: $0).contains("moof") && Self.boxes(of: $0).first == "ftyp" })
    }

    /// The names of a file's outermost boxes.
    private static func boxes(of file: [UInt8]) -> [String] {
        var (names, place) = ([String](), 0)
        while place + 8 <= file.count {
            let size = file[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
            names.append(String(decoding: file[(place + 4)..<(place + 8)], as: UTF8.self))
            guard size >= 8 else { break }
            place += size
        }
        return names
    }

    /// A disk that stands still costs the recording pictures, and the stream none.
    @Test func aSlowDiskCostsTheRecordingAlone() throws {
        let scratch = try Scratch()
        let halt = BoundedQueue<Bool>(capacity: 1)
        let disk = Disk { _, size in
            // Stands still until all has been sent.
            if size > 0, halt.count == 0, halt.pop(until: .now() + .seconds(60)) != nil { _ = halt.push(true) }
            return nil
        }
        let stream = try scratch.write(try Self.program(240), to: "in.ts")
        var configuration = RelayConfiguration(input: .file(path: stream), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.settings.record.pattern = try RecordPattern("/disk/%H%M%S.ts")
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.openRecording = disk.open
        // Packets are many times larger than these units.
        configuration.recordingMemory = try total(240) / 30
        let relay = try Relay(configuration)
        let books = relay.channels.books
        let waiter = StageThread(name: "waiter") {
            while books.ledger.books.emitted < 240 { (MonotonicTime.now() + .milliseconds(5)).sleep() }
            _ = halt.push(true)
        }
        var failures: [String] = []
        let report = try relay.run { if case .event(.recordingFailed(let text)) = $0 { failures.append(text) } }
        waiter.join()
        #expect(report.frames.emitted == 240)
        let sent = TestStream.payloads(in: try scratch.read("out.ts"))
        let recorded = disk.all.flatMap { TestStream.payloads(in: $0) }
        #expect(recorded.count > 0 && recorded.count < 240)
        #expect(counter(report, "recording_units_dropped_slow") > 0 && failures.count == 1, "\(failures)")
        // Behind a gap there is a keyframe.
        let keyframes = disk.all.flatMap { TestStream.units(in: $0).map(\.isKeyframe) }
        var next = 0
        for (unit, isKeyframe) in zip(recorded, keyframes) {
            let place = try #require(sent[next...].firstIndex(of: unit))
            #expect(place == next || isKeyframe)
            next = place + 1
        }
    }

    /// Where a file cannot be opened or written, recording goes on at a later keyframe, and everything is accounted for.
    @Test(arguments: ["ts", "mp4"]) func aFullDiskPausesTheRecording(ending: String) throws {
        let (scratch, room) = (try Scratch(), try total(240, as: ending) / 3)
        let disk = Disk { file, size in
            switch file {
            // The first becomes full, the second cannot be opened.
            case 0: size > room ? "No space left on device" : nil
            case 1: "No space left on device"
            default: nil
            }
        }
        let (report, events) = try record(240, disk, as: ending, scratch)
        #expect(report.frames.emitted == 240)
        #expect(counter(report, "recording_units_dropped_failed") > 0)
        let files = disk.all
        try #require(files.count == 3 && files[1].isEmpty)
        #expect(events.first == "writes /disk/0")
        #expect(events.contains { $0.hasPrefix("pauses: /disk/0: No space left") })
        // That it goes on is said once it has worked for a while, or at its end, when nobody listens any more here.
        #expect(events.count(where: { $0.hasPrefix("pauses") }) == 1 && !events.contains("writes /disk/2"), "\(events)")
        if ending == "ts" {
            #expect(TestStream.units(in: files[2]).first?.isKeyframe == true)
            let recorded = files.reduce(0) { $0 + TestStream.payloads(in: $1).count }
            #expect(recorded < 240)
        } else {
            let reader = try FileReader(path: try scratch.write(files[2], to: "last.mp4"))
            #expect(try reader.next() != nil)
        }
    }

    /// Nobody has to receive the output.
    @Test func aRecordingNeedsNoReceiver() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        let (report, _) = try record(60, disk, as: "ts", scratch) {
            $0.outputs = [try! StreamURL("srt://127.0.0.1:0?mode=listener")]
            $0.firstConnection = nil
        }
        #expect(report.frames.emitted == 60)
        #expect(disk.all.flatMap { TestStream.payloads(in: $0) }.count == 60)
    }

    /// It begins and ends while the stream runs.
    @Test func itBeginsAndEndsLive() throws {
        let (scratch, disk) = (try Scratch(), Disk())
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try Self.program(90), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        configuration.openRecording = disk.open
        let (halts, encoded) = ([30: Halt(), 60: Halt()], Count())
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                halts[encoded.next()]?.pass()
                return nil
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        halts[30]?.await()
        #expect(disk.all.isEmpty)
        var settings = relay.settings
        settings.record.pattern = try RecordPattern("/disk/%s.ts")
        relay.change(settings)
        halts[30]?.goOn()
        halts[60]?.await()
        settings.record.pattern = nil
        relay.change(settings)
        halts[60]?.goOn()
        thread.join()
        let units = disk.all.flatMap { TestStream.units(in: $0) }
        #expect(disk.all.count == 1 && units.first?.isKeyframe == true)
        #expect((25...31).contains(units.count), "\(units.count)")
    }

    // MARK: The buffer

    private func unit(_ number: Int64, isEntry: Bool = false) -> PastUnit {
        let time = MediaTime(ticks: number * 3000)
        var unit = PastUnit(presentation: time, decode: time, time: MonotonicTime(nanoseconds: number))
        unit.isEntry = isEntry
        return unit
    }

    private func take(_ recording: Recording, _ unit: PastUnit, _ size: Int) -> Bool {
        [UInt8](repeating: UInt8(truncatingIfNeeded: unit.presentation.ticks / 3000), count: size).withUnsafeBytes {
            recording.take(unit, head: UnsafeRawBufferPointer(start: nil, count: 0), $0)
        }
    }

    @Test func theBufferDropsUpToAnEntryThatFits() {
        let recording = Recording(byteCount: 1000, units: 8)
        #expect(!take(recording, unit(0, isEntry: true), 100), "it is closed")
        recording.open()
        #expect(!take(recording, unit(1), 100) && recording.takeDropped() == 0, "before the first entry nothing is missing")
        for number in 2...4 { #expect(take(recording, unit(Int64(number), isEntry: number == 2), 300)) }
        #expect(!take(recording, unit(5), 300) && !take(recording, unit(6), 10))
        #expect(!take(recording, unit(7, isEntry: true), 300))
        #expect(recording.takeDropped() == 3)
        recording.removeFirst()
        #expect(!take(recording, unit(8), 10) && recording.takeDropped() == 1)
        #expect(take(recording, unit(9, isEntry: true), 200) && take(recording, unit(10), 50))
        var bytes: [UInt8] = []
        for number in [3, 4, 9, 10] {
            guard let first = recording.first else {
                Issue.record("unit \(number) is missing")
                return
            }
            recording.read(first, into: &bytes)
            #expect(first.presentation.ticks == Int64(number) * 3000 && bytes.allSatisfy { $0 == number })
            recording.removeFirst()
        }
        #expect(recording.first == nil)
    }

    @Test func theBufferIsARing() {
        let recording = Recording(byteCount: 1000, units: 4)
        recording.open()
        var (random, bytes) = (SplitMix64(seed: 7), [UInt8]())
        var waiting: [Int64] = []
        for number in 0..<Int64(2000) {
            if take(recording, unit(number, isEntry: true), Int.random(in: 1...600, using: &random)) { waiting.append(number) }
            guard Bool.random(using: &random), let first = recording.first else { continue }
            recording.read(first, into: &bytes)
            #expect(first.presentation.ticks == waiting.removeFirst() * 3000)
            #expect(bytes.allSatisfy { $0 == UInt8(truncatingIfNeeded: first.presentation.ticks / 3000) })
            recording.removeFirst()
        }
    }
}
