import Media
import Schedule
import Telemetry

/// A parameter that a replay can vary. The raw values are the names for `burnish replay --sweep`.
public enum SweepKey: String, CaseIterable, Sendable {
    /// The time from a frame's origin to its deadline, with the recovery window, in milliseconds.
    case budget
    case cores, workers, encoders
    /// The name of the best tier.
    case tier
    /// ``Planner/Weights``; `dwell` in milliseconds.
    case keep, climb, margin, dwell, caution
}

/// Values for some of the keys: one row of a sweep.
public struct SweepPoint: Hashable, Sendable {
    private var values: [SweepKey: Double] = [:]

    public init() {}

    /// A copy with one more value; nil when the text is not a valid value of the key.
    public func with(_ key: SweepKey, _ text: Substring) -> SweepPoint? {
        let range: ClosedRange<Double>
        switch key {
        case .tier:
            guard let tier = Tier(name: String(text)) else { return nil }
            return adding(key, Double(tier.rawValue))
        case .cores, .workers, .encoders: range = 1...256
        case .budget, .dwell: range = 0.001...1e6
        case .keep, .climb, .margin: range = 0...1
        case .caution: range = Planner.Weights.cautions
        }
        guard let value = Double(text), range.contains(value) else { return nil }
        if [.cores, .workers, .encoders].contains(key), value != value.rounded() { return nil }
        return adding(key, value)
    }

    private func adding(_ key: SweepKey, _ value: Double) -> SweepPoint {
        var point = self
        point.values[key] = value
        return point
    }

    /// All values as text, such as `keep=0.9 tier=base`; empty when none is set.
    public var name: String {
        SweepKey.allCases.compactMap { key in
            values[key].map { value in
                let text =
                    key == .tier
                    ? Tier(rawValue: UInt8(value))!.name
                    : value == value.rounded() ? String(Int(value)) : String(value)
                return "\(key.rawValue)=\(text)"
            }
        }.joined(separator: " ")
    }

    /// The time from origin to deadline; nil leaves deadlines unchanged.
    private var budget: Nanoseconds? { values[.budget].map { .milliseconds($0) } }

    public func adapt(_ configuration: inout Planner.Configuration) {
        if let cores = values[.cores] { configuration.cores = Int(cores) }
        if let workers = values[.workers] { configuration.workers = Int(workers) }
        if let encoders = values[.encoders] { configuration.encoders = Int(encoders) }
        if let tier = values[.tier] { configuration.ceiling = Tier(rawValue: UInt8(tier))! }
        if let keep = values[.keep] { configuration.weights.keep = keep }
        if let climb = values[.climb] { configuration.weights.climb = climb }
        if let margin = values[.margin] { configuration.weights.widestMargin = margin }
        if let dwell = values[.dwell] { configuration.weights.dwell = .milliseconds(dwell) }
        if let caution = values[.caution] { configuration.weights.caution = caution }
    }

    public func adapt(_ load: inout Load) {
        if let cores = values[.cores] { load.cores = Int(cores) }
        if let workers = values[.workers] { load.workers = Int(workers) }
        if let encoders = values[.encoders] { load.encoders = Int(encoders) }
        if let tier = values[.tier] { load.ceiling = Tier(rawValue: UInt8(tier))! }
        if let budget { load.deadline = Deadline(budget: budget) }
    }

    public func adapt(_ records: inout [TraceRecord]) {
        guard let budget else { return }
        for index in records.indices {
            records[index].emitBy = (records[index].origin?.time ?? records[index].arrival) + budget
        }
    }
}
