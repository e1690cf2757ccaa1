/// Says which streams share a worker. One process owns a UDP port, so streams that listen on the same port are in the same
/// worker. Every other stream has a worker of its own.
enum WorkerGroups {
    /// - Parameter streams: each with the ports that it shares with others by SRT stream id.
    /// - Parameter current: the worker that a stream is in now. It keeps it, unless a shared port brings it together with a
    ///   stream of another worker: then all move to the worker that most of them are in.
    /// - Parameter newWorker: numbers a new worker.
    static func assign(
        _ streams: [(name: String, ports: Set<UInt16>)], current: [String: Int], newWorker: () -> Int
    ) -> [String: Int] {
        var result: [String: Int] = [:]
        for members in connected(streams) {
            var counts: [Int: Int] = [:]
            for case let worker? in members.map({ current[$0] }) { counts[worker, default: 0] += 1 }
            let worker = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? newWorker()
            for member in members { result[member] = worker }
        }
        return result
    }

    /// The streams, in their order, collected by the ports that connect them.
    private static func connected(_ streams: [(name: String, ports: Set<UInt16>)]) -> [[String]] {
        var groups: [(names: [String], ports: Set<UInt16>)] = []
        for (name, ports) in streams {
            var joined = (names: [String](), ports: ports)
            for index in groups.indices.reversed() where !groups[index].ports.isDisjoint(with: ports) {
                let group = groups.remove(at: index)
                joined.names = group.names + joined.names
                joined.ports.formUnion(group.ports)
            }
            joined.names.append(name)
            groups.append(joined)
        }
        return groups.map(\.names)
    }
}
