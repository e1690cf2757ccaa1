import Codec
import Endpoint
import Media
import Schedule
import Settings
import TestStreams
import Testing
import Transport
@testable import Relay

/// A stage that is stuck is told from stages that have nothing to do or wait for the stuck one.
@Suite(.timeLimit(.minutes(3))) struct StageTurnsTests {
    /// A decoder that stops inside of its first picture.
    private final class StuckDecoder: PictureDecoder {
        private let decoder: VideoDecoder
        private let halt: Halt
        private var hasStopped = false

        init(_ configuration: VideoDecoder.Configuration, _ halt: Halt) throws(CodecError) {
            decoder = try VideoDecoder(configuration)
            self.halt = halt
        }

        var skipsNonReference = false
        var exportsQuantisers = false

        func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool {
            if !hasStopped { halt.pass() }
            hasStopped = true
            return unsafe try decoder.decode(unit, id: id, flags: flags)
        }

        func next() throws(CodecError) -> DecoderOutput? { try decoder.next() }
        func drain() { decoder.drain() }
    }

    /// Every queue before the stuck stage is full, and all those behind it are empty.
    @Test(arguments: [StageName.decode, .encode]) func aStuckStageIsTheOnlyOneThatIsNamed(stage: StageName) throws {
        let halt = Halt()
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(try TestStream.video(frames: 200), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.tier = .base
        configuration.settings.budget = .seconds(600)
        configuration.pacesFiles = false
        configuration.watchesMachine = false
        switch stage {
        case .decode:
            configuration.makeDecoder = { (configuration) throws(CodecError) in try StuckDecoder(configuration, halt) }
        default:
            configuration.makeEncoder = { (configuration) throws(CodecError) in
                try FailingEncoder(configuration) { id in
                    if id == 3 { halt.pass() }
                    return nil
                }
            }
        }
        let relay = try Relay(configuration)
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        halt.await()
        awaitStalled(relay, [stage], for: .seconds(1))
        halt.goOn()
        thread.join()
        let frames = relay.report(since: .now()).frames
        #expect(frames.balance && frames.inFlight == 0 && frames.originals == 200 && frames.emitted > 0)
        // Stages that have ended are not stuck.
        #expect(relay.stalledStages(now: .now() + .seconds(60), limit: .seconds(1)).isEmpty)
    }

    /// All stages turn while nothing comes.
    @Test func aSilentSourceIsNoStall() throws {
        let scratch = try Scratch()
        let relay = try Relay(
            RelayConfiguration(input: try StreamURL("udp://127.0.0.1:0"), output: .file(path: scratch.path("out.ts"))))
        #expect(relay.stalledStages(now: .now() + .seconds(60), limit: .seconds(1)).isEmpty, "none runs yet")
        let thread = StageThread(name: "relay") { _ = try? relay.run { _ in } }
        awaitStalled(relay, StageName.allCases, at: .now() + .seconds(60), for: .seconds(1))
        for _ in 0..<3 { awaitStalled(relay, [], at: .now() + .milliseconds(1), for: .zero) }
        relay.stop()
        thread.join()
    }

    /// Waits until exactly these stages have not turned for so long.
    /// - Parameter time: the time to ask for; nil is the present.
    private func awaitStalled(
        _ relay: Relay, _ stages: [StageName], at time: MonotonicTime? = nil, for limit: Nanoseconds
    ) {
        while relay.stalledStages(now: time ?? .now(), limit: limit) != stages { (.now() + .milliseconds(5)).sleep() }
    }

    @Test func aQueueThatIsFullRefusesWhenTheTimeHasCome() {
        let queue = BoundedQueue<Int>(capacity: 1)
        #expect(queue.push(1, until: .now()) == nil)
        #expect(queue.push(2, until: .now() + .milliseconds(1)) == 2)
        let popper = StageThread(name: "pop") { _ = queue.pop() }
        #expect(queue.push(3, until: .now() + .seconds(60)) == nil)
        popper.join()
        queue.close()
        #expect(queue.push(4, until: .now() + .seconds(60)) == 4 && queue.pop() == 3)
    }
}
