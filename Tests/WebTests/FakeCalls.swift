import Control
import Endpoint
import Media
import WorkerProtocol

/// Calls of the service that is made up: `studio` has no tokens of its own, `locked` has. An offer with a line `a=refuse:KIND`
/// is refused so.
extension FakeService {
    static let publishToken = "publish-0123456789"
    static let playToken = "play-0123456789abc"

    func callPlace(_ name: String, _ side: CallSide) async -> CallPlace? {
        switch name {
        case "studio": CallPlace(stream: "cam1")
        case "locked": CallPlace(stream: "cam1", tokens: [Secret(side == .publish ? Self.publishToken : Self.playToken)])
        default: nil
        }
    }

    func call(_ name: String, _ side: CallSide, _ offer: PeerOffer) async throws(ServiceFault) -> PresentCall {
        let kinds: [String: ServiceFault.Kind] = [
            "malformed": .malformed, "unacceptable": .unacceptable, "exists": .exists, "noRoom": .noRoom,
            "unavailable": .unavailable,
        ]
        for (word, kind) in kinds where offer.description.contains("a=refuse:\(word)") {
            throw ServiceFault(kind, "the offer asked for it")
        }
        return state.withLock { state in
            let id = String(repeating: "0", count: 31) + "\(state.calls.count)"
            let call = PresentCall(
                id: id, answer: "v=0\r\ns=\(side)\(offer.takesOver ? ", taken over" : "")\r\n", userFragment: offer.userFragment
            )
            state.calls["\(name)/\(side)/\(id)"] = call
            return call
        }
    }

    func call(_ id: String, of name: String, _ side: CallSide) async -> PresentCall? {
        state.withLock { $0.calls["\(name)/\(side)/\(id)"] }
    }

    func restartCall(
        _ id: String, of name: String, _ side: CallSide, userFragment: String, password: String
    ) async throws(ServiceFault) -> PresentCall {
        let restarted: PresentCall? = state.withLock { state in
            guard var call = state.calls["\(name)/\(side)/\(id)"] else { return nil }
            call.userFragment = userFragment
            call.restarts += 1
            call.answer = "a=ice-ufrag:ours\(call.restarts)\r\na=ice-pwd:\(password.utf8.count)\r\n"
            state.calls["\(name)/\(side)/\(id)"] = call
            return call
        }
        guard let restarted else { throw ServiceFault(.notFound, "there is no such call, or it is over") }
        return restarted
    }

    func keep(freezes: Int, ofCall id: String, of name: String) async throws(ServiceFault) {
        guard await call(id, of: name, .play) != nil else {
            throw ServiceFault(.notFound, "there is no such call, or it is over")
        }
        state.withLock { $0.freezes[id] = freezes }
    }

    func choose(_ layer: ViewerLayer?, ofCall id: String, of name: String) async throws(ServiceFault) {
        guard await call(id, of: name, .play) != nil else {
            throw ServiceFault(.notFound, "there is no such call, or it is over")
        }
        state.withLock { $0.layers[id] = .some(layer) }
    }

    func hangUp(_ id: String, of name: String, _ side: CallSide) async throws(ServiceFault) {
        guard state.withLock({ $0.calls.removeValue(forKey: "\(name)/\(side)/\(id)") }) != nil else {
            throw ServiceFault(.notFound, "there is no such call, or it is over")
        }
    }
}
