import Codec
import Endpoint
import Media
import Settings
import TestStreams
import Testing
import Transport
@testable import Relay

/// Pictures of a running stream for people to see.
@Suite(.timeLimit(.minutes(3))) struct PictureTapTests {
    /// Answers, as they come.
    private final class Answers: Sendable {
        private let queue = BoundedQueue<Result<StreamPicture, PictureFault>>(capacity: 8)
        func take(_ result: Result<StreamPicture, PictureFault>) { _ = queue.push(result) }
        func next() -> Result<StreamPicture, PictureFault>? { queue.pop(until: .now() + .seconds(60)) }
    }

    /// A relay whose encoder stops before the pictures with these numbers.
    private func withRelay(
        haltingAt halted: [Int], frames: Int = 40, _ body: (Relay, Halt) throws -> Void
    ) throws -> RelayReport {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try TestStream.video(frames: frames), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(600)
        configuration.watchesMachine = false
        configuration.pacesFiles = false
        configuration.readsFramesOneByOne = true
        configuration.pictureTimeout = .seconds(60)
        let (halt, encoded) = (Halt(), Count())
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            try FailingEncoder(configuration) { _ in
                if halted.contains(encoded.next()) { halt.pass() }
                return nil
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        try body(relay, halt)
        thread.join()
        let report = relay.report(since: .now())
        #expect(report.frames.balance && report.frames.inFlight == 0 && report.frames.emitted == UInt64(frames))
        return report
    }

    /// Asked together, before and after show the same frame, which is the next one.
    @Test func bothSidesAreOfTheSameFrame() throws {
        _ = try withRelay(haltingAt: [5, 12]) { relay, halt in
            for _ in 0..<2 {
                let answers = Answers()
                halt.await()
                relay.requestPicture(.before, width: 100, answers.take)
                relay.requestPicture(.after, width: 100, answers.take)
                relay.requestPicture(.after, width: 100, answers.take)
                #expect(answers.next()?.failure == .busy)
                halt.goOn()
                let before = try #require(try answers.next()?.get())
                let after = try #require(try answers.next()?.get())
                #expect(before.frame == after.frame)
                #expect(before.size == PictureSize(width: 100, height: 60) && after.size == before.size)
                for picture in [before, after] {
                    #expect(picture.jpeg.starts(with: [0xFF, 0xD8]) && picture.jpeg.suffix(2) == [0xFF, 0xD9])
                }
                #expect(before.jpeg != after.jpeg)
            }
        }
    }

    @Test func picturesAreNeverEnlarged() throws {
        _ = try withRelay(haltingAt: [5]) { relay, halt in
            let answers = Answers()
            halt.await()
            relay.requestPicture(.before, width: 1000, answers.take)
            relay.requestPicture(.after, width: 1000, answers.take)
            halt.goOn()
            let (before, after) = (try answers.next()?.get(), try answers.next()?.get())
            #expect(before?.size == PictureSize(width: 160, height: 96))
            #expect(after?.size == PictureSize(width: 320, height: 192))
        }
    }

    /// Somebody looks all the time, and the stream loses nothing by it.
    @Test func lookingOnCostsNoFrame() throws {
        let shown = Count()
        _ = try withRelay(haltingAt: [2], frames: 150) { relay, halt in
            halt.await()
            ask(relay, .before, shown)
            ask(relay, .after, shown)
            halt.goOn()
        }
        #expect(shown.calls > 2)
    }

    /// Asks again with each answer until the stream has ended.
    private func ask(_ relay: Relay, _ side: StreamPicture.Side, _ shown: Count) {
        relay.requestPicture(side, width: 320) { [self, weak relay] result in
            guard case .success = result, let relay else { return }
            _ = shown.next()
            ask(relay, side, shown)
        }
    }

    @Test func aRequestWithoutAPictureFails() throws {
        let scratch = try Scratch()
        let relay = try Relay(
            RelayConfiguration(input: try StreamURL("udp://127.0.0.1:0"), output: .file(path: scratch.path("out.ts"))))
        let answers = Answers()
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        relay.requestPicture(.after, width: 100, answers.take)
        #expect(answers.next()?.failure == .timeout)
        relay.requestPicture(.before, width: 100, answers.take)
        relay.stop()
        thread.join()
        #expect(answers.next()?.failure != nil)
        relay.requestPicture(.before, width: 100, answers.take)
        #expect(answers.next()?.failure == .ended)
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
