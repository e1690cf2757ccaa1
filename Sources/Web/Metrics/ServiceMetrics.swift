import Control
import Media
import Telemetry

extension Metrics {
    static let service: [Metric] = [
        .service("build_info", .gauge, labels: ["version"], "1, with the version of the service.") { _ in
            [Sample(OpenAPI.version, value: .count(1))]
        },
        .service("ready", .gauge, "1 while all that is configured works: what `/readyz` says.") {
            [Sample(count: $0.health.isReady ? 1 : 0)]
        },
        .service(
            "config_last_reload_successful", .gauge,
            "1 when the last reload of the configuration was applied, 0 when the file was bad and the old one still holds."
        ) { [Sample(count: $0.health.lastReloadWasGood ? 1 : 0)] },
        .service(
            "config_last_reload_timestamp_seconds", .gauge, unit: "seconds",
            "When the configuration was last reloaded, in seconds since 1970; 0 before the first time."
        ) { [Sample(.number($0.health.lastReload))] },
        .service("capacity_cores", .gauge, unit: "cores", "Processor cores that the streams may use.") {
            [Sample(.number($0.health.cores))]
        },
        .service("capacity_needed_cores", .gauge, unit: "cores", "Processor cores that all streams need for their originals.") {
            [Sample(.number($0.health.coresNeeded))]
        },
        .service("capacity_used_cores", .gauge, unit: "cores", "Processor cores that the streams use.") {
            [Sample(.number($0.health.coresUsed))]
        },
        .service("capacity_used_ratio", .gauge, unit: "ratio", "The share of the cores in use: 0 to 1.") {
            $0.health.cores > 0 ? [Sample(.number($0.health.coresUsed / $0.health.cores))] : []
        },
        .service("deferred_captures", .gauge, "Stills and clips that wait to be made well.") {
            [Sample(count: $0.health.deferred.waiting)]
        },
        .service("deferred_bytes", .gauge, unit: "bytes", "What those take on the disk.") {
            [Sample(.number(Double($0.health.deferred.bytes)))]
        },
        .service(
            "deferred_total", .counter, labels: ["outcome"],
            "The same by outcome: made, failed, expired, refused."
        ) { $0.health.deferred.outcomes.map { Sample($0.name, count: $0.count) } },
        .service("room_guests", .gauge, labels: ["room"], "Who is in each room.") {
            $0.health.rooms.map { Sample($0.name, count: $0.guests.count) }
        },
        .service(
            "tls_certificate_expiry_timestamp_seconds", .gauge, unit: "seconds",
            "When the certificate of the HTTP interface expires, in seconds since 1970."
        ) { $0.certificateExpires.map { [Sample(.number($0))] } ?? [] },
    ]

    static let streams: [Metric] = [
        .stream(
            "stream_state", .gauge, labels: ["state"],
            "1 for the state that the stream is in: starting, waiting (no source), flowing, backingOff (its worker ended and is replaced after a pause), stopped; 0 for the others."
        ) { reading in
            StreamStatus.State.allCases.map { state in
                Sample(state.rawValue, count: reading.status.state == state ? 1 : 0)
            }
        },
        .stream("worker_restarts_total", .counter, "How often the stream's worker process was replaced.") {
            [Sample(count: $0.status.restarts)]
        },
        .stream(
            "stream_start_timestamp_seconds", .gauge, unit: "seconds",
            "When the stream last started, in seconds since 1970."
        ) { reading in
            reading.status.startedAt.map { [Sample(.number(reading.time - (reading.now - $0).seconds))] } ?? []
        },
        .stream(
            "telemetry_age_seconds", .gauge, unit: "seconds",
            "How long ago the worker last wrote its figures. It writes several times a second, also without a source."
        ) { reading in
            reading.snapshot.map { [Sample(.number((reading.now - $0.gauges.writtenAt).seconds))] } ?? []
        },
    ]

    static let interface: [Metric] = [
        .service(
            "http_responses_total", .counter, labels: ["class"],
            "Responses of the HTTP interface, by the class of their status."
        ) {
            reading in
            [(2, "2xx"), (3, "3xx"), (4, "4xx"), (5, "5xx")].map { digit, name in
                Sample(name, count: reading.web.responses[digit] ?? 0)
            }
        },
        .service(
            "http_refusals_total", .counter, labels: ["reason"],
            "Requests that were refused before the service saw them: a wrong host or origin, no token, a bad form."
        ) { reading in
            Problem.Kind.allCases.map { Sample($0.rawValue, count: reading.web.refusals[$0] ?? 0) }
        },
        .service("http_connections", .gauge, "Open connections of the HTTP interface.") { [Sample(count: $0.web.connections)] },
        .service("http_connections_total", .counter, "Connections that the HTTP interface accepted.") {
            [Sample(count: $0.web.connectionsOpened)]
        },
        .service(
            "http_connections_closed_total", .counter, labels: ["reason"],
            "Connections that the interface closed on its own: a slow request or response, an idle client, or room for a new one."
        ) { reading in
            WebCounters.ClosedConnection.allCases.map {
                Sample($0.rawValue, count: reading.web.connectionsClosed[$0] ?? 0)
            }
        },
        .service("http_event_streams", .gauge, "Clients that follow the events.") { [Sample(count: $0.web.eventStreams)] },
    ]

    static let process: [Metric] = [
        .process(
            "cpu_seconds_total", .counter, unit: "seconds", "Processor time of the supervisor, without its workers.",
            \.cpuSeconds),
        .process("resident_memory_bytes", .gauge, unit: "bytes", "Resident memory of the supervisor.", \.residentBytes),
        .process("virtual_memory_bytes", .gauge, unit: "bytes", "Virtual memory of the supervisor.", \.virtualBytes),
        .process("open_fds", .gauge, "Open file descriptors of the supervisor.", \.openDescriptors),
        .process("max_fds", .gauge, "How many file descriptors the supervisor may open.", \.mostDescriptors),
        .process("threads", .gauge, "Threads of the supervisor.", \.threads),
        .process(
            "start_time_seconds", .gauge, unit: "seconds", "When the supervisor started, in seconds since 1970.", \.startTime),
    ]
}
