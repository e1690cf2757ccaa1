/// Decides from the fields of pictures that are marked as interlaced whether they are.
///
/// Where something moves, the fields of an interlaced picture belong to different moments, and combs show. The same motion
/// in a progressive picture makes its two fields fit each other better than either fits the picture before. A picture
/// without motion says nothing: the stream stays what it was.
///
/// A pure value.
struct CombJudge: Sendable {
    /// What the blocks of one picture say.
    struct Votes: Hashable, Sendable {
        var blocks = 0
        /// Blocks with combs.
        var combed = 0
        /// Blocks that moved as a whole.
        var whole = 0
    }

    /// How many blocks have voted for progressive pictures since combs were last seen.
    private var trust = 0
    private(set) var isProgressive = false

    /// - Returns: whether the picture is to be deinterlaced.
    mutating func judge(_ votes: Votes) -> Bool {
        // Coding noise can make a comb or two of a progressive picture.
        if votes.combed >= max(2, votes.blocks / 512) {
            trust = 0
            isProgressive = false
        } else {
            trust = min(votes.blocks, trust + votes.whole - 16 * votes.combed)
            trust = max(trust, 0)
            if trust >= votes.blocks / 4, votes.blocks > 0 { isProgressive = true }
        }
        return !isProgressive
    }
}
