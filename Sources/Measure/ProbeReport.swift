/// The figures of a measurement. Times are in milliseconds where the key does not say otherwise.
public struct ProbeReport: Hashable, Sendable, Encodable {
    public var seconds: Double
    public var width: Int
    public var height: Int
    public var framesPerSecond: Double
    public var bitsPerSecond: Double

    /// Pictures of any kind.
    public var received: Int
    /// Different captured frames among them.
    public var unique: Int
    /// Captured frames between the first and the last received one that did not come.
    public var lost: Int
    /// Captured frames that came again.
    public var repeated: Int
    /// Pictures mixed from two captured frames.
    public var synthesised: Int
    /// Pictures whose code is broken.
    public var damaged: Int
    /// Pictures that carry no code.
    public var withoutCode: Int
    /// Captured frames that came after a later one.
    public var outOfOrder: Int

    /// From capture to ready to be shown, of each captured frame when it first came.
    public var latency: Distribution
    /// The last quarter's median latency less the first quarter's.
    public var latencyGrowth: Double
    /// Between the arrivals of pictures of any kind.
    public var arrivalGaps: Distribution
    /// Between presentation time stamps.
    public var timestampSteps: Distribution
    /// Between two frames of the source.
    public var sourceInterval: Double
    /// How often no new picture came for more than two of the source's intervals.
    public var freezes: Int
    /// How long the picture stood still in those, beyond one interval each.
    public var frozen: Double
    /// Audio against video at the receiver; positive when the audio is late.
    public var audioOffset: Distribution?

    private enum CodingKeys: String, CodingKey {
        case seconds, width, height, received, unique, lost, repeated, synthesised, damaged, freezes
        case framesPerSecond = "frames_per_second"
        case bitsPerSecond = "bits_per_second"
        case withoutCode = "without_code"
        case outOfOrder = "out_of_order"
        case latency = "latency_ms"
        case latencyGrowth = "latency_growth_ms"
        case arrivalGaps = "arrival_gap_ms"
        case timestampSteps = "timestamp_step_ms"
        case sourceInterval = "source_interval_ms"
        case frozen = "frozen_ms"
        case audioOffset = "audio_offset_ms"
    }
}

extension ProbeReport: CustomStringConvertible {
    public var description: String {
        func row(_ name: String, _ d: Distribution) -> String {
            "\(name) p50 \(ms(d.p50))  p95 \(ms(d.p95))  p99 \(ms(d.p99))  max \(ms(d.greatest)) ms"
        }
        var lines = [
            "\(width)x\(height) at \(ms(framesPerSecond)) frames/s, \(Int(bitsPerSecond / 1000)) kb/s, \(ms(seconds)) s",
            row("latency        ", latency) + "  (growth \(ms(latencyGrowth)) ms)",
            row("arrival gap    ", arrivalGaps),
        ]
        if timestampSteps.count > 0 { lines.append(row("timestamp step ", timestampSteps)) }
        if let audioOffset { lines.append(row("audio offset   ", audioOffset)) }
        lines.append(
            "pictures        \(received) received: \(unique) captured, \(repeated) repeated, \(synthesised) synthesised, "
                + "\(damaged) damaged, \(withoutCode) without a code")
        lines.append("missing         \(lost) lost, \(outOfOrder) out of order")
        lines.append("freezes         \(freezes), \(ms(frozen)) ms in all")
        return lines.joined(separator: "\n")
    }

    private func ms(_ value: Double) -> String {
        let tenths = Int((abs(value) * 10).rounded())
        return "\(value < 0 && tenths > 0 ? "-" : "")\(tenths / 10).\(tenths % 10)"
    }
}
