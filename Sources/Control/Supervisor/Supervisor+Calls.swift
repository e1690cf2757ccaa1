import Endpoint
import Media
import ServiceConfiguration
import WorkerProtocol

// WebRTC calls: the HTTP interface brings offers, workers answer them.
extension Supervisor {
    public func callPlace(_ name: String, _ side: CallSide) -> CallPlace? {
        for stream in supervised.values {
            let definition = stream.definition
            let legs = side == .publish ? [definition.input] : definition.outputs
            let isMeant = legs.contains { leg in
                guard case .call(let endpoint) = leg.url else { return false }
                return endpoint.name == name
            }
            guard isMeant else { continue }
            if let seat = stream.seat { return CallPlace(stream: stream.name, tokens: passes(of: seat, side)) }
            let token = side == .publish ? definition.callTokens.publish : definition.callTokens.play
            return CallPlace(stream: stream.name, tokens: token.map { [$0] })
        }
        return nil
    }

    public func call(_ name: String, _ side: CallSide, _ offer: PeerOffer) async throws(ServiceFault) -> PresentCall {
        guard let place = callPlace(name, side), let stream = supervised[place.stream] else { throw Self.noSuchPlace }
        let worker = try worker(of: stream)
        guard calls.count < configuration.limits.calls else {
            throw ServiceFault(
                .noRoom, "there are \(calls.count) calls already, as many as limits.calls allows: try again later")
        }
        guard calls.count(of: stream.name) < CallRegistry.mostOfStream else {
            throw ServiceFault(.noRoom, "the stream has \(CallRegistry.mostOfStream) calls already: try again later")
        }
        var begun = CallRegistry.Call(stream: stream.name, worker: worker.number, side: side, userFragment: offer.userFragment)
        begun.seat = seat(of: offer, stream)
        let id = calls.begin(begun)
        let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<String>) in
            guard let number = requests.addCall(waiter, worker: worker.number, now: .now()) else { return }
            calls.number(id, number)
            send(
                .offer(
                    id: number, stream: stream.name, side: side, description: offer.description, takesOver: offer.takesOver,
                    layer: offer.layer, profile: offer.profile),
                to: worker)
            setTimer()
        }
        switch result {
        case .success(let answer):
            guard calls.answer(id) else { throw ServiceFault(.unavailable, "the stream's worker has ended: try again") }
            return PresentCall(id: id, answer: answer, userFragment: offer.userFragment)
        case .failure(let fault):
            calls.end(id)
            throw fault
        }
    }

    public func call(_ id: String, of name: String, _ side: CallSide) -> PresentCall? {
        guard let place = callPlace(name, side), let call = calls[id], call.stream == place.stream, call.side == side else {
            return nil
        }
        return PresentCall(id: id, userFragment: call.userFragment, restarts: call.restarts)
    }

    public func restartCall(
        _ id: String, of name: String, _ side: CallSide, userFragment: String, password: String
    ) async throws(ServiceFault) -> PresentCall {
        guard call(id, of: name, side) != nil, let call = calls[id], let worker = workers[call.worker] else {
            throw Self.noSuchCall
        }
        let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<String>) in
            guard let number = requests.addCall(waiter, worker: worker.number, now: .now()) else { return }
            send(
                .restartCall(id: number, call: call.number, userFragment: userFragment, password: password), to: worker)
            setTimer()
        }
        let answer = try result.get()
        guard let present = calls.restart(id, userFragment: userFragment) else { throw Self.noSuchCall }
        return PresentCall(id: id, answer: answer, userFragment: userFragment, restarts: present.restarts)
    }

    public func choose(_ layer: ViewerLayer?, ofCall id: String, of name: String) throws(ServiceFault) {
        guard call(id, of: name, .play) != nil, let call = calls[id] else { throw Self.noSuchCall }
        if let worker = workers[call.worker] { send(.chooseLayer(call: call.number, layer: layer), to: worker) }
    }

    public func hangUp(_ id: String, of name: String, _ side: CallSide) throws(ServiceFault) {
        guard call(id, of: name, side) != nil, let call = calls.end(id) else { throw Self.noSuchCall }
        if let worker = workers[call.worker] { send(.hangUp(id: call.number), to: worker) }
    }

    public func keep(freezes: Int, ofCall id: String, of name: String) throws(ServiceFault) {
        guard call(id, of: name, .play) != nil else { throw Self.noSuchCall }
        calls.keep(freezes: freezes, of: id)
    }

    private static var noSuchCall: ServiceFault { ServiceFault(.notFound, "there is no such call, or it is over") }

    private static var noSuchPlace: ServiceFault {
        ServiceFault(.notFound, "no stream receives or sends calls under this name")
    }

    /// What a worker says of a call.
    func hear(_ answer: Result<String, ServiceFault>, toCall number: UInt64, from worker: SupervisedWorker) {
        guard case .success(let description) = answer else {
            _ = requests.answerCall(number, worker: worker.number, answer)
            return
        }
        let isUsable = (1...Calls.largestDescription).contains(description.utf8.count)
        let fault = ServiceFault(.unavailable, "the stream's worker gave no answer that can be used")
        let isAwaited = requests.answerCall(number, worker: worker.number, isUsable ? answer : .failure(fault))
        // Whoever offered the call has been told that there is none. The number of a restart is no call's.
        if !isUsable || !isAwaited { send(.hangUp(id: number), to: worker) }
    }
}
