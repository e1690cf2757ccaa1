import Codec
import Endpoint
import Foundation
import Media
import Schedule
import Schedule
import Settings
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// Interlaced pictures through a relay, made by another program (tools/make/golden-streams).
@Suite struct InterlacedTests {
    private struct Outcome {
        var report: RelayReport
        var messages: [String]
        /// How strong the combs of each picture are: above 1 where the fields show different moments.
        var combs: [Double]
        var times: [MediaTime]
    }

    private func relay(_ name: String, _ setting: StepSettings.Deinterlacing = .auto) throws -> Outcome {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "GoldenStreams/\(name).ts")
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: golden.path), output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.settings.tier = .base
        configuration.settings.bitRate = 20_000_000
        configuration.settings.steps.deinterlace = setting
        configuration.options.scale = .same
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        var messages: [String] = []
        let report = try Relay(configuration).run {
            if case .event(.message(let text)) = $0 { messages.append(text) }
        }
        #expect(report.frames.balance && report.frames.inFlight == 0 && report.frames.dropped == 0, "\(report.frames)")
        var combs: [Double] = []
        let reader = try FileReader(path: scratch.path("out.ts"))
        while let item = try reader.next() {
            guard case .picture(let picture, _) = consume item else { continue }
            combs.append(TestStream.combs(of: picture))
        }
        return Outcome(
            report: report, messages: messages, combs: combs,
            times: TestStream.units(in: try scratch.read("out.ts")).map(\.presentation))
    }

    @Test(arguments: ["top", "bottom"]) func eachPictureBecomesOneFrameWithoutCombs(first: String) throws {
        let outcome = try relay("interlaced-\(first)")
        #expect(outcome.report.frames.originals == 24 && outcome.report.frames.synthesised == 0)
        #expect(outcome.combs.count == 24 && outcome.combs.max()! < 0.9, "\(outcome.combs)")
        #expect(outcome.report.counters["pictures_deinterlaced"] == 24)
        #expect(outcome.messages == ["pictures are interlaced, \(first) field first: each becomes one frame"])
    }

    @Test(arguments: ["top", "bottom"]) func eachFieldBecomesOneFrameOnRequest(first: String) throws {
        let outcome = try relay("interlaced-\(first)", .fields)
        // The interval is not known at the first picture.
        #expect(outcome.report.frames.originals == 24 && outcome.report.frames.synthesised == 23)
        #expect(outcome.combs.count == 47 && outcome.combs.max()! < 0.9, "\(outcome.combs)")
        let steps = zip(outcome.times.dropFirst(), outcome.times).map { $0 - $1 }
        #expect(steps.dropFirst().allSatisfy { $0 == 1800 }, "\(steps)")
    }

    /// The first field's frame may be out before the second's has a ticket. What is held for a bypass must not go out between them.
    @Test func noBypassBeginsBetweenTheFieldsOfAPicture() throws {
        var configuration = RelayConfiguration(input: .standardStream, output: .standardStream)
        configuration.settings.steps.deinterlace = .fields
        let channels = StreamChannels(configuration)
        let ledger = channels.books.ledger
        let coded = TestStream.coded(in: try TestStream.golden("interlaced-top.ts"))
        let pictures = BoundedQueue<DecodedFrame>(capacity: 4)
        let (turn, treated) = (BoundedQueue<Bool>(capacity: 1), Count())
        let decode = StageThread(name: "decode") {
            let shown = ShownPictures(pictures, channels)
            do {
                let decoder = try VideoDecoder()
                for (number, unit) in coded.enumerated() {
                    try unit.bytes.withUnsafeBytes { _ = try decoder.decode($0, id: Int64(number)) }
                    while let output = try decoder.next() {
                        guard case .picture(let picture) = consume output else { continue }
                        let ticket = ledger.open(.original, presentation: coded[Int(picture.id)].presentation)
                        _ = turn.pop()
                        _ = try shown.show(picture, ticket)
                        _ = treated.next()
                    }
                }
            } catch {
                Issue.record(error)
            }
            pictures.close()
        }
        var (seconds, gaps) = (0, 0)
        for number in coded.indices {
            guard turn.push(true) == nil, let first = pictures.pop() else { break }
            ledger.close(first.intoTicket(), as: .emitted)
            // Everything that has a ticket is out.
            var isQuiet = false
            while pictures.count == 0, treated.calls <= number {
                isQuiet = channels.path.isQuiet { ledger.inFlight == 0 } || isQuiet
            }
            guard pictures.count > 0, let second = pictures.pop() else { continue }
            ledger.close(second.intoTicket(), as: .emitted)
            seconds += 1
            if isQuiet { gaps += 1 }
        }
        turn.close()
        decode.join()
        #expect(seconds >= 20 && gaps == 0, "\(gaps) of \(seconds)")
    }

    @Test func combsStayWhereNobodyWantsThemGone() throws {
        let outcome = try relay("interlaced-top", .off)
        #expect(outcome.combs.count == 24 && outcome.combs.dropFirst().min()! > 1.1, "\(outcome.combs)")
        #expect(outcome.report.counters["pictures_deinterlaced"] == nil)
        #expect(outcome.messages.count == 1 && outcome.messages[0].contains("deinterlace is off"))
    }

    @Test func aMarkThatLiesCostsAFewPicturesAtMost() throws {
        let outcome = try relay("marked-interlaced")
        #expect(outcome.report.frames.originals == 24 && outcome.combs.count == 24)
        #expect((1...4).contains(outcome.report.counters["pictures_deinterlaced"] ?? 0), "\(outcome.report.counters)")
        #expect(outcome.messages.count == 2 && outcome.messages[1].contains("marked as interlaced, but"))
    }

    @Test func convertedPicturesAreReportedOnceAndCounted() throws {
        let outcome = try relay("ten-bit-422")
        #expect(outcome.report.frames.originals == 12 && outcome.report.counters["pictures_converted"] == 12)
        #expect(outcome.messages == ["pictures are 10-bit 4:2:2: converted to 8-bit 4:2:0"])
    }
}
