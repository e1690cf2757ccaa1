import Media
import Testing
@testable import Relay

/// Which layer a viewer gets, in virtual time: ten looks a second.
struct LayerChoiceTests {
    private struct Viewer {
        var choice = LayerChoice()
        var needs = LayerChoice.Needs(enhanced: 1_500_000, sent: 800_000, least: 300_000)
        var isAlone = false
        var isProbed = false
        var now = MonotonicTime(nanoseconds: 1_000_000_000)

        /// - Returns: when the layer changed, in seconds from the beginning of this call, and to which.
        mutating func run(seconds: Double, at capacity: Double?) -> [(second: Double, layer: ViewerLayer)] {
            let start = now
            var changes: [(Double, ViewerLayer)] = []
            while now - start < .seconds(seconds) {
                let before = choice.layer
                choice.observe(capacity, needs, isAlone: isAlone, isProbed: isProbed, at: now)
                if choice.layer != before { changes.append(((now - start).seconds, choice.layer)) }
                now = now + .milliseconds(100)
            }
            return changes
        }
    }

    @Test func downAtOnceAndUpSlowly() {
        var viewer = Viewer()
        #expect(viewer.run(seconds: 10, at: 3_000_000).isEmpty && viewer.choice.layer == .enhanced)
        #expect(viewer.run(seconds: 1, at: 1_000_000).map(\.layer) == [.sent])
        #expect(viewer.run(seconds: 1, at: 500_000).map(\.layer) == [.sound])
        // What carries a layer just so is not enough to rise to it.
        var other = Viewer()
        _ = other.run(seconds: 1, at: 1_000_000)
        #expect(other.run(seconds: 60, at: 1_500_000 * 1.2).isEmpty)
        let up = other.run(seconds: 10, at: 1_500_000 * 1.3)
        #expect(up.map(\.layer) == [.enhanced] && abs(up[0].second - 4) < 0.2, "\(up)")
    }

    /// A moment of room is none.
    @Test func roomMustLast() {
        var viewer = Viewer()
        _ = viewer.run(seconds: 1, at: 1_000_000)
        for _ in 0..<10 {
            #expect(viewer.run(seconds: 3, at: 3_000_000).isEmpty)
            #expect(viewer.run(seconds: 0.2, at: 1_000_000).isEmpty)
        }
    }

    /// A link whose room lasts until it is used: the waits grow, so that the layer changes ever less.
    @Test func whoFallsAgainWaitsLonger() {
        var viewer = Viewer()
        var waits: [Double] = []
        _ = viewer.run(seconds: 1, at: 1_000_000)
        for _ in 0..<7 {
            let up = viewer.run(seconds: 100, at: 3_000_000)
            waits.append((up[0].second * 2).rounded() / 2)
            // It would fall only when it had risen: begin from the moment of the rise.
            viewer.now = viewer.now + .seconds(up[0].second - 100)
            #expect(viewer.run(seconds: 1, at: 1_000_000).map(\.layer) == [.sent])
        }
        #expect(waits == [4, 8, 16, 32, 64, 64, 64], "\(waits)")
        // One that has held is trusted again.
        _ = viewer.run(seconds: 100, at: 3_000_000)
        _ = viewer.run(seconds: 1, at: 1_000_000)
        #expect(abs(viewer.run(seconds: 10, at: 3_000_000)[0].second - 4) < 0.2)
    }

    /// Without pictures nothing shows what a link carries, so they are tried.
    @Test func soundAloneIsTriedAgain() {
        var viewer = Viewer()
        _ = viewer.run(seconds: 1, at: 100_000)
        #expect(viewer.choice.layer == .sound)
        let trials = viewer.run(seconds: 60, at: 100_000).filter { $0.layer == .sent }.map { ($0.second * 2).rounded() / 2 }
        #expect(trials.count == 3, "\(trials)")
        let up = viewer.run(seconds: 70, at: 1_000_000)
        #expect(up.map(\.layer) == [.sent], "\(up)")
    }

    /// Where packets show what the link carries, pictures that are too large for it are not tried, and it rises with its room.
    @Test func whoseLinkIsProbedIsNotTried() {
        var viewer = Viewer()
        viewer.isProbed = true
        #expect(viewer.run(seconds: 1, at: 450_000).map(\.layer) == [.sound])
        #expect(viewer.run(seconds: 100, at: 450_000).isEmpty)
        let up = viewer.run(seconds: 10, at: 3_000_000)
        #expect(up.map(\.layer) == [.enhanced] && abs(up[0].second - 4) < 0.2, "\(up)")
    }

