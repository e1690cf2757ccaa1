import Testing
@testable import Relay

@Suite struct CodedCoarsenessTests {
    /// The mean is known after 32 pictures, and follows another quantiser within some hundred.
    @Test func theMeanFollows() {
        var coded = CodedCoarseness()
        for _ in 0..<31 { #expect(coded.observe(30) == nil) }
        #expect(coded.observe(30).map { abs($0 - 30) < 0.01 } == true)
        var mean: Float?
        for _ in 0..<160 { mean = coded.observe(40) }
        #expect(mean.map { $0 > 39 && $0 <= 40 } == true)
    }

    @Test func theChannelTellsWhatIsKnown() {
        let coarseness = Coarseness()
        #expect(coarseness.input == nil && coarseness.output == nil)
        coarseness.input = 27.5
        #expect(coarseness.input == 27.5 && coarseness.output == nil)
        coarseness.input = nil
        #expect(coarseness.input == nil)
    }
}
