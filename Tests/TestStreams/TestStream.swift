import Bitstream
import Codec
import Container
import Foundation
import Measure
import Media

/// Coded test streams, made here so that a test says all that it depends on.
package enum TestStream {
    /// A transport stream of moving pictures with time codes.
    /// - Parameters:
    ///   - start: the presentation time of the first picture, in seconds.
    ///   - toldRate: what the stream's headers say; nil for the truth.
    ///   - stamp: the time stamp of each picture, by its number and its time.
    package static func video(
        frames: Int, size: PictureSize = PictureSize(width: 160, height: 96), rate: Int64 = 30, keyframeEvery: Int = 15,
        start: Double = 10, toldRate: Int64? = nil, stamp: (Int, MediaTime) -> MediaTime = { $1 }
    ) throws -> [UInt8] {
        let encoder = try VideoEncoder(VideoEncoderConfiguration(size: size, frameRate: Rational(toldRate ?? rate)))
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
                let (presentation, decode) = (stamp(index, unit.presentationTime), stamp(index, unit.decodeTime))
                unsafe muxer.writeVideo(
                    unit.bytes, presentationTime: presentation, decodeTime: decode,
                    isKeyframe: unit.isKeyframe
                ) { unsafe stream.append(contentsOf: $0) }
            }
        }
        return stream
    }

    /// A transport stream that shows each of some pictures, moving ones stopped at these frames, for so many frames.
    package static func stills(_ stills: [Int], frames: Int, size: PictureSize = PictureSize(width: 160, height: 96)) throws
        -> [UInt8]
    {
        let encoder = try VideoEncoder(VideoEncoderConfiguration(size: size, frameRate: Rational(30)))
        let muxer = try TransportStreamMuxer()
        let picture = Picture(size: size)
        let pattern = TestPattern(size: size, framesPerSecond: 30)
        var stream: [UInt8] = []
        for index in 0..<stills.count * frames {
            let still = stills[index / frames]
            let code = TimeCode(captured: WallTime(microseconds: 1_000_000 * Int64(still)), number: UInt16(still))
            unsafe pattern.paint(picture.mutableView, code: code, index: still)
            try unsafe encoder.encode(
                picture.view, id: Int64(index), at: MediaTime(ticks: 900_000 + Int64(index) * 3_000),
                asKeyframe: index == 0
            ) { unit in
                unsafe muxer.writeVideo(
                    unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                    isKeyframe: unit.isKeyframe
                ) { unsafe stream.append(contentsOf: $0) }
            }
        }
        return stream
    }

    /// A stretch of a program: so many pictures of one size, with so many audio streams beside them.
    package struct Part {
        package var frames: Int
        package var size: PictureSize
        package var audioStreams: Int
        /// Bytes that each unit of those has behind its text.
        package var audioPadding: Int

        package init(
            frames: Int, size: PictureSize = PictureSize(width: 160, height: 96), audioStreams: Int = 0, audioPadding: Int = 0
        ) {
            self.frames = frames
            self.size = size
            self.audioStreams = audioStreams
            self.audioPadding = audioPadding
        }
    }

    /// A program whose layout changes from part to part, as one multiplexer sends it. Beside each picture comes a unit of
    /// each audio stream with the same presentation time, which says where it belongs.
    package static func program(_ parts: [Part]) throws -> [UInt8] {
        var stream: [UInt8] = []
        var muxer: TransportStreamMuxer?
        var index = 0
        for part in parts {
            var layout = TransportStreamLayout()
            layout.passedStreams = Array(repeating: .aac, count: part.audioStreams)
            let present = try TransportStreamMuxer(layout, continuing: muxer)
            muxer = present
            let encoder = try VideoEncoder(VideoEncoderConfiguration(size: part.size, frameRate: Rational(30)))
            let picture = Picture(size: part.size)
            for _ in 0..<part.frames {
                let time = MediaTime(ticks: 900_000 + Int64(index) * 3000)
                try encoder.encode(picture.view, id: Int64(index), at: time) { unit in
                    present.writeVideo(
                        unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                        isKeyframe: unit.isKeyframe
                    ) { stream.append(contentsOf: $0) }
                }
                for audio in 0..<part.audioStreams {
                    let payload =
                        [0xFF, 0xF1] + Array("stream \(audio), picture \(index)".utf8)
                        + (0..<part.audioPadding).map { UInt8(truncatingIfNeeded: $0) }
                    payload.withUnsafeBytes {
                        present.writePassed(stream: audio, $0, presentationTime: time) { stream.append(contentsOf: $0) }
                    }
                }
                index += 1
            }
        }
        return stream
    }

    /// Pictures with one stream of sound beside them, which begins before the first picture comes.
    /// - Parameter ahead: by how many ticks more its first unit's time lies before the first picture's than its place in
    ///   the stream.
    package static func soundFirst(frames: Int, rate: Int64, ahead: Int64) throws -> [UInt8] {
        var layout = TransportStreamLayout()
        layout.passedStreams = [.aac]
        let size = PictureSize(width: 160, height: 96)
        let muxer = try TransportStreamMuxer(layout)
        let encoder = try VideoEncoder(VideoEncoderConfiguration(size: size, frameRate: Rational(rate)))
        let picture = Picture(size: size)
        var stream: [UInt8] = []
        for index in -8..<Int64(frames) {
            let time = MediaTime(ticks: 900_000 + index * 90_000 / rate)
            try encoder.encode(picture.view, id: index, at: time, asKeyframe: index <= 0) { unit in
                muxer.writeVideo(
                    unit.bytes, presentationTime: unit.presentationTime, decodeTime: unit.decodeTime,
                    isKeyframe: unit.isKeyframe
                ) { stream.append(contentsOf: $0) }
            }
            // The tables without the pictures that they came with.
            if index < 0 { removePackets(of: Int(layout.videoPID), from: &stream) }
            let payload = [0xFF, 0xF1] + Array("unit \(index)".utf8)
            payload.withUnsafeBytes {
                muxer.writePassed(stream: 0, $0, presentationTime: time + ahead) { stream.append(contentsOf: $0) }
            }
        }
        return stream
    }

    private static func removePackets(of pid: Int, from stream: inout [UInt8]) {
        for at in stride(from: stream.count - 188, through: 0, by: -188)
        where Int(stream[at + 1] & 0x1F) << 8 | Int(stream[at + 2]) == pid {
            stream.removeSubrange(at..<(at + 188))
        }
    }

    /// One unit of a stream that is not the main video.
    package struct PassedUnit: Equatable {
        package var stream: Int
        /// In ticks after the program's first picture.
        package var presentation: Int64
        package var bytes: [UInt8]
    }

    /// What a program holds beside its video, each stream numbered in the order of its map, and how many streams each of
    /// its maps has.
    package static func passed(in stream: [UInt8]) -> (units: [PassedUnit], layouts: [Int]) {
        var units: [(pid: Int, time: MediaTime, bytes: [UInt8])] = []
        var first: MediaTime?
        var layouts: [Int] = []
        var numbers: [Int: Int] = [:]
        func receive(_ event: ContainerEvent) {
            switch event {
            case .program(let program):
                let others = program.streams.filter { $0.role != .mainVideo }
                layouts.append(others.count)
                for (number, other) in others.enumerated() { numbers[other.id] = number }
            case .unit(let unit):
                guard let time = unit.presentation else { return }
                if unit.isMainVideo {
                    first = first.map { min($0, time) } ?? time
                } else {
                    units.append((unit.stream, time, Array(unit.bytes)))
                }
            default: break
            }
        }
        var demuxer = TransportStreamDemuxer()
        stream.withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        let start = first ?? MediaTime(ticks: 0)
        return (
            units.map { PassedUnit(stream: numbers[$0.pid] ?? -1, presentation: $0.time - start, bytes: $0.bytes) },
            layouts
        )
    }

    /// Damages a stream in one of four ways.
    package static func damage(_ stream: inout [UInt8], _ way: UInt64, _ random: inout SplitMix64) {
        switch way {
        case 0:  // bits turned over
            for _ in 0..<40 {
                let at = Int.random(in: 0..<stream.count, using: &random)
                stream[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        case 1:  // packets lost
            for _ in 0..<6 {
                let at = Int.random(in: 0..<(stream.count / 188), using: &random) * 188
                stream.removeSubrange(at..<(at + 188))
            }
        case 2:  // cut off
            stream.removeLast(Int.random(in: 1..<(stream.count / 2), using: &random))
        default:  // begun in the middle, after nonsense
            stream.removeFirst(Int.random(in: 1..<(stream.count / 2), using: &random))
            stream.insert(contentsOf: (0..<999).map { _ in UInt8.random(in: 0...255, using: &random) }, at: 0)
        }
    }

    /// The size that a transport stream's main video says it has.
    package static func size(of stream: [UInt8]) -> PictureSize? {
        var demuxer = TransportStreamDemuxer()
        var size: PictureSize?
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil) {
                if case .format(let format) = $0 { size = format.size }
            }
        }
        return size
    }

    /// When its pictures are shown, from the first on.
    package static func timesSinceFirst(in stream: [UInt8]) -> [Int64] {
        let times = units(in: stream).map(\.presentation)
        guard let first = times.first else { return [] }
        return times.map { $0 - first }
    }

    /// What the access units of a transport stream's main video are.
    package static func units(in stream: [UInt8]) -> [Unit] {
        var demuxer = TransportStreamDemuxer()
        var units: [(MediaTime, Bool)] = []
        func receive(_ event: ContainerEvent) {
            if case .unit(let unit) = event, unit.isMainVideo, let time = unit.presentation {
                units.append((time, unit.isKeyframe))
            }
        }
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        return units
    }
}

extension TestStream {
    package typealias Unit = (presentation: MediaTime, isKeyframe: Bool)

    /// The coded bytes of a transport stream's main video, by access unit.
    package static func payloads(in stream: [UInt8]) -> [[UInt8]] {
        var demuxer = TransportStreamDemuxer()
        var payloads: [[UInt8]] = []
        func receive(_ event: ContainerEvent) {
            if case .unit(let unit) = event, unit.isMainVideo { payloads.append(unsafe Array(unit.bytes)) }
        }
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        return payloads
    }

    /// The presentation times of the first stream beside the video.
    package static func passedTimes(in stream: [UInt8]) -> [MediaTime] {
        var demuxer = TransportStreamDemuxer()
        var times: [MediaTime] = []
        func receive(_ event: ContainerEvent) {
            if case .unit(let unit) = event, !unit.isMainVideo, let time = unit.presentation { times.append(time) }
        }
        stream.withUnsafeBytes { bytes in
            unsafe demuxer.push(bytes, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        return times
    }
}
