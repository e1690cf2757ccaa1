import Media
import ServiceConfiguration
import Settings
import WorkerProtocol

extension Supervisor {
    public func react(_ kind: Reaction.Kind, x: Double, y: Double, seconds: Double, to name: String) async throws(ServiceFault)
    {
        let stream = try find(name)
        let worker = try worker(of: stream)
        guard stream.definition.values.settings.allowsReactions else {
            throw ServiceFault(.conflict, key: "reactions", "reactions are off: set reactions, as on")
        }
        let asked = StreamReaction(kind: kind.rawValue, x: x, y: y, seconds: seconds)
        let result = await withCheckedContinuation { (waiter: PendingRequests.Waiter<Void>) in
            guard let id = requests.addChange(waiter, worker: worker.number, now: .now()) else { return }
            send(.react(id: id, stream: name, asked), to: worker)
            setTimer()
        }
        do throws(ServiceFault) { try result.get() } catch {
            throw error.kind == .refused ? ServiceFault(.conflict, error.text) : error
        }
        let now = MonotonicTime.now()
        stream.reactions.removeAll { $0.ends <= now }
        stream.reactions.append(RunningReaction(kind: kind, x: x, y: y, ends: now + .seconds(seconds)))
    }

    public func reactions(of name: String) throws(ServiceFault) -> [RunningReaction] {
        let now = MonotonicTime.now()
        return try find(name).reactions.filter { $0.ends > now }
    }
}
