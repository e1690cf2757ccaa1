/// The files of the page. They are part of the executable, so the page needs no other host and no folder.
///
/// The figures that `burnish.js` shows come from `GET /api/v1/streams/{name}/statistics`, all times in seconds:
/// `rate`, `deadlineMisses`, `latency.original` (p50, p95, p99), `stages` (name, p50, p99 of the last five seconds), `books`,
/// `dropped` (by reason), `rung` (an index in `rungs`, names from the best to the last), `sizes` (input, output), `cores`
/// (least, synthesising), `input` and `output` (the legs).
enum Page {
    struct File: Sendable {
        /// The path of the URL.
        var path: String
        var contentType: String
        var bytes: [UInt8]
    }

    static let files: [File] = [
        File(path: "/", contentType: "text/html; charset=utf-8", bytes: PackageResources.index_html),
        File(path: "/page/burnish.css", contentType: "text/css; charset=utf-8", bytes: PackageResources.burnish_css),
        File(path: "/page/burnish.js", contentType: "text/javascript; charset=utf-8", bytes: PackageResources.burnish_js),
        File(path: "/page/api.js", contentType: "text/javascript; charset=utf-8", bytes: PackageResources.api_js),
        File(path: "/page/calls.js", contentType: "text/javascript; charset=utf-8", bytes: PackageResources.calls_js),
        File(path: "/page/controls.js", contentType: "text/javascript; charset=utf-8", bytes: PackageResources.controls_js),
        File(path: "/page/pictures.js", contentType: "text/javascript; charset=utf-8", bytes: PackageResources.pictures_js),
        File(path: "/page/plots.js", contentType: "text/javascript; charset=utf-8", bytes: PackageResources.plots_js),
        File(path: "/page/icon.svg", contentType: "image/svg+xml", bytes: PackageResources.icon_svg),
    ]
}
