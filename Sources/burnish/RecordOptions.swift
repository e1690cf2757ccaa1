import ArgumentParser
import Foundation
import Glibc
import Media
import Relay
import Settings
import WorkerProtocol

/// The options of `burnish relay` that record what is sent.
struct RecordOptions: ParsableArguments {
    @Option(help: .setting("record")) var record: String?
    @Option(help: .setting("record-every")) var recordEvery: String?
    @Option(help: .setting("record-size")) var recordSize: String?
    @Option(help: .setting("record-keep")) var recordKeep: String?
    @Option(help: .setting("record-keep-size")) var recordKeepSize: String?

    /// What was given, by the names of the keys.
    var texts: [String: String] { SettingOptions.texts(of: self) }

    /// The name that stands for `{stream}`.
    private static let stream = "relay"

    /// Opens a file of the recording, and deletes what is too old.
    static let open: RecordOpening = { settings in
        let files = RecordFiles(settings, stream: stream)
        let now = Int64(Date().timeIntervalSince1970)
        files.tidy(now: now)
        do throws(RecordFiles.Fault) {
            let opened = try files.open(now: now)
            let descriptor = PassedDescriptor(owning: opened.descriptor)
            return .success(RecordFile(path: opened.path) { descriptor.write($0, at: $1) })
        } catch {
            return .failure(RecordFault("\(error)"))
        }
    }
}
