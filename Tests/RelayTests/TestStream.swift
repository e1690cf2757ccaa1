import Codec
import Foundation
import Measure
import Media

/// Coded test streams, made here so that a test says all that it depends on.
enum TestStream {
    /// A transport stream of moving pictures with time codes.
    /// - Parameters:
    ///   - start: the presentation time of the first picture, in seconds.
    static func video(
        frames: Int, size: PictureSize = PictureSize(width: 160, height: 96), rate: Int64 = 30, keyframeEvery: Int = 15,
        start: Double = 10
    ) throws -> [UInt8] {
        let encoder = try VideoEncoder(VideoEncoderConfiguration(size: size, frameRate: Rational(rate)))
        let muxer = try TransportStreamMuxer()
        let picture = Picture(size: size)
        let pattern = TestPattern(size: size, framesPerSecond: Double(rate))
        var stream: [UInt8] = []
        for index in 0..<frames {
            let code = TimeCode(captured: WallTime(microseconds: 1_000_000 * Int64(index)), number: UInt16(index))
            unsafe pattern.paint(picture.mutableView, code: code, index: index)
            let time = MediaTime(ticks: Int64(start * 90_000) + Int64(index) * 90_000 / rate)
            try unsafe encoder.encode(
                picture.view, id: Int64(index), at: time, asKeyframe: index % keyframeEvery == 0
            ) { unit in
                unsafe muxer.writeVideo(
                    unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                    isKeyframe: unit.isKeyframe
                ) { unsafe stream.append(contentsOf: $0) }
            }
        }
        return stream
    }

    /// The size that a transport stream's main video says it has.
    static func size(of stream: [UInt8]) -> PictureSize? {
        var demuxer = TransportStreamDemuxer()
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil) { _ in }
        }
        return demuxer.format?.size
    }

    /// What the access units of a transport stream's main video are.
    static func units(in stream: [UInt8]) -> [(presentation: MediaTime, isKeyframe: Bool)] {
        var demuxer = TransportStreamDemuxer()
        var units: [(MediaTime, Bool)] = []
        func take(_ event: TransportStreamEvent) {
            if case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation {
                units.append((time, unit.isKeyframe))
            }
        }
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: take)
        }
        demuxer.finish(handler: take)
        return units
    }
}

extension TestStream {
    /// The presentation times of the first stream beside the video.
    static func passedTimes(in stream: [UInt8]) -> [MediaTime] {
        var demuxer = TransportStreamDemuxer()
        var times: [MediaTime] = []
        func take(_ event: TransportStreamEvent) {
            if case .unit(let unit) = event, !unit.isMainVideo, let time = unit.presentation { times.append(time) }
        }
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: take)
        }
        demuxer.finish(handler: take)
        return times
    }
}

/// A folder that is gone after the test.
final class Scratch {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "burnish-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }
    func read(_ name: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: folder.appending(path: name))) }
}
