import Bitstream
import Container
import Foundation
import Media

/// The coded units of a stream that another program made (tools/make/golden-streams): of a transport stream, or of an IVF file.
struct GoldenUnits {
    let codec: VideoCodec
    let units: [[UInt8]]
    /// The place of each unit's picture in the order of display, from 0.
    let places: [Int]

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "GoldenStreams")

    static func path(_ name: String) -> String { folder.appending(path: name).path }

    init(_ name: String) throws {
        let bytes = try Array(Data(contentsOf: Self.folder.appending(path: name)))
        var found: [(bytes: [UInt8], time: Int64)] = []
        if name.hasSuffix(".ivf") {
            switch String(decoding: bytes[8..<12], as: UTF8.self) {
            case "AV01": codec = .av1
            case "VP80": codec = .vp8
            default: codec = .vp9
            }
            var at = 32
            while at + 12 <= bytes.count {
                let size = (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
                found.append((Array(bytes[(at + 12)..<(at + 12 + size)]), Int64(found.count)))
                at += 12 + size
            }
        } else {
            var codec: VideoCodec?
            var demuxer = TransportStreamDemuxer()
            let handler: TransportStreamDemuxer.Handler = { event in
                guard case .unit(let unit) = event, unit.isMainVideo else { return }
                codec = unit.codec
                found.append((Array(unit.bytes), unit.presentation?.ticks ?? 0))
            }
            bytes.withUnsafeBytes {
                demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: handler)
            }
            demuxer.finish(handler: handler)
            self.codec = codec!
        }
        units = found.map(\.bytes)
        let times = found.map(\.time).sorted()
        places = found.map { times.firstIndex(of: $0.time)! }
    }

    /// What tools/make/golden-streams found by libavcodec's own reader of headers; nil where it says nothing of a unit.
    static func quantisers(_ name: String) throws -> [Int?] {
        try String(contentsOf: folder.appending(path: name + ".quantisers"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map { Int($0) }
    }
}
