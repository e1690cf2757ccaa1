import EnhanceNetworks
import Media
import Packets
import Schedule
import Telemetry
import Transport

/// Keeps the gauges and the legs' figures in the stream's telemetry map up to date. Frames and counters are written where they
/// are counted.
///
/// Confined to the observer thread (the one that calls ``Relay/run(observe:)``).
struct MapFigures {
    private let map: TelemetryMap.Writer
    private var gauges = StreamGauges()

    /// - Returns: nil where the stream has no map.
    init?(_ map: TelemetryMap.Writer?) {
        guard let map else { return nil }
        self.map = map
    }

    mutating func record(_ event: RelayEvent) {
        guard case .picture(let input, let output) = event else { return }
        (gauges.inputSize, gauges.outputSize) = (input, output)
    }

    mutating func record(_ output: ChosenOutput.Place?, _ content: NetworkContent?) {
        gauges.output = output.map { StreamGauges.Output(step: UInt8(clamping: $0.step), preset: $0.choice.preset) }
        gauges.better = output.flatMap { place in
            place.better.map { choice, cores in
                StreamGauges.Better(size: choice.size.size(of: place.input), preset: choice.preset, cores: cores)
            }
        }
        gauges.content = content.map { $0 == .calls ? .calls : .general }
    }

    mutating func record(_ past: Past?) {
        guard let past else { return }
        gauges.pastInput = StreamGauges.Past(past.input.extent)
        gauges.pastOutput = StreamGauges.Past(past.output.extent)
    }

    /// - Parameter rate: frames a second that went out in the last second.
    mutating func record(rate: Double) { gauges.rate = rate }

    mutating func write(rung: Rung?, demand: Capacity.Demand?, input: LegFigures, outputs: [Sink]) {
        gauges.rung = rung.flatMap { Rung.all.firstIndex(of: $0) }.map { UInt8($0) }
        gauges.coresLeast = demand?.least ?? 0
        gauges.coresSynthesising = demand?.synthesising ?? 0
        map.write(gauges)
        map.write(input, of: .input)
        for (index, sink) in outputs.enumerated() {
            var figures = OutputFigures()
            figures.leg = sink.statistics()
            figures.receivers = Int64(sink.connections)
            figures.state = sink.isBroken ? .broken : figures.receivers > 0 ? .connected : .waiting
            if index == 0 { map.write(figures.leg, of: .output) }
            map.write(figures, of: index)
        }
    }
}

extension StreamGauges.Past {
    fileprivate init(_ extent: PastRing.Extent) {
        self.init()
        (bytes, seconds) = (UInt64(extent.bytes), extent.time.seconds)
    }
}
