import EnhanceNetworks

/// Finds out which networks suit the pictures: those for any video, or those for pictures that were coded coarsely, as in calls.
///
/// A picture's mean quantiser says how coarsely it was coded; where a decoder does not tell it, it follows from the picture's bits
/// (`DecodedPicture.meanQuantiser`). docs/measurements/super-resolution.md has the figures behind the limits. A pure value; no call
/// allocates.
struct ContentJudge {
    /// From this mean on pictures are coarse, and below that they are fine. Between both nothing changes. On coarse pictures the
    /// networks for calls bring 1.4 to 5 points of VMAF NEG more, `neural-m` at a third more time; on fine ones hardly 1.
    static let coarse: Float = 20
    static let fine: Float = 16
    /// Quantisers differ between pictures, so many pictures count together.
    private static let memory: Float = 32
    /// A choice holds for at least so many pictures. The first one may be corrected earlier: it is made by a single picture.
    static let dwell = 300
    private static let firstDwell = 64

    private(set) var content = NetworkContent.general
    /// The mean quantiser of the last pictures, in H.264's scale; nil before the first.
    private(set) var mean: Float?
    private var pictures = 0
    private var dwell = firstDwell

    init() {}

    /// Why the choice is what it is, in words.
    var text: String {
        let how =
            "pictures are coded \(content == .calls ? "coarsely" : "finely") (mean quantiser \(Int((mean ?? 0).rounded())))"
        return "\(how): networks for \(content == .calls ? "calls" : "any video") enlarge them"
    }

    /// - Parameter quantiser: a picture's mean; nil where it is not known.
    /// - Returns: whether the choice is another one now.
    mutating func observe(_ quantiser: Float?) -> Bool {
        guard let quantiser else { return false }
        guard let former = mean else {
            mean = quantiser
            content = quantiser >= (Self.coarse + Self.fine) / 2 ? .calls : .general
            return content != .general
        }
        let mean = former + (quantiser - former) / Self.memory
        self.mean = mean
        pictures += 1
        let wanted: NetworkContent = mean >= Self.coarse ? .calls : mean < Self.fine ? .general : content
        guard wanted != content, pictures >= dwell else { return false }
        (content, pictures, dwell) = (wanted, 0, Self.dwell)
        return true
    }
}
