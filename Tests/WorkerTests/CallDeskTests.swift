import Endpoint
import Media
import Relay
import Testing
import Worker
import WorkerProtocol

/// What a worker does with offers. Who answers them is made up.
@Suite(.serialized, .timeLimit(.minutes(10))) struct CallDeskTests {
    /// Answers what begins with `v=0`, and can end a call by itself.
    private final class Desk: CallDesk {
        struct State {
            var offers: [OfferedCall] = []
            var hungUp: [UInt64] = []
            var layers: [ViewerLayer?] = []
            var done: (@Sendable (UInt64) -> Void)?
        }
        let state = Lock(State())

        func answer(_ offer: OfferedCall, reply: @escaping @Sendable (Result<String, CallRefusal>) -> Void) {
            state.withLock { $0.offers.append(offer) }
            let isOffer = offer.description.hasPrefix("v=0")
            reply(isOffer ? .success("v=0\r\ns=answer\r\n") : .failure(CallRefusal(.malformed, "it does not begin with v=0")))
        }
        func restart(_ restart: RestartedCall, reply: @escaping @Sendable (Result<String, CallRefusal>) -> Void) {
            reply(
                restart.number == 1 ? .success("a=ice-ufrag:\(restart.userFragment)\r\n") : .failure(CallRefusal(.over, "over"))
            )
        }
        func open(_ stream: String, _ configuration: inout RelayConfiguration) throws(TransportError) {}
        func close(_ stream: String) {}
        func onEvent(_ event: @escaping @Sendable (_ stream: String, StreamEvent) -> Void) {}
        func choose(_ layer: ViewerLayer?, forCall call: UInt64) { state.withLock { $0.layers.append(layer) } }
        func hangUp(_ call: UInt64) { state.withLock { $0.hungUp.append(call) } }
        func onEnd(_ done: @escaping @Sendable (UInt64) -> Void) { state.withLock { $0.done = done } }
        func end(_ call: UInt64) { state.withLock { $0.done }?(call) }
    }

    private func reply(_ worker: WorkerUnderTest) -> WorkerMessage? {
        worker.next { message in
            switch message {
            case .answered, .refusedCall, .endedCall: message
            default: nil
            }
        }
    }

    @Test func offersReachTheDeskAndItsAnswersTheSupervisor() throws {
        let desk = Desk()
        let worker = try WorkerUnderTest(desk: desk)
        _ = try #require(worker.start("a", to: "udp://127.0.0.1:9"))
        worker.channel.send(.offer(id: 1, stream: "a", side: .play, description: "v=0\r\n"))
        #expect(reply(worker) == .answered(id: 1, description: "v=0\r\ns=answer\r\n"))
        worker.channel.send(.offer(id: 2, stream: "a", side: .publish, description: "hello", takesOver: true))
        #expect(reply(worker) == .refusedCall(id: 2, CallRefusal(.malformed, "it does not begin with v=0")))
        worker.channel.send(.offer(id: 3, stream: "b", side: .publish, description: "v=0\r\n"))
        #expect(reply(worker) == .refusedCall(id: 3, CallRefusal(.unavailable, "no stream b runs in this worker")))
        for call in [1, 2] as [UInt64] {
            worker.channel.send(.restartCall(id: 4, call: call, userFragment: "abcd", password: "x"))
            #expect(
                reply(worker)
                    == (call == 1
                        ? .answered(id: 4, description: "a=ice-ufrag:abcd\r\n")
                        : .refusedCall(id: 4, CallRefusal(.over, "over"))))
        }
        desk.end(1)
        #expect(reply(worker) == .endedCall(id: 1))
        for layer in [.sent, nil] as [ViewerLayer?] { worker.channel.send(.chooseLayer(call: 1, layer: layer)) }
        worker.channel.send(.hangUp(id: 7))
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
        #expect(desk.state.withLock { $0.hungUp } == [7] && desk.state.withLock { $0.layers } == [.sent, nil])
        let offers = desk.state.withLock { $0.offers }
        #expect(
            offers.map(\.number) == [1, 2] && offers.map(\.takesOver) == [false, true]
                && offers.map(\.side) == [.play, .publish] && offers[0].stream == "a")
    }

    @Test func withoutADeskEveryOfferIsRefused() throws {
        let worker = try WorkerUnderTest()
        _ = try #require(worker.start("a", to: "udp://127.0.0.1:9"))
        worker.channel.send(.offer(id: 1, stream: "a", side: .play, description: "v=0\r\n"))
        #expect(reply(worker) == .refusedCall(id: 1, CallRefusal(.unavailable, "this worker answers no calls")))
        worker.channel.send(.end)
        #expect(worker.join()?.code == 0)
    }
}
