import Codec
import Enhance
import Media

/// Makes progressive pictures of a stream's interlaced ones. Progressive pictures pass, and cost nothing once a stream has
/// had no other for a while.
///
/// Confined to the decode thread.
final class StreamDeinterlacing {
    /// What is worth an event, each once for a stream.
    enum Finding: Hashable {
        /// Marked as interlaced: with which field first, and what becomes of each picture.
        case interlaced(topFirst: Bool, StepSettings.Deinterlacing)
        /// Marked as interlaced, but both fields show the same moment.
        case markedWrongly
    }

    private let deinterlacer = Deinterlacer()
    private let maker = PictureMaker()
    /// The picture before, and one whose second field is wanted.
    private var before: DecodedPicture?
    private var current: DecodedPicture?
    /// How many progressive pictures are still kept as the picture before.
    private var memory = 0
    private var reported: Set<Finding> = []

    /// After so many progressive pictures a stream counts as progressive.
    private static let longestMemory = 50

    /// A picture as it goes on.
    struct Outcome: ~Copyable {
        let picture: DecodedPicture
        /// The picture has a second field to show, with ``StreamDeinterlacing/secondField()``.
        var hasSecondField = false
        /// It was made of an interlaced one.
        var isMade = false
        /// What this picture is the first to show.
        var finding: Finding?

        consuming func intoPicture() -> DecodedPicture { picture }
    }

    /// The next picture does not follow those before.
    func forget() {
        before = nil
        current = nil
    }

    /// Treats the next picture in presentation order.
    /// - Parameter mayGiveTwo: the moment of its second field is known.
    func treat(
        _ picture: consuming DecodedPicture, _ setting: StepSettings.Deinterlacing, mayGiveTwo: Bool
    ) throws(CodecError) -> Outcome {
        let scan = picture.scan
        guard scan.isInterlaced, picture.size.height >= Deinterlacer.leastHeight else { return pass(picture) }
        let isTopFirst = scan == .topFieldFirst
        var finding = first(.interlaced(topFirst: isTopFirst, setting))
        guard setting != .off else {
            before = nil
            return Outcome(picture: picture, finding: finding)
        }
        memory = Self.longestMemory
        if before?.size != picture.size, before != nil {
            before = nil
            deinterlacer.reset()
        }
        let here = unsafe picture.view
        let old = unsafe before?.view
        if let old = unsafe old, unsafe !deinterlacer.examine(here, before: old) {
            finding = finding ?? first(.markedWrongly)
            before = picture.share()
            return Outcome(picture: picture, finding: finding)
        }
        let made = unsafe try maker.make(like: picture) { target in
            unsafe deinterlacer.make(.first, of: here, before: old, isTopFirst: isTopFirst, into: target)
        }
        let givesTwo = setting == .fields && mayGiveTwo
        if givesTwo {
            current = consume picture
        } else {
            before = consume picture
        }
        return Outcome(picture: made, hasSecondField: givesTwo, isMade: true, finding: finding)
    }

    /// Makes the second field of the picture that was treated last.
    /// - Precondition: it has one.
    func secondField() throws(CodecError) -> DecodedPicture {
        guard let picture = current.take() else { preconditionFailure("the picture has a second field") }
        let here = unsafe picture.view
        let old = unsafe before?.view
        let isTopFirst = picture.scan == .topFieldFirst
        let made = unsafe try maker.make(like: picture) { target in
            unsafe deinterlacer.make(.second, of: here, before: old, isTopFirst: isTopFirst, into: target)
        }
        before = consume picture
        return made
    }

    private func pass(_ picture: consuming DecodedPicture) -> Outcome {
        if memory > 0 {
            memory -= 1
            before = memory > 0 ? picture.share() : nil
        }
        return Outcome(picture: picture)
    }

    /// The finding when it is new, else nil.
    private func first(_ finding: Finding) -> Finding? { reported.insert(finding).inserted ? finding : nil }
}

extension StreamDeinterlacing.Finding: CustomStringConvertible {
    var description: String {
        switch self {
        case .interlaced(let topFirst, let setting):
            let order = topFirst ? "top" : "bottom"
            let outcome =
                switch setting {
                case .auto: "each becomes one frame"
                case .fields: "each becomes two frames"
                case .off: "they stay as they are, because deinterlace is off"
                }
            return "pictures are interlaced, \(order) field first: \(outcome)"
        case .markedWrongly:
            return "pictures are marked as interlaced, but their fields show the same moment: they stay as they are"
        }
    }
}
