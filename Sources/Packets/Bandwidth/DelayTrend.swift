/// Tells by the delays of packets whether a queue grows on their way: a line through the newest of them (Carlucci et al., "Analysis
/// and design of the Google congestion control for WebRTC", 2016, in the form of libwebrtc's trendline), and the detector with an
/// adaptive threshold of draft-ietf-rmcat-gcc-02, 5.4.
///
/// A pure value. Times are in milliseconds.
struct DelayTrend: Sendable {
    enum Signal: Hashable, Sendable { case normal, overuse, underuse }

    private static let window = 20
    private static let smoothing = 0.9
    /// So much steeper counts the line, as often as it has samples up to ``mostSamples``.
    private static let gain = 4.0
    private static let mostSamples = 60
    /// The names of the draft: K_u, K_d, and the bounds of del_var_th.
    private static let rise = 0.01
    private static let fall = 0.00018
    private static let thresholds = 6.0...600.0
    /// A spike that lies so far beyond the threshold does not move it.
    private static let spike = 15.0
    /// A slope counts when it has lasted so long.
    private static let overuseTime = 10.0

    private var arrivals: [20 of Double] = .init(repeating: 0)
    private var delays: [20 of Double] = .init(repeating: 0)
    private var count = 0
    private var first: (arrival: Double, delay: Double)?
    private var smoothed = 0.0
    private var last = 0.0
    private var slope = 0.0
    private var threshold = 12.5
    private var over: (time: Double, samples: Int)?

    /// - Parameters:
    ///   - delay: between two clocks, so that only its changes say something.
    ///   - arrival: not before the sample that came last.
    mutating func add(delay: Double, arrival: Double) -> Signal {
        let begin = first ?? (arrival, delay)
        first = begin
        smoothed = Self.smoothing * smoothed + (1 - Self.smoothing) * (delay - begin.delay)
        arrivals[count % Self.window] = arrival - begin.arrival
        delays[count % Self.window] = smoothed
        count += 1
        let elapsed = max(0, arrival - begin.arrival - last)
        last = max(last, arrival - begin.arrival)
        guard count >= 2 else { return .normal }
        return detect(fitted(), elapsed)
    }

    /// The slope of the line through the window, by least squares.
    private func fitted() -> Double {
        let samples = min(count, Self.window)
        var (x, y) = (0.0, 0.0)
        for place in 0..<samples { (x, y) = (x + arrivals[place], y + delays[place]) }
        (x, y) = (x / Double(samples), y / Double(samples))
        var (numerator, denominator) = (0.0, 0.0)
        for place in 0..<samples {
            numerator += (arrivals[place] - x) * (delays[place] - y)
            denominator += (arrivals[place] - x) * (arrivals[place] - x)
        }
        return denominator > 0 ? numerator / denominator : slope
    }

    private mutating func detect(_ slope: Double, _ elapsed: Double) -> Signal {
        defer { self.slope = slope }
        let trend = slope * Double(min(count, Self.mostSamples)) * Self.gain
        defer { adapt(to: trend, elapsed) }
        guard trend > threshold else {
            over = nil
            return trend < -threshold ? .underuse : .normal
        }
        let before = over ?? (-elapsed / 2, 0)
        over = (before.time + elapsed, before.samples + 1)
        guard let now = over, now.time > Self.overuseTime, now.samples > 1, slope >= self.slope else { return .normal }
        over = (0, 0)
        return .overuse
    }

    private mutating func adapt(to trend: Double, _ elapsed: Double) {
        guard abs(trend) <= threshold + Self.spike else { return }
        let gain = abs(trend) < threshold ? Self.fall : Self.rise
        threshold += gain * (abs(trend) - threshold) * min(elapsed, 100)
        threshold = min(max(threshold, Self.thresholds.lowerBound), Self.thresholds.upperBound)
    }
}
