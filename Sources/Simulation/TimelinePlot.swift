import Media
import Schedule

/// Plots the latency, tiles, rung and drops of a stream over time, as SVG text.
public enum TimelinePlot {
    private static let width = 900.0
    private static let left = 60.0

    /// - Parameters:
    ///   - budget: drawn as a line over the latency.
    ///   - rungs: the number of rungs of the ladder.
    ///   - shaded: times with a coloured background, such as those of disturbances, in seconds.
    public static func svg(
        title: String, _ points: [TimelinePoint], budget: Nanoseconds, rungs: Int,
        shaded: [ClosedRange<Double>] = []
    ) -> String {
        guard let last = points.last else { return "<svg xmlns=\"http://www.w3.org/2000/svg\"/>" }
        let length = max(seconds(last.arrival), 1)
        func x(_ time: Double) -> Double { left + (width - left - 10) * time / length }
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) 420"
            font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/><text x="\(left)" y="18" font-size="14">\(title)</text>

            """
        for range in shaded {
            let (from, to) = (x(range.lowerBound), x(min(range.upperBound, length)))
            svg += """
                <rect x="\(tenths(from))" y="30" width="\(tenths(to - from))" height="360" fill="#fdeeda"/>

                """
        }
        func panel(
            _ label: String, top: Double, height: Double, limit: Double, color: String,
            _ value: (TimelinePoint) -> Double?
        ) {
            let bottom = top + height
            var path = ""
            var isDown = false
            for point in points {
                guard let value = value(point) else { continue }
                let y = bottom - height * min(value / limit, 1)
                path += "\(isDown ? "L" : "M")\(tenths(x(seconds(point.arrival)))) \(tenths(y))"
                isDown = true
            }
            svg += """
                <line x1="\(left)" x2="\(width - 10)" y1="\(bottom)" y2="\(bottom)" stroke="#999"/>
                <text x="4" y="\(top + height / 2)">\(label)</text>
                <text x="\(left - 6)" y="\(bottom)" text-anchor="end">0</text>
                <text x="\(left - 6)" y="\(top + 8)" text-anchor="end">\(Int(limit))</text>
                <path d="\(path)" fill="none" stroke="\(color)"/>

                """
        }
        let limit = budget.milliseconds * 1.25
        panel("latency", top: 30, height: 130, limit: limit, color: "#1f5fa8") { $0.latency?.milliseconds }
        let line = 160 - 130 * 0.8
        svg += """
            <line x1="\(left)" x2="\(width - 10)" y1="\(line)" y2="\(line)" stroke="#c33" stroke-dasharray="5 4"/>
            <text x="\(left + 4)" y="\(line - 4)" fill="#c33">budget \(Int(budget.milliseconds)) ms</text>

            """
        let tiles = Double(points.map(\.tiles).max() ?? 0)
        panel("tiles", top: 180, height: 80, limit: max(tiles, 1), color: "#2a8a4a") { Double($0.tiles) }
        panel("rung", top: 280, height: 60, limit: Double(max(rungs - 1, 1)), color: "#8a4a2a") { Double($0.rung) }
        for point in points where point.latency == nil {
            let x = tenths(x(seconds(point.arrival)))
            svg += "<line x1=\"\(x)\" x2=\"\(x)\" y1=\"360\" y2=\"385\" stroke=\"#c33\"/>\n"
        }
        svg += "<text x=\"4\" y=\"375\">dropped</text><text x=\"\(left)\" y=\"408\">0 s</text>"
        svg += "<text x=\"\(width - 10)\" y=\"408\" text-anchor=\"end\">\(Int(length.rounded())) s</text>\n</svg>\n"
        return svg
    }

    private static func seconds(_ time: MonotonicTime) -> Double { Double(time.nanoseconds) / 1e9 }

    private static func tenths(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
