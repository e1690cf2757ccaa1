import Media
import Schedule
import Telemetry

extension Trace {
    /// The outcomes of the recorded originals, in order of arrival. Times count from the first arrival.
    public static func timeline(_ records: [TraceRecord]) -> [TimelinePoint] {
        let originals = records.filter { $0.kind == .original }.sorted { ($0.arrival, $0.id) < ($1.arrival, $1.id) }
        guard let first = originals.first?.arrival else { return [] }
        let synthesised = Set(records.filter { $0.kind == .synthesised && $0.fate == .emitted }.map(\.arrival))
        return originals.map { record in
            TimelinePoint(
                arrival: MonotonicTime(nanoseconds: (record.arrival - first).count),
                latency: record.fate.isSent ? record.sent.map { $0 - record.arrival } : nil, tier: record.tier,
                tiles: record.tiles, rung: record.rung, synthesised: synthesised.contains(record.arrival) ? 1 : 0)
        }
    }

    /// Whether the recorded synthesised frames lie before or after the originals with which they arrived.
    public static func order(_ records: [TraceRecord]) -> SynthesisOrder {
        var originals: [MonotonicTime: MediaTime] = [:]
        for record in records where record.kind == .original { originals[record.arrival] = record.presentation }
        let synthesised = records.filter { $0.kind == .synthesised }
        let behind = synthesised.count { frame in originals[frame.arrival].map { $0 < frame.presentation } ?? false }
        return 2 * behind > synthesised.count ? .afterOriginal : .beforeOriginal
    }

    /// The recorded frames as a load to replay, in order of arrival.
    ///
    /// A frame may lack a cost, because it was dropped before that stage or the tier was not in use. It then gets the last
    /// known cost, at first that of `usual`. The costs were measured on a machine that also did the rest of the work, so a
    /// replay is a little pessimistic.
    public static func loads(_ records: [TraceRecord], like usual: Load = .usual("trace")) -> [FrameLoad] {
        var known = usual.costs
        var loads: [FrameLoad] = []
        for record in records.sorted(by: { ($0.arrival, $0.id) < ($1.arrival, $1.id) }) {
            func cost(_ value: Nanoseconds?, _ last: Double) -> Double {
                value.map { max(1, Double($0.count)) } ?? last
            }
            known.synthesise = cost(record.synthesise, known.synthesise)
            if record.kind == .synthesised {
                known.encodeSynthesised = cost(record.encode, known.encodeSynthesised)
            }
            if record.kind != .original { continue }
            known.decode = cost(record.decode, known.decode)
            known.base = cost(record.base, known.base)
            known.encode = cost(record.encode, known.encode)
            if record.tiles > 0, let time = record.tileTime {
                let tile = max(1, Double(time.count) / Double(record.tiles))
                let ratio = tile / usual.costs.tile(max(record.tier, .neuralS))
                known.tileS = usual.costs.tileS * ratio
                known.tileM = usual.costs.tileM * ratio
                known.tileQ = usual.costs.tileQ * ratio
            }
            var load = known
            load.arrival = record.arrival
            load.emitBy = record.emitBy
            load.isKeyframe = record.isKeyframe
            load.isReference = record.isReference
            load.synthesised = record.asked
            load.tiles = record.tilesWanted
            loads.append(load)
        }
        return loads
    }
}
