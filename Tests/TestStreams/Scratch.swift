import Foundation

/// A folder that is gone after the test.
package final class Scratch {
    package let folder: URL

    package init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path
    }

    package func path(_ name: String) -> String { folder.appending(path: name).path }
    package func read(_ name: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: folder.appending(path: name))) }
}
