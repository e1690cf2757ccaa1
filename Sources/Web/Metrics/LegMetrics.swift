import Media
import Telemetry

extension Metrics {
    /// The input and each output of a stream. The names are SRT's; an RTP leg has the same figures as far as RTP knows them.
    static let legs: [Metric] = [
        .stream(
            "srt_callers_refused_total", .counter, labels: ["leg", "output", "reason"],
            "Callers that a listening leg refused. What is refused before it is known which leg is meant counts on the port's oldest leg."
        ) { reading in
            places(reading).flatMap { place in
                CallerRefusals.all.map { reason in
                    Sample(
                        labels: [place.leg, place.output, reason.label],
                        .count(UInt64(clamping: place.figures.refusals[keyPath: reason.count])))
                }
            }
        },
        count("handshakes_dropped", "Handshakes of callers that came too fast and were dropped unread.", \.handshakesDropped),
        leg("connected", .gauge, "1 while the leg is connected.") { .count($0.isConnected ? 1 : 0) },
        leg("connections_total", .counter, "How often the leg was connected.") { .count(UInt64(clamping: $0.connections)) },
        leg("rtt_seconds", .gauge, unit: "seconds", "Round-trip time.") { .number($0.roundTripTime.seconds) },
        leg(
            "negotiated_latency_seconds", .gauge, unit: "seconds",
            "The window within which lost packets can be recovered, as the two ends agreed on it."
        ) { .number($0.window.seconds) },
        leg("packets_buffered", .gauge, "Packets that wait: at the input to be read, at the output to be acknowledged.") {
            .count(UInt64(clamping: $0.packetsBuffered))
        },
        count("packets_sent", "Packets sent.", \.packetsSent),
        count("packets_received", "Packets received.", \.packetsReceived),
        count("packets_lost", "Packets that were missing when their successors came. Most are recovered.", \.packetsLost),
        count("packets_retransmitted", "Packets sent again.", \.packetsRetransmitted),
        count("packets_dropped", "Packets that came too late, or could not be sent in time.", \.packetsDropped),
        count("packets_unexpected", "Packets of another sender, or that are not of this protocol.", \.packetsUnexpected),
        count(
            "packets_of_other_layers", "Packets of a picture's other sizes, where a call's sender sends several (simulcast).",
            \.packetsOfOtherLayers),
        count(
            "pictures_refused", "Calls that came about without the picture that was offered: its formats are not known here.",
            \.picturesRefused),
        count("reports", "Sender reports of RTP.", \.reports),
        count("reports_rejected", "Sender reports of RTP that contradicted others.", \.reportsRejected),
        count(
            "messages_unstamped",
            "Messages without an arrival stamp. While early ingest works as it should there are none.", \.messagesUnstamped),
        count("sent_bytes", unit: "bytes", "Bytes sent.", \.bytesSent),
        count("received_bytes", unit: "bytes", "Bytes received.", \.bytesReceived),
    ]

    private static func leg(
        _ name: String, _ kind: Metric.Kind, unit: String? = nil, _ help: String,
        _ read: @escaping @Sendable (LegFigures) -> Sample.Value
    ) -> Metric {
        .stream("srt_" + name, kind, unit: unit, labels: ["leg", "output"], help) { reading in
            places(reading).map { Sample(labels: [$0.leg, $0.output], read($0.figures)) }
        }
    }

    /// Each leg with its labels. Outputs are counted from 1.
    private static func places(_ reading: StreamReading) -> [(leg: String, output: String, figures: LegFigures)] {
        guard let snapshot = reading.snapshot else { return [] }
        return [("input", "", snapshot.inputLeg)] + snapshot.outputs.enumerated().map { ("output", "\($0 + 1)", $1.leg) }
    }

    private static func count(
        _ name: String, unit: String? = nil, _ help: String, _ path: any KeyPath<LegFigures, Int64> & Sendable
    ) -> Metric {
        leg(name + "_total", .counter, unit: unit, help) { .count(UInt64(clamping: $0[keyPath: path])) }
    }
}
