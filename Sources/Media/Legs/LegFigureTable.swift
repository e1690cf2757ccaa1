/// The numbers that a leg is described by: one line each. What legs count, the telemetry map, reports, the API, metrics and their pages
/// follow from it.
///
/// To add one, add its line, and set it where the protocol's own statistics are read. The map's version (`TelemetryLayout`) changes
/// with it. Connections of one leg are summed: counters and numbers are added, of times the largest one counts.
public struct LegFigureTable: Sendable {
    public let connections = LegFigure<Int64>(.ofLeg, "How often the leg was connected.")
    public let packetsSent = LegFigure<Int64>(.ofConnections, "Packets sent.")
    public let packetsReceived = LegFigure<Int64>(.ofConnections, "Packets received.")
    public let packetsLost = LegFigure<Int64>(
        .ofConnections, "Packets that were missing when their successors came. Most are recovered.")
    public let packetsRetransmitted = LegFigure<Int64>(
        .ofConnections, "Packets sent again. Input: packets that came as a repeat.")
    public let packetsCarried = LegFigure<Int64>(
        .ofConnections, "Lost packets of sound that the next ones carried along (RED, RFC 2198). Output: packets that did.")
    public let packetsDropped = LegFigure<Int64>(.ofConnections, "Packets that came too late, or could not be sent in time.")
    public let packetsBelated = LegFigure<Int64>(
        .ofConnections, "SRT input: packets that came after their turn, which no read waits for.")
    public let packetsUnexpected = LegFigure<Int64>(
        .ofConnections, "Packets of another sender, or that are not of this protocol.")
    public let packetsOfOtherLayers = LegFigure<Int64>(
        .ofConnections, "Packets of a picture's other sizes, where a call's sender sends several (simulcast).")
    public let picturesRefused = LegFigure<Int64>(
        .ofConnections, "Calls that came about without the picture that was offered: its formats are not known here.")
    public let reports = LegFigure<Int64>(.ofConnections, "Sender reports of RTP, that came or went.")
    public let reportsRejected = LegFigure<Int64>(
        .ofConnections, "Sender reports of RTP that contradicted others, and were not believed.")
    public let messagesUnstamped = LegFigure<Int64>(
        .ofLeg, "Messages without an arrival stamp. While early ingest works as it should there are none.")
    public let bytesSent = LegFigure<Int64>(.ofConnections, "Bytes sent.")
    public let bytesReceived = LegFigure<Int64>(.ofConnections, "Bytes received.")
    public let handshakesDropped = LegFigure<Int64>(.ofLeg, "Handshakes of callers that came too fast and were dropped unread.")
    public let packetsBuffered = LegFigure<Int64>(
        .gauge, "Packets that wait: at the input to be read, at the output to be acknowledged.")
    public let roundTripTime = LegFigure<Nanoseconds>(.gauge, "Round-trip time.")
    public let window = LegFigure<Nanoseconds>(
        .gauge, "The window within which lost packets can be recovered, as the two ends agreed on it.")

    /// The figures in their order.
    public static let rows: [LegFigureRow] = Mirror(reflecting: LegFigureTable()).children.map { name, figure in
        (figure as! any LegFigureMaking).row(name!)
    }
}

/// How a figure behaves.
public enum LegFigureKind: Sendable {
    /// A total that each connection counts from zero. A leg's is the sum.
    case ofConnections
    /// A total of the leg's.
    case ofLeg
    /// What holds now; zero without a connection. Where there are several, a time is the largest one, and a number is the sum.
    case gauge
}

/// A line of ``LegFigureTable``.
public struct LegFigure<Value>: Sendable {
    let kind: LegFigureKind
    let help: String

    init(_ kind: LegFigureKind, _ help: String) { (self.kind, self.help) = (kind, help) }
}

/// What a figure is called, and what it says.
public struct LegFigureRow: Sendable {
    /// As the API has it: `packetsSent`.
    public let name: String
    public let kind: LegFigureKind
    /// Nanoseconds; else a number.
    public let isTime: Bool
    public let help: String
    /// As metrics and reports have it: `packets_sent`.
    public let snakeCase: String
}

private protocol LegFigureMaking { func row(_ name: String) -> LegFigureRow }

extension LegFigure: LegFigureMaking {
    func row(_ name: String) -> LegFigureRow {
        LegFigureRow(
            name: name, kind: kind, isTime: Value.self == Nanoseconds.self, help: help, snakeCase: snakeCase(name))
    }
}

/// `packets_sent` for `packetsSent`, `malformed_stream_id` for `malformedStreamID`.
func snakeCase(_ name: String) -> String {
    var text = ""
    for letter in name {
        if letter.isUppercase, text.last.map({ !$0.isUppercase }) ?? false { text += "_" }
        text.append(letter)
    }
    return text.lowercased()
}
