import Control
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Media
import Telemetry

/// The figures for Prometheus.
enum MetricsAnswers {
    @Sendable static func metrics(_ request: RouteRequest, _ site: Site) async -> Response {
        let format = Exposition.Format(accept: request.request.headers[.accept])
        var streams: [ScrapedStream] = []
        for status in await site.service.streams() {
            // A stream may have gone since; then it has no figures.
            var snapshot = try? await site.service.snapshot(of: status.name)
            if snapshot?.isWritten == false { snapshot = nil }
            streams.append(
                ScrapedStream(
                    status: status, snapshot: snapshot, now: .now(), time: Date().timeIntervalSince1970))
        }
        let service = ScrapedService(
            health: await site.service.health(), web: site.counters.values, process: .read(),
            certificateExpires: site.certificate?.expires)
        var response = Response.text(Exposition.text(Metrics.all, service, streams, format))
        response.headers[.contentType] = format.type
        return response
    }
}
