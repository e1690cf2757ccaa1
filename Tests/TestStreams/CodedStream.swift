import Container
import Foundation
import Media

extension TestStream {
    /// A coded picture with its times.
    package struct Coded {
        package var bytes: [UInt8]
        package var presentation: MediaTime
        package var decode: MediaTime
        package var isKeyframe: Bool

        package init(_ bytes: [UInt8], presentation: MediaTime, decode: MediaTime, isKeyframe: Bool) {
            (self.bytes, self.presentation, self.decode, self.isKeyframe) = (bytes, presentation, decode, isKeyframe)
        }
    }

    /// A stream that another program made (tools/make/golden-streams).
    package static func golden(_ name: String) throws -> [UInt8] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: tests.appending(path: "GoldenStreams/\(name)")))
    }

    /// The pictures of a transport stream's main video that have times, in decoding order.
    package static func coded(in stream: [UInt8]) -> [Coded] {
        var units: [Coded] = []
        func receive(_ event: ContainerEvent) {
            guard case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation else { return }
            units.append(
                Coded(
                    unsafe Array(unit.bytes), presentation: time, decode: unit.decode ?? time, isKeyframe: unit.isKeyframe))
        }
        var demuxer = TransportStreamDemuxer()
        stream.withUnsafeBytes {
            unsafe demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        return units
    }

    /// A transport stream of such pictures.
    package static func multiplexed(
        _ units: some Sequence<Coded>, as video: TransportStreamLayout.Video = .h264
    ) throws -> [UInt8] {
        var layout = TransportStreamLayout()
        layout.video = video
        let muxer = try TransportStreamMuxer(layout)
        var stream: [UInt8] = []
        for unit in units {
            unsafe unit.bytes.withUnsafeBytes {
                unsafe muxer.writeVideo(
                    $0, presentationTime: unit.presentation, decodeTime: unit.decode, isKeyframe: unit.isKeyframe
                ) { unsafe stream.append(contentsOf: $0) }
            }
        }
        return stream
    }

    /// The layout's video for AV1.
    package static let av1 = TransportStreamLayout.Video(
        streamType: 0x06, descriptors: [0x05, 4] + Array("AV01".utf8) + [0x80, 4, 0x81, 0, 0x0C, 0])
}
