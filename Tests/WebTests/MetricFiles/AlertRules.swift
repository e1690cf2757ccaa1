@testable import Web

/// configs/prometheus/burnish.rules.yml.
enum AlertRules {
    struct Alert {
        var name: String
        var expression: String
        /// How long the expression must hold.
        var duration: String
        var severity: String
        var summary: String
        /// What to do.
        var action: String
    }

    static let alerts = [
        Alert(
            name: "BurnishNotReady", expression: "burnish_ready == 0", duration: "1m", severity: "warning",
            summary: "Burnish on {{ $labels.instance }} is not ready",
            action: "Ask GET /readyz?verbose which check fails."),
        Alert(
            name: "BurnishStreamNotFlowing",
            expression: #"burnish_stream_state{state="flowing"} == 0"#, duration: "1m", severity: "critical",
            summary: "Stream {{ $labels.stream }} does not flow",
            action: "See the stream's state and reason at GET /api/v1/streams; without a source, see whether the sender calls."),
        Alert(
            name: "BurnishWorkerRestarts", expression: "increase(burnish_worker_restarts_total[15m]) > 2", duration: "0m",
            severity: "critical", summary: "The worker of stream {{ $labels.stream }} keeps ending",
            action: "The service's log has the exit code; keep the crash report beside it."),
        Alert(
            name: "BurnishTelemetryStale", expression: "burnish_telemetry_age_seconds > 10", duration: "1m",
            severity: "warning",
            summary: "The figures of stream {{ $labels.stream }} are old",
            action: "The worker may have stalled: its watchdog replaces it; if not, restart the stream."),
        Alert(
            name: "BurnishOriginalsDropped",
            expression:
                #"sum by (instance, stream) (rate(burnish_originals_dropped_total{reason!~"cadence|shutdown|output_down|other_layer"}[5m])) "#
                + #"> 0.01 * sum by (instance, stream) (rate(burnish_frames_total{stage="input"}[5m]))"#,
            duration: "5m", severity: "warning",
            summary: "Stream {{ $labels.stream }} drops more than 1 % of its source's frames",
            action: "See the reasons in burnish_originals_dropped_total; overload and late mean that the machine is too slow."),
        Alert(
            name: "BurnishDeadlinesMissed",
            expression:
                #"rate(burnish_deadline_misses_total[5m]) > on (instance, stream) 0.01 * "#
                + #"sum by (instance, stream) (rate(burnish_frames_total{fate=~"emitted|bypassed"}[5m]))"#,
            duration: "5m", severity: "warning", summary: "Stream {{ $labels.stream }} sends more than 1 % of its frames late",
            action: "Give the stream a larger budget, or fewer streams to the machine."),
        Alert(
            name: "BurnishInputLoss", expression: "rate(burnish_input_gaps_total[5m]) > 0.1", duration: "5m",
            severity: "warning",
            summary: "The input of stream {{ $labels.stream }} has gaps",
            action:
                "A longer SRT latency recovers more; see burnish_link_packets_lost_total and burnish_link_round_trip_time_seconds."
        ),
        Alert(
            name: "BurnishOutputRefused", expression: "rate(burnish_output_messages_refused_total[5m]) > 1", duration: "5m",
            severity: "warning", summary: "The output of stream {{ $labels.stream }} accepts not all",
            action: "The receiver or the network is too slow: lower the bit rate."),
        Alert(
            name: "BurnishOutputBroken", expression: "burnish_output_broken == 1", duration: "0m", severity: "critical",
            summary: "Output {{ $labels.output }} of stream {{ $labels.stream }} cannot be written any more",
            action:
                "See the stream's events for the reason (a full disk, a pipe whose reader has gone), then restart the stream."),
        Alert(
            name: "BurnishEarlyIngestBroken",
            expression: #"increase(burnish_link_messages_unstamped_total[15m]) > 0"#, duration: "0m", severity: "warning",
            summary: "Early ingest of stream {{ $labels.stream }} does not work as it should",
            action: "The next connection is read with SRT's own delay; see the early ingest page, and the version of libsrt."),
        Alert(
            name: "BurnishBooksOff",
            expression:
                "abs(burnish_frames_total{stage=\"input\"} + on (instance, stream) burnish_frames_synthesised_total "
                + "+ on (instance, stream) burnish_frames_repeated_total "
                + "- on (instance, stream) sum by (instance, stream) (burnish_frames_total{stage=\"output\"}) "
                + "- on (instance, stream) burnish_frames_in_flight) > 0",
            duration: "5m", severity: "warning", summary: "The books of stream {{ $labels.stream }} do not balance",
            action: "This is a defect of Burnish: please report it with the records of the stream."),
        Alert(
            name: "BurnishCapacityShort", expression: "burnish_capacity_needed_cores > 0.9 * burnish_capacity_cores",
            duration: "10m", severity: "warning", summary: "Burnish on {{ $labels.instance }} has hardly a core to spare",
            action: "Move a stream to another machine, or lower its tier."),
        Alert(
            name: "BurnishReloadFailed", expression: "burnish_config_last_reload_successful == 0", duration: "0m",
            severity: "warning", summary: "Burnish on {{ $labels.instance }} refused its new configuration",
            action: "burnishd --check-config names each fault; until it is mended the old configuration holds."),
        Alert(
            name: "BurnishTokenRefused", expression: #"rate(burnish_http_refusals_total{reason="token_needed"}[5m]) > 1"#,
            duration: "5m", severity: "warning", summary: "Somebody tries tokens on {{ $labels.instance }}",
            action: "The service's log has the addresses of failed logins; a client with an old token does the same."),
        Alert(
            name: "BurnishCertificateExpires",
            expression: "burnish_tls_certificate_expiry_timestamp_seconds - time() < 14 * 86400", duration: "1h",
            severity: "warning", summary: "The certificate of Burnish on {{ $labels.instance }} expires within 14 days",
            action: "Renew the certificate, then reload the service."),
    ]

    static var text: String {
        var text = """
            # Alerts for Prometheus. Written by tools/make/metrics: change Tests/WebTests/MetricFiles/AlertRules.swift.
            groups:
              - name: burnish
                rules:

            """
        for alert in alerts {
            text += """
                      - alert: \(alert.name)
                        expr: \(quoted(alert.expression))
                        for: \(alert.duration)
                        labels:
                          severity: \(alert.severity)
                        annotations:
                          summary: \(quoted(alert.summary))
                          description: \(quoted(alert.action))

                """
        }
        return text
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "''") + "'" }
}
