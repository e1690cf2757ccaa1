import Endpoint
import Settings

/// Finds legs that cannot listen side by side, or that would overwrite each other's session descriptions.
struct PortConflicts {
    private struct Binding {
        var stream: String
        var key: String
        var line: Int
        var isSRTListener: Bool
        var host: String
        var ports: ClosedRange<UInt16>
        var isInput: Bool
        /// What callers have to ask for; nil if anything will do.
        var name: String?
        /// Where WebRTC calls come in; nil for other legs.
        var call: CallEndpoint?
        /// The file of a session description.
        var description: SDPEndpoint?
    }

    /// What two legs have to share where one stands in the way of the other.
    private enum Place: Hashable {
        case file(String)
        case call(String)
        case stream(String)
        case tcp(UInt16)
        case port(UInt16)
    }

    private var bindings: [Binding] = []
    /// Who has a place: indices of ``bindings``, in order. A thousand rooms of eight have 16,000.
    private var holders: [Place: [Int]] = [:]
    /// How many pairs were compared.
    private(set) var comparisons = 0

    /// Adds a stream.
    /// - Parameters:
    ///   - inputLine: where its input stands, for faults.
    ///   - outputLine: where its output stands.
    /// - Returns: what is wrong with this stream beside those before it.
    mutating func add(_ stream: StreamDefinition, inputLine: Int, outputLine: Int) -> [(line: Int, fault: SettingFault)] {
        var faults: [(line: Int, fault: SettingFault)] = []
        let legs = [("input", stream.input, inputLine)] + stream.outputs.map { ("output", $0, outputLine) }
        for (key, leg, line) in legs {
            for var new in Self.bindings(of: leg, isInput: key == "input") {
                (new.stream, new.key, new.line) = (stream.name, key, line)
                let places = Self.places(of: new)
                if let text = conflict(new, at: places) {
                    faults.append((line, SettingFault(key, text)))
                    break
                }
                for place in places { holders[place, default: []].append(bindings.count) }
                bindings.append(new)
            }
        }
        return faults
    }

    private static func places(of binding: Binding) -> Set<Place> {
        var places: Set<Place> = []
        if let description = binding.description { places.insert(.file(description.path)) }
        if let call = binding.call {
            places = [.call("\(call.side.rawValue)/\(call.name)"), .stream(binding.stream)]
            if let tcp = call.tcp, tcp > 0 { places.insert(.tcp(tcp)) }
        }
        // One port, or two.
        if binding.ports.lowerBound > 0 { places.formUnion(binding.ports.map { .port($0) }) }
        return places
    }

    /// With the first of those that were there before.
    private mutating func conflict(_ new: Binding, at places: Set<Place>) -> String? {
        for index in Set(places.flatMap { holders[$0] ?? [] }).sorted() {
            comparisons += 1
            if let text = Self.conflict(new, bindings[index]) { return text }
        }
        return nil
    }

    private static func conflict(_ new: Binding, _ old: Binding) -> String? {
        if let one = new.description, let other = old.description, one.path == other.path, one.isWritten || other.isWritten {
            return "\(one.isWritten ? "writes" : "reads") \(one.path.excerpt), which \(owner(new, old)) "
                + "\(other.isWritten ? "writes" : "reads"): give another file"
        }
        if let call = new.call, let other = old.call {
            if call.side == other.side, call.name == other.name {
                return "answers calls to /\(call.side.rawValue)/\(call.name), as \(owner(new, old)) does: give another name"
            }
            for (key, one, two) in [("port", call.port, other.port), ("tcp", call.tcp ?? 0, other.tcp ?? 0)]
            where one > 0 && two > 0 {
                // All calls of a stream share one port.
                if new.stream == old.stream, one != two {
                    return "has \(key)=\(one), and \(owner(new, old)) has \(key)=\(two): give both the same, or only one"
                }
                if new.stream != old.stream, key == "tcp", one == two {
                    return "listens on TCP port \(one), which \(owner(new, old)) has: give another port"
                }
            }
            if new.stream == old.stream { return nil }
        }
        guard new.ports.lowerBound > 0, old.ports.lowerBound > 0 else { return nil }
        guard new.ports.overlaps(old.ports), LocalAddress.overlap(new.host, old.host) else { return nil }
        let place = "listens on port \(max(new.ports.lowerBound, old.ports.lowerBound)), which \(owner(new, old)) has"
        guard new.isSRTListener, old.isSRTListener else { return "\(place): give another port" }
        guard new.host == old.host else { return "\(place) on another address: give both the same address, or another port" }
        guard let name = new.name, let oldName = old.name else {
            return "\(place): give another port, or tell the callers of both apart by callers or streamid="
        }
        // A caller says whether it sends or receives.
        guard name == oldName, new.isInput == old.isInput else { return nil }
        return "\(place), and callers of both ask for the same name: give another name, or another port"
    }

    private static func owner(_ new: Binding, _ old: Binding) -> String {
        (new.stream == old.stream ? "the stream's own \(old.key)" : "the \(old.key) of \(old.stream)")
            + (old.line > 0 ? " (line \(old.line))" : "")
    }

    /// What a leg has for itself.
    private static func bindings(of leg: StreamLeg, isInput: Bool) -> [Binding] {
        let none = Binding(stream: "", key: "", line: 0, isSRTListener: false, host: "", ports: 0...0, isInput: isInput)
        guard case .sdp(let endpoint) = leg.url else { return binding(of: leg, none).map { [$0] } ?? [] }
        var file = none
        file.description = endpoint
        // An output sends from any free ports.
        guard isInput, let content = endpoint.content, let streams = try? PlainRTP(parsing: content) else { return [file] }
        return [file]
            + streams.sections.flatMap { section in
                [section.port, section.controlPort].compactMap(\.self).map { port in
                    var binding = none
                    (binding.host, binding.ports) = (LocalAddress.bound(for: section.host), port...port)
                    return binding
                }
            }
    }

    private static func binding(of leg: StreamLeg, _ none: Binding) -> Binding? {
        var binding = none
        let isInput = none.isInput
        switch leg.url {
        case .srt(let endpoint):
            switch endpoint.mode {
            case .caller: return nil
            case .rendezvous: binding.ports = endpoint.port...endpoint.port
            case .listener:
                binding.isSRTListener = true
                (binding.host, binding.ports) = (endpoint.host, endpoint.port...endpoint.port)
                binding.name = leg.streamID?.text ?? endpoint.streamID
            }
        case .rtp(let endpoint):
            // RTCP has the port above.
            guard isInput, endpoint.port > 0, endpoint.port < .max else { return nil }
            (binding.host, binding.ports) = (endpoint.host, endpoint.port...endpoint.port + 1)
        case .udp(let endpoint):
            guard isInput else { return nil }
            (binding.host, binding.ports) = (endpoint.host, endpoint.port...endpoint.port)
        case .call(let endpoint):
            binding.ports = endpoint.port...endpoint.port
            binding.call = endpoint
            return binding
        case .sdp, .file, .standardStream: return nil
        }
        // Any free port meets no other.
        return binding.ports.lowerBound == 0 ? nil : binding
    }
}
