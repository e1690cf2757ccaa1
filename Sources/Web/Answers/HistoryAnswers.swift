import Control
import Hummingbird

/// A stream's last hour.
enum HistoryAnswers {
    /// Seconds from one sample to the next.
    private static let step = 10

    @Sendable static func history(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let samples = try await site.service.history(of: request["name"] ?? "", last: request.number("seconds", or: 3600))
        return .json(["step": .count(step), "samples": .list(samples.map(json))])
    }

    private static func json(_ sample: HistorySample) -> JSON {
        [
            "time": .number(sample.time), "latencyP50": .optional(sample.latencyP50, JSON.number),
            "latencyP99": .optional(sample.latencyP99, JSON.number), "rung": .optional(sample.rung) { .count($0) },
            "bitRateIn": .optional(sample.bitRateIn, JSON.number), "bitRateOut": .optional(sample.bitRateOut, JSON.number),
            "dropped": .count(sample.dropped), "viewers": .count(sample.viewers), "state": .text(sample.state.rawValue),
        ]
    }

    static let schemas: [String: Schema] = [
        "History": .object(
            """
            A stream's last hour, oldest first; it begins anew with the service. `time` is the end of a step of `step` seconds, in seconds \
            since 1970. Latencies are in seconds, bit rates in bits a second; what is not known is null. `dropped` leaves out frames that \
            nobody watched, and those that the output's rate has no room for.
            """,
            [
                "step": .integer(1...3600),
                "samples": .list(
                    .object(
                        "",
                        [
                            "time": .number(), "latencyP50": .nullable(.number()), "latencyP99": .nullable(.number()),
                            "rung": .nullable(.integer(0...255)), "bitRateIn": .nullable(.number()),
                            "bitRateOut": .nullable(.number()), "dropped": .integer(0...Int64.max),
                            "viewers": .integer(0...Int64.max), "state": .choice(StreamStatus.State.allCases.map(\.rawValue)),
                        ])),
            ])
    ]
}
