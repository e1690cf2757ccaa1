import Foundation

extension TelemetryMap {
    /// Where the maps of running streams are found by name. A supervisor keeps a symbolic link for each stream there, which
    /// leads to the map's descriptor in its own process (``target(process:descriptor:)``).
    public enum Place {
        /// The folder for a supervisor's runtime files: `RUNTIME_DIRECTORY` where systemd made one; `/run/burnish` for root;
        /// else `burnish` below `XDG_RUNTIME_DIR`.
        /// - Returns: nil where the user has none.
        public static func folder(
            environment: [String: String] = ProcessInfo.processInfo.environment, isRoot: Bool = geteuid() == 0
        ) -> String? {
            // systemd lists several folders with colons between them.
            if let given = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first { return String(given) }
            if isRoot { return "/run/burnish" }
            return environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : $0 + "/burnish" }
        }

        /// The folders in which `burnish top` and `burnish records` search, best first: the user's own, and that of the system's
        /// service.
        public static func folders(
            environment: [String: String] = ProcessInfo.processInfo.environment, isRoot: Bool = geteuid() == 0
        ) -> [String] {
            var folders = folder(environment: environment, isRoot: isRoot).map { [$0] } ?? []
            if !folders.contains("/run/burnish") { folders.append("/run/burnish") }
            return folders
        }

        /// The link of a stream.
        /// - Parameter stream: a name without a slash.
        public static func link(to stream: String, in folder: String) -> String { folder + "/" + stream + ".map" }

        /// What the link of a stream leads to: works while the process lives, for its user and root.
        public static func target(process: Int32, descriptor: Int32) -> String { "/proc/\(process)/fd/\(descriptor)" }

        /// The names of the streams that have a link in a folder, sorted.
        public static func streams(in folder: String) -> [String] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0.hasSuffix(".map") }.map { String($0.dropLast(4)) }.sorted()
        }
    }
}
