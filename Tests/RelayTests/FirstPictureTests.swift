import Codec
import Endpoint
import Media
import Schedule
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// What the first three pictures cost an encoder says nothing of the next ones: the schedule does not hear of it.
@Suite struct FirstPictureTests {
    /// Whether the schedule knows what encoding costs when pictures of these sizes have gone out.
    private func knowsEncoding(after sizes: [PictureSize]) throws -> Bool? {
        let scratch = try Scratch()
        let configuration = RelayConfiguration(
            input: .standardStream, output: .file(path: scratch.path("out.ts")))
        let stream = StreamChannels(configuration)
        stream.schedule.configure(Planner.Configuration(input: sizes[0], output: sizes[0], interval: .milliseconds(33.3)))
        let finished = BoundedQueue<FinishedFrame>(capacity: sizes.count)
        for (index, size) in sizes.enumerated() {
            guard let picture = PicturePool(size: size, count: 1).lease() else { return nil }
            let ticket = stream.books.ledger.open(.original, presentation: Timeline.start + Int64(index) * 3_000)
            _ = finished.push(
                FinishedFrame(
                    ticket: ticket, picture: picture, color: ColorDescription(), interval: .milliseconds(33.3),
                    turn: .now(), original: nil))
        }
        finished.close()
        runOutput(finished, sink: try Sink(configuration.outputs[0]), stream)
        #expect(stream.books.ledger.books.emitted == UInt64(sizes.count))
        return stream.schedule.withScheduler { $0.policy.costs.hasObserved(.encode) }
    }

    @Test func itsEncodingIsNotLearntFrom() throws {
        let (small, large) = (PictureSize(width: 160, height: 96), PictureSize(width: 320, height: 192))
        #expect(try knowsEncoding(after: [small]) == false)
        #expect(try knowsEncoding(after: [small, small, small]) == false)
        #expect(try knowsEncoding(after: [small, small, small, large]) == false, "another size is another encoder")
        #expect(try knowsEncoding(after: [small, small, small, small]) == true)
    }
}
