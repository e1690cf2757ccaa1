import Codec
import Enhance
import Media

/// The best pictures of a video, as JPEG files' bytes.
public struct Thumbnails: Sendable {
    /// How many are wanted, and among about how many they are chosen.
    public var count = 3
    public var candidates = 100
    /// The most columns of each.
    public var width = 1280

    /// One of them.
    public struct Thumbnail: Sendable {
        /// Counts the pictures that were decoded from 0, and the time in seconds from the beginning.
        public var picture: Int
        public var time: Double
        /// 0 to 1, among the candidates of this file.
        public var score: Double
        public var merit: FrameMerit
        /// A JFIF file, upright, with square pixels.
        public var jpeg: [UInt8]
    }

    /// Files of more pictures are judged by their keyframes.
    private static let mostDecoded = 3000
    /// Fewer keyframes do not stand for a file.
    private static let leastKeyframes = 12

    public init() {}

    /// Finds them, the best first. Blocks until it is done.
    /// - Parameter path: a file; one of a single picture has that.
    /// - Throws: an error of the file.
    public func find(in path: String) throws(CodecError) -> [Thumbnail] {
        let reader = try FileReader(path: path, exportsQuantisers: true)
        if reader.video.pictureCount ?? 0 > Self.mostDecoded {
            let found = try search(
                try FileReader(path: path, exportsQuantisers: true, onlyKeyframes: true), onlyKeyframes: true)
            if found.count >= Self.leastKeyframes { return choose(found) }
        }
        return choose(try search(reader, onlyKeyframes: false))
    }

    private struct Found {
        var candidate: BestFrames.Candidate
        var thumbnail: Thumbnail
    }

    private func search(_ reader: FileReader, onlyKeyframes: Bool) throws(CodecError) -> [Found] {
        // Evenly over the file; twice as far apart once there are too many.
        var step = onlyKeyframes ? 1 : max(1, (reader.video.pictureCount ?? 0) / max(1, candidates))
        var found: [Found] = []
        var (picture, kept) = (0, 0)
        var before: DecodedPicture?
        while let item = try reader.next() {
            guard case .picture(let decoded, let time) = consume item else { continue }
            if picture % step == step / 2 {
                let isNext = !onlyKeyframes && before?.size == decoded.size
                let merit = unsafe FrameMerit(
                    decoded.view, before: isNext ? before?.view : nil, quantiser: decoded.meanQuantiser.map(Double.init))
                var color = decoded.color
                color.sampleAspectRatio = reader.video.color.sampleAspectRatio
                let thumbnail = Thumbnail(
                    picture: picture, time: Double(time) * reader.video.timeBase.value, score: 0, merit: merit,
                    jpeg: unsafe try JPEGEncoder.encode(decoded.view, color, width: width))
                found.append(
                    Found(candidate: BestFrames.Candidate(merit, unsafe FramePrint(decoded.view)), thumbnail: thumbnail))
                kept += 1
                if found.count >= 2 * max(candidates, count) {
                    found = stride(from: 0, to: found.count, by: 2).map { found[$0] }
                    step *= 2
                }
            }
            picture += 1
            before = consume decoded
        }
        return found
    }

    private func choose(_ found: [Found]) -> [Thumbnail] {
        let scores = BestFrames.scores(of: found.map(\.candidate))
        return BestFrames.choose(count, of: found.map(\.candidate), scores).map { place in
            var thumbnail = found[place].thumbnail
            thumbnail.score = scores[place]
            return thumbnail
        }
    }
}
