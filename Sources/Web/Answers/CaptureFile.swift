import Control
import Glibc
import HTTPTypes
import Hummingbird
import NIOCore
import NIOPosix

/// The file of a clip, piece by piece.
enum CaptureFile {
    private static let pieceSize = 1 << 17

    @Sendable static func clip(_ request: RouteRequest, _ site: Site) async throws -> Response {
        let name = request["name"] ?? ""
        let clip = try await site.service.clip(request.integer("number", or: 0), of: name)
        guard clip.state == .ready else {
            let reason = clip.state == .failed ? "it has failed: \(clip.reason)" : "it is being cut: ask again when it is ready"
            throw Problem(.conflict, reason)
        }
        let file: Open
        do {
            let path = clip.path
            // A disk may take its time.
            file = try await NIOThreadPool.singleton.runIfActive { try Open(path) }
        } catch {
            throw Problem(.notFound, "the clip's file has gone")
        }
        let ending = clip.path.hasSuffix(".ts") ? "ts" : "mp4"
        let body = ResponseBody(contentLength: file.size) { writer in
            var place = 0
            while place < file.size {
                let (from, count) = (place, min(pieceSize, file.size - place))
                let piece = try await NIOThreadPool.singleton.runIfActive { try file.read(from, count) }
                try await writer.write(piece)
                place += count
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: ending == "ts" ? "video/mp2t" : "video/mp4",
                .contentDisposition: "attachment; filename=\"\(name)-clip-\(clip.number).\(ending)\"",
            ], body: body)
    }

    /// A file that is open for reading. It is whole, so its size is its last.
    private final class Open: Sendable {
        struct Fault: Error {}

        private let number: Int32
        let size: Int

        init(_ path: String) throws {
            number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard number >= 0 else { throw Fault() }
            size = Int(lseek(number, 0, SEEK_END))
            guard size >= 0 else { throw Fault() }
        }

        /// Also where `init` throws in the end.
        deinit { close(number) }

        func read(_ place: Int, _ count: Int) throws -> ByteBuffer {
            var bytes = [UInt8](repeating: 0, count: count)
            guard unsafe pread(number, &bytes, count, place) == count else { throw Fault() }
            return ByteBuffer(bytes: bytes)
        }
    }
}