    /// An estimate does not change while nothing is sent, and rises with the pictures that are tried. Where it falls, they end at once.
    @Test func whatIsTriedHasTimeToShowRoom() {
        var viewer = Viewer()
        _ = viewer.run(seconds: 1, at: 425_000)
        #expect(viewer.choice.layer == .sound)
        #expect(viewer.run(seconds: 4.5, at: 425_000).map(\.layer) == [.sent])
        #expect(viewer.run(seconds: 1.5, at: 600_000).isEmpty && viewer.run(seconds: 60, at: 1_000_000).isEmpty)
        var poor = Viewer()
        _ = poor.run(seconds: 1, at: 425_000)
        #expect(poor.run(seconds: 4.5, at: 425_000).map(\.layer) == [.sent])
        #expect(poor.run(seconds: 0.2, at: 200_000).map(\.layer) == [.sound])
    }

    /// Who is alone has the encode for themselves, with as many bits as their link carries.
    @Test func whoIsAloneHasTheEncode() {
        var viewer = Viewer()
        viewer.isAlone = true
        #expect(viewer.run(seconds: 10, at: 500_000).isEmpty && viewer.choice.layer == .enhanced)
        // Another one comes, and the encode works for them.
        viewer.isAlone = false
        #expect(viewer.run(seconds: 1, at: 500_000).map(\.layer) == [.sound])
        viewer.isAlone = true
        let up = viewer.run(seconds: 10, at: 1_200_000)
        #expect(up.map(\.layer) == [.sent], "\(up)")
    }

    /// While a queue empties, an estimate says too little; and what is tried from sound is what needs least.
    @Test func whoIsAloneKeepsPicturesThroughADip() {
        var viewer = Viewer()
        viewer.isAlone = true
        #expect(viewer.run(seconds: 1.5, at: 200_000).isEmpty && viewer.run(seconds: 5, at: 400_000).isEmpty)
        // A link that stays too poor.
        #expect(viewer.run(seconds: 3, at: 200_000).map(\.layer) == [.sound])
        let up = viewer.run(seconds: 6, at: 350_000)
        #expect(up.map(\.layer) == [.enhanced] && viewer.run(seconds: 30, at: 350_000).isEmpty, "\(up)")
    }

    /// Between sound and the publisher's pictures, with the same hysteresis.
    @Test func theSmallerEncodeIsForLinksThatCarryNothingElse() {
        var viewer = Viewer()
        viewer.needs.small = 150_000
        #expect(viewer.run(seconds: 1, at: 300_000).map(\.layer) == [.small])
        // Room for the publisher's pictures must be a quarter more, and last.
        #expect(viewer.run(seconds: 30, at: 900_000).isEmpty)
        #expect(viewer.run(seconds: 10, at: 1_100_000).map(\.layer) == [.sent])
        #expect(viewer.run(seconds: 1, at: 300_000).map(\.layer) == [.small])
        // A dip while the queue empties, and a link that stays too poor, which is tried again by what needs least.
        #expect(viewer.run(seconds: 1.5, at: 50_000).isEmpty && viewer.run(seconds: 5, at: 300_000).isEmpty)
        #expect(viewer.run(seconds: 3, at: 50_000).map(\.layer) == [.sound])
        #expect(viewer.run(seconds: 30, at: 300_000).map(\.layer) == [.small])
        // Somebody needs VP8, so this encode gives way.
        viewer.needs.small = nil
        #expect(viewer.run(seconds: 1, at: 300_000).map(\.layer) == [.sound])
    }

    /// A mask is set, or the publisher's pictures are in VP8.
    @Test func theSmallerEncodeIsThereWithoutThePublishersPictures() {
        var viewer = Viewer()
        (viewer.needs.sent, viewer.needs.small) = (nil, 150_000)
        #expect(viewer.run(seconds: 1, at: 1_000_000).map(\.layer) == [.small])
        #expect(viewer.run(seconds: 3, at: 100_000).map(\.layer) == [.sound])
        #expect(viewer.run(seconds: 10, at: 200_000).map(\.layer) == [.small])
        #expect(viewer.run(seconds: 10, at: 2_000_000).map(\.layer) == [.enhanced])
    }

