/// The files of the page. They are part of the executable, so the page needs no other host and no folder.
///
/// The figures that the page shows come from `GET /api/v1/streams/{name}/statistics` and the routes beside it, all times in
/// seconds. What an answer leaves out is shown as a dash.
enum Page {
    struct File: Sendable {
        /// The path of the URL.
        var path: String
        var contentType: String
        var bytes: [UInt8]
    }

    static let files: [File] =
        [
            File(path: "/", contentType: "text/html; charset=utf-8", bytes: PackageResources.index_html),
            File(path: "/page/icon.svg", contentType: "image/svg+xml", bytes: PackageResources.icon_svg),
        ] + styles + scripts

    /// Of every room: its script reads the room's name from the address.
    static let room = File(path: "/room", contentType: "text/html; charset=utf-8", bytes: PackageResources.room_html)

    private static let styles: [File] = [
        ("burnish", PackageResources.burnish_css), ("figures", PackageResources.figures_css),
        ("room", PackageResources.room_css),
    ].map { name, bytes in File(path: "/page/\(name).css", contentType: "text/css; charset=utf-8", bytes: bytes) }

    private static let scripts: [File] = [
        ("addresses", PackageResources.addresses_js), ("api", PackageResources.api_js),
        ("asking", PackageResources.asking_js), ("burnish", PackageResources.burnish_js),
        ("callers", PackageResources.callers_js), ("calls", PackageResources.calls_js),
        ("captures", PackageResources.captures_js),
        ("checks", PackageResources.checks_js), ("controls", PackageResources.controls_js),
        ("copying", PackageResources.copying_js), ("delay", PackageResources.delay_js),
        ("editor", PackageResources.editor_js), ("elements", PackageResources.elements_js),
        ("events", PackageResources.events_js), ("figures", PackageResources.figures_js),
        ("formats", PackageResources.formats_js), ("history", PackageResources.history_js),
        ("pictures", PackageResources.pictures_js), ("plots", PackageResources.plots_js),
        ("reactions", PackageResources.reactions_js), ("room", PackageResources.room_js),
        ("rooms", PackageResources.rooms_js),
        ("tiles", PackageResources.tiles_js), ("webrtc", PackageResources.webrtc_js),
        ("signing", PackageResources.signing_js), ("streams", PackageResources.streams_js),
    ].map { name, bytes in
        File(path: "/page/\(name).js", contentType: "text/javascript; charset=utf-8", bytes: bytes)
    }
}
