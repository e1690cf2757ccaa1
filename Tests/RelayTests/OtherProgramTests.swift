import Container
import Endpoint
import Foundation
import Media
import Packets
import Settings
import TestStreams
import TestSupport
import Testing
import Transport
@testable import Relay

/// Other programs of a multiplex pass as they are, beside the one that is enhanced.
@Suite(.timeLimit(.minutes(5))) struct OtherProgramTests {
    private typealias Running = SRTRelayTests.Running

    /// What belongs to the other program and to the whole stream.
    private func passed(in output: [UInt8]) -> [UInt8] {
        TestMultiplex.packets(of: output) { TestMultiplex.otherPIDs.contains($0) }
    }

    /// Whether all sound of the followed program came out beside the same pictures.
    private func isSameSound(_ output: [UInt8], _ input: TestMultiplex) -> Bool {
        TestStream.passed(in: output).units == TestStream.passed(in: input.bytes).units
    }

    /// All that came of other programs went out, and nothing else was left over.
    private func expectBooks(_ report: RelayReport, _ packets: Int) {
        #expect(report.counters["other_program_packets_in"] == UInt64(packets), "\(report.counters)")
        #expect(report.counters["other_program_packets_out"] == UInt64(packets))
        #expect(report.counters["other_program_packets_dropped"] == nil && report.counters["input_packets_unused"] == nil)
        #expect(report.counters["passing_units_in"] == report.counters["passing_units_out"])
    }

    private struct Map: Decodable {
        struct Stream: Decodable {
            var codec_name: String?
            var id: String
            var width: Int?
            var nb_read_packets: String?
        }
        struct Program: Decodable {
            var program_num, pmt_pid: Int
            var streams: [Stream]
        }
        var programs: [Program]
    }

    /// The other program's packets come out byte for byte, and libavformat finds both programs.
    @Test(arguments: StreamSettings.Mode.allCases) func bothProgramsComeOut(mode: StreamSettings.Mode) throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 40)
        var events: [String] = []
        let report = try relay(input.bytes, scratch) {
            $0.settings.mode = mode
        } message: {
            events.append($0)
        }
        let output = try scratch.read("out.ts")
        #expect(passed(in: output) == input.passed)
        expectBooks(report, input.passed.count / 188)
        #expect(report.frames.originals == 40 && report.frames.dropped == 0, "\(report.frames)")
        #expect((report.frames.bypassed == 40) == (mode == .bypass))
        #expect(isSameSound(output, input))
        #expect(events.filter { $0.contains("is followed") } == ["input: program 5 is followed; passed as they are: 9"])

        let probed = try runTool([
            "ffprobe", "-v", "error", "-count_packets", "-show_programs", "-of", "json", scratch.path("out.ts"),
        ])
        let map = try JSONDecoder().decode(Map.self, from: Data(probed.output.utf8))
        #expect(map.programs.map(\.program_num) == [5, 9] && map.programs.map(\.pmt_pid) == [0x1000, 0x1100])
        #expect(map.programs.map { $0.streams.map(\.id) } == [["0x100", "0x101"], ["0x200", "0x201"]])
        #expect(map.programs.map { $0.streams.first?.nb_read_packets } == ["40", "40"], "\(probed.output)")
        #expect(map.programs.map { $0.streams.first?.width } == [mode == .bypass ? 160 : 320, 128])
    }

    /// Nothing waits for the enhanced program: where it has no picture, the others still pass, with tables before them.
    @Test func othersDoNotWaitForPictures() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 20)
        // Sound and video of the first program are missing.
        let stream = TestMultiplex.packets(of: input.bytes) { $0 != 0x100 && $0 != TestMultiplex.soundPID }
        let failure = try #require(throws: RelayFailure.self) { _ = try relay(stream, scratch) }
        #expect(failure.report?.counters["other_program_packets_out"] == UInt64(input.passed.count / 188))
        let output = try scratch.read("out.ts")
        #expect(passed(in: output) == input.passed)
        #expect(output[1] == 0x40 && output[2] == 0 && output[189] == 0x50 && output[190] == 0)
    }

    /// Every output that is a multiplex gets the same.
    @Test func severalOutputsGetThem() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 20)
        let report = try relay(input.bytes, scratch) {
            $0.outputs += [.file(path: scratch.path("b.ts")), .file(path: scratch.path("c.ts"))]
        }
        expectBooks(report, input.passed.count / 188)
        let outputs = try ["out.ts", "b.ts", "c.ts"].map { try scratch.read($0) }
        #expect(outputs[0] == outputs[1] && outputs[0] == outputs[2] && passed(in: outputs[0]) == input.passed)
    }

    /// Calls have no use for them, so nothing of them is lost there.
    @Test func callsDoNotGetThem() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 20)
        let call = HeardCall()
        let url = try StreamURL("rtp://127.0.0.1:9")
        var events: [String] = []
        let report = try relay(input.bytes, scratch) {
            $0.settings.mode = .bypass
            $0.outputs = [url]
            $0.outputCalls = [0: Sink(url, viewers: call.viewers)]
        } message: {
            events.append($0)
        }
        call.leave()
        #expect(report.counters["input_packets_unused"] == UInt64(input.passed.count / 188))
        #expect(report.counters["other_program_packets_in"] == nil && report.counters["other_program_packets_dropped"] == nil)
        #expect(events.filter { $0.contains("is followed") } == ["input: program 5 is followed; left out: 9"])
    }

    @Test func aMapThatChangesInMidStreamIsFollowed() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 40, change: 20)
        let report = try relay(input.bytes, scratch)
        let output = try scratch.read("out.ts")
        #expect(passed(in: output) == input.passed && !TestMultiplex.packets(of: output) { $0 == 0x202 }.isEmpty)
        expectBooks(report, input.passed.count / 188)
        #expect(report.frames.originals == 40 && report.frames.dropped == 0, "\(report.frames)")
        // The tables that go out say the same as before.
        #expect(TestStream.passed(in: output).layouts == [1])
    }

    /// A stream that the other program begins to share goes out twice: as it is, and as ours, which moves to another identifier.
    @Test(arguments: StreamSettings.Mode.allCases) func aStreamThatIsSharedMoves(mode: StreamSettings.Mode) throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 40, share: 20)
        let report = try relay(input.bytes, scratch) { $0.settings.mode = mode }
        let output = try scratch.read("out.ts")
        expectBooks(report, input.passed.count / 188)
        #expect(report.frames.originals == 40 && report.frames.dropped == 0, "\(report.frames)")
        #expect(passed(in: output) == passed(in: input.passed))
        // Ours has the identifier until the map names it as another's, which comes before the first packet that passes.
        let shared = TestMultiplex.packets(of: input.passed) { $0 == TestMultiplex.soundPID }
        #expect(shared.count == 20 * 188)
        let passing = TestMultiplex.packets(of: output) { $0 == TestMultiplex.soundPID }
        #expect(Array(passing.suffix(shared.count)) == shared)
        #expect(isSameSound(output, input))
        #expect(!TestMultiplex.packets(of: output) { $0 == 0x102 }.isEmpty)
        #expect(TestStream.units(in: output).count == 40)
    }

    /// Hundreds of programs, and maps that change with every picture and name what is ours.
    @Test func hostileTablesHarmOnlyTheirOwn() throws {
        let scratch = try Scratch()
        var random = SplitMix64(seed: 60)
        var counters: (association: UInt8, map: UInt8) = (8, 8)
        let clean = try TestMultiplex(pictures: 60)
        let input = try TestMultiplex(pictures: 60) { picture in
            guard picture > 0 else { return [] }
            var packets: [UInt8] = []
            for k in 0..<4 {
                let version = UInt8((picture * 4 + k) & 31)
                var lines: [UInt8] = [0, 5, 0xF0, 0, 0, 9, 0xF1, 0]
                for number in 1000..<1251 {
                    let pid = Int.random(in: 0..<0x2000, using: &random)
                    lines += [UInt8(number >> 8), UInt8(number & 255), 0xE0 | UInt8(pid >> 8), UInt8(pid & 255)]
                }
                packets += TestMultiplex.section(
                    table: 0, extension: 321, version: version, lines, pid: 0, counter: &counters.association)
                var map: [UInt8] = [0xE1, 0, 0xF0, 0]
                for index in 0..<100 {
                    let pid = index < 2 ? 0x100 + index : Int.random(in: 0..<0x2000, using: &random)
                    map += [0x1B, 0xE0 | UInt8(pid >> 8), UInt8(pid & 255), 0xF0, 0]
                }
                packets += TestMultiplex.section(
                    table: 2, extension: 9, version: version, map, pid: 0x1100, counter: &counters.map)
            }
            return packets
        }
        let report = try relay(input.bytes, scratch)
        let output = try scratch.read("out.ts")
        #expect(report.frames.originals == 60 && report.frames.dropped == 0, "\(report.frames)")
        func count(_ fate: String) -> UInt64 { report.counters["other_program_packets_\(fate)"] ?? 0 }
        #expect(count("in") == count("out") && count("dropped") == 0 && count("in") > 800, "\(report.counters)")
        #expect(report.counters["passing_units_in"] == 60 && report.counters["passing_units_out"] == 60)
        // A receiver still finds the program and all of it.
        #expect(TestStream.units(in: output).count == 60)
        #expect(TestStream.passed(in: output).units.map(\.bytes) == TestStream.passed(in: clean.bytes).units.map(\.bytes))
    }

    /// A source that stops and comes back: its other program passes both times, and the program keeps its number.
    @Test func aSourceThatComesBackIsFollowed() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 20)
        let running = try Running(input: "srt://127.0.0.1:0?mode=listener&latency=200", output: "udp://127.0.0.1:9") {
            $0.outputs = [.file(path: scratch.path("out.ts"))]
        }
        for round in 1...2 {
            while running.events.count(where: { $0.contains("input: disconnected") }) < round - 1 {
                (MonotonicTime.now() + .milliseconds(2)).sleep()
            }
            let sink = try Sink(try StreamURL("srt://127.0.0.1:\(running.relay.inputPort)?latency=200"))
            try sink.awaitConnection(until: .now() + .seconds(20))
            for at in stride(from: 0, to: input.bytes.count, by: 1316) {
                input.bytes[at..<min(at + 1316, input.bytes.count)].withUnsafeBytes { #expect(sink.send($0) == .sent) }
            }
            sink.flush(until: .now() + .seconds(5))
            func packets() -> UInt64 { running.relay.report(since: .now()).counters["other_program_packets_in"] ?? 0 }
            while packets() < UInt64(round * input.passed.count / 188) { (MonotonicTime.now() + .milliseconds(2)).sleep() }
        }
        let report = try #require(running.stop())
        expectBooks(report, 2 * input.passed.count / 188)
        #expect(report.frames.originals == 40, "\(report.frames)")
        let output = try scratch.read("out.ts")
        #expect(passed(in: output) == input.passed + input.passed)
        #expect(TestStream.units(in: output).count == 40)
        #expect(running.events.count { $0.contains("is followed") } == 1)
    }

    /// A stream of one program that comes after a multiplex has number 1 again, and no other program in its association.
    @Test func aStreamOfOneProgramIsAsItAlwaysWas() throws {
        let scratch = try Scratch()
        let input = try TestMultiplex(pictures: 20)
        let running = try Running(input: "srt://127.0.0.1:0?mode=listener&latency=200", output: "udp://127.0.0.1:9") {
            $0.outputs = [.file(path: scratch.path("out.ts"))]
        }
        for (round, bytes) in [input.bytes, try TestStream.program([.init(frames: 20, audioStreams: 1)])].enumerated() {
            while running.events.count(where: { $0.contains("input: disconnected") }) < round {
                (MonotonicTime.now() + .milliseconds(2)).sleep()
            }
            let sink = try Sink(try StreamURL("srt://127.0.0.1:\(running.relay.inputPort)?latency=200"))
            try sink.awaitConnection(until: .now() + .seconds(20))
            for at in stride(from: 0, to: bytes.count, by: 1316) {
                bytes[at..<min(at + 1316, bytes.count)].withUnsafeBytes { #expect(sink.send($0) == .sent) }
            }
            sink.flush(until: .now() + .seconds(5))
            while running.relay.report(since: .now()).frames.originals < UInt64(20 * (round + 1)) {
                (MonotonicTime.now() + .milliseconds(2)).sleep()
            }
        }
        _ = try #require(running.stop())
        let output = try scratch.read("out.ts")
        let associations = TestMultiplex.packets(of: output) { $0 == 0 }
        // Section length, then the first line: program 1 on 0x1000.
        let last = Array(associations.suffix(188))
        #expect(last[7] == 13 && Array(last[13..<17]) == [0, 1, 0xF0, 0] && Array(last[8..<10]) == [0, 1])
        #expect(associations[7] == 17 && Array(associations[13..<17]) == [0, 5, 0xF0, 0])
        #expect(TestStream.units(in: output).count == 40)
    }
}
