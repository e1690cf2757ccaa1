import Media

extension Enlargement {
    /// What copying a sample takes of the time for a sample of a doubled picture, and what the polyphase filter takes.
    static let copying = 0.25
    static let resampling = 0.6

    /// The work without networks, in samples of a doubled picture that take as long.
    public var work: Double {
        var work = 0.0
        if doubles { work += Double(input.scaled(by: 2).samples) }
        if resamples { work += Self.resampling * Double(output.samples) }
        return work > 0 ? work : Self.copying * Double(output.samples)
    }
}