    /// Whoever is alone rather has the encode of the enhanced pictures with fewer bits.
    @Test func whoIsAloneNeedsNoSmallerEncode() {
        var viewer = Viewer()
        (viewer.needs.small, viewer.isAlone) = (150_000, true)
        #expect(viewer.run(seconds: 10, at: 400_000).isEmpty)
        #expect(viewer.run(seconds: 1, at: 200_000).map(\.layer) == [.small])
    }

    /// An estimate that says too little for a moment takes nobody from an encode that follows their link.
    @Test func whoIsAloneKeepsTheEnhancedPicturesThroughADip() {
        var viewer = Viewer()
        viewer.isAlone = true
        for _ in 0..<5 {
            #expect(viewer.run(seconds: 1.5, at: 1_000_000).isEmpty && viewer.run(seconds: 1, at: 2_000_000).isEmpty)
        }
        let down = viewer.run(seconds: 5, at: 1_000_000)
        #expect(down.map(\.layer) == [.sent] && abs(down[0].second - 2) < 0.2, "\(down)")
        // Beside others, and where the encode follows nobody, down at once.
        var other = Viewer()
        #expect(other.run(seconds: 0.2, at: 1_000_000).map(\.layer) == [.sent])
        var fixed = Viewer()
        (fixed.isAlone, fixed.needs.least) = (true, fixed.needs.enhanced)
        #expect(fixed.run(seconds: 0.2, at: 1_000_000).map(\.layer) == [.sent])
    }

    @Test func nothingIsChosenWhereThereIsNothingElse() {
        var viewer = Viewer()
        #expect(viewer.run(seconds: 5, at: nil).isEmpty)
        _ = viewer.run(seconds: 1, at: 100_000)
        // A mask is set: at once.
        viewer.needs.sent = nil
        #expect(viewer.run(seconds: 1, at: 100_000).map(\.layer) == [.enhanced])
        #expect(viewer.run(seconds: 30, at: 1_000).isEmpty)
    }

    /// The enhanced stream is worth no fewer bits than 1.3 times the publisher's, where the encoder may choose.
    @Test func needsFollowFromRates() {
        let sound = LayerChoice.sound
        let follows = LayerChoice.Needs(input: 1_000_000, encoded: 1_900_000, floor: 500_000, ceiling: 2_000_000)
        #expect(follows == .init(enhanced: sound + 1_300_000, sent: sound + 1_100_000, least: sound + 500_000))
        let fixed = LayerChoice.Needs(input: 1_000_000, encoded: 1_600_000, floor: nil, ceiling: 2_000_000)
        #expect(fixed == .init(enhanced: sound + 1_600_000, sent: sound + 1_100_000, least: sound + 1_600_000))
        #expect(LayerChoice.Needs(input: nil, encoded: nil, floor: nil, ceiling: 1, small: 70_000).small == sound + 70_000)
        let small = LayerChoice.Needs(input: nil, encoded: nil, floor: 800_000, ceiling: 1_000_000)
        #expect(small == .init(enhanced: sound + 800_000, sent: nil, least: sound + 800_000))
        #expect(LayerChoice.Needs(input: 1_000_000, encoded: nil, floor: 1, ceiling: 900_000).enhanced == sound + 900_000)
    }
    /// Nobody looks for more room than a layer needs, or the encoder can use.
    @Test func roomIsOfUseUpToWhatCanBeSent() {
        let sound = LayerChoice.sound
        let follows = LayerChoice.Needs(input: 1_000_000, encoded: 1_900_000, floor: 500_000, ceiling: 2_000_000)
        #expect(follows.useful(hasFloor: true, ceiling: 2_000_000) == sound + 2_000_000)
        let fixed = LayerChoice.Needs(input: 1_000_000, encoded: 1_600_000, floor: nil, ceiling: 2_000_000)
        #expect(fixed.useful(hasFloor: false, ceiling: 2_000_000) == Int(Double(sound + 1_600_000) * LayerChoice.room))
        let shared = LayerChoice.Needs(input: nil, encoded: 1_600_000, floor: nil, ceiling: 2_000_000)
        #expect(shared.useful(hasFloor: false, ceiling: 2_000_000) == nil)
    }
}
