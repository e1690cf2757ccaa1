import EnhanceNetworks
import Testing
@testable import Relay

/// Which networks suit pictures, picture by picture.
@Suite struct ContentJudgeTests {
    /// The pictures at which the choice changed.
    private func changes(_ judge: inout ContentJudge, _ quantisers: [Float?]) -> [Int] {
        quantisers.indices.filter { judge.observe(quantisers[$0]) }
    }

    @Test(arguments: [(Float(34), NetworkContent.calls), (12, .general), (18, .calls), (17.5, .general)])
    func theFirstPictureChooses(quantiser: Float, content: NetworkContent) {
        var judge = ContentJudge()
        #expect(changes(&judge, Array(repeating: quantiser, count: 1_000)) == (content == .calls ? [0] : []))
        #expect(judge.content == content)
    }

    /// An encoder may begin coarsely and become fine, or the other way round.
    @Test func aFirstPictureUnlikeTheOthersIsCorrectedSoon() {
        var judge = ContentJudge()
        let found = changes(&judge, [36] + Array(repeating: 14, count: 500))
        #expect(found.count == 2 && found[1] < 128 && judge.content == .general)
    }

    @Test func whatIsNotKnownChangesNothing() {
        var judge = ContentJudge()
        #expect(changes(&judge, Array(repeating: nil, count: 100)).isEmpty)
        #expect(judge.content == .general && judge.mean == nil)
        _ = judge.observe(30)
        #expect(changes(&judge, Array(repeating: nil, count: 1_000)).isEmpty)
        #expect(judge.content == .calls)
    }

    /// Keyframes are coded finer than other pictures, and quantisers go up and down with the scene.
    @Test func quantisersThatWaverChangeNothing() {
        var judge = ContentJudge()
        let usual: [Float?] = [17.5, 18.5, 19.5]
        let quantisers = (0..<3_000).map { picture in picture % 30 == 0 ? Float(12) : usual[picture % 3] }
        #expect(changes(&judge, quantisers).isEmpty)
    }

    @Test func itFollowsAndNotTooOften() {
        var judge = ContentJudge()
        // Five seconds each, at 30 pictures a second.
        let quantisers = (0..<6_000).map { picture in picture / 150 % 2 == 0 ? Float(10) : 34 }
        let found = changes(&judge, quantisers)
        #expect(!found.isEmpty)
        #expect(zip(found, found.dropFirst()).allSatisfy { $1 - $0 >= ContentJudge.dwell })
    }
}
