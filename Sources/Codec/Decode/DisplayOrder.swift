import Bitstream

/// Puts pictures of MPEG-1 and MPEG-2 into the order in which they are shown.
///
/// The decoder gives them out in the order of the stream. There a picture that others refer to comes before the B pictures
/// that are shown before it. A decoder that knows no more holds such a picture until the next of its kind comes, also in a
/// stream without B pictures. But each picture says its place in its group (`temporal_reference`, ITU-T H.262, 6.3.9). So a
/// picture whose place is the next one comes out at once.
struct DisplayOrder: ~Copyable {
    private struct Facts {
        var number: Int64 = -1
        var place: Int?
        var isReference = true
        var beginsGroup = false
        var isLowDelay = false
    }

    private var facts = InlineArray<64, Facts>(repeating: Facts())
    /// Comes out next.
    private var ready: DecodedPicture?
    /// A picture that others refer to, until those that are shown before it have come out.
    private var held: DecodedPicture?
    private var heldFacts = Facts()
    /// The place that is shown next; nil where that is not known.
    private var expected: Int?

    init() {}

    /// A unit went into the decoder.
    mutating func sent(_ number: Int64, _ summary: AccessUnitSummary, isLowDelay: Bool) {
        facts[Int(number & 63)] = Facts(
            number: number, place: summary.displayPlace, isReference: summary.isReference,
            beginsGroup: summary.beginsGroup, isLowDelay: isLowDelay)
    }

    /// A unit to which no other refers will not be decoded.
    mutating func skipped(_ summary: AccessUnitSummary) { expected = summary.displayPlace.map { ($0 + 1) & 1023 } }

    /// A picture came out of the decoder. Call ``next()`` until it returns nil before the next picture.
    mutating func cameOut(_ number: Int64, _ picture: consuming DecodedPicture) {
        var known = facts[Int(number & 63)]
        if known.number != number { known = Facts() }
        guard known.isReference else {
            expected = known.place.map { ($0 + 1) & 1023 }
            ready = consume picture
            return
        }
        if held != nil {
            ready = held.take()
            expected = heldFacts.place.map { ($0 + 1) & 1023 }
        }
        if known.beginsGroup { expected = 0 }
        held = consume picture
        heldFacts = known
    }

    /// The picture that is shown next; nil when another has to come first.
    mutating func next() -> DecodedPicture? {
        if let picture = ready.take() { return picture }
        guard held != nil, heldFacts.isLowDelay || heldFacts.place != nil && heldFacts.place == expected else { return nil }
        return last()
    }

    /// The picture that is held; no more come.
    mutating func last() -> DecodedPicture? {
        guard let picture = held.take() else { return nil }
        expected = heldFacts.place.map { ($0 + 1) & 1023 }
        return picture
    }

    /// Forgets what came so far.
    mutating func reset() {
        _ = ready.take()
        _ = held.take()
        expected = nil
    }
}
