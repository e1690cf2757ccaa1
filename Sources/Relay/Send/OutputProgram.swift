import Container
import Media

/// The program that goes out: its multiplexer, and the layout that the program map describes.
///
/// A layout becomes the program's in three steps, because pictures of the layout before may still be on their way:
/// 1. *numbered*: ingest has learnt it (``PassingStreams/numberedLayout``).
/// 2. *prepared*: the next picture belongs to it (``prepare(_:_:)``). The picture carries the number.
/// 3. *adopted*: that picture goes out (``multiplexer(for:)``). Where none comes, a passing unit of the layout brings it
///    (``follow(_:_:bringing:isLate:pictures:)``).
///
/// Confined to the send stage's lock.
struct OutputProgram {
    private(set) var muxer: TransportStreamMuxer?
    /// What goes out beside the program, as the multiplexer knows it, too.
    private var multiplex: Multiplex?
    /// The number of the layout that the multiplexer has. A passing unit that came under another one has no place in
    /// its program map.
    private(set) var number = -1
    /// The layout for the next picture, and its number.
    private var prepared = (layout: TransportStreamLayout(), number: -1)
    /// The number of a layout that a program map cannot hold, and why.
    private var refused: (number: Int, error: ContainerError)?
    /// The video that the multiplexer was made for, as it was asked for.
    private var described: TransportStreamLayout.Video?
    /// The multiplexer has video because a picture came late, and its program has none any more.
    private var hasStrayVideo = false
    /// Where another process ended, until the first layout is adopted.
    private var end: MultiplexEnd?

    init(resuming end: MultiplexEnd?) { self.end = end }

    var layout: TransportStreamLayout? { muxer?.layout }
    /// The number of the layout for the next picture.
    var preparedNumber: Int { prepared.number }

    // MARK: Prepare

    /// Records the layout of the next picture.
    /// - Returns: whether the program map changes with it.
    /// - Throws: when a program map cannot hold it.
    mutating func prepare(_ layout: TransportStreamLayout, _ number: Int) throws(ContainerError) -> Bool {
        guard number != prepared.number else { return false }
        if let refused, refused.number == number { throw refused.error }
        let isOther = prepared.number < 0 || prepared.layout != layout
        if isOther {
            // The multiplexer is made when the picture is sent: until then pictures of the present layout may wait.
            do throws(ContainerError) {
                _ = try TransportStreamMuxer(layout)
            } catch {
                refused = (number, error)
                throw error
            }
        }
        prepared = (layout, number)
        return isOther
    }

    // MARK: Adopt

    /// The multiplexer with the layout that a unit was encoded under. Where the program map cannot hold
    /// the video's descriptors, it goes without them.
    mutating func multiplexer(for unit: CodedUnit) -> TransportStreamMuxer {
        // A picture of a program that has lost its video goes out under the map before. The other streams bring the new one.
        let isNew = unit.layoutNumber.map { $0 > number && (prepared.layout.hasVideo || muxer == nil) } ?? false
        if let muxer, !isNew, described == unit.video { return muxer }
        described = unit.video
        let base = isNew ? prepared.layout : layout ?? TransportStreamLayout()
        if isNew || !base.hasVideo { hasStrayVideo = !base.hasVideo }
        // The base itself fits: it was checked when it was prepared.
        guard let muxer = adopt(base, with: unit.video, isNew ? prepared.number : number) else {
            preconditionFailure("a program map holds what it has held before")
        }
        return muxer
    }

    /// Whether a passing unit of a layout may bring it (``follow(_:_:bringing:isLate:pictures:)``).
    func isBehind(_ unit: Int) -> Bool { unit > number || hasStrayVideo }

    /// What is known of the pictures when a passing unit would bring its layout.
    struct Pictures {
        /// None has come for so long that none will: each change of the map disturbs receivers.
        var areOver: Bool
        var areUnderWay: Bool
    }

    /// Adopts the newest layout for a passing unit that can wait for no picture to bring it, and where the program has no video.
    /// - Parameters:
    ///   - bringing: the number of the unit's layout.
    ///   - isLate: the unit cannot wait any longer.
    mutating func follow(
        _ newest: TransportStreamLayout, _ number: Int, bringing unit: Int, isLate: Bool, pictures: () -> Pictures
    ) {
        let mayAdopt =
            if number == self.number {
                !newest.hasVideo && pictures().areOver
            } else if newest.hasVideo {
                // A unit of a layout that is over has no place in the present one.
                isLate && number == unit
            } else {
                unit > self.number && (isLate || muxer == nil || !pictures().areUnderWay)
            }
        if mayAdopt { adoptBeforePictures(newest, number) }
    }

    /// Adopts a layout before any picture of it. Its video, where it has some, is described like that of the pictures before.
    mutating func adoptBeforePictures(_ layout: TransportStreamLayout, _ number: Int) {
        if let video = layout.video {
            guard adopt(layout, with: described ?? video, number) != nil else { return }
        } else {
            guard adopt(layout, number) != nil else { return }
            prepared = (layout, number)
            described = nil
        }
        hasStrayVideo = false
    }

    /// Adopts a layout with a description of its video, or with as much of it as a program map can hold.
    /// - Returns: nil, with nothing changed, when a program map cannot hold the layout.
    private mutating func adopt(
        _ base: TransportStreamLayout, with video: TransportStreamLayout.Video, _ number: Int
    ) -> TransportStreamMuxer? {
        var bare = video
        bare.descriptors = []
        for video in [video, bare, base.video] {
            var layout = base
            layout.video = video
            if let muxer = adopt(layout, number) { return muxer }
        }
        return nil
    }

    /// - Returns: nil, with nothing changed, when a program map cannot hold the layout.
    private mutating func adopt(_ layout: TransportStreamLayout, _ number: Int) -> TransportStreamMuxer? {
        let adopted: TransportStreamMuxer
        do throws(ContainerError) {
            if let end {
                adopted = try TransportStreamMuxer(layout, in: multiplex, resuming: end)
            } else if let muxer, muxer.layout == layout {
                adopted = muxer
            } else {
                adopted = try TransportStreamMuxer(layout, in: multiplex, continuing: muxer)
            }
        } catch {
            return nil
        }
        end = nil
        muxer = adopted
        self.number = number
        return adopted
    }

    // MARK: Beside the program

    /// Learns what goes out beside the program from now on.
    /// - Returns: whether receivers know the program by another number or other packet identifiers than before.
    mutating func adopt(_ multiplex: Multiplex?) -> Bool {
        self.multiplex = multiplex
        return muxer?.adopt(multiplex) ?? false
    }
}
