import Endpoint
import Media
import Schedule
import Settings
import Telemetry
import WorkerProtocol

@testable import Control

/// A service without workers: streams are entries in a dictionary, and their figures are made up but move. The tests of the
/// interface use it, and so do the tools that run against a live server.
///
/// Thread-safe.
final class FakeService: StreamService {
    struct State {
        var streams: [String: StreamStatus] = [:]
        var events: [ServiceEvent] = []
        var listeners: [Int: AsyncStream<ServiceEvent>.Continuation] = [:]
        var listenersSoFar = 0
        var kicked: [UInt64] = []
        var reloads = 0
        var calls: [String: PresentCall] = [:]
        /// By the calls' ids.
        var freezes: [String: Int] = [:]
        /// What viewers have chosen, by their calls.
        var layers: [String: ViewerLayer?] = [:]
        var health = ServiceHealth()
        var rooms = RoomRegistry()
        var madeRooms = MadeRooms()
        /// What the next reload fails with.
        var reloadFault: ServiceFault?
    }

    let state = Lock(State())
    let startedAt = MonotonicTime.now()

    init(streams: [String] = ["cam1", "cam2"]) {
        state.withLock { state in
            for name in streams {
                var stream = StreamStatus(
                    name: name, state: .flowing, input: "srt://127.0.0.1:9710?mode=listener",
                    outputs: ["srt://127.0.0.1:9711?mode=listener"],
                    settings: ["tier": "neural-m", "sharpness": "0", "budget": "80ms"])
                stream.process = 4711
                stream.ends = FakeService.ends
                stream.startedAt = startedAt
                state.streams[name] = stream
            }
            state.health.checks = [.init("configuration", isGood: true, "read"), .init("stream cam1", isGood: true, "")]
            state.health.cores = 2
            state.health.coresNeeded = 1.25
            state.health.coresUsed = 0.5
        }
        report("started", nil, "the service began")
    }

    static let ends: [StreamStatus.End] = [
        ("srt://:9710?mode=listener&latency=80", true), ("srt://127.0.0.1:9711?mode=listener", false), ("whep:studio", false),
        ("udp://192.0.2.9:5004", false),
    ].map { text, isInput in .init(isInput: isInput, try! StreamURL(text), hasPassphrase: isInput, hasStreamID: false) }

    func report(_ kind: String, _ stream: String?, _ text: String) {
        state.withLock { state in
            let event = ServiceEvent(
                number: UInt64(state.events.count + 1), time: 1_700_000_000, stream: stream, kind: kind, text: text)
            state.events.append(event)
            for listener in state.listeners.values { listener.yield(event) }
        }
    }

    private static func check(_ values: [String: String?]) throws(ServiceFault) {
        var read = StreamValues()
        for (name, value) in values where !["input", "output"].contains(name) && !name.hasSuffix("passphrase") {
            do throws(SettingFault) {
                guard let key = StreamKeys.named(name) else { throw StreamKeys.unknown(name) }
                if let value { try key.read(value, &read) }
            } catch {
                throw ServiceFault(.invalid, key: error.key, error.text)
            }
        }
    }

    private static func missing(_ name: String) -> ServiceFault {
        ServiceFault(.notFound, "there is no such stream; /api/v1/streams lists all")
    }

    func streams() async -> [StreamStatus] { state.withLock { $0.streams.values.sorted { $0.name < $1.name } } }

    func stream(_ name: String) async throws(ServiceFault) -> StreamStatus {
        guard let stream = state.withLock({ $0.streams[name] }) else { throw Self.missing(name) }
        return stream
    }

    func add(_ name: String, _ values: [String: String]) async throws(ServiceFault) -> StreamStatus {
        var settings = values
        let input = settings.removeValue(forKey: "input") ?? ""
        let outputs = (settings.removeValue(forKey: "outputs") ?? settings.removeValue(forKey: "output") ?? "")
            .split(separator: "\n").map(String.init)
        guard input.hasPrefix("srt://") else {
            throw ServiceFault(.invalid, key: "input", "the input is an srt:// URL")
        }
        try Self.check(settings.mapValues { $0 })
        settings = settings.filter { StreamKeys.named($0.key) != nil }
        let stream = StreamStatus(name: name, state: .starting, input: input, outputs: outputs, settings: settings)
        let isNew = state.withLock { state in
            guard state.streams[name] == nil else { return false }
            state.streams[name] = stream
            return true
        }
        guard isNew else { throw ServiceFault(.exists, key: "name", "there is a stream of this name; choose another") }
        report("added", name, "added")
        return stream
    }

    func change(_ name: String, _ values: [String: String?], restarting: Bool) async throws(ServiceFault) -> StreamStatus {
        try Self.check(values)
        let changed: StreamStatus? = state.withLock { state in
            guard var stream = state.streams[name] else { return nil }
            for (key, value) in values where StreamKeys.named(key) != nil { stream.settings[key] = value }
            if restarting { stream.restarts += 1 }
            state.streams[name] = stream
            return stream
        }
        guard let changed else { throw Self.missing(name) }
        report("settings", name, "changed")
        return changed
    }

    func remove(_ name: String) async throws(ServiceFault) {
        guard state.withLock({ $0.streams.removeValue(forKey: name) }) != nil else { throw Self.missing(name) }
    }

    func restart(_ name: String) async throws(ServiceFault) {
        guard state.withLock({ $0.streams[name]?.restarts += 1 }) != nil else { throw Self.missing(name) }
    }

    func stop(_ name: String) async throws(ServiceFault) -> StreamStatus {
        state.withLock { $0.streams[name]?.state = .stopped }
        return try await stream(name)
    }

    func history(of name: String, last seconds: Double) async throws(ServiceFault) -> [HistorySample] {
        _ = try await stream(name)
        var sample = HistorySample(time: 1_700_000_000, state: .flowing, latencyP50: 0.02, latencyP99: 0.04, rung: 1)
        sample.bitRateIn = 1_500_000
        return [HistorySample(time: 1_699_999_990, state: .waiting), sample].suffix(Int(seconds / 10))
    }

    func callers(of name: String) async throws(ServiceFault) -> [CallerStatus] {
        _ = try await stream(name)
        var caller = CallerStatus(id: 7, leg: "input", peer: "192.0.2.7:40000", streamID: "#!::r=cam1,m=publish", figures: leg)
        caller.connectedAt = startedAt
        return [caller]
    }

    func kick(_ caller: UInt64, of name: String) async throws(ServiceFault) {
        _ = try await stream(name)
        guard caller == 7 else { throw ServiceFault(.notFound, "there is no such caller; its list has their numbers") }
        state.withLock { $0.kicked.append(caller) }
    }

    func answer() async {}
    func health() async -> ServiceHealth { state.withLock { $0.health } }

    func reload() async throws(ServiceFault) {
        if let fault = state.withLock({ $0.reloadFault }) { throw fault }
        state.withLock { $0.reloads += 1 }
    }

    func events(since number: UInt64) async -> AsyncStream<ServiceEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: ServiceEvent.self)
        state.withLock { state in
            for event in state.events where event.number > number { continuation.yield(event) }
            let number = state.listenersSoFar
            state.listenersSoFar += 1
            state.listeners[number] = continuation
            continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
        }
        return stream
    }
}
